//! What became of a batch: the answer to the mapping, and the report for people and metrics.

use crate::batch::NotAnEvent;
use crate::counts::{Counts, Dimensions, Extra};
use crate::response::BatchResponse;
use crate::time::EpochMillis;
use crate::verdict::{Ending, Failure};
use std::time::Duration;
use thiserror::Error;

/// A batch that was run: the function returns [`Outcome::response`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the response must be returned to the mapping"]
pub struct Outcome {
    /// The answer to the event source mapping.
    pub response: BatchResponse,
    /// What happened.
    pub report: Report,
}

impl Outcome {
    /// How the records ended.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.report.counts
    }
}

/// How one record ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handled {
    /// Its place in the batch, from 0.
    pub place: usize,
    /// How it ended.
    pub ending: Ending,
    /// Not run, because an earlier record of its lane failed. Such a record counts as failed.
    pub blocked: bool,
    /// The reason, where there is one to tell.
    pub why: Option<String>,
}

/// What happened in a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// How the records ended.
    pub counts: Counts,
    /// The number of lanes; for a batch handler the number of records it was given.
    pub lanes: usize,
    /// Records that were not run because an earlier one of their lane failed. Part of the failed.
    pub blocked: usize,
    /// The age of the batch's last record (F-ESM-20), where its time is known.
    pub iterator_age: Option<Duration>,
    /// The age of the lowest unfinished record, where its time is known.
    pub lowest_failed_age: Option<Duration>,
    /// The time was up before a single record was settled: the function needs more of it, or a smaller batch.
    pub starved: bool,
    /// Each record, in the order of the batch.
    pub handled: Vec<Handled>,
}

impl Report {
    /// One CloudWatch EMF object for the batch: the counts as [`Counts::emf`], with `Lanes`, `RecordsBlocked`, `BatchStarved` (1 if the time
    /// was up before a single record was settled: alarm on it), and, where known, `IteratorAge` and `LowestFailedAge`. An unknown age has no data point, for a missing point is not a zero (F-ESM-19).
    #[must_use]
    pub fn emf(&self, dimensions: Dimensions<'_>, at: EpochMillis) -> String {
        let count = |name, value: usize| Extra {
            name,
            unit: "Count",
            value: u64::try_from(value).unwrap_or(u64::MAX),
        };
        let age = |name, age: Option<Duration>| {
            let value = u64::try_from(age?.as_millis()).unwrap_or(u64::MAX);
            Some(Extra {
                name,
                unit: "Milliseconds",
                value,
            })
        };
        let extras: Vec<Extra> = [
            count("Lanes", self.lanes),
            count("RecordsBlocked", self.blocked),
            count("BatchStarved", usize::from(self.starved)),
        ]
        .into_iter()
        .chain(age("IteratorAge", self.iterator_age))
        .chain(age("LowestFailedAge", self.lowest_failed_age))
        .collect();
        self.counts.emf_with(dimensions, at, &extras)
    }
}

/// The invocation fails, and with it the whole batch comes again (F-RSP-10). There is no other honest answer in these cases.
#[derive(Debug, Error)]
pub enum InvocationError {
    /// The payload is no event.
    #[error("the payload is not what this function is for")]
    NotAnEvent(#[from] NotAnEvent),
    /// A handler said that nothing can work until a person acts.
    #[error("record {place} of the batch failed fatally")]
    Fatal {
        /// The record's place in the batch.
        place: usize,
        /// What the handler said.
        #[source]
        failure: Failure,
        /// What happened until then.
        report: Box<Report>,
    },
    /// A record must come again but has no sequence number (or message id) to ask for it by.
    #[error("record {place} of the batch must come again but has no identifier ({why})")]
    Unnamed {
        /// The record's place in the batch.
        place: usize,
        /// Why it must come again.
        why: String,
        /// What happened.
        report: Box<Report>,
    },
}

impl InvocationError {
    /// What happened, if the batch was run at all: its metrics are worth emitting before the invocation fails.
    #[must_use]
    pub const fn report(&self) -> Option<&Report> {
        match self {
            Self::NotAnEvent(_) => None,
            Self::Fatal { report, .. } | Self::Unnamed { report, .. } => Some(report),
        }
    }
}
