//! What an operator may do. Ordinary events, decided like any other: an operator cannot bring an order where the saga could not go.

use super::{attention, finish_unwinding, pay, pay_status, unwind};
use crate::{Change, Context, Decision, End, Event, Order, State, StepStatus, TableEffect, evolve};

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the dispatcher is total and sends only this step's events here"
)]
pub(super) fn decide(order: &Order, event: &Event, context: &Context) -> Decision {
    match event {
        Event::Nudged => nudge(order, context),
        Event::UndoRetried => retry_undo(order, context),
        Event::UndoMarked { evidence } => mark_undone(order, evidence, context),
        Event::Parked { reason } => park(order, reason, context),
        Event::Unparked => unpark(order, context),
        Event::Abandoned { comment } => abandon(order, comment, context),
        _ => Decision::no_effect("concerns another step"),
    }
}

fn nudge(order: &Order, context: &Context) -> Decision {
    let nudged = Change::Nudged { at: context.now };
    if evolve(order.clone(), &nudged) == *order {
        return Decision::no_effect("nothing waits for a later attempt");
    }
    Decision::applied("what waited is to be done now", vec![nudged])
}

fn retry_undo(order: &Order, context: &Context) -> Decision {
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

fn mark_undone(order: &Order, evidence: &str, context: &Context) -> Decision {
    let undoing = match &order.attention {
        Some(attention) => attention.from,
        None => order.state,
    };
    let ends = matches!(
        undoing,
        State::Unwinding | State::Cancelled | State::Rejected
    );
    if !ends || order.steps.pay.as_ref().is_none_or(|pay| pay.undone) {
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

fn park(order: &Order, reason: &str, context: &Context) -> Decision {
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

fn unpark(order: &Order, context: &Context) -> Decision {
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
    let was_paying = order
        .attention
        .as_ref()
        .is_some_and(|attention| attention.from == State::Paying);
    match pay_status(order).filter(|_| was_paying) {
        Some(StepStatus::Succeeded) => changes.push(pay::confirm(order, context)),
        Some(StepStatus::Failed) => {
            changes.extend(unwind(End::Rejected, "payment declined", context))
        }
        Some(StepStatus::Requested | StepStatus::Pending | StepStatus::Unknown) | None => {}
    }
    finish_unwinding(order, Decision::applied("the saga has it again", changes))
}

/// The goods come back to the stock unless they are on their way; money that is not settled stays where it is.
fn abandon(order: &Order, comment: &str, context: &Context) -> Decision {
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
    let reason = format!("abandoned: {comment}");
    if held && order.tracking.is_none() {
        return Decision::applied(reason, vec![Change::StockReturned, abandoned])
            .with(TableEffect::ReturnStock);
    }
    Decision::applied(reason, vec![abandoned])
}

fn has_open_undo(order: &Order) -> bool {
    order
        .steps
        .pay
        .as_ref()
        .is_some_and(|pay| !pay.undone && pay.undo.is_some())
}

/// Back to where the order stood.
fn cleared(order: &Order, context: &Context) -> Change {
    Change::AttentionCleared {
        to: order
            .attention
            .as_ref()
            .map_or(order.state, |attention| attention.from),
        at: context.now,
        deadline_at: context.now.plus(context.config.undo_deadline_s),
    }
}
