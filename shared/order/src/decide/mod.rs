//! `decide`: an order and an event give a decision. Pure and total: every state answers every event.
//!
//! One file per step, a function for each of its events, which answers in every state: [`reserve`], [`pay`], [`refund`] (the undoing of `pay`), [`fulfil`], [`end`] for
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
        Event::StockReserved => reserve::reserved(order, context),
        Event::StockShort { sku, have, want } => {
            let (have, want) = (*have, *want);
            reserve::short(order, reserve::Shortage { sku, have, want }, context)
        }
        Event::PaymentDue => pay::due(order, context),
        Event::PaymentApproved { payment_id } => pay::approved(order, payment_id, context),
        Event::PaymentPending { payment_id } => pay::pending(order, payment_id, context),
        Event::PaymentDeclined { reason } => pay::declined(order, reason, context),
        Event::PaymentUnknown { reason } => pay::unknown(order, reason, context),
        Event::PaymentNotFound => pay::not_found(order, context),
        Event::PaymentIdClash { payment_id } => pay::clash(order, payment_id, context),
        Event::RefundDue => refund::due(order, context),
        Event::RefundSucceeded { refund_id } => refund::succeeded(order, refund_id),
        Event::PaymentRefunded => refund::reported(order),
        Event::RefundRefused { reason } => refund::refused(order, reason, context),
        Event::RefundUnknown { reason } => refund::unknown(order, reason, context),
        Event::UnwindDue => refund::finish(order),
        Event::ConfirmationPublished => fulfil::published(order, context),
        Event::ConfirmationDelayed { reason } => fulfil::delayed(order, reason, context),
        Event::NoticePublished => fulfil::notice_published(order),
        Event::NoticeDelayed { reason } => fulfil::notice_delayed(order, reason, context),
        Event::ShipmentSent { tracking } => fulfil::shipment(order, tracking, context),
        Event::FulfilmentRefused { reason } => fulfil::refusal(order, reason, context),
        Event::CancelRequested { reason } => end::cancel(order, reason, context),
        Event::DeadlinePassed => end::deadline(order, context),
        Event::AttentionDue => end::alarm(order, context),
        Event::CommitPoisoned { reason } => end::poisoned(order, reason, context),
        Event::Nudged => operator::nudge(order, context),
        Event::StepRetried => operator::retry_step(order, context),
        Event::UndoRetried => operator::retry_undo(order, context),
        Event::UndoMarked { evidence } => operator::mark_undone(order, evidence, context),
        Event::Parked { reason } => operator::park(order, reason, context),
        Event::Unparked => operator::unpark(order, context),
        Event::Abandoned { comment } => operator::abandon(order, comment, context),
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
            | Event::ConfirmationDelayed { .. }
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

/// Where an order stands, or stood before a person got it.
fn stood(order: &Order) -> State {
    order
        .attention
        .as_ref()
        .map_or(order.state, |attention| attention.from)
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
