//! The events of a schedule, and when they are due. Pure.
//!
//! A rule of EventBridge calls a function asynchronously: a failed call is repeated twice, one minute and then two minutes
//! later, with the same event and request id (Lambda guide, "How Lambda handles errors and retries with asynchronous
//! invocation"). The first event comes one period after the start.

use std::time::Duration;

use serde_json::json;
use uuid::Uuid;

use crate::clock::Millis;

/// The pauses before the repetitions of a failed call.
const REPETITIONS: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(120)];

/// One call that is due at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) at: Millis,
    pub(crate) request_id: Uuid,
    /// The time that the event carries.
    pub(crate) event_time: Millis,
    /// Failed calls so far.
    pub(crate) failures: usize,
}

/// What a schedule has to do.
#[derive(Debug)]
pub(crate) struct Calendar {
    period: Duration,
    next: Millis,
    repetitions: Vec<Due>,
}

impl Calendar {
    pub(crate) fn new(period: Duration, start: Millis) -> Self {
        Self {
            period,
            next: start.after(period),
            repetitions: Vec::new(),
        }
    }

    /// When something is due.
    pub(crate) fn wake_at(&self) -> Millis {
        self.repetitions
            .iter()
            .map(|due| due.at)
            .min()
            .map_or(self.next, |at| at.min(self.next))
    }

    /// The next call that is due. Periods that went by unseen, as while the machine slept, are not made up for.
    pub(crate) fn take(&mut self, now: Millis, fresh_id: impl FnOnce() -> Uuid) -> Option<Due> {
        if let Some(at) = self.repetitions.iter().position(|due| due.at <= now) {
            return Some(self.repetitions.swap_remove(at));
        }
        if self.next > now {
            return None;
        }
        let at = self.next;
        while self.next <= now {
            self.next = self.next.after(self.period);
        }
        Some(Due {
            at,
            request_id: fresh_id(),
            event_time: at,
            failures: 0,
        })
    }

    /// Notes a failed call. False when it will not be repeated any more.
    pub(crate) fn failed(&mut self, due: Due, now: Millis) -> bool {
        let Some(wait) = REPETITIONS.get(due.failures) else {
            return false;
        };
        self.repetitions.push(Due {
            at: now.after(*wait),
            failures: due.failures + 1,
            ..due
        });
        true
    }
}

/// EventBridge's scheduled event.
pub(crate) fn event(due: &Due, function: &str, region: &str, account: &str) -> String {
    json!({
        "version": "0",
        "id": Uuid::new_v5(&due.request_id, b"event").to_string(),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": account,
        "time": format!("{:.0}", due.event_time.timestamp()),
        "region": region,
        "resources": [format!("arn:aws:events:{region}:{account}:rule/{function}")],
        "detail": {},
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn the_first_event_comes_one_period_after_the_start() {
        let mut calendar = Calendar::new(MINUTE, Millis(0));
        assert_eq!(calendar.take(Millis(59_999), Uuid::nil), None);
        assert_eq!(
            calendar.take(Millis(60_000), Uuid::nil).map(|due| due.at),
            Some(Millis(60_000))
        );
        assert_eq!(calendar.wake_at(), Millis(120_000));
    }

    #[test]
    fn periods_that_went_by_are_not_made_up_for() {
        let mut calendar = Calendar::new(MINUTE, Millis(0));
        assert!(calendar.take(Millis(600_000), Uuid::nil).is_some());
        assert_eq!(calendar.take(Millis(600_000), Uuid::nil), None);
        assert_eq!(calendar.wake_at(), Millis(660_000));
    }

    #[test]
    fn a_failed_call_is_repeated_twice_with_the_same_id() {
        let mut calendar = Calendar::new(MINUTE * 60, Millis(0));
        let first = calendar
            .take(Millis(3_600_000), || Uuid::from_u128(7))
            .unwrap();
        assert!(calendar.failed(first.clone(), Millis(3_600_000)));
        let second = calendar.take(Millis(3_660_000), Uuid::nil).unwrap();
        assert_eq!(
            (second.request_id, second.event_time),
            (first.request_id, first.event_time)
        );
        assert!(calendar.failed(second, Millis(3_660_000)));
        let third = calendar.take(Millis(3_780_000), Uuid::nil).unwrap();
        assert!(!calendar.failed(third, Millis(3_780_000)));
    }

    #[test]
    fn the_event_has_whole_seconds() {
        let due = Due {
            at: Millis(0),
            request_id: Uuid::nil(),
            event_time: Millis(1_764_500_000_123),
            failures: 0,
        };
        let event: serde_json::Value =
            serde_json::from_str(&event(&due, "sweeper", "eu-west-1", "000000000000")).unwrap();
        assert_eq!(event["time"], "2025-11-30T10:53:20Z");
        assert_eq!(event["detail-type"], "Scheduled Event");
    }
}
