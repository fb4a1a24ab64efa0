//! The step `fulfil`: the confirmation is published, retried forward and never undone; then reports from fulfilment arrive. The other messages
//! to the event bus are sent in the same way.

use super::{attention, take_back};
use crate::{Change, Context, Decision, Event, Order, State, Step, StepStatus};

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the dispatcher is total and sends only this step's events here"
)]
pub(super) fn decide(order: &Order, event: &Event, context: &Context) -> Decision {
    match event {
        Event::NoticePublished | Event::NoticeDelayed { .. } => notice(order, event, context),
        Event::ConfirmationPublished | Event::ConfirmationDelayed { .. } => {
            confirmation(order, event, context)
        }
        Event::ShipmentSent { tracking } => shipment(order, tracking, context),
        Event::FulfilmentRefused { reason } => refusal(order, reason, context),
        _ => Decision::no_effect("concerns another step"),
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the dispatcher is total and sends only this step's events here"
)]
fn notice(order: &Order, event: &Event, context: &Context) -> Decision {
    let Some(notice) = order.notices.first() else {
        return Decision::no_effect("no notice waits");
    };
    match event {
        Event::NoticeDelayed { reason } => {
            let retry_at = context.backoff(notice.attempt.saturating_add(1));
            Decision::applied(
                format!("the notice waits: {reason}"),
                vec![Change::NoticeDelayed { retry_at }],
            )
        }
        _ => Decision::applied("the notice is sent", vec![Change::NoticePublished]),
    }
}

fn confirmation(order: &Order, event: &Event, context: &Context) -> Decision {
    let open =
        |step: &&Step| order.state == State::Confirmed && step.status != StepStatus::Succeeded;
    let Some(fulfil) = order.steps.fulfil.as_ref().filter(open) else {
        return Decision::no_effect("no confirmation waits to be published");
    };
    match (event, &order.cancel_noted) {
        (Event::ConfirmationDelayed { reason }, _) => {
            let retry_at = context.backoff(fulfil.attempt);
            Decision::applied(
                format!("the confirmation waits: {reason}"),
                vec![Change::ConfirmationDelayed {
                    reason: reason.clone(),
                    retry_at,
                }],
            )
        }
        (_, Some(cancel)) => {
            let mut changes = vec![Change::ConfirmationPublished];
            changes.extend(take_back(cancel, context));
            Decision::applied(
                "published; the waiting cancellation becomes a return",
                changes,
            )
        }
        (_, None) => Decision::applied("published", vec![Change::ConfirmationPublished]),
    }
}

fn shipment(order: &Order, tracking: &str, context: &Context) -> Decision {
    match order.state {
        State::Placed | State::Paying => Decision::refused("the order is not confirmed"),
        State::Confirmed | State::NeedsOperator if order.tracking.is_some() => {
            Decision::no_effect("shipped already")
        }
        State::Confirmed if order.cancel_noted.is_some() => attention(
            format!("shipped ({tracking}) while a cancellation waits"),
            vec![shipped(tracking)],
            context,
        ),
        State::Confirmed | State::NeedsOperator => {
            Decision::applied("on its way", vec![shipped(tracking)])
        }
        State::Unwinding | State::Cancelled | State::Rejected => attention(
            format!("shipped ({tracking}) although it is being undone or ended"),
            vec![shipped(tracking)],
            context,
        ),
    }
}

fn refusal(order: &Order, reason: &str, context: &Context) -> Decision {
    match order.state {
        State::Placed | State::Paying => Decision::refused("the order is not confirmed"),
        State::Confirmed if order.tracking.is_some() => {
            Decision::refused("the order is on its way")
        }
        State::Confirmed => {
            // Fulfilment can only refuse what it has heard of: the confirmation was published, whoever lost the acknowledgement.
            let mut changes = if order.is_published() {
                Vec::new()
            } else {
                vec![Change::ConfirmationPublished]
            };
            changes.extend(take_back(&format!("fulfilment refused: {reason}"), context));
            Decision::applied(format!("fulfilment refused: {reason}; a return"), changes)
        }
        State::Unwinding | State::Cancelled | State::Rejected | State::NeedsOperator => {
            Decision::no_effect("the order is undone or ended")
        }
    }
}

fn shipped(tracking: &str) -> Change {
    Change::Shipped {
        tracking: tracking.to_owned(),
    }
}
