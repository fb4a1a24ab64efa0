//! The step `pay`: charge at the gateway. Intent first, then the call, then its outcome; an outcome may be unknown and is asked about.

use super::{attention, finish_unwinding, op, pay_status, payment_attempt, unwind};
use crate::{
    Change, Context, Decision, End, Event, Minor, Order, PaymentId, State, Step, StepStatus,
    TableEffect,
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

pub(super) fn decide(order: &Order, event: &Event, context: &Context) -> Decision {
    match (order.state, &order.steps.pay, event) {
        (State::Placed, _, Event::PaymentDue) if order.steps.reserve.is_some() => {
            Decision::applied(
                "stock was taken at placement; the payment begins",
                begin(order, context),
            )
        }
        (State::Placed, _, Event::PaymentDue) => Decision::no_effect("the stock comes first"),
        (State::Placed, ..) | (_, None, _) => {
            Decision::refused("no payment was requested for this order")
        }
        (State::Paying, Some(pay), _) => paying(order, pay, event, context),
        (State::Confirmed, Some(_), _) => confirmed(order, event, context),
        (
            State::Unwinding | State::Cancelled | State::Rejected | State::NeedsOperator,
            Some(pay),
            _,
        ) => finish_unwinding(order, late(order, pay, event, context)),
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the dispatcher is total and sends only this step's events here"
)]
fn paying(order: &Order, pay: &Step, event: &Event, context: &Context) -> Decision {
    match event {
        Event::PaymentDue => Decision::applied(
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
        Event::PaymentApproved { payment_id } => Decision::applied(
            "paid",
            vec![
                Change::PaymentSucceeded {
                    payment_id: payment_id.clone(),
                },
                confirm(order, context),
            ],
        )
        .with(TableEffect::LinkPayment(payment_id.clone())),
        Event::PaymentPending { payment_id } => pending(order, payment_id, context),
        Event::PaymentDeclined { reason } => {
            let mut changes = vec![Change::PaymentFailed {
                reason: reason.clone(),
            }];
            changes.extend(unwind(
                End::Rejected,
                &format!("payment declined: {reason}"),
                context,
            ));
            finish_unwinding(
                order,
                Decision::applied(format!("payment declined: {reason}"), changes),
            )
        }
        Event::PaymentUnknown { reason } => unknown(order, reason, context),
        Event::PaymentNotFound => {
            unknown(order, "the gateway no longer knows the payment", context)
        }
        Event::PaymentIdClash { payment_id } => clash(payment_id, context),
        _ => not_ours(),
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the dispatcher is total and sends only this step's events here"
)]
fn confirmed(order: &Order, event: &Event, context: &Context) -> Decision {
    match event {
        Event::PaymentApproved { payment_id } | Event::PaymentPending { payment_id } => {
            if order.payment_id.as_ref() == Some(payment_id) {
                return Decision::no_effect("paid already");
            }
            attention(
                format!("a second payment {payment_id} was reported"),
                Vec::new(),
                context,
            )
        }
        Event::PaymentDeclined { .. }
        | Event::PaymentUnknown { .. }
        | Event::PaymentNotFound
        | Event::PaymentDue => Decision::no_effect("paid already"),
        Event::PaymentIdClash { payment_id } => clash(payment_id, context),
        _ => not_ours(),
    }
}

/// While unwinding, after the end, or while a person has it: outcomes are recorded so that they can be undone; nothing new is begun.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the dispatcher is total and sends only this step's events here"
)]
fn late(order: &Order, pay: &Step, event: &Event, context: &Context) -> Decision {
    let open = !pay.undone && matches!(pay.status, StepStatus::Requested | StepStatus::Unknown);
    let known = order.payment_id.as_ref();
    match event {
        Event::PaymentDue => Decision::no_effect("the order is being undone: no payment begins"),
        Event::PaymentApproved { payment_id } | Event::PaymentPending { payment_id }
            if known == Some(payment_id)
                && pay
                    .undo
                    .as_ref()
                    .is_some_and(|undo| undo.status == StepStatus::Succeeded) =>
        {
            Decision::no_effect("this payment is undone already")
        }
        Event::PaymentApproved { payment_id } => {
            if pay.status == StepStatus::Succeeded {
                return if known == Some(payment_id) {
                    Decision::no_effect("known; it is being undone")
                } else {
                    attention(
                        format!("a second payment {payment_id} was reported"),
                        Vec::new(),
                        context,
                    )
                };
            }
            Decision::applied(
                "a late payment: it will be undone",
                vec![Change::PaymentSucceeded {
                    payment_id: payment_id.clone(),
                }],
            )
            .with(TableEffect::LinkPayment(payment_id.clone()))
        }
        Event::PaymentPending { payment_id } => match pay.status {
            StepStatus::Succeeded | StepStatus::Pending => {
                Decision::no_effect("known; it is being undone")
            }
            StepStatus::Requested | StepStatus::Unknown | StepStatus::Failed => {
                pending(order, payment_id, context)
            }
        },
        Event::PaymentDeclined { reason }
            if open || pay.status == StepStatus::Pending || pay.recheck_at.is_some() =>
        {
            Decision::applied(
                format!("payment declined: {reason}; nothing to undo"),
                vec![Change::PaymentFailed {
                    reason: reason.clone(),
                }],
            )
        }
        Event::PaymentDeclined { .. } => Decision::no_effect("the payment is settled"),
        Event::PaymentUnknown { reason } if open => unknown(order, reason, context),
        Event::PaymentUnknown { .. } if pay.recheck_at.is_some() => {
            let attempt = payment_attempt(order);
            let recheck_at = Some(context.backoff(attempt));
            Decision::applied(
                "the last enquiry got no answer; again",
                vec![Change::PaymentAbsent {
                    attempt,
                    recheck_at,
                }],
            )
        }
        Event::PaymentUnknown { .. } => Decision::no_effect("the payment is settled"),
        Event::PaymentNotFound if open => {
            let recheck_at = Some(context.now.plus(context.config.recheck_s));
            let changes = vec![Change::PaymentAbsent {
                attempt: payment_attempt(order),
                recheck_at,
            }];
            Decision::applied("the gateway has no such payment: nothing to undo", changes)
        }
        Event::PaymentNotFound if pay.recheck_at.is_some() => Decision::applied(
            "the last enquiry: still no such payment",
            vec![Change::PaymentAbsent {
                attempt: payment_attempt(order),
                recheck_at: None,
            }],
        ),
        Event::PaymentNotFound => Decision::no_effect("the payment is settled"),
        Event::PaymentIdClash { payment_id } => clash(payment_id, context),
        _ => not_ours(),
    }
}

/// The pivot.
pub(super) fn confirm(order: &Order, context: &Context) -> Change {
    Change::OrderConfirmed {
        op_id: op(order, "fulfil", "do"),
        not_after: context.now.plus(context.config.step_deadline_s),
    }
}

fn pending(order: &Order, payment_id: &PaymentId, context: &Context) -> Decision {
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

fn unknown(order: &Order, reason: &str, context: &Context) -> Decision {
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

fn clash(payment_id: &PaymentId, context: &Context) -> Decision {
    attention(
        format!("payment {payment_id} belongs to another order"),
        Vec::new(),
        context,
    )
}

fn not_ours() -> Decision {
    Decision::no_effect("concerns another step")
}
