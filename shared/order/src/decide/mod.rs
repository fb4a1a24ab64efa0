//! `decide`: an order and an event give a decision. Pure and total: every state answers every event.
//!
//! One file per step, each a `match` on state and event: [`reserve`], [`pay`], [`refund`] (the undoing of `pay`), [`fulfil`], [`end`] for
//! cancellation and deadlines, and [`operator`] for what people do. [`pending`] derives what is next.

mod end;
mod fulfil;
mod operator;
mod pay;
pub(crate) mod pending;
mod refund;
mod reserve;

use crate::evolve::{evolve, notice_of_end};
use crate::{
    Change, Context, Decision, End, Event, NoticeKind, OpId, Order, Seconds, State, StepStatus,
    TableEffect, Verdict,
};

/// How often the alarm of an order that waits for a person is raised again.
pub(crate) const ALARM_EVERY: Seconds = Seconds(3_600);

/// What an event means for an order.
#[must_use]
pub fn decide(order: &Order, event: &Event, context: &Context) -> Decision {
    let decision = match event {
        Event::StockReserved | Event::StockShort { .. } => reserve::decide(order, event, context),
        Event::PaymentDue
        | Event::PaymentApproved { .. }
        | Event::PaymentPending { .. }
        | Event::PaymentDeclined { .. }
        | Event::PaymentUnknown { .. }
        | Event::PaymentNotFound
        | Event::PaymentIdClash { .. } => pay::decide(order, event, context),
        Event::RefundDue
        | Event::PaymentRefunded
        | Event::RefundSucceeded { .. }
        | Event::RefundRefused { .. }
        | Event::RefundUnknown { .. }
        | Event::UnwindDue => refund::decide(order, event, context),
        Event::ConfirmationPublished
        | Event::ConfirmationDelayed { .. }
        | Event::NoticePublished
        | Event::NoticeDelayed { .. }
        | Event::ShipmentSent { .. }
        | Event::FulfilmentRefused { .. } => fulfil::decide(order, event, context),
        Event::Nudged
        | Event::UndoRetried
        | Event::UndoMarked { .. }
        | Event::Parked { .. }
        | Event::Unparked
        | Event::Abandoned { .. } => operator::decide(order, event, context),
        Event::CancelRequested { .. }
        | Event::DeadlinePassed
        | Event::AttentionDue
        | Event::CommitPoisoned { .. } => end::decide(order, event, context),
    };
    within_budget(order, event, decision, context)
}

/// What an attempt costs is bounded: an order that keeps turning goes to a person.
///
/// Only intents and inconclusive outcomes are cut off. A fact (paid, refunded, declined) is recorded however late it comes.
fn within_budget(order: &Order, event: &Event, decision: Decision, context: &Context) -> Decision {
    let repeats = matches!(
        event,
        Event::StockReserved
            | Event::PaymentDue
            | Event::PaymentUnknown { .. }
            | Event::RefundDue
            | Event::RefundUnknown { .. }
    ) || (matches!(event, Event::PaymentPending { .. })
        && pay_status(order) == Some(StepStatus::Pending));
    let spends =
        decision.verdict == Verdict::Applied && decision.changes.iter().any(Change::is_transition);
    if repeats
        && spends
        && order.transitions >= context.config.transition_budget
        && order.state != State::NeedsOperator
    {
        let budget = context.config.transition_budget;
        return attention(
            format!("the budget of {budget} transitions is used up"),
            Vec::new(),
            context,
        );
    }
    decision
}

/// A decision that hands the order to a person, after `changes`.
fn attention(reason: impl Into<String>, mut changes: Vec<Change>, context: &Context) -> Decision {
    let reason = reason.into();
    changes.push(Change::AttentionNeeded {
        reason: reason.clone(),
        at: context.now,
        alarm_at: context.now.plus(ALARM_EVERY),
    });
    changes.push(Change::NoticeRaised {
        notice: NoticeKind::OrderNeedsAttention,
    });
    Decision::applied(reason, changes)
}

/// The changes that begin to undo the order.
fn unwind(to: End, reason: &str, context: &Context) -> Vec<Change> {
    vec![Change::UnwindStarted {
        to,
        reason: reason.to_owned(),
        returned: false,
        at: context.now,
    }]
}

/// The changes that begin a return: announced first, then undone.
fn take_back(reason: &str, context: &Context) -> Vec<Change> {
    vec![
        Change::UnwindStarted {
            to: End::Cancelled,
            reason: reason.to_owned(),
            returned: true,
            at: context.now,
        },
        Change::NoticeRaised {
            notice: NoticeKind::OrderCancelled,
        },
    ]
}

/// Adds the end of an unwinding order to a decision if nothing of the payment is left to undo: stock back, end, notice. Undo order is the
/// reverse of the steps, so the stock comes last, in the same commit as the end.
fn finish_unwinding(order: &Order, mut decision: Decision) -> Decision {
    let after = decision.changes.iter().fold(order.clone(), evolve);
    let Some(unwind) = after
        .unwind
        .as_ref()
        .filter(|_| after.state == State::Unwinding)
    else {
        return decision;
    };
    if after.steps.pay.as_ref().is_some_and(|pay| !pay.undone) {
        return decision;
    }
    if after
        .steps
        .reserve
        .as_ref()
        .is_some_and(|step| step.status == StepStatus::Succeeded && !step.undone)
    {
        decision.changes.push(Change::StockReturned);
        decision.effects.push(TableEffect::ReturnStock);
    }
    decision.changes.push(match unwind.to {
        End::Cancelled => Change::OrderCancelled,
        End::Rejected => Change::OrderRejected,
    });
    if !unwind.returned {
        decision.changes.extend(notice_of_end(unwind.to));
    }
    decision
}

fn pay_status(order: &Order) -> Option<StepStatus> {
    order.steps.pay.as_ref().map(|pay| pay.status)
}

/// The number of the attempt or enquiry whose outcome is being recorded: an enquiry after a recorded outcome is a further one.
pub(crate) fn payment_attempt(order: &Order) -> u32 {
    order.steps.pay.as_ref().map_or(1, |pay| {
        if pay.status == StepStatus::Requested {
            pay.attempt
        } else {
            pay.attempt.saturating_add(1)
        }
    })
}

pub(crate) fn op(order: &Order, step: &str, direction: &str) -> OpId {
    OpId::derive(&order.order_id, step, direction)
}
