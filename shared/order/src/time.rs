//! Points in time and lengths of time. One unit a type: milliseconds and seconds never meet as bare numbers.

use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A point in time, whole milliseconds UTC.
///
/// Time always comes in as a value; nothing in this crate asks a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From milliseconds since 1970-01-01 UTC; `None` outside the years -9999 to 9999.
    #[must_use]
    pub fn from_millis(millis: i64) -> Option<Self> {
        jiff::Timestamp::from_millisecond(millis)
            .ok()
            .map(|_| Self(millis))
    }

    /// From RFC 3339 text, cut to milliseconds.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let parsed: jiff::Timestamp = text.parse().ok()?;
        Self::from_millis(parsed.as_millisecond())
    }

    /// From the basic form of [`Timestamp::basic`].
    #[must_use]
    pub fn parse_basic(text: &str) -> Option<Self> {
        let digits = text.strip_suffix('Z')?;
        let civil = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%S.%f", digits).ok()?;
        let at = TimeZone::UTC.to_timestamp(civil).ok()?;
        Self::from_millis(at.as_millisecond())
    }

    /// Milliseconds since 1970-01-01 UTC.
    #[must_use]
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Later by `length`; stays at the end of the calendar instead of leaving it.
    #[must_use]
    pub fn plus(self, length: Seconds) -> Self {
        let later = self
            .0
            .saturating_add(i64::from(length.0).saturating_mul(1000));
        Self::from_millis(later).unwrap_or(self)
    }

    /// RFC 3339 with milliseconds, as in attributes: `2026-01-31T08:30:00.000Z`.
    #[must_use]
    pub fn rfc3339(self) -> String {
        self.format("%Y-%m-%dT%H:%M:%S.%3fZ")
    }

    /// Basic ISO 8601 with milliseconds, fixed width, as in keys: `20260131T083000.000Z`. Text order is time order.
    #[must_use]
    pub fn basic(self) -> String {
        self.format("%Y%m%dT%H%M%S.%3fZ")
    }

    /// The UTC day: `2026-01-31`.
    #[must_use]
    pub fn day(self) -> String {
        self.format("%Y-%m-%d")
    }

    fn format(self, pattern: &str) -> String {
        // The constructor admits only what jiff can hold, so the fallback is never seen.
        jiff::Timestamp::from_millisecond(self.0)
            .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
            .strftime(pattern)
            .to_string()
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.rfc3339())
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.rfc3339())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| de::Error::custom(format_args!("'{text}' is no RFC 3339 time")))
    }
}

/// A length of time in whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seconds(pub u32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_come_back_and_sort_as_time() {
        let at = Timestamp::parse("2026-01-31T08:30:00.007Z").unwrap();
        assert_eq!(at.basic(), "20260131T083000.007Z");
        assert_eq!(at.rfc3339(), "2026-01-31T08:30:00.007Z");
        assert_eq!(Timestamp::parse_basic(&at.basic()), Some(at));
        assert_eq!(at.day(), "2026-01-31");
        assert!(at.basic() < at.plus(Seconds(1)).basic());
    }
}
