//! Drives the pure state machine of a shard with a scripted function, in no time at all.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sagaline_mapping::clock::Millis;
use sagaline_mapping::response::{FunctionError, FunctionErrorKind, Outcome, stream_verdict};
use sagaline_mapping::shard::{Action, Discarded, Record, Rules, Shard};
use serde_json::json;
use uuid::Uuid;

/// The start of every simulation.
pub(crate) const START: Millis = Millis(1_764_500_000_000);

/// AWS's defaults with small batches.
pub(crate) fn rules() -> Rules {
    Rules {
        batch_size: 100,
        window: Duration::ZERO,
        lanes: 1,
        bisect: false,
        max_retries: None,
        max_age: None,
    }
}

/// A record of the item `key`, written at the start.
pub(crate) fn record(sequence: &str, key: u64) -> Record {
    let event = json!({ "dynamodb": { "SequenceNumber": sequence } }).to_string();
    Record {
        sequence: sequence.into(),
        key,
        arrived: Some(START),
        event: event.into(),
    }
}

/// The answer of a function that names these records.
pub(crate) fn names(sequences: &[&str]) -> Outcome {
    let failures: Vec<_> = sequences
        .iter()
        .map(|sequence| json!({ "itemIdentifier": sequence }))
        .collect();
    answer(&json!({ "batchItemFailures": failures }).to_string())
}

/// An answer with this body.
pub(crate) fn answer(body: &str) -> Outcome {
    Outcome::Answered(Bytes::copy_from_slice(body.as_bytes()))
}

/// The end of a function that raised an error.
pub(crate) fn raises() -> Outcome {
    Outcome::Failed(FunctionError {
        kind: FunctionErrorKind::Error,
        message: "raised".into(),
    })
}

/// One call that was made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    pub(crate) at: Millis,
    pub(crate) request_id: Uuid,
    pub(crate) attempt: u32,
    pub(crate) sequences: Vec<String>,
}

/// A shard, a clock, and what happened.
pub(crate) struct Simulation {
    pub(crate) shard: Shard,
    pub(crate) now: Millis,
    pub(crate) reports: bool,
    pub(crate) calls: Vec<Seen>,
    pub(crate) discarded: Vec<Discarded>,
}

impl Simulation {
    pub(crate) fn new(rules: Rules, reports: bool) -> Self {
        Self {
            shard: Shard::new(rules, Uuid::from_u128(1)),
            now: START,
            reports,
            calls: Vec::new(),
            discarded: Vec::new(),
        }
    }

    /// Offers records of one item.
    pub(crate) fn offer(&mut self, sequences: &[&str]) {
        for sequence in sequences {
            self.shard.offer(record(sequence, 1), self.now);
        }
    }

    /// Runs until nothing is left to do, however long that takes.
    pub(crate) fn run(&mut self, mut function: impl FnMut(&[&str]) -> Outcome) {
        loop {
            while let Some(action) = self.shard.next(self.now) {
                self.act(action, &mut function);
            }
            match self.shard.wake_at() {
                Some(at) if at > self.now => self.now = at,
                Some(_) | None => return,
            }
        }
    }

    fn act(&mut self, action: Action, function: &mut impl FnMut(&[&str]) -> Outcome) {
        match action {
            Action::Invoke(call) => {
                let sequences: Vec<&str> = call
                    .records
                    .iter()
                    .map(|record| &*record.sequence)
                    .collect();
                self.calls.push(Seen {
                    at: self.now,
                    request_id: call.request_id,
                    attempt: call.attempt,
                    sequences: sequences.iter().map(ToString::to_string).collect(),
                });
                let verdict = stream_verdict(&function(&sequences), self.reports, &sequences);
                self.shard.resolve(call.lane, verdict, self.now);
            }
            Action::Discard(discarded) => {
                self.shard.reported(discarded.lane);
                self.discarded.push(discarded);
            }
        }
    }

    /// The calls in the notation of the traces: a letter for each request id, then the records.
    pub(crate) fn trace(&self) -> String {
        let mut ids: Vec<Uuid> = Vec::new();
        let call = |seen: &Seen| {
            let at = ids
                .iter()
                .position(|id| *id == seen.request_id)
                .unwrap_or_else(|| {
                    ids.push(seen.request_id);
                    ids.len() - 1
                });
            let letter = char::from(b'A' + u8::try_from(at).unwrap());
            format!("{letter}[{}]", seen.sequences.join(","))
        };
        self.calls.iter().map(call).collect::<Vec<_>>().join(" ")
    }

    /// The discarded batches: records, condition, calls, last failure.
    pub(crate) fn documents(&self) -> Vec<String> {
        let sequences = |discarded: &Discarded| {
            discarded
                .records
                .iter()
                .map(|record| record.sequence.to_string())
                .collect::<Vec<_>>()
                .join(",")
        };
        self.discarded
            .iter()
            .map(|discarded| {
                format!(
                    "[{}] {:?} {} {:?}",
                    sequences(discarded),
                    discarded.condition,
                    discarded.invoke_count,
                    discarded.last_failure
                )
            })
            .collect()
    }

    pub(crate) fn checkpoint(&self) -> Option<&str> {
        self.shard
            .checkpoint()
            .map(|sequence: &Arc<str>| &**sequence)
    }

    /// How often a record was delivered.
    pub(crate) fn deliveries(&self, sequence: &str) -> usize {
        self.calls
            .iter()
            .filter(|seen| seen.sequences.iter().any(|other| other == sequence))
            .count()
    }
}
