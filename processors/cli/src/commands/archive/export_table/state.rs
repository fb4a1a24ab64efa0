//! How far an export is, and what it is in the end.

use super::sum::Sum;
use crate::error::{Code, CommandError};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::io::ErrorKind;
use std::path::Path;

/// One file of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) bytes: u64,
    /// Of all its bytes.
    pub(super) sha256: String,
    /// Of the items in it.
    pub(super) sum: Sum,
}

/// The key of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Key {
    pub(super) pk: String,
    pub(super) sk: String,
}

/// One part of the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Segment {
    pub(super) number: u32,
    /// The key after which to go on; everything before it is in `files`.
    pub(super) after: Option<Key>,
    pub(super) finished: bool,
    pub(super) files: Vec<File>,
}

/// How far an export is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// The UTC day on which it began.
    pub(super) day: String,
    pub(super) segments: Vec<Segment>,
}

impl State {
    pub(super) fn new(day: String, segments: u32) -> Self {
        let segment = |number| Segment {
            number,
            after: None,
            finished: false,
            files: Vec::new(),
        };
        Self {
            day,
            segments: (0..segments.max(1)).map(segment).collect(),
        }
    }

    /// What lies beside the files when all are there.
    pub(super) fn manifest(&self, table: &str) -> Manifest {
        let mut sum = Sum::default();
        let files: Vec<File> = self
            .segments
            .iter()
            .flat_map(|segment| segment.files.clone())
            .collect();
        files.iter().for_each(|file| sum.add(&file.sum));
        Manifest {
            table: table.to_owned(),
            day: self.day.clone(),
            sum,
            files,
        }
    }
}

/// A finished export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) table: String,
    pub(super) day: String,
    pub(super) sum: Sum,
    pub(super) files: Vec<File>,
}

/// The file of `--state`.
pub(super) struct Kept<'a> {
    pub(super) path: &'a Path,
    pub(super) table: &'a str,
    pub(super) bucket: &'a str,
}

#[derive(Deserialize)]
struct Stored {
    table: String,
    bucket: String,
    state: State,
}

impl Kept<'_> {
    /// What the file says, if there is one.
    pub(super) fn read(&self) -> Result<Option<State>, CommandError> {
        let shown = self.path.display();
        let text = match std::fs::read_to_string(self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(CommandError::new(
                    Code::UnreadableFile,
                    format!("--state {shown}: {error}"),
                ));
            }
        };
        let bad =
            |why: String| CommandError::new(Code::BadInput, format!("--state {shown}: {why}"));
        let stored: Stored = serde_json::from_str(&text)
            .map_err(|error| bad(format!("not the state of an export: {error}")))?;
        if stored.table != self.table || stored.bucket != self.bucket {
            return Err(bad(format!(
                "it is of the table {} into {}",
                stored.table, stored.bucket
            )));
        }
        Ok(Some(stored.state))
    }

    /// Whole or not at all: a file beside it takes its place.
    pub(super) fn write(&self, state: &State) -> Result<(), CommandError> {
        let text = json!({"table": self.table, "bucket": self.bucket, "state": state}).to_string();
        let mut beside = self.path.as_os_str().to_owned();
        beside.push(".new");
        std::fs::write(&beside, text)
            .and_then(|()| std::fs::rename(&beside, self.path))
            .map_err(|error| crate::tabular::unwritable(Some(self.path), &error))
    }

    pub(super) fn remove(&self) -> Result<(), CommandError> {
        std::fs::remove_file(self.path)
            .map_err(|error| crate::tabular::unwritable(Some(self.path), &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_comes_back_from_its_file_and_another_tables_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("export.json");
        let kept = |table: &'static str| Kept {
            path: &path,
            table,
            bucket: "b",
        };
        assert_eq!(kept("t").read().unwrap(), None);
        let mut state = State::new("2026-01-31".to_owned(), 2);
        state.segments[1].after = Some(Key {
            pk: "ORDER#o-1".to_owned(),
            sk: "ORDER#DETAIL".to_owned(),
        });
        kept("t").write(&state).unwrap();
        assert_eq!(kept("t").read().unwrap(), Some(state));
        let error = kept("other").read().unwrap_err();
        assert_eq!(error.code(), Code::BadInput);
        std::fs::write(&path, "{").unwrap();
        assert_eq!(kept("t").read().unwrap_err().code(), Code::BadInput);
        kept("t").remove().unwrap();
        assert!(!path.exists());
    }
}
