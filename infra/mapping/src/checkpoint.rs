//! Checkpoints: how far each mapping has come, kept over a restart when there is a directory.
//!
//! One file per mapping, keyed by function and source, replaced atomically (temporary file, fsync, rename, fsync of the folder).
//! Writing trails behind: a kill loses at most the newest checkpoints, and their records come again. It never runs ahead.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::config::Mapping;

/// The present shape of a state file.
const SCHEMA: u32 = 1;

/// What a state file holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Saved {
    schema: u32,
    function: String,
    source: String,
    /// By stream ARN, then by shard id.
    pub(crate) streams: BTreeMap<String, BTreeMap<String, ShardState>>,
}

/// How far one shard has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ShardState {
    /// It is read from its oldest record on.
    Horizon,
    /// The mapping began here with `LATEST` at this time (epoch milliseconds); nothing is finished yet.
    Since(u64),
    /// Everything up to this sequence number is finished.
    After(String),
    /// The shard was read to its end and everything is finished.
    Finished,
}

/// Why the state of a mapping cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The directory or file cannot be read or made.
    #[error("{path}: the state cannot be used")]
    Io {
        /// The directory or file.
        path: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file does not hold the state of this mapping.
    #[error("{path}: not the state of this mapping: {reason}")]
    Foreign {
        /// The file.
        path: String,
        /// What was found.
        reason: String,
    },
}

/// The checkpoints of one mapping.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    file: Option<PathBuf>,
    saved: Mutex<Saved>,
    changed: Notify,
}

impl Checkpoints {
    /// Reads what an earlier run left. Without a directory nothing is kept.
    pub(crate) fn open(
        directory: Option<&Path>,
        mapping: &Mapping,
    ) -> Result<Arc<Self>, StateError> {
        let empty = Saved {
            schema: SCHEMA,
            function: mapping.function.clone(),
            source: mapping.source.name().to_owned(),
            streams: BTreeMap::new(),
        };
        let (file, saved) = match directory {
            None => (None, empty),
            Some(directory) => {
                let io = |path: &Path| {
                    let path = path.display().to_string();
                    move |source| StateError::Io { path, source }
                };
                fs::create_dir_all(directory).map_err(io(directory))?;
                let path = directory.join(format!("{}-{}.json", mapping.function, mapping.id()));
                let saved = match fs::read(&path) {
                    Ok(bytes) => {
                        understand(&bytes, &empty).map_err(|reason| StateError::Foreign {
                            path: path.display().to_string(),
                            reason,
                        })?
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => empty,
                    Err(error) => return Err(io(&path)(error)),
                };
                (Some(path), saved)
            }
        };
        Ok(Arc::new(Self {
            file,
            saved: Mutex::new(saved),
            changed: Notify::new(),
        }))
    }

    pub(crate) fn shard(&self, stream_arn: &str, shard_id: &str) -> Option<ShardState> {
        self.lock()
            .streams
            .get(stream_arn)
            .and_then(|shards| shards.get(shard_id))
            .cloned()
    }

    /// The streams that were read before, oldest first: the label at an ARN's end is its time of creation.
    pub(crate) fn streams(&self) -> Vec<String> {
        self.lock().streams.keys().cloned().collect()
    }

    pub(crate) fn set(&self, stream_arn: &str, shard_id: &str, state: ShardState) {
        self.lock()
            .streams
            .entry(stream_arn.to_owned())
            .or_default()
            .insert(shard_id.to_owned(), state);
        self.changed.notify_one();
    }

    /// Forgets shards that a stream does not name any more, so that the file does not grow.
    pub(crate) fn keep_shards(&self, stream_arn: &str, keep: impl Fn(&str) -> bool) {
        if let Some(shards) = self.lock().streams.get_mut(stream_arn) {
            shards.retain(|id, _| keep(id));
        }
        self.changed.notify_one();
    }

    pub(crate) fn forget_stream(&self, stream_arn: &str) {
        self.lock().streams.remove(stream_arn);
        self.changed.notify_one();
    }

    /// Writes whenever something changed, until told to end; then once more.
    pub(crate) async fn write_until(self: Arc<Self>, end: CancellationToken) {
        let Some(file) = self.file.clone() else {
            return;
        };
        let mut written = None;
        loop {
            let last = end.is_cancelled();
            let saved = self.lock().clone();
            if written.as_ref() != Some(&saved) {
                let (path, content) = (file.clone(), saved.clone());
                match tokio::task::spawn_blocking(move || replace(&path, &content)).await {
                    Ok(Ok(())) => written = Some(saved),
                    Ok(Err(error)) => {
                        tracing::error!(file = %file.display(), %error, "the checkpoint could not be written; its records will come again after a restart")
                    }
                    Err(error) => {
                        tracing::error!(file = %file.display(), %error, "the checkpoint writer failed")
                    }
                }
            }
            if last {
                return;
            }
            tokio::select! {
                () = self.changed.notified() => {}
                () = end.cancelled() => {}
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Saved> {
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn understand(bytes: &[u8], expected: &Saved) -> Result<Saved, String> {
    let saved: Saved = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if saved.schema != SCHEMA {
        return Err(format!("schema {} instead of {SCHEMA}", saved.schema));
    }
    if (&saved.function, &saved.source) != (&expected.function, &expected.source) {
        return Err(format!(
            "it belongs to {} and {}",
            saved.function, saved.source
        ));
    }
    Ok(saved)
}

/// Replaces a file so that a reader, or a crash at any moment, finds either the old content or the new one, whole.
fn replace(path: &Path, saved: &Saved) -> io::Result<()> {
    let temporary = path.with_extension("json.new");
    let mut file = File::create(&temporary)?;
    file.write_all(&serde_json::to_vec_pretty(saved)?)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Rate, Source};

    fn mapping(expression: &str) -> Mapping {
        let source = Source::Schedule {
            expression: expression.to_owned(),
            rate: Rate::parse("rate(1 minute)").unwrap(),
        };
        Mapping {
            key: "mappings[0]".into(),
            function: "saga".into(),
            source,
            enabled: true,
        }
    }

    async fn save(checkpoints: Arc<Checkpoints>) {
        let end = CancellationToken::new();
        end.cancel();
        checkpoints.write_until(end).await;
    }

    #[tokio::test]
    async fn checkpoints_survive_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let first = Checkpoints::open(Some(folder.path()), &mapping("a")).unwrap();
        first.set("s1", "shard", ShardState::After("7".into()));
        first.set("s1", "old", ShardState::Finished);
        first.set("s2", "shard", ShardState::Since(5));
        first.keep_shards("s1", |id| id == "shard");
        save(first).await;
        let second = Checkpoints::open(Some(folder.path()), &mapping("a")).unwrap();
        assert_eq!(
            second.shard("s1", "shard"),
            Some(ShardState::After("7".into()))
        );
        assert_eq!(
            (second.shard("s1", "old"), second.shard("s2", "shard")),
            (None, Some(ShardState::Since(5)))
        );
        assert_eq!(second.streams(), ["s1", "s2"]);
    }

    #[tokio::test]
    async fn each_mapping_has_a_state_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let first = Checkpoints::open(Some(folder.path()), &mapping("a")).unwrap();
        first.set("s1", "shard", ShardState::Horizon);
        save(first).await;
        assert_eq!(
            Checkpoints::open(Some(folder.path()), &mapping("b"))
                .unwrap()
                .streams(),
            Vec::<String>::new()
        );
        assert_eq!(
            Checkpoints::open(None, &mapping("a")).unwrap().streams(),
            Vec::<String>::new()
        );
    }

    #[tokio::test]
    async fn a_write_that_was_cut_off_leaves_the_old_state() {
        let folder = tempfile::tempdir().unwrap();
        let first = Checkpoints::open(Some(folder.path()), &mapping("a")).unwrap();
        first.set("s1", "shard", ShardState::After("7".into()));
        save(first).await;
        let file = fs::read_dir(folder.path())
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        fs::write(file.with_extension("json.new"), b"{\"schema\": 1, \"str").unwrap();
        let second = Checkpoints::open(Some(folder.path()), &mapping("a")).unwrap();
        assert_eq!(
            second.shard("s1", "shard"),
            Some(ShardState::After("7".into()))
        );
    }

    #[test]
    fn a_file_that_is_not_the_mappings_state_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder
            .path()
            .join(format!("saga-{}.json", mapping("a").id()));
        for content in [
            "",
            "{",
            r#"{"schema":9,"function":"saga","source":"a","streams":{}}"#,
            r#"{"schema":1,"function":"other","source":"a","streams":{}}"#,
        ] {
            fs::write(&path, content).unwrap();
            let error = Checkpoints::open(Some(folder.path()), &mapping("a")).unwrap_err();
            assert!(error.to_string().contains("saga-"), "{error}");
        }
    }
}
