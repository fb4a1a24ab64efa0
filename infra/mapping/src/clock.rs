//! Points in time as values, in one unit.
//!
//! The state machines take a [`Millis`] with every step and never ask for one. Only the tasks that drive them read the system clock.

use std::time::Duration;

/// Milliseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Millis(pub u64);

impl Millis {
    /// The time `wait` later.
    #[must_use]
    pub fn after(self, wait: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
        )
    }

    /// How long ago `earlier` was, zero when it lies ahead.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// The same point in time for formatting.
    #[must_use]
    pub fn timestamp(self) -> jiff::Timestamp {
        i64::try_from(self.0)
            .ok()
            .and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok())
            .unwrap_or(jiff::Timestamp::MAX)
    }

    /// RFC 3339 UTC with milliseconds, as AWS writes the time of an on-failure document.
    #[must_use]
    pub fn rfc3339(self) -> String {
        format!("{:.3}", self.timestamp())
    }
}

/// The wall clock, for the tasks at the edge.
#[must_use]
pub(crate) fn now() -> Millis {
    #[expect(
        clippy::disallowed_methods,
        reason = "the runner is a process edge: here the time becomes a value"
    )]
    let now = std::time::SystemTime::now();
    let since = now
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    Millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// A fresh random id, for the tasks at the edge.
#[must_use]
pub(crate) fn fresh_id() -> uuid::Uuid {
    #[expect(
        clippy::disallowed_methods,
        reason = "AWS mints these ids (request, event, object) at random; nothing is derived from them"
    )]
    uuid::Uuid::new_v4()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_with_three_decimals() {
        assert_eq!(
            Millis(1_764_500_000_250).rfc3339(),
            "2025-11-30T10:53:20.250Z"
        );
        assert_eq!(
            Millis(1_764_500_000_000).rfc3339(),
            "2025-11-30T10:53:20.000Z"
        );
    }
}
