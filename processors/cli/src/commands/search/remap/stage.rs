//! What comes next: a pure function of what the configuration and the aliases say.

use sagaline_lambda::now;
use sagaline_order::Timestamp;
use sagaline_search::remap::Layout;
use serde::{Deserialize, Serialize};

/// The configuration item that says where documents are written.
pub(super) const CONFIG: &str = "search";

/// How far a remap is. Kept as `remap` in `CONFIG#search`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// The index that is left.
    pub(super) from: String,
    /// The index to come.
    pub(super) to: String,
    pub(super) stage: Stage,
    /// Since when the writers are told so.
    pub(super) since: Timestamp,
}

/// The stages, each with the aliases that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Stage {
    /// The new index is being made.
    Preparing,
    /// Both are written; the new one is being filled, or is read already and checked once more.
    Filling,
    /// The new one is read, and the old one is given up.
    Ending,
    /// The old one, given up already, is wanted back: both are written, and it is being brought up to date.
    Returning,
    /// The old one is read, and the new one is given up.
    Aborting,
}

impl Stage {
    /// Whether documents go to both indices.
    pub(super) const fn writes_both(self) -> bool {
        matches!(self, Self::Filling | Self::Returning)
    }

    pub(super) fn sentence(self, mark: &Mark) -> String {
        match self {
            Self::Preparing => format!("from {} to {}", mark.from, mark.to),
            Self::Filling => "writing to both indices".to_owned(),
            Self::Ending => format!("giving up {}", mark.from),
            Self::Returning => format!("writing to {} again", mark.from),
            Self::Aborting => format!("giving up {}", mark.to),
        }
    }
}

impl Mark {
    /// The same remap at another stage, from now on.
    pub(super) fn at(&self, stage: Stage) -> Self {
        Self {
            stage,
            since: now(),
            ..self.clone()
        }
    }
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// There is nothing to give up.
    Nothing,
    /// Record this stage.
    Mark(Mark),
    /// Make the new index, then write to both.
    Prepare(Mark),
    /// Fill the new index, compare it, and read it.
    Fill(Mark),
    /// Compare what was written meanwhile, then give up the old one.
    Check(Mark),
    /// Read the old one again, which is complete.
    SwapBack(Mark),
    /// Bring the old one up to date, and read it again.
    Refill(Mark),
    /// Take away what is not needed any more.
    End(Mark),
}

impl Step {
    /// What would be done, and of which remap.
    pub(super) fn plan(&self) -> (String, Option<&Mark>) {
        match self {
            Self::Nothing => ("no remap is under way: nothing to give up".to_owned(), None),
            Self::Mark(mark) if mark.stage == Stage::Preparing => (
                format!(
                    "would make {}, write every document to it and to {}, copy every order, compare, and read {} from then on",
                    mark.to, mark.from, mark.to
                ),
                Some(mark),
            ),
            Self::Mark(mark) if mark.stage == Stage::Returning => (
                format!(
                    "would write to {} again, bring it up to date, read it, and delete {}",
                    mark.from, mark.to
                ),
                Some(mark),
            ),
            Self::Mark(mark) => (
                format!(
                    "would give up the remap: delete {} and go on with {}",
                    mark.to, mark.from
                ),
                Some(mark),
            ),
            Self::Prepare(mark) | Self::Fill(mark) => (
                format!(
                    "would go on: fill {} from the table, compare, and read it in the place of {}",
                    mark.to, mark.from
                ),
                Some(mark),
            ),
            Self::Check(mark) => (
                format!(
                    "would go on: {} is read; compare what was written meanwhile, then give up {}",
                    mark.to, mark.from
                ),
                Some(mark),
            ),
            Self::SwapBack(mark) => (
                format!(
                    "would read and write {} again, and delete {}",
                    mark.from, mark.to
                ),
                Some(mark),
            ),
            Self::Refill(mark) => (
                format!(
                    "would go on: bring {} up to date, read it, and delete {}",
                    mark.from, mark.to
                ),
                Some(mark),
            ),
            Self::End(mark) if mark.stage == Stage::Aborting => {
                (format!("would go on: delete {}", mark.to), Some(mark))
            }
            Self::End(mark) => (
                format!("would go on: stop writing to {}", mark.from),
                Some(mark),
            ),
        }
    }
}

/// What comes next, or why nothing can.
pub(super) fn next(mark: Option<&Mark>, layout: &Layout, abort: bool) -> Result<Step, String> {
    if layout.read != layout.write {
        return Err(format!(
            "{} is read, but {} is written",
            layout.read, layout.write
        ));
    }
    let Some(mark) = mark else {
        return match (abort, layout.next.as_ref().or(layout.old.as_ref())) {
            (true, _) => Ok(Step::Nothing),
            (false, Some(index)) => Err(format!(
                "an alias of a remap is on {index}, but no remap is recorded: remove it"
            )),
            (false, None) => Ok(Step::Mark(Mark {
                from: layout.read.clone(),
                to: layout.generation(layout.newest + 1),
                stage: Stage::Preparing,
                since: now(),
            })),
        };
    };
    let mark = mark.clone();
    let new_is_read = layout.read == mark.to;
    if !new_is_read && layout.read != mark.from {
        return Err(format!(
            "a remap from {} to {} is recorded, but {} is read",
            mark.from, mark.to, layout.read
        ));
    }
    Ok(match (mark.stage, abort, new_is_read) {
        (Stage::Preparing, false, _) => Step::Prepare(mark),
        (Stage::Filling, false, false) => Step::Fill(mark),
        (Stage::Filling, false, true) => Step::Check(mark),
        (Stage::Ending, false, true) => Step::End(mark),
        (Stage::Preparing, true, _) | (Stage::Filling, true, false) => {
            Step::Mark(mark.at(Stage::Aborting))
        }
        (Stage::Filling, true, true) => Step::SwapBack(mark),
        (Stage::Ending, true, true) if !layout.has(&mark.from) => {
            return Err(format!(
                "{} is deleted already: there is nothing to return to",
                mark.from
            ));
        }
        // It was not written for a while.
        (Stage::Ending, true, true) => Step::Mark(mark.at(Stage::Returning)),
        (Stage::Returning, _, true) => Step::Refill(mark),
        // Somebody was faster with the aliases than with the record.
        (Stage::Returning | Stage::Ending, _, false) => Step::Mark(mark.at(Stage::Aborting)),
        (Stage::Aborting, _, false) => Step::End(mark),
        (Stage::Aborting, _, true) => {
            return Err(format!(
                "the remap to {} was given up, but it is read",
                mark.to
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(read: &str) -> Layout {
        Layout {
            alias: "orders".to_owned(),
            read: read.to_owned(),
            write: read.to_owned(),
            next: None,
            old: None,
            newest: 3,
            indices: vec!["orders-v1".to_owned(), "orders-v3".to_owned()],
        }
    }

    fn mark(stage: Stage) -> Mark {
        Mark {
            from: "orders-v1".to_owned(),
            to: "orders-v3".to_owned(),
            stage,
            since: Timestamp::from_millis(0).unwrap(),
        }
    }

    #[test]
    fn every_stage_has_its_next_step_on_the_way_there_and_on_the_way_back() {
        #[track_caller]
        fn check(stage: Stage, read: &str, abort: bool, expected: &str) {
            let step = next(Some(&mark(stage)), &layout(read), abort);
            let step = match step {
                Err(error) => format!("Err {error}"),
                Ok(Step::Mark(mark)) => format!("Mark {:?}", mark.stage),
                Ok(step) => {
                    let step = format!("{step:?}");
                    step.split('(').next().unwrap_or_default().to_owned()
                }
            };
            assert_eq!(step, expected, "{stage:?} {read} {abort}");
        }
        let (old, new) = ("orders-v1", "orders-v3");
        check(Stage::Preparing, old, false, "Prepare");
        check(Stage::Filling, old, false, "Fill");
        check(Stage::Filling, new, false, "Check");
        check(Stage::Ending, new, false, "End");
        check(Stage::Preparing, old, true, "Mark Aborting");
        check(Stage::Filling, old, true, "Mark Aborting");
        check(Stage::Filling, new, true, "SwapBack");
        check(Stage::Ending, new, true, "Mark Returning");
        check(Stage::Returning, new, true, "Refill");
        check(Stage::Returning, new, false, "Refill");
        check(Stage::Returning, old, true, "Mark Aborting");
        check(Stage::Aborting, old, true, "End");
        check(Stage::Aborting, old, false, "End");
        let other = "Err a remap from orders-v1 to orders-v3 is recorded, but orders-v2 is read";
        check(Stage::Filling, "orders-v2", false, other);
    }

    #[test]
    fn a_remap_begins_behind_the_newest_generation_and_only_where_all_is_clear() {
        let begin = next(None, &layout("orders-v1"), false).unwrap();
        assert!(
            matches!(begin, Step::Mark(mark) if mark.to == "orders-v4" && mark.stage == Stage::Preparing)
        );
        assert_eq!(next(None, &layout("orders-v1"), true), Ok(Step::Nothing));
        let split = Layout {
            write: "orders-v3".to_owned(),
            ..layout("orders-v1")
        };
        assert!(next(None, &split, false).is_err());
        let left = Layout {
            next: Some("orders-v3".to_owned()),
            ..layout("orders-v1")
        };
        assert!(next(None, &left, false).is_err());
    }

    #[test]
    fn an_old_index_that_is_deleted_cannot_be_returned_to() {
        let gone = Layout {
            indices: vec!["orders-v3".to_owned()],
            ..layout("orders-v3")
        };
        let error = next(Some(&mark(Stage::Ending)), &gone, true).unwrap_err();
        assert!(error.contains("orders-v1 is deleted already"), "{error}");
    }
}
