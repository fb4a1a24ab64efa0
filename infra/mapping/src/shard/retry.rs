//! How long to pause, when a record is too old, and where to cut.

use std::time::Duration;

use crate::clock::Millis;

use super::{Record, Rules};

/// The pause before a new suffix or half: 10 to 60 ms were seen (F-ESM-13). No promise of AWS.
pub(super) const PAUSE_BEFORE_NEW_BATCH: Duration = Duration::from_millis(10);

/// The pause before the first unchanged retry: 200 to 280 ms were seen, then 390 ms (F-ESM-13): it doubles.
const PAUSE_BEFORE_FIRST_RETRY: Duration = Duration::from_millis(200);

/// The longest pause. AWS names none; ten seconds keep a local outage short.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// A stream keeps its records for 24 hours, whatever the mapping asks for (F-STR-5, F-ESM-2).
const RETENTION: Duration = Duration::from_secs(24 * 3_600);

/// The pause after the n-th failure in a row of one batch.
pub(super) fn pause_after(failures: u32) -> Duration {
    let doubled =
        PAUSE_BEFORE_FIRST_RETRY.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)));
    doubled.min(LONGEST_PAUSE)
}

/// Whether the budget of unchanged retries is spent after this many calls.
pub(super) fn is_exhausted(calls: u32, rules: &Rules) -> bool {
    rules.max_retries.is_some_and(|retries| calls > retries)
}

/// Whether a record is too old to be delivered.
pub(super) fn is_expired(record: &Record, rules: &Rules, now: Millis) -> bool {
    let limit = rules.max_age.map_or(RETENTION, |age| age.min(RETENTION));
    record
        .arrived
        .is_some_and(|arrived| now.since(arrived) > limit)
}

/// Where a failed batch of two or more is cut: half, rounded down (F-ESM-10: 4 gives 2 + 2, 3 gives 1 + 2).
pub(super) fn split_at(count: usize) -> usize {
    count / 2
}
