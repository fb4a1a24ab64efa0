//! Why a key finds nothing: what a person most often gets wrong about it, and the key that was probably meant.
//!
//! Pure: it looks at the key only. Whether a corrected one is there is asked in `explain.rs`.

mod partition;
mod sort;

use sagaline_store::Index;

/// What was asked of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    /// `None` is the table itself.
    pub(super) index: Option<Index>,
    pub(super) pk: String,
    pub(super) sk: Sort,
}

/// Which sort keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sort {
    Any,
    Is(String),
    Prefix(String),
    Between(String, String),
}

/// One thing that is probably wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hint {
    /// For programs.
    pub(super) kind: &'static str,
    pub(super) what: String,
}

/// All that can be said without asking the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Advice {
    pub(super) hints: Vec<Hint>,
    /// What was probably meant, the likeliest first; never what was asked.
    pub(super) tries: Vec<Asked>,
}

/// What a correction makes of a key: why, and what may have been meant instead (nothing, where that cannot be known).
type Correction = (&'static str, String, Vec<Asked>);

/// The corrections build on each other: a key may be wrong in several ways.
const CORRECTIONS: [fn(&Asked) -> Option<Correction>; 9] = [
    partition::blanks,
    partition::attribute,
    partition::not_a_partition,
    partition::case,
    sort::day,
    partition::place,
    partition::shard,
    sort::time,
    sort::version,
];

/// What is probably wrong with what was asked.
pub(super) fn advise(asked: &Asked) -> Advice {
    let mut hints: Vec<Hint> = Vec::new();
    let mut meant = vec![asked.clone()];
    for correct in CORRECTIONS {
        let mut next = Vec::new();
        for one in meant {
            match correct(&one) {
                None => next.push(one),
                Some((kind, what, instead)) => {
                    if hints.iter().all(|hint| hint.kind != kind) {
                        hints.push(Hint { kind, what });
                    }
                    next.extend(instead);
                }
            }
        }
        meant = next;
    }
    meant.retain(|one| one != asked);
    Advice {
        hints,
        tries: meant,
    }
}

impl Asked {
    fn with_pk(&self, pk: impl Into<String>) -> Self {
        Self {
            pk: pk.into(),
            ..self.clone()
        }
    }

    fn on(index: Option<Index>, pk: impl Into<String>) -> Self {
        Self {
            index,
            pk: pk.into(),
            sk: Sort::Any,
        }
    }

    /// The text of the sort key, if there is one text.
    fn sort_text(&self) -> Option<&str> {
        match &self.sk {
            Sort::Is(text) | Sort::Prefix(text) => Some(text),
            Sort::Any | Sort::Between(..) => None,
        }
    }

    /// How it is asked for on the command line.
    pub(super) fn command(&self) -> String {
        if let (None, Sort::Is(sk)) = (self.index, &self.sk) {
            return format!("sagaline table get '{}/{sk}'", self.pk);
        }
        let index = self
            .index
            .map_or_else(String::new, |index| format!(" --index {}", index.name()));
        let sort = match &self.sk {
            Sort::Any => String::new(),
            Sort::Is(text) | Sort::Prefix(text) => format!(" --sk-prefix '{text}'"),
            Sort::Between(from, to) => format!(" --between '{from}' '{to}'"),
        };
        format!("sagaline table query --pk '{}'{index}{sort}", self.pk)
    }
}

#[cfg(test)]
mod tests;
