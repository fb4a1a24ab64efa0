//! `rate(...)`, the schedule that the runner knows.

use std::time::Duration;

/// How often a scheduled function is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate(Duration);

impl Rate {
    /// Reads `rate(1 minute)`, `rate(5 minutes)`, hours and days as EventBridge does: the unit is singular exactly for 1.
    /// `rate(N seconds)` is an extension for local use; EventBridge has nothing below a minute.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let inner = text.strip_prefix("rate(")?.strip_suffix(')')?;
        let (count, unit) = inner.split_once(' ')?;
        if count.starts_with(['0', '+']) {
            return None;
        }
        let count: u32 = count.parse().ok()?;
        let singular = match unit.strip_suffix('s') {
            Some(singular) if count > 1 => singular,
            None if count == 1 => unit,
            Some(_) | None => return None,
        };
        let seconds: u64 = match singular {
            "second" => 1,
            "minute" => 60,
            "hour" => 3_600,
            "day" => 86_400,
            _ => return None,
        };
        Some(Self(Duration::from_secs(u64::from(count) * seconds)))
    }

    /// The pause between two calls.
    #[must_use]
    pub fn period(self) -> Duration {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_a_count_and_the_unit_that_goes_with_it() {
        let seconds = |text: &str| Rate::parse(text).map(|rate| rate.period().as_secs());
        assert_eq!(seconds("rate(1 minute)"), Some(60));
        assert_eq!(seconds("rate(5 minutes)"), Some(300));
        assert_eq!(seconds("rate(1 hour)"), Some(3_600));
        assert_eq!(seconds("rate(2 days)"), Some(172_800));
        assert_eq!(seconds("rate(2 seconds)"), Some(2));
        for wrong in [
            "rate(1 minutes)",
            "rate(5 minute)",
            "rate(0 minutes)",
            "rate(-1 minute)",
            "rate(1.5 hours)",
            "cron(0 12 * * ? *)",
            "1 minute",
            "rate(1 week)",
        ] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }
}
