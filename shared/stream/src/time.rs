//! Time as a value. The engine never reads a wall clock: the caller says when the invocation began, and the rest is counted from there.

use crate::number::Decimal;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// A point in time, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EpochMillis(i64);

impl EpochMillis {
    /// From a count of milliseconds.
    #[must_use]
    pub const fn new(milliseconds: i64) -> Self {
        Self(milliseconds)
    }

    /// The count of milliseconds.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// How long before `self` the `earlier` moment was; zero when it was not earlier.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// This moment plus `length`.
    #[must_use]
    pub fn after(self, length: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(length.as_millis()).unwrap_or(i64::MAX)),
        )
    }

    /// The time to live of what is to be kept for `length` from this moment on; `None` when it ends outside of what DynamoDB takes.
    #[must_use]
    pub fn expiry_after(self, length: Duration) -> Option<EpochSeconds> {
        EpochSeconds::new(self.after(length).0.div_euclid(1_000))
    }
}

/// A time to live as DynamoDB wants it: seconds since 1970-01-01T00:00:00Z. It ignores any other unit (F-TTL-1), so this type refuses it.
///
/// ```
/// # use sagaline_stream::EpochSeconds;
/// assert!(EpochSeconds::new(1_764_500_000).is_some());
/// assert_eq!(EpochSeconds::new(1_764_500_000_000), None, "these are milliseconds");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct EpochSeconds(i64);

impl EpochSeconds {
    /// The last second of the year 2286. A value in milliseconds lies far above it.
    const LAST: i64 = 9_999_999_999;

    /// `None` if the number cannot be seconds: negative, or so large that it must be milliseconds.
    #[must_use]
    pub const fn new(seconds: i64) -> Option<Self> {
        if seconds >= 0 && seconds <= Self::LAST {
            Some(Self(seconds))
        } else {
            None
        }
    }

    /// The count of seconds.
    #[must_use]
    pub const fn as_seconds(self) -> i64 {
        self.0
    }
}

/// RFC 3339 in UTC with milliseconds: `2026-01-31T08:30:00.000Z`; a moment outside the calendar's years as its count of milliseconds.
impl fmt::Display for EpochMillis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => write!(f, "{}", time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ")),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}

/// Below this, in any unit, a time is not one a stream can carry: 2001-09-09. It keeps a missing time from becoming 1970.
const EARLIEST_MS: i128 = 1_000_000_000_000;
/// Above this a count of milliseconds is none: year 5138.
const LATEST_MS: i128 = 100_000_000_000_000;

/// Reads `ApproximateCreationDateTime`: seconds as integer, float or exponent, milliseconds or microseconds (F-STR-13: a stream sends
/// seconds as a float, Kinesis Data Streams for DynamoDB ms or µs and names its unit in `ApproximateCreationDateTimePrecision`).
///
/// The named unit is taken if it leads to a possible time, else the only unit that does. `None` is "unknown".
pub(crate) fn creation_time(text: &str, precision: Option<&str>) -> Option<EpochMillis> {
    let Some(number) = Decimal::parse(text) else {
        return text
            .parse::<jiff::Timestamp>()
            .ok()
            .map(|time| EpochMillis(time.as_millisecond()));
    };
    let thousandths = number.thousandfold()?;
    let seconds = thousandths;
    let milliseconds = thousandths / 1_000;
    let microseconds = thousandths / 1_000_000;
    let named = match precision {
        Some("SECOND") => Some(seconds),
        Some("MILLISECOND") => Some(milliseconds),
        Some("MICROSECOND") => Some(microseconds),
        _ => None,
    };
    named
        .into_iter()
        .chain([seconds, milliseconds, microseconds])
        .find(|candidate| (EARLIEST_MS..LATEST_MS).contains(candidate))
        .and_then(|found| i64::try_from(found).ok())
        .map(EpochMillis)
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-10
    #[test]
    fn a_time_in_any_unit_and_form_is_the_same_moment() {
        #[track_caller]
        fn check(text: &str, precision: Option<&str>, expected: Option<&str>) {
            assert_eq!(
                creation_time(text, precision)
                    .map(|t| t.to_string())
                    .as_deref(),
                expected,
                "{text}"
            );
        }
        check("1764500000", None, Some("2025-11-30T10:53:20.000Z"));
        check("1764500000.0", None, Some("2025-11-30T10:53:20.000Z"));
        check("1.7645E9", None, Some("2025-11-30T10:53:20.000Z"));
        check("1764500000.25", None, Some("2025-11-30T10:53:20.250Z"));
        check("1764500000250", None, Some("2025-11-30T10:53:20.250Z"));
        check(
            "1764500000250",
            Some("MILLISECOND"),
            Some("2025-11-30T10:53:20.250Z"),
        );
        check("1764500000250125", None, Some("2025-11-30T10:53:20.250Z"));
        check(
            "1764500000250125",
            Some("MICROSECOND"),
            Some("2025-11-30T10:53:20.250Z"),
        );
        check(
            "1764500000",
            Some("MICROSECOND"),
            Some("2025-11-30T10:53:20.000Z"),
        );
        check(
            "2025-11-30T10:53:20Z",
            None,
            Some("2025-11-30T10:53:20.000Z"),
        );
        check("0", None, None);
        check("-5", None, None);
        check("12", Some("MILLISECOND"), None);
        // A named unit that leads nowhere is not believed, whichever it is.
        check(
            "1764500000250",
            Some("MICROSECOND"),
            Some("2025-11-30T10:53:20.250Z"),
        );
        check(
            "1764500000250125",
            Some("SECOND"),
            Some("2025-11-30T10:53:20.250Z"),
        );
        check(
            "1.764500000250125E15",
            Some("MICROSECOND"),
            Some("2025-11-30T10:53:20.250Z"),
        );
        check("soon", None, None);
        check("1E120", None, None);
        check("1E-120", None, None);
    }

    #[test]
    fn a_moment_outside_the_calendar_is_not_shown_as_another() {
        assert_eq!(
            EpochMillis(i64::MAX).to_string(),
            format!("{} ms", i64::MAX)
        );
    }
}
