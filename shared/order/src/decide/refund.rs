//! The undoing of `pay`: refund at the gateway. The same order as forward: intent, call, outcome. Refusals are counted apart from unknowns.

use super::{ALARM_EVERY, attention, finish_unwinding, op};
use crate::{
    Change, Context, Decision, Order, RefundId, Seconds, State, Step, StepStatus, TableEffect, Undo,
};

/// A refund may begin or be tried again.
pub(super) fn due(order: &Order, context: &Context) -> Decision {
    let pay = match undoing(order) {
        Ok(pay) => pay,
        Err(why) => return why,
    };
    if order.state == State::NeedsOperator {
        return Decision::refused("a person has it: nothing is begun");
    }
    if !is_to_undo(pay) {
        return nothing_to_undo();
    }
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

pub(super) fn succeeded(order: &Order, refund_id: &RefundId) -> Decision {
    if let Err(why) = begun(order) {
        return why;
    }
    let undone = Change::PaymentUndone {
        refund_id: Some(refund_id.clone()),
    };
    let decision = Decision::applied("the money is back", vec![undone]);
    finish_unwinding(
        order,
        decision.with(TableEffect::RecordRefund(refund_id.clone())),
    )
}

/// An enquiry or a report says so. It settles an open refund and nothing else.
pub(super) fn reported(order: &Order) -> Decision {
    if let Err(why) = begun(order) {
        return why;
    }
    let undone = Change::PaymentUndone { refund_id: None };
    finish_unwinding(
        order,
        Decision::applied("the gateway says it is refunded", vec![undone]),
    )
}

pub(super) fn refused(order: &Order, reason: &str, context: &Context) -> Decision {
    let undo = match begun(order) {
        Ok(undo) => undo,
        Err(why) => return why,
    };
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

pub(super) fn unknown(order: &Order, reason: &str, context: &Context) -> Decision {
    let undo = match begun(order) {
        Ok(undo) => undo,
        Err(why) => return why,
    };
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

/// Everything of the payment is settled: give the stock back and end.
pub(super) fn finish(order: &Order) -> Decision {
    match (order.state, &order.steps.pay) {
        (State::Unwinding, None) => {
            finish_unwinding(order, Decision::applied("nothing was paid", Vec::new()))
        }
        (State::Unwinding, Some(pay)) if pay.undone => {
            let undone = Decision::applied("the payment is undone", Vec::new());
            finish_unwinding(order, undone)
        }
        (_, _) => undoing(order).map_or_else(
            |why| why,
            |_| Decision::no_effect("the payment comes first"),
        ),
    }
}

/// The payment of an order that is being undone, has ended, or is a person's.
fn undoing(order: &Order) -> Result<&Step, Decision> {
    match order.state {
        State::Placed | State::Paying | State::Confirmed => {
            Err(Decision::no_effect("nothing is being undone"))
        }
        State::Unwinding | State::Cancelled | State::Rejected | State::NeedsOperator => {
            order.steps.pay.as_ref().ok_or_else(nothing_to_undo)
        }
    }
}

/// The refund that is open.
fn begun(order: &Order) -> Result<&Undo, Decision> {
    let pay = undoing(order)?;
    let undo = pay.undo.as_ref().filter(|_| is_to_undo(pay));
    undo.ok_or_else(|| Decision::no_effect("no refund is open"))
}

fn is_to_undo(pay: &Step) -> bool {
    !pay.undone && matches!(pay.status, StepStatus::Succeeded | StepStatus::Pending)
}

fn nothing_to_undo() -> Decision {
    Decision::no_effect("there is no payment to undo")
}
