//! What an order still needs, derived from the order alone: the head is the outbox, there is no other.

use crate::{Context, Event, NoticeKind, Order, Seconds, State, Step, StepStatus, Timestamp};

/// Something to be done for an order.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Commit this event; what it decides is the intent or the in-table step.
    Record(Event),
    /// Call the gateway for the committed payment intent. `not_after` bounds the call.
    Charge {
        /// No call starts unless it ends before.
        not_after: Timestamp,
    },
    /// Ask the gateway about the payment, without any effect.
    AskPayment,
    /// Call the gateway for the committed refund intent.
    Refund {
        /// No call starts unless it ends before.
        not_after: Timestamp,
    },
    /// Send `OrderConfirmed`.
    PublishConfirmation,
    /// Send the oldest waiting notice.
    PublishNotice,
}

/// What is next for an order.
#[derive(Debug, Clone, PartialEq)]
pub enum Pending {
    /// It is finished.
    Nothing,
    /// Nothing before this time.
    Until(Timestamp),
    /// This, at once.
    Now(Command),
}

/// The next thing to do. At most one thing at a time is due; what waits behind it follows after its commit.
#[must_use]
pub fn pending(order: &Order, context: &Context) -> Pending {
    let mut earliest: Option<Timestamp> = None;
    for (due, command) in agenda(order, context) {
        match due {
            None => return Pending::Now(command),
            Some(at) if at <= context.now => return Pending::Now(command),
            Some(at) => earliest = Some(earliest.map_or(at, |e| e.min(at))),
        }
    }
    earliest.map_or(Pending::Nothing, Pending::Until)
}

/// When the sweeper must look at the order; `None` exactly if it is finished.
///
/// What can be done at once has the step deadline before the sweeper steps in: the stream path is faster. Always later than now, so that
/// a sweeper's commit moves the order on in the queue.
#[must_use]
pub(crate) fn wake_at(order: &Order, context: &Context) -> Option<Timestamp> {
    let fallback = context.now.plus(context.config.step_deadline_s);
    let soonest = context.now.plus(Seconds(1));
    agenda(order, context)
        .into_iter()
        .map(|(due, _)| due.unwrap_or(fallback).max(soonest))
        .min()
}

/// Everything the order needs, each with its time (`None` = at once), the most urgent first.
fn agenda(order: &Order, context: &Context) -> Vec<(Option<Timestamp>, Command)> {
    let mut agenda = Vec::new();
    let notice = order
        .notices
        .first()
        .map(|notice| (notice.retry_at, Command::PublishNotice));
    // A return is announced before its refund: nothing else happens until the notice is out.
    let announce_first = order.state == State::Unwinding
        && order
            .notices
            .iter()
            .any(|notice| notice.kind == NoticeKind::OrderCancelled);
    agenda.extend(notice);
    if announce_first {
        return agenda;
    }
    match order.state {
        State::Placed if order.steps.reserve.is_some() => {
            agenda.push((None, Command::Record(Event::PaymentDue)))
        }
        State::Placed => agenda.push((None, Command::Record(Event::StockReserved))),
        State::Paying => agenda.extend(
            order
                .steps
                .pay
                .as_ref()
                .into_iter()
                .flat_map(|pay| paying(pay, context)),
        ),
        State::Confirmed => agenda.extend(confirmed(order)),
        State::Unwinding | State::Cancelled | State::Rejected => {
            let before = agenda.len();
            agenda.extend(
                order
                    .steps
                    .pay
                    .as_ref()
                    .into_iter()
                    .flat_map(|pay| undoing(order, pay, context)),
            );
            if order.state == State::Unwinding && agenda.len() == before {
                agenda.push((None, Command::Record(Event::UnwindDue)));
            }
        }
        State::NeedsOperator => {
            agenda.extend(order.attention.as_ref().map(|attention| {
                (
                    Some(attention.alarm_at),
                    Command::Record(Event::AttentionDue),
                )
            }));
        }
    }
    agenda
}

fn paying(pay: &Step, context: &Context) -> Vec<(Option<Timestamp>, Command)> {
    let mut agenda: Vec<_> = pay
        .deadline_at
        .map(|at| (Some(at), Command::Record(Event::DeadlinePassed)))
        .into_iter()
        .collect();
    match (pay.status, pay.not_after) {
        (StepStatus::Requested, Some(not_after)) if context.now < not_after => {
            agenda.push((Some(not_after), Command::Record(Event::PaymentDue)));
            agenda.push((None, Command::Charge { not_after }));
        }
        (StepStatus::Requested | StepStatus::Unknown, not_after) => {
            agenda.push((
                pay.retry_at.or(not_after),
                Command::Record(Event::PaymentDue),
            ));
        }
        (StepStatus::Pending, _) => agenda.push((pay.retry_at, Command::AskPayment)),
        // Settled payments leave the state Paying in the commit that settles them.
        (StepStatus::Succeeded | StepStatus::Failed, _) => {}
    }
    agenda
}

fn confirmed(order: &Order) -> Option<(Option<Timestamp>, Command)> {
    let fulfil = order.steps.fulfil.as_ref()?;
    (fulfil.status != StepStatus::Succeeded)
        .then_some((fulfil.retry_at, Command::PublishConfirmation))
}

fn undoing(order: &Order, pay: &Step, context: &Context) -> Vec<(Option<Timestamp>, Command)> {
    let grace = context.config.unknown_grace_s;
    if let Some(at) = pay.recheck_at {
        return vec![(Some(at), Command::AskPayment)];
    }
    if pay.undone {
        return Vec::new();
    }
    match (pay.status, &pay.undo) {
        (StepStatus::Succeeded | StepStatus::Pending, None) => {
            vec![(None, Command::Record(Event::RefundDue))]
        }
        (StepStatus::Succeeded | StepStatus::Pending, Some(undo)) => {
            let mut agenda = vec![(
                Some(undo.deadline_at),
                Command::Record(Event::DeadlinePassed),
            )];
            if undo.status == StepStatus::Requested && context.now < undo.not_after {
                agenda.push((Some(undo.not_after), Command::Record(Event::RefundDue)));
                agenda.push((
                    None,
                    Command::Refund {
                        not_after: undo.not_after,
                    },
                ));
            } else {
                agenda.push((
                    undo.retry_at.or(Some(undo.not_after)),
                    Command::Record(Event::RefundDue),
                ));
            }
            agenda
        }
        (StepStatus::Requested | StepStatus::Unknown, _) => {
            let ask_at = pay
                .retry_at
                .or_else(|| pay.not_after.map(|at| at.plus(grace)));
            let give_up = order
                .unwind
                .as_ref()
                .map(|unwind| Some(unwind.since.plus(context.config.undo_deadline_s)));
            let give_up = give_up.map(|at| (at, Command::Record(Event::DeadlinePassed)));
            give_up
                .into_iter()
                .chain([(ask_at, Command::AskPayment)])
                .collect()
        }
        (StepStatus::Failed, _) => Vec::new(),
    }
}
