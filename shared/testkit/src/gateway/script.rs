//! What a `payment_token` makes the gateway do.
//!
//! A token is one or more parts joined with `+`: `fail:2+decline:insufficient_funds+refund-refuse:1`. A part that is not known is ignored, so that
//! any token of the real world means `approve`.
//!
//! | part | what happens |
//! |---|---|
//! | `approve` | charged at once; also without any token |
//! | `decline[:REASON]` | refused with 402 |
//! | `pending` | taken; settled only by `POST /payments/<id>/settle` |
//! | `pending-then-approve[:TIME]` | taken; charged after the time (default `2s`) |
//! | `pending-then-decline[:TIME]` | taken; declined after the time |
//! | `timeout-charged[:N]` | the first N (default 1) posts do what they are asked and answer too late |
//! | `timeout-not-charged[:N]` | the first N posts do nothing and answer too late |
//! | `fail:N` | the first N posts are answered with 503 and do nothing |
//! | `refund-refuse:N` | the first N refunds are refused with 422 |
//! | `refund-fail:N` | the first N refunds are answered with 503 and do nothing |
//! | `refund-timeout[:N]` | the first N refunds give the money back and answer too late |
//! | `payment-id:ID` | the payment gets this id, whoever has it already |
//!
//! TIME is `300ms` or `2s`. Counts are per order. Time-outs and failures come first, then the answer itself.

use std::time::Duration;

/// How a payment that is really processed ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Charged.
    Approve,
    /// Refused, with this reason.
    Decline(String),
    /// Taken, and settled as told.
    Pending(Settlement),
}

/// How a pending payment is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// By a call from outside.
    ByHand,
    /// Charged after this long.
    ApproveAfter(Duration),
    /// Declined after this long.
    DeclineAfter(Duration),
}

/// The behaviour that a token asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// How a processed payment ends.
    pub answer: Answer,
    /// Posts that are processed and answered too late.
    pub timeouts_charged: u32,
    /// Posts that are not processed and answered too late.
    pub timeouts_not_charged: u32,
    /// Posts that are answered with 503.
    pub failures: u32,
    /// Refunds that are refused.
    pub refund_refusals: u32,
    /// Refunds that are answered with 503.
    pub refund_failures: u32,
    /// Refunds that are processed and answered too late.
    pub refund_timeouts: u32,
    /// The id that the payment gets.
    pub payment_id: Option<String>,
}

impl Script {
    /// Reads a token; see the module's table.
    #[must_use]
    pub fn parse(token: Option<&str>) -> Self {
        let mut script = Self {
            answer: Answer::Approve,
            timeouts_charged: 0,
            timeouts_not_charged: 0,
            failures: 0,
            refund_refusals: 0,
            refund_failures: 0,
            refund_timeouts: 0,
            payment_id: None,
        };
        for part in token.into_iter().flat_map(|token| token.split('+')) {
            let (name, value) = part
                .split_once(':')
                .map_or((part, None), |(name, value)| (name, Some(value)));
            let count = || value.and_then(|text| text.parse().ok()).unwrap_or(1);
            let after = || value.and_then(time).unwrap_or(Duration::from_secs(2));
            match name {
                "decline" => {
                    script.answer = Answer::Decline(value.unwrap_or("card_declined").to_owned())
                }
                "pending" => script.answer = Answer::Pending(Settlement::ByHand),
                "pending-then-approve" => {
                    script.answer = Answer::Pending(Settlement::ApproveAfter(after()))
                }
                "pending-then-decline" => {
                    script.answer = Answer::Pending(Settlement::DeclineAfter(after()))
                }
                "timeout-charged" => script.timeouts_charged = count(),
                "timeout-not-charged" => script.timeouts_not_charged = count(),
                "fail" => script.failures = count(),
                "refund-refuse" => script.refund_refusals = count(),
                "refund-fail" => script.refund_failures = count(),
                "refund-timeout" => script.refund_timeouts = count(),
                "payment-id" => script.payment_id = value.map(str::to_owned),
                _ => {}
            }
        }
        script
    }
}

fn time(text: &str) -> Option<Duration> {
    match text.strip_suffix("ms") {
        Some(millis) => millis.parse().ok().map(Duration::from_millis),
        None => text
            .strip_suffix('s')?
            .parse()
            .ok()
            .map(Duration::from_secs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_combined_and_the_unknown_approves() {
        let script = Script::parse(Some("fail:2+decline:insufficient_funds+refund-refuse:3"));
        assert_eq!(script.failures, 2);
        assert_eq!(
            script.answer,
            Answer::Decline("insufficient_funds".to_owned())
        );
        assert_eq!(script.refund_refusals, 3);
        assert_eq!(Script::parse(Some("tok_visa_4242")), Script::parse(None));
        assert_eq!(Script::parse(None).answer, Answer::Approve);
    }

    #[test]
    fn times_have_a_unit() {
        let settles = |token| Script::parse(Some(token)).answer;
        assert_eq!(
            settles("pending-then-approve:300ms"),
            Answer::Pending(Settlement::ApproveAfter(Duration::from_millis(300)))
        );
        assert_eq!(
            settles("pending-then-decline"),
            Answer::Pending(Settlement::DeclineAfter(Duration::from_secs(2)))
        );
    }
}
