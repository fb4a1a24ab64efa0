//! One lane of a shard: one batch after another.

use std::collections::VecDeque;
use std::sync::Arc;

use uuid::Uuid;

use super::progress::Progress;
use super::retry::{PAUSE_BEFORE_NEW_BATCH, is_exhausted, is_expired, pause_after, split_at};
use super::{
    Action, Call, Condition, Discarded, EVENT_LIMIT_BYTES, Failure, Ids, Record, Resolution, Rules,
};
use crate::clock::Millis;
use crate::response::Verdict;

/// `{"Records":[` and `]}`.
const ENVELOPE_BYTES: usize = 14;

#[derive(Debug)]
pub(super) struct Lane {
    index: usize,
    fresh: VecDeque<Fresh>,
    fresh_bytes: usize,
    /// What is to be called next stands on top, at the end.
    units: Vec<Unit>,
    busy: Option<Busy>,
}

/// A record that is in no batch yet.
#[derive(Debug)]
struct Fresh {
    ordinal: u64,
    record: Arc<Record>,
    offered: Millis,
}

/// One batch with its own budget and request id.
#[derive(Debug)]
struct Unit {
    ordinals: Vec<u64>,
    records: Arc<[Arc<Record>]>,
    request_id: Uuid,
    /// Calls that reached the function.
    calls: u32,
    /// Failures in a row, calls that never reached the function included: they set the pause, not the budget (F-ESM-3).
    failures: u32,
    last_failure: Option<Failure>,
    not_before: Millis,
}

/// What the lane waits for.
#[derive(Debug)]
enum Busy {
    Calling(Unit),
    Reporting(Unit),
}

impl Lane {
    pub(super) fn new(index: usize) -> Self {
        Self {
            index,
            fresh: VecDeque::new(),
            fresh_bytes: 0,
            units: Vec::new(),
            busy: None,
        }
    }

    pub(super) fn push(&mut self, ordinal: u64, record: Arc<Record>, now: Millis) {
        self.fresh_bytes += size(&record);
        self.fresh.push_back(Fresh {
            ordinal,
            record,
            offered: now,
        });
    }

    pub(super) fn next(&mut self, rules: &Rules, ids: &mut Ids, now: Millis) -> Option<Action> {
        if self.busy.is_some() {
            return None;
        }
        let unit = match self.units.pop_if(|unit| unit.not_before <= now) {
            Some(unit) => unit,
            // Fresh records wait behind the units: order is kept, and nothing is topped up.
            None if self.units.is_empty() && self.window_is_over(rules, now) => {
                self.take_batch(rules, ids, now)?
            }
            None => return None,
        };
        if is_exhausted(unit.calls, rules) {
            return Some(self.discard(unit, Condition::RetryAttemptsExhausted));
        }
        let expired = unit
            .records
            .iter()
            .take_while(|record| is_expired(record, rules, now))
            .count();
        if expired == 0 {
            Some(self.call(unit))
        } else {
            Some(self.discard_expired(unit, expired, ids, now))
        }
    }

    /// What a verdict does to the batch that was called:
    ///
    /// | verdict | the batch |
    /// |---|---|
    /// | done | is finished |
    /// | fails from record i > 0 | up to i is finished; the rest is a new batch with a fresh budget (F-ESM-7, F-ESM-8) |
    /// | fails from record 0, or as a whole | bisect and two or more: two new batches, the left one first (F-ESM-9); otherwise it is kept unchanged until its budget is spent (F-ESM-11) |
    /// | never reached the function | is kept unchanged, and the budget with it (F-ESM-3) |
    pub(super) fn resolve(
        &mut self,
        verdict: Verdict,
        rules: &Rules,
        ids: &mut Ids,
        progress: &mut Progress,
        now: Millis,
    ) -> Resolution {
        let mut unit = match self.busy.take() {
            Some(Busy::Calling(unit)) => unit,
            other @ (Some(Busy::Reporting(_)) | None) => {
                self.busy = other;
                return Resolution::default();
            }
        };
        let count = unit.records.len();
        let failure = match verdict {
            Verdict::Done => return unit.finish(progress),
            Verdict::NotInvoked => {
                unit.failures = unit.failures.saturating_add(1);
                unit.not_before = now.after(pause_after(unit.failures));
                self.units.push(unit);
                return Resolution {
                    failed: count,
                    ..Resolution::default()
                };
            }
            Verdict::FailedFrom(index) if index > 0 && index < count => {
                let (head, tail) = unit.cut(index, ids, now);
                self.units.push(tail);
                return Resolution {
                    failed: count - index,
                    ..head.finish(progress)
                };
            }
            Verdict::FailedFrom(_) | Verdict::FailedWhole => Failure::Reported,
            Verdict::Unhandled => Failure::Unhandled,
        };
        unit.calls = unit.calls.saturating_add(1);
        unit.failures = unit.failures.saturating_add(1);
        unit.last_failure = Some(failure);
        if rules.bisect && count > 1 {
            let (left, right) = unit.cut(split_at(count), ids, now);
            let left = Unit::new(
                left.ordinals,
                left.records,
                ids,
                now.after(PAUSE_BEFORE_NEW_BATCH),
            );
            self.units.push(right);
            self.units.push(left);
        } else {
            unit.not_before = if is_exhausted(unit.calls, rules) {
                now
            } else {
                now.after(pause_after(unit.failures))
            };
            self.units.push(unit);
        }
        Resolution {
            failed: count,
            ..Resolution::default()
        }
    }

    pub(super) fn reported(&mut self, progress: &mut Progress) {
        match self.busy.take() {
            Some(Busy::Reporting(unit)) => {
                unit.finish(progress);
            }
            other @ (Some(Busy::Calling(_)) | None) => self.busy = other,
        }
    }

    pub(super) fn wake_at(&self, rules: &Rules) -> Option<Millis> {
        if self.busy.is_some() {
            return None;
        }
        match (self.units.last(), self.fresh.front()) {
            (Some(unit), _) => Some(unit.not_before),
            (None, Some(_)) if self.is_full(rules) => Some(Millis(0)),
            (None, Some(first)) => Some(first.offered.after(rules.window)),
            (None, None) => None,
        }
    }

    fn call(&mut self, unit: Unit) -> Action {
        let call = Call {
            lane: self.index,
            request_id: unit.request_id,
            attempt: unit.calls.saturating_add(1),
            records: Arc::clone(&unit.records),
        };
        self.busy = Some(Busy::Calling(unit));
        Action::Invoke(call)
    }

    fn discard(&mut self, unit: Unit, condition: Condition) -> Action {
        let discarded = Discarded {
            lane: self.index,
            request_id: unit.request_id,
            condition,
            invoke_count: unit.calls.max(1),
            last_failure: unit.last_failure,
            records: Arc::clone(&unit.records),
        };
        self.busy = Some(Busy::Reporting(unit));
        Action::Discard(discarded)
    }

    /// Gives up the records at the head that are too old; what is younger goes on as a batch of its own.
    fn discard_expired(
        &mut self,
        unit: Unit,
        expired: usize,
        ids: &mut Ids,
        now: Millis,
    ) -> Action {
        if expired < unit.records.len() {
            let (head, tail) = unit.cut(expired, ids, now);
            self.units.push(tail);
            self.discard(head, Condition::RecordAgeExceeded)
        } else {
            self.discard(unit, Condition::RecordAgeExceeded)
        }
    }

    fn is_full(&self, rules: &Rules) -> bool {
        self.fresh.len() >= rules.batch_size
            || self.fresh_bytes + ENVELOPE_BYTES >= EVENT_LIMIT_BYTES
    }

    fn window_is_over(&self, rules: &Rules, now: Millis) -> bool {
        self.is_full(rules)
            || self
                .fresh
                .front()
                .is_some_and(|first| first.offered.after(rules.window) <= now)
    }

    fn take_batch(&mut self, rules: &Rules, ids: &mut Ids, now: Millis) -> Option<Unit> {
        let mut ordinals = Vec::new();
        let mut records: Vec<Arc<Record>> = Vec::new();
        let mut bytes = ENVELOPE_BYTES;
        while records.len() < rules.batch_size {
            // One record always fits: it is far below the limit (400 KB an item, two images).
            let Some(fresh) = self.fresh.pop_front_if(|next| {
                records.is_empty() || bytes + size(&next.record) <= EVENT_LIMIT_BYTES
            }) else {
                break;
            };
            bytes += size(&fresh.record);
            self.fresh_bytes -= size(&fresh.record);
            ordinals.push(fresh.ordinal);
            records.push(fresh.record);
        }
        if records.is_empty() {
            None
        } else {
            Some(Unit::new(ordinals, records.into(), ids, now))
        }
    }
}

impl Unit {
    fn new(
        ordinals: Vec<u64>,
        records: Arc<[Arc<Record>]>,
        ids: &mut Ids,
        not_before: Millis,
    ) -> Self {
        Self {
            ordinals,
            records,
            request_id: ids.mint(),
            calls: 0,
            failures: 0,
            last_failure: None,
            not_before,
        }
    }

    /// The first `at` records as they are, and the others as a new batch.
    fn cut(mut self, at: usize, ids: &mut Ids, now: Millis) -> (Self, Self) {
        let tail_ordinals = self.ordinals.split_off(at.min(self.ordinals.len()));
        let tail_records: Arc<[_]> = self.records.iter().skip(at).cloned().collect();
        let head_records: Arc<[_]> = self.records.iter().take(at).cloned().collect();
        self.records = head_records;
        (
            self,
            Self::new(
                tail_ordinals,
                tail_records,
                ids,
                now.after(PAUSE_BEFORE_NEW_BATCH),
            ),
        )
    }

    fn finish(self, progress: &mut Progress) -> Resolution {
        for ordinal in &self.ordinals {
            progress.finish(*ordinal);
        }
        Resolution {
            done: self.records.len(),
            failed: 0,
            last_arrived: self.records.last().and_then(|record| record.arrived),
        }
    }
}

/// A record's share of the event, its comma included.
fn size(record: &Record) -> usize {
    record.event.len() + 1
}
