//! The state machine of one shard: what to deliver next, what a verdict means, what to do on failure.
//!
//! Data in, data out: no IO, no clock, no randomness. Time comes in with every step, request ids are derived from a seed. The
//! runner's tasks and the deterministic simulators drive this same code. It does not know where records come from, who is
//! called, or how a document reaches its destination.
//!
//! The loop of a driver:
//!
//! 1. [`Shard::offer`] records in stream order (and [`Shard::skip`] those that the filter drops) while there is [`Shard::room`].
//! 2. Take [`Shard::next`] until it is `None`. An [`Action::Invoke`] is answered by [`Shard::resolve`], an [`Action::Discard`]
//!    by [`Shard::reported`], each with the lane it came from. Lanes run side by side.
//! 3. Store [`Shard::checkpoint`] whenever it moves. Everything up to it is finished for good.
//! 4. Come back at [`Shard::wake_at`], or when something happened.
//!
//! A **lane** is one of `ParallelizationFactor` sequences of batches; all records of one item share a lane, so the order of an
//! item is kept (F-ESM-4). A lane holds *fresh* records, not yet in a batch, and a stack of *units*: batches that are to be
//! called, the next one on top. A redelivered suffix and both halves of a split are units of their own and are never topped up
//! with fresh records. Start reading at `Lane::resolve` in `lane.rs`, which is the table of what a verdict does.

mod lane;
mod progress;
mod retry;

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use crate::clock::Millis;
use crate::response::Verdict;
use lane::Lane;
use progress::Progress;

/// The settings that the state machine honours. Ranges are checked by the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// `BatchSize`: the most records of one call.
    pub batch_size: usize,
    /// `MaximumBatchingWindowInSeconds`: how long an incomplete batch is held open.
    pub window: Duration,
    /// `ParallelizationFactor`.
    pub lanes: usize,
    /// `BisectBatchOnFunctionError`.
    pub bisect: bool,
    /// `MaximumRetryAttempts`; `None` is AWS's -1, until the records expire.
    pub max_retries: Option<u32>,
    /// `MaximumRecordAgeInSeconds`; `None` is AWS's -1. Retention ends a record in any case.
    pub max_age: Option<Duration>,
}

/// The most bytes of one call's event: Lambda's limit for a synchronous request (F-ESM-1, Lambda quotas page).
pub const EVENT_LIMIT_BYTES: usize = 6 * 1024 * 1024;

/// How many bytes of unfinished records a shard holds before it stops reading. It must exceed what all lanes need to fill a
/// batch each, or a window could never close.
const BUFFER_LIMIT_BYTES: usize = 2 * 10 * EVENT_LIMIT_BYTES;

/// One stream record as far as delivery is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its sequence number: the id that a response names.
    pub sequence: Arc<str>,
    /// A hash of the item's full key: equal keys keep their order.
    pub key: u64,
    /// When it was written (`ApproximateCreationDateTime`), if known. An unknown time never expires.
    pub arrived: Option<Millis>,
    /// The record as the function sees it, one JSON object.
    pub event: Arc<str>,
}

/// What a driver has to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Call the function with these records.
    Invoke(Call),
    /// These records are given up: report them, if there is a destination.
    Discard(Discarded),
}

/// One call of the function.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Whom to name in [`Shard::resolve`].
    pub lane: usize,
    /// The same over unchanged retries, new for a suffix or a half (F-ESM-12).
    pub request_id: Uuid,
    /// Which call of this batch it is, from 1.
    pub attempt: u32,
    /// The batch, in stream order.
    pub records: Arc<[Arc<Record>]>,
}

/// A batch that will not be delivered again.
#[derive(Debug, Clone, PartialEq)]
pub struct Discarded {
    /// Whom to name in [`Shard::reported`].
    pub lane: usize,
    /// The id of the batch's calls.
    pub request_id: Uuid,
    /// Why.
    pub condition: Condition,
    /// The calls of this very batch, at least 1 even if nothing was called (F-OFD-2, F-TRC-9).
    pub invoke_count: u32,
    /// How the last call ended; `None` if there was none (F-TRC-9).
    pub last_failure: Option<Failure>,
    /// The records, in stream order.
    pub records: Arc<[Arc<Record>]>,
}

/// Why a batch was given up (F-OFD-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// The budget of `MaximumRetryAttempts` is spent.
    RetryAttemptsExhausted,
    /// The records are older than `MaximumRecordAgeInSeconds`, or than the stream's retention.
    RecordAgeExceeded,
}

/// How a call failed, as far as an on-failure document tells (F-OFD-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The function raised, timed out or died: `functionError` is `Unhandled`.
    Unhandled,
    /// The function answered, and the answer asks for the batch again: `functionError` is null.
    Reported,
}

/// What one verdict did to its batch, for the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resolution {
    /// Records finished by it.
    pub done: usize,
    /// Records that failed: those from the checkpoint on.
    pub failed: usize,
    /// When the last finished record was written.
    pub last_arrived: Option<Millis>,
}

/// The state of one shard.
#[derive(Debug)]
pub struct Shard {
    rules: Rules,
    lanes: Vec<Lane>,
    progress: Progress,
    ids: Ids,
}

impl Shard {
    /// An empty shard. The seed makes its request ids unique.
    #[must_use]
    pub fn new(rules: Rules, seed: Uuid) -> Self {
        let lanes = (0..rules.lanes.max(1)).map(Lane::new).collect();
        Self {
            rules,
            lanes,
            progress: Progress::default(),
            ids: Ids { seed, minted: 0 },
        }
    }

    /// Takes in the next record of the stream.
    pub fn offer(&mut self, record: Record, now: Millis) {
        let ordinal = self
            .progress
            .begin(Arc::clone(&record.sequence), record.event.len());
        let lanes = u64::try_from(self.lanes.len()).unwrap_or(1);
        let at = usize::try_from(record.key.checked_rem(lanes).unwrap_or(0)).unwrap_or(0);
        if let Some(lane) = self.lanes.get_mut(at) {
            lane.push(ordinal, Arc::new(record), now);
        }
    }

    /// Takes in a record that the filter drops: it is finished, for ever (F-ESM-14).
    pub fn skip(&mut self, sequence: Arc<str>) {
        let ordinal = self.progress.begin(sequence, 0);
        self.progress.finish(ordinal);
    }

    /// Whether more records may be offered. One lane that is stuck lets the others go on until this says no.
    #[must_use]
    pub fn room(&self) -> bool {
        let most = self
            .rules
            .batch_size
            .saturating_mul(self.lanes.len())
            .saturating_mul(2)
            .max(2_000);
        self.progress.unfinished() < most && self.progress.bytes() < BUFFER_LIMIT_BYTES
    }

    /// The next thing to do, if there is any now.
    pub fn next(&mut self, now: Millis) -> Option<Action> {
        self.lanes
            .iter_mut()
            .find_map(|lane| lane.next(&self.rules, &mut self.ids, now))
    }

    /// Says how the running call of a lane ended. A lane without one is left alone.
    pub fn resolve(&mut self, lane: usize, verdict: Verdict, now: Millis) -> Resolution {
        let Some(lane) = self.lanes.get_mut(lane) else {
            return Resolution::default();
        };
        lane.resolve(verdict, &self.rules, &mut self.ids, &mut self.progress, now)
    }

    /// Says that the discarded batch of a lane is dealt with: delivered to the destination, or dropped.
    pub fn reported(&mut self, lane: usize) {
        if let Some(lane) = self.lanes.get_mut(lane) {
            lane.reported(&mut self.progress);
        }
    }

    /// The last record of the stream up to which everything is finished, if any is.
    #[must_use]
    pub fn checkpoint(&self) -> Option<&Arc<str>> {
        self.progress.checkpoint()
    }

    /// When [`Shard::next`] may have something to do although nothing happens until then.
    #[must_use]
    pub fn wake_at(&self) -> Option<Millis> {
        self.lanes
            .iter()
            .filter_map(|lane| lane.wake_at(&self.rules))
            .min()
    }

    /// Whether every record offered so far is finished.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.progress.unfinished() == 0
    }
}

/// Derives request ids from the shard's seed.
#[derive(Debug)]
struct Ids {
    seed: Uuid,
    minted: u64,
}

impl Ids {
    fn mint(&mut self) -> Uuid {
        self.minted = self.minted.wrapping_add(1);
        Uuid::new_v5(&self.seed, &self.minted.to_be_bytes())
    }
}
