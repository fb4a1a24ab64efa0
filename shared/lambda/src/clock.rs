//! The wall clock, read at the edge of a process and nowhere else. Everything inside takes time as a value.

use sagaline_order::Timestamp;
use sagaline_stream::EpochMillis;

/// The present, for the domain.
#[must_use]
pub fn now() -> Timestamp {
    // A clock outside the years -9999 to 9999 does not exist; the fallback keeps the function total.
    Timestamp::from_millis(now_millis().as_millis()).unwrap_or_else(epoch)
}

/// The present, for the batch engine.
#[must_use]
pub fn now_millis() -> EpochMillis {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the processor's edge: the one place that asks the clock"
    )]
    let now = jiff::Timestamp::now();
    EpochMillis::new(now.as_millisecond())
}

fn epoch() -> Timestamp {
    Timestamp::from_millis(0).unwrap_or_else(epoch)
}
