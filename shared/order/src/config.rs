//! The saga's settings: the item `GLOBAL#CONFIG / CONFIG#saga`, with a default for each.

use serde::{Deserialize, Serialize};

use crate::{Seconds, Timestamp};

/// Settings of the saga. Every field may be missing in the stored item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SagaConfig {
    /// From the first payment intent until the order gives up on the payment.
    pub pay_deadline_s: Seconds,
    /// How long an intent holds: no call of it starts that might end later.
    pub step_deadline_s: Seconds,
    /// How long an unknown outcome is left alone before it is asked about.
    pub unknown_grace_s: Seconds,
    /// From "no such payment" until the last enquiry.
    pub recheck_s: Seconds,
    /// Definite refusals of an undo before a person must look at it.
    pub undo_attempts: u32,
    /// How long unknown outcomes of an undo are tried again.
    pub undo_deadline_s: Seconds,
    /// Commits that may change state or a step.
    pub transition_budget: u32,
}

impl Default for SagaConfig {
    fn default() -> Self {
        Self {
            pay_deadline_s: Seconds(1_800),
            step_deadline_s: Seconds(60),
            unknown_grace_s: Seconds(30),
            recheck_s: Seconds(86_400),
            undo_attempts: 3,
            undo_deadline_s: Seconds(86_400),
            transition_budget: 64,
        }
    }
}

/// What a decision may know besides the order and the event: values, no clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// The present.
    pub now: Timestamp,
    /// The settings in force.
    pub config: SagaConfig,
}

impl Context {
    /// The wait before attempt `attempt + 1` of an unknown outcome: at the default grace of 30 s that is 30 s, 1, 5, 15 minutes, then an hour. So a
    /// refund that stays unknown reaches its deadline of a day within the budget of 64 transitions, two an attempt.
    #[must_use]
    pub(crate) fn backoff(&self, attempt: u32) -> Timestamp {
        let grace = self.config.unknown_grace_s;
        let wait = match attempt {
            0 | 1 => grace,
            2 => Seconds(grace.0.saturating_mul(2)),
            3 => Seconds(grace.0.saturating_mul(10)),
            4 => Seconds(grace.0.saturating_mul(30)),
            _ => Seconds(grace.0.saturating_mul(120)),
        };
        self.now.plus(Seconds(wait.0.max(1)))
    }
}
