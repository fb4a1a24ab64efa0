//! Counters under AWS's names (F-ESM-19), kept per mapping and written as JSON lines.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::clock;

/// The metrics of a mapping. `IteratorAge` is a value in milliseconds, the others count records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Read from the source.
    PolledEventCount,
    /// Dropped by the filter.
    FilteredOutEventCount,
    /// Handed to the function, once per call.
    InvokedEventCount,
    /// Failed in a call; a non-empty failure list counts too.
    FailedInvokeEventCount,
    /// Given up although a destination is set, because it did not take the document. Without a destination AWS has no data
    /// point (F-ESM-21, F-ESM-22).
    DroppedEventCount,
    /// Given up, and told to the destination.
    OnFailureDestinationDeliveredEventCount,
    /// Deleted from a queue after success.
    DeletedEventCount,
    /// The age of the last record of a finished batch (F-ESM-20).
    IteratorAge,
}

impl Metric {
    const COUNT: usize = 8;

    /// AWS's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PolledEventCount => "PolledEventCount",
            Self::FilteredOutEventCount => "FilteredOutEventCount",
            Self::InvokedEventCount => "InvokedEventCount",
            Self::FailedInvokeEventCount => "FailedInvokeEventCount",
            Self::DroppedEventCount => "DroppedEventCount",
            Self::OnFailureDestinationDeliveredEventCount => {
                "OnFailureDestinationDeliveredEventCount"
            }
            Self::DeletedEventCount => "DeletedEventCount",
            Self::IteratorAge => "IteratorAge",
        }
    }
}

/// A file of JSON lines, or nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lines(Option<Arc<Mutex<File>>>);

impl Lines {
    /// Opens a file for appending.
    pub(crate) fn open(path: Option<&Path>) -> std::io::Result<Self> {
        match path {
            None => Ok(Self(None)),
            Some(path) => Ok(Self(Some(Arc::new(Mutex::new(
                File::options().create(true).append(true).open(path)?,
            ))))),
        }
    }

    pub(crate) fn write(&self, line: &serde_json::Value) {
        let Some(file) = &self.0 else { return };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        // One write a line: a reader, or a kill, never sees half of one among others.
        if let Err(error) = file.write_all(format!("{line}\n").as_bytes()) {
            tracing::warn!(%error, "a line could not be written");
        }
    }
}

/// What one mapping counts and whether it is idle. Shared by its tasks.
#[derive(Debug)]
pub(crate) struct Meter {
    mapping: String,
    lines: Lines,
    counts: [AtomicU64; Metric::COUNT],
    /// Records given up, told or not. AWS has no such metric: without a destination it counts nothing (F-ESM-21).
    given_up: AtomicU64,
    activity: Mutex<Activity>,
    last_result: Mutex<String>,
}

/// How many parts of a mapping have something to do.
#[derive(Debug)]
struct Activity {
    busy: usize,
    idle_since: Option<Instant>,
}

impl Meter {
    pub(crate) fn new(mapping: String, lines: Lines) -> Arc<Self> {
        let activity = Mutex::new(Activity {
            busy: 0,
            idle_since: Some(Instant::now()),
        });
        Arc::new(Self {
            mapping,
            lines,
            counts: Default::default(),
            given_up: AtomicU64::new(0),
            activity,
            last_result: Mutex::new("No records processed".to_owned()),
        })
    }

    pub(crate) fn mapping(&self) -> &str {
        &self.mapping
    }

    /// Adds to a counter.
    pub(crate) fn count(&self, metric: Metric, records: usize) {
        if records > 0 {
            let records = records as u64;
            if let Some(counter) = self.counts.get(metric as usize) {
                counter.fetch_add(records, Ordering::Relaxed);
            }
            self.line(metric, records);
        }
    }

    /// Notes the age of the last record of a finished batch.
    pub(crate) fn age(&self, age: Duration) {
        let milliseconds = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        if let Some(counter) = self.counts.get(Metric::IteratorAge as usize) {
            counter.store(milliseconds, Ordering::Relaxed);
        }
        self.line(Metric::IteratorAge, milliseconds);
    }

    pub(crate) fn value(&self, metric: Metric) -> u64 {
        self.counts
            .get(metric as usize)
            .map_or(0, |counter| counter.load(Ordering::Relaxed))
    }

    /// Notes records that will not be delivered again.
    pub(crate) fn give_up(&self, records: usize) {
        self.given_up.fetch_add(records as u64, Ordering::Relaxed);
    }

    pub(crate) fn given_up(&self) -> u64 {
        self.given_up.load(Ordering::Relaxed)
    }

    /// AWS's `LastProcessingResult` (F-ESM-17).
    pub(crate) fn set_result(&self, result: &str) {
        let mut last = self
            .last_result
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if *last != result {
            result.clone_into(&mut last);
        }
    }

    pub(crate) fn result(&self) -> String {
        self.last_result
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Registers a part of the mapping, busy at first.
    pub(crate) fn part(self: &Arc<Self>) -> Part {
        let mut part = Part {
            meter: Arc::clone(self),
            busy: false,
        };
        part.set_busy(true);
        part
    }

    /// How long nothing was left to do.
    pub(crate) fn idle_for(&self) -> Option<Duration> {
        self.activity
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .idle_since
            .map(|since| since.elapsed())
    }

    fn line(&self, metric: Metric, value: u64) {
        if self.lines.0.is_some() {
            self.lines.write(&json!({ "name": metric.name(), "mapping": self.mapping, "value": value, "at": clock::now().rfc3339() }));
        }
    }
}

/// One part of a mapping that is busy or idle, such as a shard. It stops counting when it is dropped.
#[derive(Debug)]
pub(crate) struct Part {
    meter: Arc<Meter>,
    busy: bool,
}

impl Part {
    pub(crate) fn set_busy(&mut self, busy: bool) {
        if busy == self.busy {
            return;
        }
        self.busy = busy;
        let mut activity = self
            .meter
            .activity
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        activity.busy = if busy {
            activity.busy + 1
        } else {
            activity.busy.saturating_sub(1)
        };
        activity.idle_since = if activity.busy == 0 {
            Some(Instant::now())
        } else {
            None
        };
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.set_busy(false);
    }
}
