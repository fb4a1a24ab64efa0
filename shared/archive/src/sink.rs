//! The writer of rows: cut into calls within Firehose's limits, only failed rows sent again, nothing acknowledged that was not taken.
//!
//! It refuses to know what a row means, and what becomes of a row that Firehose did not take: the caller defers it. Firehose may take a row
//! and lose the answer, so a row can be written twice (F-FH-2, F-FH-5); the view shows it once.

use crate::row::Row;
use crate::target::{PutError, Target};
use backon::{BackoffBuilder as _, ExponentialBuilder};
use sagaline_stream::{Budget, chain};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// A record, its line feed included (F-FH-1: 1,000 KiB, before base64).
pub const MAX_RECORD_BYTES: usize = 1_024_000;
/// The records of one `PutRecordBatch` (F-FH-1).
pub const MAX_CALL_RECORDS: usize = 500;
/// The bytes of one `PutRecordBatch` (F-FH-1: 4 MiB).
pub const MAX_CALL_BYTES: usize = 4 * 1024 * 1024;

/// What became of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SinkVerdict {
    /// Firehose has it, or it is kept beside the archive's files as a row too large for Firehose.
    Done,
    /// Not taken, for this reason: to be tried again later. It may have been written.
    Retry(String),
}

/// How patient the writer is.
#[derive(Debug, Clone)]
pub struct Patience {
    /// How often failed rows are sent again within one write.
    pub retries: usize,
    /// The pause before the first of them, doubled each time, with jitter.
    pub first_pause: Duration,
    /// The longest pause.
    pub longest_pause: Duration,
    /// The most time a write takes. It also leaves a quarter of the budget to the caller, for deferring what is left.
    pub longest_write: Duration,
}

impl Default for Patience {
    /// Five retries within 20 s.
    fn default() -> Self {
        let ms = Duration::from_millis;
        Self {
            retries: 5,
            first_pause: ms(100),
            longest_pause: ms(2_000),
            longest_write: ms(20_000),
        }
    }
}

/// The archive's writer.
#[derive(Debug)]
pub struct ArchiveSink<T> {
    target: T,
    patience: Patience,
}

impl<T: Target> ArchiveSink<T> {
    /// A writer to that target.
    pub fn new(target: T) -> Self {
        Self::with_patience(target, Patience::default())
    }

    /// A writer with another patience.
    pub fn with_patience(target: T, patience: Patience) -> Self {
        Self { target, patience }
    }

    /// Writes rows; the verdicts are in their order. It ends before the budget does.
    pub async fn write(&self, rows: Vec<Row>, budget: &Budget) -> Vec<SinkVerdict> {
        let time = (budget.remaining() * 3 / 4).min(self.patience.longest_write);
        let deadline = Instant::now() + time;
        let mut verdicts = vec![SinkVerdict::Done; rows.len()];
        let mut lines = Vec::with_capacity(rows.len());
        for (place, row) in rows.iter().enumerate() {
            let line = row.to_line();
            if line.len() <= MAX_RECORD_BYTES {
                lines.push(Line { place, text: line });
            } else if let Err(reason) = self.keep_beside(row, line, deadline).await {
                set(&mut verdicts, place, SinkVerdict::Retry(reason));
            }
        }
        for (line, reason) in self.deliver(lines, deadline).await {
            set(&mut verdicts, line.place, SinkVerdict::Retry(reason));
        }
        verdicts
    }

    /// A row that no call would take goes into the bucket by itself.
    async fn keep_beside(&self, row: &Row, line: String, deadline: Instant) -> Result<(), String> {
        if Instant::now() >= deadline {
            return Err("no time was left to keep the oversize row".to_owned());
        }
        let key = row.oversize_key();
        tracing::info!(
            order_id = row.order_id,
            version = row.version,
            bytes = line.len(),
            key,
            "row too large for Firehose"
        );
        match timeout_at(deadline, self.target.put_object(&key, line.into_bytes())).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("the oversize row was not kept: {}", chain(&*error))),
            Err(_) => Err("the oversize row was not kept in time".to_owned()),
        }
    }

    /// Sends lines until all are taken or the patience ends; returns what was not taken, and why.
    async fn deliver(&self, lines: Vec<Line>, deadline: Instant) -> Vec<(Line, String)> {
        let mut pauses = ExponentialBuilder::new()
            .with_min_delay(self.patience.first_pause)
            .with_max_delay(self.patience.longest_pause)
            .with_max_times(self.patience.retries)
            .with_jitter()
            .build();
        let mut calls = cut(lines);
        loop {
            let mut failed: Vec<(Line, String)> = Vec::new();
            while let Some(call) = calls.pop() {
                match self.call(&call, deadline).await {
                    Called::Answered(errors) => {
                        let pairs = call.into_iter().zip(errors);
                        failed.extend(pairs.filter_map(|(line, error)| Some((line, error?))));
                    }
                    // One row may spoil the call for the others: halves find it.
                    Called::Refused(_) if call.len() > 1 => calls.extend(halves(call)),
                    Called::Refused(reason) | Called::Unknown(reason) => {
                        failed.extend(call.into_iter().map(|line| (line, reason.clone())));
                    }
                }
            }
            if failed.is_empty() {
                return failed;
            }
            let Some(pause) = pauses
                .next()
                .filter(|pause| Instant::now() + *pause < deadline)
            else {
                tracing::warn!(
                    rows = failed.len(),
                    reason = failed.first().map(|(_, reason)| reason),
                    "rows not archived"
                );
                return failed;
            };
            wait(pause).await;
            failed.sort_by_key(|(line, _)| line.place);
            calls = cut(failed.into_iter().map(|(line, _)| line).collect());
        }
    }

    async fn call(&self, call: &[Line], deadline: Instant) -> Called {
        if Instant::now() >= deadline {
            return Called::Unknown("no time was left to ask Firehose".to_owned());
        }
        let texts: Vec<&str> = call.iter().map(|line| line.text.as_str()).collect();
        match timeout_at(deadline, self.target.put_batch(&texts)).await {
            Ok(Ok(errors)) if errors.len() == call.len() => Called::Answered(errors),
            Ok(Ok(errors)) => Called::Unknown(format!(
                "Firehose gave {} answers to {} rows",
                errors.len(),
                call.len()
            )),
            Ok(Err(PutError::Refused(error))) => {
                Called::Refused(format!("Firehose refused the call: {}", chain(&*error)))
            }
            Ok(Err(PutError::Failed(error))) => Called::Unknown(format!(
                "Firehose did not take the call: {}",
                chain(&*error)
            )),
            Err(_) => Called::Unknown("Firehose did not answer in time".to_owned()),
        }
    }
}

/// A row on its way.
#[derive(Debug)]
struct Line {
    /// The row's place in the write.
    place: usize,
    text: String,
}

#[derive(Debug)]
enum Called {
    /// For each row `None`, or why it was not taken.
    Answered(Vec<Option<String>>),
    /// Nothing of the call was taken, because of what is in it.
    Refused(String),
    /// Any part of the call may have been taken.
    Unknown(String),
}

/// Cuts lines into calls within the limits, checked with the next line; the last call first, to be popped.
fn cut(lines: Vec<Line>) -> Vec<Vec<Line>> {
    let mut calls: Vec<Vec<Line>> = Vec::new();
    let mut bytes = 0;
    for line in lines {
        match calls.last_mut() {
            Some(call)
                if call.len() < MAX_CALL_RECORDS && bytes + line.text.len() <= MAX_CALL_BYTES =>
            {
                bytes += line.text.len();
                call.push(line);
            }
            Some(_) | None => {
                bytes = line.text.len();
                calls.push(vec![line]);
            }
        }
    }
    calls.reverse();
    calls
}

/// The second half first, to be popped.
fn halves(mut call: Vec<Line>) -> [Vec<Line>; 2] {
    let second = call.split_off(call.len() / 2);
    [second, call]
}

fn set(verdicts: &mut [SinkVerdict], place: usize, verdict: SinkVerdict) {
    if let Some(slot) = verdicts.get_mut(place) {
        *slot = verdict;
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one pause between two attempts: counted, jittered, and bounded by the deadline"
)]
async fn wait(pause: Duration) {
    tokio::time::sleep(pause).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(sizes: &[usize]) -> Vec<Line> {
        sizes
            .iter()
            .enumerate()
            .map(|(place, bytes)| Line {
                place,
                text: "x".repeat(*bytes),
            })
            .collect()
    }

    #[test]
    fn calls_are_cut_before_the_line_that_would_pass_a_limit() {
        let cut_sizes = |sizes: &[usize]| {
            cut(lines(sizes))
                .iter()
                .rev()
                .map(Vec::len)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            cut_sizes(&[10; MAX_CALL_RECORDS + 1]),
            [MAX_CALL_RECORDS, 1]
        );
        assert_eq!(
            cut_sizes(&[MAX_RECORD_BYTES; 5]),
            [4, 1],
            "five times 1,024,000 are more than 4 MiB"
        );
        let rest = MAX_CALL_BYTES - 4 * MAX_RECORD_BYTES;
        assert_eq!(
            cut_sizes(&[
                MAX_RECORD_BYTES,
                MAX_RECORD_BYTES,
                MAX_RECORD_BYTES,
                MAX_RECORD_BYTES,
                rest
            ]),
            [5]
        );
        assert_eq!(
            cut_sizes(&[
                MAX_RECORD_BYTES,
                MAX_RECORD_BYTES,
                MAX_RECORD_BYTES,
                MAX_RECORD_BYTES,
                rest + 1
            ]),
            [4, 1]
        );
        assert!(cut_sizes(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn any_lines_are_cut_within_the_limits_and_none_is_lost(sizes in proptest::collection::vec(1..=MAX_RECORD_BYTES, 0..40)) {
            let mut calls = cut(lines(&sizes));
            calls.reverse();
            prop_assert!(calls.iter().flatten().map(|line| line.place).eq(0..sizes.len()));
            for call in calls {
                prop_assert!((1..=MAX_CALL_RECORDS).contains(&call.len()));
                prop_assert!(call.iter().map(|line| line.text.len()).sum::<usize>() <= MAX_CALL_BYTES);
            }
        }
    }
}
