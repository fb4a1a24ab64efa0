//! What an operator may do. Ordinary events, decided like any other: an operator cannot bring an order where the saga could not go.

use super::{attention, finish_unwinding, pay, pay_status, stood, unwind};
use crate::evolve::notice_of_end;
use crate::{Change, Context, Decision, End, Order, State, StepStatus, TableEffect, evolve};

pub(super) fn nudge(order: &Order, context: &Context) -> Decision {
    let nudged = Change::Nudged { at: context.now };
    if evolve(order.clone(), &nudged) == *order {
        return Decision::no_effect("nothing waits for a later attempt");
    }
    Decision::applied("what waited is to be done now", vec![nudged])
}

/// The step forward. From a person's hands the order goes back to where it stood; a time to pay that is over stays over.
pub(super) fn retry_step(order: &Order, context: &Context) -> Decision {
    let is_open = match stood(order) {
        State::Placed | State::Paying => true,
        State::Confirmed => !order.is_published(),
        State::Unwinding | State::Cancelled | State::Rejected | State::NeedsOperator => {
            return Decision::refused(
                "the order is being undone or ended; an undo is tried again by retry-undo",
            );
        }
    };
    if !is_open {
        return Decision::no_effect("no step is open");
    }
    if order.state != State::NeedsOperator {
        return nudge(order, context);
    }
    let over = order.steps.pay.as_ref().is_some_and(|pay| {
        stood(order) == State::Paying
            && !matches!(pay.status, StepStatus::Succeeded | StepStatus::Failed)
            && pay.deadline_at.is_some_and(|at| at <= context.now)
    });
    if over {
        return Decision::refused("the time to pay is over; unpark ends the order");
    }
    let mut decision = resume(order, context);
    decision.changes.push(Change::Nudged { at: context.now });
    decision.reason = "the step is tried again".to_owned();
    decision
}

pub(super) fn retry_undo(order: &Order, context: &Context) -> Decision {
    if !has_open_undo(order) {
        return Decision::no_effect("no undo is open");
    }
    match order.state {
        State::NeedsOperator => {
            Decision::applied("the undo is tried again", vec![cleared(order, context)])
        }
        State::Unwinding | State::Cancelled | State::Rejected => nudge(order, context),
        State::Placed | State::Paying | State::Confirmed => {
            Decision::no_effect("nothing is being undone")
        }
    }
}

pub(super) fn mark_undone(order: &Order, evidence: &str, context: &Context) -> Decision {
    if !is_undone_or_ended(order) || order.steps.pay.as_ref().is_none_or(|pay| pay.undone) {
        return Decision::refused("there is no payment to undo");
    }
    let mut changes = vec![Change::PaymentUndone { refund_id: None }];
    if order.state == State::NeedsOperator {
        changes.push(cleared(order, context));
    }
    finish_unwinding(
        order,
        Decision::applied(format!("undone outside: {evidence}"), changes),
    )
}

pub(super) fn park(order: &Order, reason: &str, context: &Context) -> Decision {
    match order.state {
        State::Placed | State::Paying | State::Confirmed | State::Unwinding
            if order.wake_at.is_some() =>
        {
            attention(format!("parked: {reason}"), Vec::new(), context)
        }
        State::NeedsOperator => Decision::no_effect("a person has it already"),
        State::Placed
        | State::Paying
        | State::Confirmed
        | State::Unwinding
        | State::Cancelled
        | State::Rejected => Decision::refused("the saga is done with this order"),
    }
}

pub(super) fn unpark(order: &Order, context: &Context) -> Decision {
    match order.state {
        State::NeedsOperator => resume(order, context),
        State::Placed
        | State::Paying
        | State::Confirmed
        | State::Unwinding
        | State::Cancelled
        | State::Rejected => Decision::no_effect("the saga has it already"),
    }
}

/// Back to where it stood; a payment that was settled meanwhile has its consequence now.
fn resume(order: &Order, context: &Context) -> Decision {
    let mut changes = vec![cleared(order, context)];
    let was_paying = stood(order) == State::Paying;
    match pay_status(order).filter(|_| was_paying) {
        Some(StepStatus::Succeeded) => changes.push(pay::confirm(order, context)),
        Some(StepStatus::Failed) => {
            changes.extend(unwind(End::Rejected, "payment declined", context))
        }
        Some(StepStatus::Requested | StepStatus::Pending | StepStatus::Unknown) | None => {}
    }
    finish_unwinding(order, Decision::applied("the saga has it again", changes))
}

/// The goods come back to the stock unless they are on their way; money that is not settled stays where it is. The world hears of the end unless
/// it has already.
pub(super) fn abandon(order: &Order, comment: &str, context: &Context) -> Decision {
    if order.state != State::NeedsOperator {
        return Decision::refused("only an order that waits for a person can be abandoned");
    }
    let held = order
        .steps
        .reserve
        .as_ref()
        .is_some_and(|step| step.status == StepStatus::Succeeded && !step.undone);
    let abandoned = Change::OrderAbandoned {
        comment: comment.to_owned(),
        at: context.now,
    };
    let returned = held && order.tracking.is_none();
    let announced = matches!(stood(order), State::Cancelled | State::Rejected)
        || order.unwind.as_ref().is_some_and(|unwind| unwind.returned);
    let mut changes = Vec::new();
    if returned {
        changes.push(Change::StockReturned);
    }
    changes.push(abandoned);
    if !announced {
        changes.extend(notice_of_end(End::Cancelled));
    }
    let decision = Decision::applied(format!("abandoned: {comment}"), changes);
    if returned {
        return decision.with(TableEffect::ReturnStock);
    }
    decision
}

/// True while a payment may still have to be given back.
fn has_open_undo(order: &Order) -> bool {
    is_undone_or_ended(order)
        && order
            .steps
            .pay
            .as_ref()
            .is_some_and(|pay| !pay.undone && pay.status != StepStatus::Failed)
}

fn is_undone_or_ended(order: &Order) -> bool {
    matches!(
        stood(order),
        State::Unwinding | State::Cancelled | State::Rejected
    )
}

/// Back to where the order stood.
fn cleared(order: &Order, context: &Context) -> Change {
    Change::AttentionCleared {
        to: stood(order),
        at: context.now,
        deadline_at: context.now.plus(context.config.undo_deadline_s),
    }
}
