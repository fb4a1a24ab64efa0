//! The step `fulfil`: the confirmation is published, retried forward and never undone; then reports from fulfilment arrive. The other messages
//! to the event bus are sent in the same way.

use super::{attention, stood, take_back};
use crate::{Change, Context, Decision, Order, State, Step, StepStatus};

const NO_NOTICE: &str = "no notice waits";

const NO_CONFIRMATION: &str = "no confirmation waits to be published";

pub(super) fn notice_published(order: &Order) -> Decision {
    if order.notices.is_empty() {
        return Decision::no_effect(NO_NOTICE);
    }
    Decision::applied("the notice is sent", vec![Change::NoticePublished])
}

pub(super) fn notice_delayed(order: &Order, reason: &str, context: &Context) -> Decision {
    let Some(notice) = order.notices.first() else {
        return Decision::no_effect(NO_NOTICE);
    };
    let retry_at = context.backoff(notice.attempt.saturating_add(1));
    Decision::applied(
        format!("the notice waits: {reason}"),
        vec![Change::NoticeDelayed { retry_at }],
    )
}

pub(super) fn published(order: &Order, context: &Context) -> Decision {
    if open(order).is_none() {
        return Decision::no_effect(NO_CONFIRMATION);
    }
    let mut changes = vec![Change::ConfirmationPublished];
    match &order.cancel_noted {
        // A person has looked at it, and let it go on: what is shipped cannot be taken back.
        Some(_) if order.tracking.is_some() => Decision::applied(
            "published; it is on its way, so the waiting cancellation is void",
            changes,
        ),
        Some(cancel) => {
            changes.extend(take_back(cancel, context));
            Decision::applied(
                "published; the waiting cancellation becomes a return",
                changes,
            )
        }
        None => Decision::applied("published", changes),
    }
}

pub(super) fn delayed(order: &Order, reason: &str, context: &Context) -> Decision {
    let Some(fulfil) = open(order) else {
        return Decision::no_effect(NO_CONFIRMATION);
    };
    Decision::applied(
        format!("the confirmation waits: {reason}"),
        vec![Change::ConfirmationDelayed {
            reason: reason.to_owned(),
            retry_at: context.backoff(fulfil.attempt),
        }],
    )
}

/// The confirmation that is still to be published.
fn open(order: &Order) -> Option<&Step> {
    order
        .steps
        .fulfil
        .as_ref()
        .filter(|step| order.state == State::Confirmed && step.status != StepStatus::Succeeded)
}

pub(super) fn shipment(order: &Order, tracking: &str, context: &Context) -> Decision {
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
        State::NeedsOperator if matches!(stood(order), State::Placed | State::Paying) => {
            Decision::refused("the order is not confirmed")
        }
        State::Confirmed | State::NeedsOperator => {
            Decision::applied("on its way", vec![shipped(tracking)])
        }
        State::Unwinding | State::Cancelled | State::Rejected
            if order.tracking.as_deref() == Some(tracking) =>
        {
            Decision::no_effect("this shipment is known already")
        }
        State::Unwinding | State::Cancelled | State::Rejected => attention(
            format!("shipped ({tracking}) although it is being undone or ended"),
            vec![shipped(tracking)],
            context,
        ),
    }
}

pub(super) fn refusal(order: &Order, reason: &str, context: &Context) -> Decision {
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
        // A fact that will matter again once the order goes on: its sender must not take it for settled.
        State::NeedsOperator if stood(order) == State::Confirmed && order.tracking.is_none() => {
            Decision::refused("the order waits for a person")
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
