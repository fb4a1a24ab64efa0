//! The request id of each commit that the pipeline makes itself: derived from what it records, so that a repeat is recognised.

use crate::decide::payment_attempt;
use crate::{Event, Order, RequestId, Version};

/// The request id under which `event` is committed onto this version of the order.
///
/// Outcomes are named by operation and attempt: whoever learns of them, the same outcome is recorded once. Everything else is named by the version
/// it was decided on.
#[must_use]
pub fn request_id(order: &Order, event: &Event) -> RequestId {
    let pay = order.steps.pay.as_ref();
    let undo = pay.and_then(|pay| pay.undo.as_ref());
    let outcome = match event {
        Event::PaymentApproved { .. } => {
            pay.map(|pay| (pay.op_id, payment_attempt(order), "approved"))
        }
        Event::PaymentPending { .. } => {
            pay.map(|pay| (pay.op_id, payment_attempt(order), "pending"))
        }
        Event::PaymentDeclined { .. } => {
            pay.map(|pay| (pay.op_id, payment_attempt(order), "declined"))
        }
        Event::PaymentUnknown { .. } => {
            pay.map(|pay| (pay.op_id, payment_attempt(order), "unknown"))
        }
        Event::PaymentNotFound => pay.map(|pay| (pay.op_id, payment_attempt(order), "absent")),
        Event::RefundSucceeded { .. } | Event::PaymentRefunded => {
            undo.map(|undo| (undo.op_id, undo.attempt, "refunded"))
        }
        Event::RefundRefused { .. } => undo.map(|undo| (undo.op_id, undo.attempt, "refused")),
        Event::RefundUnknown { .. } => undo.map(|undo| (undo.op_id, undo.attempt, "unknown")),
        Event::StockReserved
        | Event::StockShort { .. }
        | Event::PaymentDue
        | Event::PaymentIdClash { .. }
        | Event::RefundDue
        | Event::UnwindDue
        | Event::ConfirmationPublished
        | Event::ConfirmationDelayed { .. }
        | Event::NoticePublished
        | Event::NoticeDelayed { .. }
        | Event::DeadlinePassed
        | Event::AttentionDue
        | Event::CommitPoisoned { .. }
        | Event::Nudged
        | Event::StepRetried
        | Event::UndoRetried
        | Event::UndoMarked { .. }
        | Event::Parked { .. }
        | Event::Unparked
        | Event::Abandoned { .. }
        | Event::CancelRequested { .. }
        | Event::ShipmentSent { .. }
        | Event::FulfilmentRefused { .. } => None,
    };
    match outcome {
        Some((op, attempt, outcome)) => RequestId::of_outcome(op, attempt, outcome),
        None => of_version(order, order.version, event.kind()),
    }
}

fn of_version(order: &Order, seen: Version, kind: &str) -> RequestId {
    RequestId::of_event(&order.order_id, seen, kind)
}
