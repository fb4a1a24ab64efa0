//! The step `pay`: charge at the gateway. Intent first, then the call, then its outcome; an outcome may be unknown and is asked about.

use super::{attention, finish_unwinding, op, pay_status, payment_attempt, unwind};
use crate::{
    Change, Context, Decision, End, Minor, Order, PaymentId, State, Step, StepStatus, TableEffect,
    Timestamp,
};

/// What follows the reservation: the first payment intent, or the pivot if there is nothing to pay.
pub(super) fn begin(order: &Order, context: &Context) -> Vec<Change> {
    if order.total_minor == Minor::ZERO {
        return vec![confirm(order, context)];
    }
    vec![Change::PaymentRequested {
        op_id: op(order, "pay", "do"),
        attempt: 1,
        not_after: context.now.plus(context.config.step_deadline_s),
        deadline_at: context.now.plus(context.config.pay_deadline_s),
    }]
}

/// An attempt may begin.
pub(super) fn due(order: &Order, context: &Context) -> Decision {
    match (order.state, &order.steps.pay) {
        (State::Placed, _) if order.steps.reserve.is_some() => Decision::applied(
            "stock was taken at placement; the payment begins",
            begin(order, context),
        ),
        (State::Placed, _) => Decision::no_effect("the stock comes first"),
        (_, None) => not_requested(),
        (State::Paying, Some(pay)) => Decision::applied(
            "another attempt: the gateway is asked first",
            vec![Change::PaymentRequested {
                op_id: pay.op_id,
                attempt: pay.attempt.saturating_add(1),
                not_after: context.now.plus(context.config.step_deadline_s),
                deadline_at: pay
                    .deadline_at
                    .unwrap_or_else(|| context.now.plus(context.config.pay_deadline_s)),
            }],
        ),
        (State::Confirmed, Some(_)) => paid_already(),
        (State::Unwinding | State::Cancelled | State::Rejected | State::NeedsOperator, Some(_)) => {
            Decision::no_effect("the order is being undone: no payment begins")
        }
    }
}

/// The pivot; late, something to be undone.
pub(super) fn approved(order: &Order, payment_id: &PaymentId, context: &Context) -> Decision {
    let is_known = order.payment_id.as_ref() == Some(payment_id);
    let succeeded = Change::PaymentSucceeded {
        payment_id: payment_id.clone(),
    };
    let link = TableEffect::LinkPayment(payment_id.clone());
    match (order.state, &order.steps.pay) {
        (State::Placed, _) | (_, None) => not_requested(),
        (State::Paying, Some(_)) => {
            Decision::applied("paid", vec![succeeded, confirm(order, context)]).with(link)
        }
        (State::Confirmed, Some(_)) if is_known => paid_already(),
        (State::Confirmed, Some(_)) => second(payment_id, context),
        (
            State::Unwinding | State::Cancelled | State::Rejected | State::NeedsOperator,
            Some(pay),
        ) => match pay.status {
            StepStatus::Succeeded | StepStatus::Pending if pay.undone && is_known => undone(),
            StepStatus::Succeeded if is_known => being_undone(),
            StepStatus::Succeeded => second(payment_id, context),
            StepStatus::Pending if pay.undone => second(payment_id, context),
            StepStatus::Requested
            | StepStatus::Unknown
            | StepStatus::Pending
            | StepStatus::Failed => {
                Decision::applied("a late payment: it will be undone", vec![succeeded]).with(link)
            }
        },
    }
}

/// Taken and not decided: to be asked about, or to be voided.
pub(super) fn pending(order: &Order, payment_id: &PaymentId, context: &Context) -> Decision {
    let is_known = order.payment_id.as_ref() == Some(payment_id);
    match (order.state, &order.steps.pay) {
        (State::Placed, _) | (_, None) => not_requested(),
        (State::Paying, Some(_)) => wait(order, payment_id, context),
        (State::Confirmed, Some(_)) if is_known => paid_already(),
        (State::Confirmed, Some(_)) => second(payment_id, context),
        (
            State::Unwinding | State::Cancelled | State::Rejected | State::NeedsOperator,
            Some(pay),
        ) => match pay.status {
            StepStatus::Succeeded | StepStatus::Pending if pay.undone && is_known => undone(),
            StepStatus::Succeeded | StepStatus::Pending if pay.undone => {
                second(payment_id, context)
            }
            StepStatus::Succeeded | StepStatus::Pending => being_undone(),
            StepStatus::Requested | StepStatus::Unknown | StepStatus::Failed => {
                wait(order, payment_id, context)
            }
        },
    }
}

/// A definite refusal: nothing was charged.
pub(super) fn declined(order: &Order, reason: &str, context: &Context) -> Decision {
    let mut changes = vec![Change::PaymentFailed {
        reason: reason.to_owned(),
    }];
    match (order.state, &order.steps.pay) {
        (State::Placed, _) | (_, None) => not_requested(),
        (State::Paying, Some(_)) => {
            let reason = format!("payment declined: {reason}");
            changes.extend(unwind(End::Rejected, &reason, context));
            finish_unwinding(order, Decision::applied(reason, changes))
        }
        (State::Confirmed, Some(_)) => paid_already(),
        (
            State::Unwinding | State::Cancelled | State::Rejected | State::NeedsOperator,
            Some(pay),
        ) if is_open(pay)
            || pay.recheck_at.is_some()
            || (pay.status == StepStatus::Pending && !pay.undone) =>
        {
            let reason = format!("payment declined: {reason}; nothing to undo");
            finish_unwinding(order, Decision::applied(reason, changes))
        }
        (State::Unwinding | State::Cancelled | State::Rejected | State::NeedsOperator, Some(_)) => {
            settled()
        }
    }
}

/// The attempt or enquiry told nothing: asked again later.
pub(super) fn unknown(order: &Order, reason: &str, context: &Context) -> Decision {
    match (order.state, &order.steps.pay) {
        (State::Placed, _) | (_, None) => not_requested(),
        (State::Paying, Some(_)) => ask_later(order, reason, context),
        (State::Confirmed, Some(_)) => paid_already(),
        (
            State::Unwinding | State::Cancelled | State::Rejected | State::NeedsOperator,
            Some(pay),
        ) if is_open(pay) => ask_later(order, reason, context),
        (
            State::Unwinding | State::Cancelled | State::Rejected | State::NeedsOperator,
            Some(pay),
        ) if pay.recheck_at.is_some() => {
            let recheck_at = Some(context.backoff(payment_attempt(order)));
            absent(order, "the last enquiry got no answer; again", recheck_at)
        }
        (State::Unwinding | State::Cancelled | State::Rejected | State::NeedsOperator, Some(_)) => {
            settled()
        }
    }
}

/// The gateway definitely knows of no such payment. One last enquiry follows a day later: a call may have been queued somewhere.
pub(super) fn not_found(order: &Order, context: &Context) -> Decision {
    match (order.state, &order.steps.pay) {
        (State::Placed, _) | (_, None) => not_requested(),
        (State::Paying, Some(_)) => {
            ask_later(order, "the gateway no longer knows the payment", context)
        }
        (State::Confirmed, Some(_)) => paid_already(),
        (
            State::Unwinding | State::Cancelled | State::Rejected | State::NeedsOperator,
            Some(pay),
        ) if is_open(pay) => {
            let recheck_at = Some(context.now.plus(context.config.recheck_s));
            let reason = "the gateway has no such payment: nothing to undo";
            finish_unwinding(order, absent(order, reason, recheck_at))
        }
        (
            State::Unwinding | State::Cancelled | State::Rejected | State::NeedsOperator,
            Some(pay),
        ) if pay.recheck_at.is_some() => {
            absent(order, "the last enquiry: still no such payment", None)
        }
        (State::Unwinding | State::Cancelled | State::Rejected | State::NeedsOperator, Some(_)) => {
            settled()
        }
    }
}

/// The look-up of the payment names another order.
pub(super) fn clash(order: &Order, payment_id: &PaymentId, context: &Context) -> Decision {
    match (order.state, &order.steps.pay) {
        (State::Placed, _) | (_, None) => not_requested(),
        (_, Some(_)) => attention(
            format!("payment {payment_id} belongs to another order"),
            Vec::new(),
            context,
        ),
    }
}

/// The pivot.
pub(super) fn confirm(order: &Order, context: &Context) -> Change {
    Change::OrderConfirmed {
        op_id: op(order, "fulfil", "do"),
        not_after: context.now.plus(context.config.step_deadline_s),
    }
}

fn wait(order: &Order, payment_id: &PaymentId, context: &Context) -> Decision {
    let attempt = payment_attempt(order);
    let reason = if pay_status(order) == Some(StepStatus::Pending) {
        "the payment is still pending"
    } else {
        "the payment is pending"
    };
    let changes = vec![Change::PaymentPending {
        attempt,
        payment_id: payment_id.clone(),
        retry_at: context.backoff(attempt),
    }];
    Decision::applied(reason, changes).with(TableEffect::LinkPayment(payment_id.clone()))
}

fn ask_later(order: &Order, reason: &str, context: &Context) -> Decision {
    let attempt = payment_attempt(order);
    let changes = vec![Change::PaymentUnknown {
        attempt,
        reason: reason.to_owned(),
        retry_at: context.backoff(attempt),
    }];
    Decision::applied(
        format!("the payment's outcome is unknown: {reason}"),
        changes,
    )
}

fn absent(order: &Order, reason: &str, recheck_at: Option<Timestamp>) -> Decision {
    let changes = vec![Change::PaymentAbsent {
        attempt: payment_attempt(order),
        recheck_at,
    }];
    Decision::applied(reason, changes)
}

fn second(payment_id: &PaymentId, context: &Context) -> Decision {
    attention(
        format!("a second payment {payment_id} was reported"),
        Vec::new(),
        context,
    )
}

/// True while nobody knows whether it happened.
fn is_open(pay: &Step) -> bool {
    !pay.undone && matches!(pay.status, StepStatus::Requested | StepStatus::Unknown)
}

fn not_requested() -> Decision {
    Decision::refused("no payment was requested for this order")
}

fn paid_already() -> Decision {
    Decision::no_effect("paid already")
}

fn settled() -> Decision {
    Decision::no_effect("the payment is settled")
}

fn being_undone() -> Decision {
    Decision::no_effect("known; it is being undone")
}

fn undone() -> Decision {
    Decision::no_effect("this payment is undone already")
}
