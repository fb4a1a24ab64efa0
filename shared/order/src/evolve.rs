//! `evolve`: an order and one recorded change give the next order. No decisions here, and no version: a commit has one version however
//! many changes it records ([`apply`] counts it).

use crate::decide::pending::wake_at;
use crate::{
    Attention, Change, Context, Decision, End, Event, LastEvent, Notice, NoticeKind, OpId, Order,
    SCHEMA, State, Step, StepStatus, Timestamp, Undo, Unwind,
};

/// The order after one change. Total: a change that does not fit leaves the order as it is.
#[must_use]
pub fn evolve(mut order: Order, change: &Change) -> Order {
    match change {
        Change::OrderPlaced { order: placed } => return placed.as_ref().clone(),
        Change::StockReserved { op_id } => {
            order.steps.reserve = Some(settled(*op_id, StepStatus::Succeeded, None))
        }
        Change::StockShort {
            op_id,
            sku,
            have,
            want,
        } => {
            let error = format!("{sku}: {want} wanted, {have} there");
            order.steps.reserve = Some(settled(*op_id, StepStatus::Failed, Some(error)));
        }
        Change::StockReturned => {
            if let Some(step) = &mut order.steps.reserve {
                step.undone = true;
            }
        }
        Change::PaymentRequested {
            op_id,
            attempt,
            not_after,
            deadline_at,
        } => {
            let last_error = order.steps.pay.take().and_then(|step| step.last_error);
            order.steps.pay = Some(Step {
                attempt: *attempt,
                not_after: Some(*not_after),
                deadline_at: Some(*deadline_at),
                last_error,
                ..settled(*op_id, StepStatus::Requested, None)
            });
            order.state = State::Paying;
        }
        Change::PaymentPending {
            attempt,
            payment_id,
            retry_at,
        } => {
            order.payment_id = Some(payment_id.clone());
            with_pay(&mut order, |pay| {
                settle_later(pay, StepStatus::Pending, *attempt, *retry_at, None)
            });
        }
        Change::PaymentUnknown {
            attempt,
            reason,
            retry_at,
        } => with_pay(&mut order, |pay| {
            // A pending payment that could not be asked about is still pending.
            let status = if pay.status == StepStatus::Pending {
                StepStatus::Pending
            } else {
                StepStatus::Unknown
            };
            settle_later(pay, status, *attempt, *retry_at, Some(reason.clone()));
        }),
        Change::PaymentSucceeded { payment_id } => {
            order.payment_id = Some(payment_id.clone());
            with_pay(&mut order, |pay| settle(pay, StepStatus::Succeeded, None));
        }
        Change::PaymentFailed { reason } => with_pay(&mut order, |pay| {
            settle(pay, StepStatus::Failed, Some(reason.clone()));
            pay.undone = true;
        }),
        Change::PaymentAbsent {
            attempt,
            recheck_at,
        } => with_pay(&mut order, |pay| {
            settle(
                pay,
                StepStatus::Failed,
                Some("the gateway knows of no such payment".to_owned()),
            );
            pay.attempt = *attempt;
            pay.recheck_at = *recheck_at;
            pay.undone = true;
        }),
        Change::RefundRequested {
            op_id,
            attempt,
            not_after,
            deadline_at,
        } => with_pay(&mut order, |pay| {
            let (refusals, last_error) = pay
                .undo
                .take()
                .map_or((0, None), |undo| (undo.refusals, undo.last_error));
            pay.undo = Some(Undo {
                op_id: *op_id,
                status: StepStatus::Requested,
                attempt: *attempt,
                refusals,
                not_after: *not_after,
                retry_at: None,
                deadline_at: *deadline_at,
                last_error,
                refund_id: None,
            });
        }),
        Change::RefundRefused { reason, retry_at } => with_undo(&mut order, |undo| {
            undo.status = StepStatus::Failed;
            undo.refusals = undo.refusals.saturating_add(1);
            undo.retry_at = Some(*retry_at);
            undo.last_error = Some(reason.clone());
        }),
        Change::RefundUnknown { reason, retry_at } => with_undo(&mut order, |undo| {
            undo.status = StepStatus::Unknown;
            undo.retry_at = Some(*retry_at);
            undo.last_error = Some(reason.clone());
        }),
        Change::PaymentUndone { refund_id } => with_pay(&mut order, |pay| {
            pay.undone = true;
            if let Some(undo) = &mut pay.undo {
                undo.status = StepStatus::Succeeded;
                undo.retry_at = None;
                undo.refund_id.clone_from(refund_id);
            }
        }),
        Change::OrderConfirmed { op_id, not_after } => {
            order.steps.fulfil = Some(Step {
                not_after: Some(*not_after),
                ..settled(*op_id, StepStatus::Requested, None)
            });
            order.confirmed_version = Some(order.version.next());
            order.state = State::Confirmed;
        }
        Change::ConfirmationPublished => {
            if let Some(step) = &mut order.steps.fulfil {
                settle(step, StepStatus::Succeeded, None);
            }
        }
        Change::ConfirmationDelayed { reason, retry_at } => {
            if let Some(step) = &mut order.steps.fulfil {
                let attempt = step.attempt.saturating_add(1);
                settle_later(
                    step,
                    StepStatus::Requested,
                    attempt,
                    *retry_at,
                    Some(reason.clone()),
                );
            }
        }
        Change::CancelNoted { reason } => order.cancel_noted = Some(reason.clone()),
        Change::UnwindStarted {
            to,
            reason,
            returned,
            at,
        } => {
            order.unwind = Some(Unwind {
                to: *to,
                reason: reason.clone(),
                since: *at,
                returned: *returned,
            });
            order.cancel_noted = None;
            order.state = State::Unwinding;
        }
        Change::OrderCancelled => order.state = State::Cancelled,
        Change::OrderRejected => order.state = State::Rejected,
        Change::Shipped { tracking } => order.tracking = Some(tracking.clone()),
        Change::NoticeRaised { notice } => {
            order.notices.push(Notice {
                kind: *notice,
                version: order.version.next(),
                attempt: 0,
                retry_at: None,
            });
        }
        Change::NoticePublished => {
            if !order.notices.is_empty() {
                order.notices.remove(0);
            }
        }
        Change::NoticeDelayed { retry_at } => {
            if let Some(notice) = order.notices.first_mut() {
                notice.attempt = notice.attempt.saturating_add(1);
                notice.retry_at = Some(*retry_at);
            }
        }
        Change::AttentionNeeded {
            reason,
            at,
            alarm_at,
        } => {
            // A further reason while a person has it already: where the order came from stays known.
            let from = order
                .attention
                .take_if(|_| order.state == State::NeedsOperator)
                .map_or(order.state, |known| known.from);
            order.attention = Some(Attention {
                reason: reason.clone(),
                since: *at,
                alarm_at: *alarm_at,
                from,
            });
            order.state = State::NeedsOperator;
        }
        Change::AttentionCleared {
            to,
            at,
            deadline_at,
        } => {
            order.state = *to;
            order.attention = None;
            order
                .notices
                .retain(|notice| notice.kind != NoticeKind::OrderNeedsAttention);
            if let Some(unwind) = &mut order.unwind {
                unwind.since = *at;
            }
            with_undo(&mut order, |undo| {
                if undo.status != StepStatus::Succeeded {
                    undo.refusals = 0;
                    undo.retry_at = Some(*at);
                    undo.deadline_at = *deadline_at;
                }
            });
        }
        Change::Nudged { at } => nudge(&mut order, *at),
        Change::OrderAbandoned { comment, at } => {
            let from = order.attention.take().map(|attention| attention.from);
            order.state = match from {
                Some(State::Rejected) => State::Rejected,
                Some(
                    State::Placed
                    | State::Paying
                    | State::Confirmed
                    | State::Unwinding
                    | State::Cancelled
                    | State::NeedsOperator,
                )
                | None => State::Cancelled,
            };
            order
                .notices
                .retain(|notice| notice.kind != NoticeKind::OrderNeedsAttention);
            let to = End::Cancelled;
            order.unwind.get_or_insert(Unwind {
                to,
                reason: comment.clone(),
                since: *at,
                returned: false,
            });
            with_pay(&mut order, |pay| {
                pay.undone = true;
                pay.recheck_at = None;
                pay.last_error = Some(format!("abandoned: {comment}"));
            });
        }
        Change::AlarmRaised { alarm_at } => {
            if let Some(attention) = &mut order.attention {
                attention.alarm_at = *alarm_at;
            }
        }
    }
    order
}

/// Who and what caused a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The request id of the commit.
    pub id: String,
    /// Who.
    pub actor: String,
}

/// The next version of the order: every change of the decision, one version further, with its wake time and its cause.
#[must_use]
pub fn apply(
    order: &Order,
    event: &Event,
    decision: &Decision,
    cause: &Cause,
    context: &Context,
) -> Order {
    let mut next = decision.changes.iter().fold(order.clone(), evolve);
    next.version = order.version.next();
    next.schema = SCHEMA;
    next.updated_at = context.now;
    if event.is_operators() {
        next.transitions = 0;
    }
    if decision.changes.iter().any(Change::is_transition) {
        next.transitions = next.transitions.saturating_add(1);
    }
    next.last_event = LastEvent {
        id: cause.id.clone(),
        kind: event.kind().to_owned(),
        actor: cause.actor.clone(),
        reason: decision.reason.clone(),
        at: context.now,
    };
    next.wake_at = wake_at(&next, context);
    next
}

/// The changes that raise a notice for the end an order goes to, if that end has one.
pub(crate) fn notice_of_end(to: End) -> Option<Change> {
    match to {
        End::Cancelled => Some(Change::NoticeRaised {
            notice: NoticeKind::OrderCancelled,
        }),
        End::Rejected => None,
    }
}

/// Brings every time that something waits for forward to `at`.
fn nudge(order: &mut Order, at: Timestamp) {
    let sooner = |time: &mut Option<Timestamp>| *time = time.map(|later| later.min(at));
    with_pay(order, |pay| {
        sooner(&mut pay.retry_at);
        sooner(&mut pay.recheck_at);
    });
    with_undo(order, |undo| sooner(&mut undo.retry_at));
    if let Some(fulfil) = &mut order.steps.fulfil {
        sooner(&mut fulfil.retry_at);
    }
    if let Some(notice) = order.notices.first_mut() {
        sooner(&mut notice.retry_at);
    }
}

fn settled(op_id: OpId, status: StepStatus, last_error: Option<String>) -> Step {
    Step {
        op_id,
        status,
        attempt: 1,
        not_after: None,
        retry_at: None,
        deadline_at: None,
        recheck_at: None,
        last_error,
        undo: None,
        undone: false,
    }
}

fn with_pay(order: &mut Order, change: impl FnOnce(&mut Step)) {
    if let Some(pay) = &mut order.steps.pay {
        change(pay);
    }
}

fn with_undo(order: &mut Order, change: impl FnOnce(&mut Undo)) {
    if let Some(undo) = order.steps.pay.as_mut().and_then(|pay| pay.undo.as_mut()) {
        change(undo);
    }
}

fn settle(step: &mut Step, status: StepStatus, last_error: Option<String>) {
    step.status = status;
    step.not_after = None;
    step.retry_at = None;
    step.recheck_at = None;
    step.undone = false;
    step.last_error = last_error;
}

fn settle_later(
    step: &mut Step,
    status: StepStatus,
    attempt: u32,
    retry_at: Timestamp,
    last_error: Option<String>,
) {
    settle(step, status, last_error);
    step.attempt = attempt;
    step.retry_at = Some(retry_at);
}
