//! Cancellation, deadlines, and orders that a person must look at.

use super::{ALARM_EVERY, attention, finish_unwinding, take_back, unwind};
use crate::{Change, Context, Decision, End, NoticeKind, Order, State, StepStatus};

pub(super) fn poisoned(order: &Order, reason: &str, context: &Context) -> Decision {
    match order.state {
        State::NeedsOperator => Decision::no_effect("a person has it already"),
        State::Placed
        | State::Paying
        | State::Confirmed
        | State::Unwinding
        | State::Cancelled
        | State::Rejected => attention(
            format!("a commit was refused for good: {reason}"),
            Vec::new(),
            context,
        ),
    }
}

pub(super) fn cancel(order: &Order, reason: &str, context: &Context) -> Decision {
    match order.state {
        State::Placed | State::Paying => finish_unwinding(
            order,
            Decision::applied(
                format!("cancelled: {reason}"),
                unwind(End::Cancelled, reason, context),
            ),
        ),
        State::Confirmed if order.tracking.is_some() => {
            Decision::refused("the order is on its way")
        }
        State::Confirmed if order.is_published() => {
            Decision::applied(format!("a return: {reason}"), take_back(reason, context))
        }
        State::Confirmed if order.cancel_noted.is_some() => {
            Decision::no_effect("a cancellation waits already")
        }
        State::Confirmed => Decision::applied(
            format!("noted, waits for the publication: {reason}"),
            vec![Change::CancelNoted {
                reason: reason.to_owned(),
            }],
        ),
        State::Unwinding | State::Cancelled => {
            Decision::no_effect("cancelled already, or about to be")
        }
        State::Rejected => Decision::refused("the order was rejected"),
        State::NeedsOperator => Decision::refused("the order waits for a person"),
    }
}

pub(super) fn deadline(order: &Order, context: &Context) -> Decision {
    let over = |at: Option<crate::Timestamp>| at.is_some_and(|at| at <= context.now);
    match (order.state, &order.steps.pay) {
        (State::Paying, Some(pay)) if over(pay.deadline_at) => finish_unwinding(
            order,
            Decision::applied(
                "the time to pay is over",
                unwind(End::Cancelled, "the time to pay is over", context),
            ),
        ),
        (State::Unwinding | State::Cancelled | State::Rejected, Some(pay)) if !pay.undone => {
            let undo_over = over(pay.undo.as_ref().map(|undo| undo.deadline_at));
            let asked_too_long = matches!(pay.status, StepStatus::Requested | StepStatus::Unknown)
                && over(
                    order
                        .unwind
                        .as_ref()
                        .map(|unwind| unwind.since.plus(context.config.undo_deadline_s)),
                );
            if undo_over || asked_too_long {
                return attention("the time to undo the payment is over", Vec::new(), context);
            }
            Decision::no_effect("the deadline is still to come")
        }
        (State::Paying, _) => Decision::no_effect("the deadline is still to come"),
        (
            State::Placed
            | State::Confirmed
            | State::Unwinding
            | State::Cancelled
            | State::Rejected
            | State::NeedsOperator,
            _,
        ) => Decision::no_effect("no deadline runs"),
    }
}

pub(super) fn alarm(order: &Order, context: &Context) -> Decision {
    match (&order.attention, order.state) {
        (Some(attention), State::NeedsOperator) if attention.alarm_at <= context.now => {
            let mut changes = vec![Change::AlarmRaised {
                alarm_at: context.now.plus(ALARM_EVERY),
            }];
            // While the bus takes nothing, one waiting notice says it all.
            let kind = NoticeKind::OrderNeedsAttention;
            if !order.notices.iter().any(|notice| notice.kind == kind) {
                changes.push(Change::NoticeRaised { notice: kind });
            }
            let reason = format!("still waits for a person: {}", attention.reason);
            Decision::applied(reason, changes)
        }
        _ => Decision::no_effect("no alarm is due"),
    }
}
