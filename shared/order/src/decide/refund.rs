//! The undoing of `pay`: refund at the gateway. The same order as forward: intent, call, outcome. Refusals are counted apart from unknowns.

use super::{ALARM_EVERY, attention, finish_unwinding, op};
use crate::{
    Change, Context, Decision, Event, Order, Seconds, State, Step, StepStatus, TableEffect, Undo,
};

pub(super) fn decide(order: &Order, event: &Event, context: &Context) -> Decision {
    match (order.state, &order.steps.pay) {
        (State::Placed | State::Paying | State::Confirmed, _) => {
            Decision::no_effect("nothing is being undone")
        }
        (State::Unwinding, None) if *event == Event::UnwindDue => {
            finish_unwinding(order, Decision::applied("nothing was paid", Vec::new()))
        }
        (State::Unwinding | State::Cancelled | State::Rejected | State::NeedsOperator, None) => {
            Decision::no_effect("there is no payment to undo")
        }
        (
            State::Unwinding | State::Cancelled | State::Rejected | State::NeedsOperator,
            Some(pay),
        ) => finish_unwinding(order, undoing(order, pay, event, context)),
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the dispatcher is total and sends only this step's events here"
)]
fn undoing(order: &Order, pay: &Step, event: &Event, context: &Context) -> Decision {
    let to_undo = !pay.undone && matches!(pay.status, StepStatus::Succeeded | StepStatus::Pending);
    let begun = pay.undo.as_ref().filter(|_| to_undo);
    match event {
        Event::UnwindDue if pay.undone && order.state == State::Unwinding => {
            Decision::applied("the payment is undone", Vec::new())
        }
        Event::UnwindDue => Decision::no_effect("the payment comes first"),
        Event::RefundDue if order.state == State::NeedsOperator => {
            Decision::refused("a person has it: nothing is begun")
        }
        Event::RefundDue if to_undo => {
            let undo = pay.undo.as_ref();
            let request = Change::RefundRequested {
                op_id: op(order, "pay", "undo"),
                attempt: undo.map_or(0, |undo| undo.attempt).saturating_add(1),
                not_after: context.now.plus(context.config.step_deadline_s),
                deadline_at: undo.map_or_else(
                    || context.now.plus(context.config.undo_deadline_s),
                    |undo| undo.deadline_at,
                ),
            };
            Decision::applied("the payment is given back", vec![request])
        }
        Event::RefundDue => Decision::no_effect("there is no payment to undo"),
        Event::RefundSucceeded { refund_id } if begun.is_some() => Decision::applied(
            "the money is back",
            vec![Change::PaymentUndone {
                refund_id: Some(refund_id.clone()),
            }],
        )
        .with(TableEffect::RecordRefund(refund_id.clone())),
        Event::PaymentRefunded if begun.is_some() => Decision::applied(
            "the gateway says it is refunded",
            vec![Change::PaymentUndone { refund_id: None }],
        ),
        Event::RefundRefused { reason } => {
            begun.map_or_else(not_open, |undo| refused(undo, reason, order, context))
        }
        Event::RefundUnknown { reason } => {
            begun.map_or_else(not_open, |undo| unknown(undo, reason, order, context))
        }
        Event::RefundSucceeded { .. } | Event::PaymentRefunded => not_open(),
        _ => Decision::no_effect("concerns another step"),
    }
}

fn refused(undo: &Undo, reason: &str, order: &Order, context: &Context) -> Decision {
    let refusals = undo.refusals.saturating_add(1);
    let retry_at = if order.state == State::NeedsOperator {
        context.now.plus(ALARM_EVERY)
    } else {
        context.backoff(refusals)
    };
    let changes = vec![Change::RefundRefused {
        reason: reason.to_owned(),
        retry_at,
    }];
    if refusals >= context.config.undo_attempts && order.state != State::NeedsOperator {
        return attention(
            format!("the refund was refused {refusals} times: {reason}"),
            changes,
            context,
        );
    }
    Decision::applied(format!("the refund was refused: {reason}"), changes)
}

fn unknown(undo: &Undo, reason: &str, order: &Order, context: &Context) -> Decision {
    // 1, 5, 15 minutes, then every hour at the default grace of 30 s.
    let retry_at = context
        .backoff(undo.attempt.saturating_add(1))
        .min(undo.deadline_at.max(context.now.plus(Seconds(1))));
    let changes = vec![Change::RefundUnknown {
        reason: reason.to_owned(),
        retry_at,
    }];
    if context.now >= undo.deadline_at && order.state != State::NeedsOperator {
        return attention(
            format!("the refund's outcome stayed unknown: {reason}"),
            changes,
            context,
        );
    }
    Decision::applied(
        format!("the refund's outcome is unknown: {reason}"),
        changes,
    )
}

fn not_open() -> Decision {
    Decision::no_effect("no refund is open")
}
