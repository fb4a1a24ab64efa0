//! The arithmetic of a batch: every record that came in ended in exactly one way.

use crate::time::EpochMillis;
use crate::verdict::Ending;
use serde_json::{Map, Value, json};
use std::ops::AddAssign;

/// The namespace of the metrics.
pub const NAMESPACE: &str = "Sagaline";

/// How many records came in, and how they ended. It can only be built from endings, so
/// `in = done + stale + skipped + parked + deferred + failed` holds by construction.
///
/// ```
/// # use sagaline_stream::{Counts, Ending};
/// let counts = Counts::of([Ending::Done, Ending::Stale, Ending::Done]);
/// assert_eq!((counts.records_in(), counts.done(), counts.stale(), counts.failed()), (3, 2, 1, 0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    done: u64,
    stale: u64,
    skipped: u64,
    parked: u64,
    deferred: u64,
    failed: u64,
}

/// The dimensions of the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimensions<'a> {
    /// The function's name; dimension `function`.
    pub function: &'a str,
    /// The consumer; dimension `consumer`.
    pub consumer: &'a str,
}

/// One metric beside the counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extra {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) value: u64,
}

impl Counts {
    /// Counts endings, one a record.
    #[must_use]
    pub fn of(endings: impl IntoIterator<Item = Ending>) -> Self {
        let mut counts = Self::default();
        for ending in endings {
            *match ending {
                Ending::Done => &mut counts.done,
                Ending::Stale => &mut counts.stale,
                Ending::Skipped => &mut counts.skipped,
                Ending::Parked => &mut counts.parked,
                Ending::Deferred => &mut counts.deferred,
                Ending::Failed => &mut counts.failed,
            } += 1;
        }
        counts
    }

    /// Records that came in.
    #[must_use]
    pub const fn records_in(&self) -> u64 {
        self.done + self.stale + self.skipped + self.parked + self.deferred + self.failed
    }

    /// Records whose work is done.
    #[must_use]
    pub const fn done(&self) -> u64 {
        self.done
    }

    /// Records that were old news.
    #[must_use]
    pub const fn stale(&self) -> u64 {
        self.stale
    }

    /// Records that were none of the consumer's business.
    #[must_use]
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Records put aside for an operator.
    #[must_use]
    pub const fn parked(&self) -> u64 {
        self.parked
    }

    /// Records handed to something that finishes them later.
    #[must_use]
    pub const fn deferred(&self) -> u64 {
        self.deferred
    }

    /// Records that come again.
    #[must_use]
    pub const fn failed(&self) -> u64 {
        self.failed
    }

    /// One CloudWatch EMF object with all seven names (`RecordsIn`, `RecordsDone`, `RecordsStale`, `RecordsSkipped`, `RecordsParked`,
    /// `RecordsDeferred`, `RecordsFailed`), as one line of JSON.
    #[must_use]
    pub fn emf(&self, dimensions: Dimensions<'_>, at: EpochMillis) -> String {
        self.emf_with(dimensions, at, &[])
    }

    pub(crate) fn emf_with(
        &self,
        dimensions: Dimensions<'_>,
        at: EpochMillis,
        extras: &[Extra],
    ) -> String {
        let count = |name, value| Extra {
            name,
            unit: "Count",
            value,
        };
        let counts = [
            count("RecordsIn", self.records_in()),
            count("RecordsDone", self.done),
            count("RecordsStale", self.stale),
            count("RecordsSkipped", self.skipped),
            count("RecordsParked", self.parked),
            count("RecordsDeferred", self.deferred),
            count("RecordsFailed", self.failed),
        ];
        let metrics: Vec<Value> = counts
            .iter()
            .chain(extras)
            .map(|metric| json!({"Name": metric.name, "Unit": metric.unit}))
            .collect();
        let mut object = Map::new();
        object.insert(
            "_aws".to_owned(),
            json!({
                "Timestamp": at.as_millis(),
                "CloudWatchMetrics": [{"Namespace": NAMESPACE, "Dimensions": [["function", "consumer"]], "Metrics": metrics}],
            }),
        );
        object.insert("function".to_owned(), dimensions.function.into());
        object.insert("consumer".to_owned(), dimensions.consumer.into());
        object.extend(
            counts
                .iter()
                .chain(extras)
                .map(|metric| (metric.name.to_owned(), metric.value.into())),
        );
        Value::Object(object).to_string()
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.done += other.done;
        self.stale += other.stale;
        self.skipped += other.skipped;
        self.parked += other.parked;
        self.deferred += other.deferred;
        self.failed += other.failed;
    }
}
