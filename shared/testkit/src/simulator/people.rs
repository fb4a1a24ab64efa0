//! Those outside: customers, fulfilment, the gateway that tells unasked, operators. What each of them does, as a submission to the real code.

use std::time::Duration;

use sagaline_order::{Event, NewOrder, Order, OrderId, OrderInput, RequestId, State, StepStatus};
use sagaline_saga::{Callback, CallbackKind, Submission};
use sagaline_store::PayloadHash;
use serde_json::json;

use super::dice::Dice;
use super::parts::Outside;
use super::verdict::BY_HAND;
use super::weather::{Plan, sku};
use super::world::World;
use crate::gateway::book::{PaymentStatus, RefundBody};

/// The order of a plan, checked as every order is.
pub(super) fn order(plan: &Plan, world: &World) -> Result<NewOrder, String> {
    let lines: Vec<_> = plan
        .lines
        .iter()
        .map(|(product, qty)| {
            json!({"sku": sku(*product).as_str(), "name": "Teapot", "qty": qty, "unit_minor": plan.unit_minor})
        })
        .collect();
    let input = json!({
        "order_id": plan.order_id, "user_id": format!("u-{}", plan.user), "request_id": format!("place-{}", plan.order_id),
        "currency": "EUR", "payment_token": plan.token, "lines": lines,
    });
    let unused = RequestId::of_callback("unused");
    serde_json::from_value::<OrderInput>(input)
        .map_err(|error| error.to_string())?
        .check(&unused, "customer", &world.context())
        .map_err(|error| error.to_string())
}

/// A customer wants it cancelled.
pub(super) fn cancellation(order_id: &OrderId) -> Option<Submission> {
    let event = Event::CancelRequested {
        reason: "changed their mind".to_owned(),
    };
    submission(event, &format!("cancel-{order_id}"), "cancel", "customer")
}

/// What an operator would do about an order, or with one that needs nobody.
pub(super) fn operation(order: &Order, number: u64, dice: &mut Dice) -> Option<Submission> {
    let reason = || "simulated".to_owned();
    let event = match (order.state, dice.below(8)) {
        (State::NeedsOperator, 0..=2) => Event::UndoRetried,
        (State::NeedsOperator, 3..=5) => Event::Unparked,
        (State::NeedsOperator, 6) => Event::StepRetried,
        (_, 0..=2) => Event::Nudged,
        (_, 3) => Event::UndoRetried,
        (_, 4) => Event::StepRetried,
        (_, 5) => Event::Unparked,
        (_, _) => Event::Parked { reason: reason() },
    };
    let id = format!("op-{}-{number}", order.order_id);
    submission(event, &id, "operate", "operator:simulated")
}

/// What ends an order that nothing else could end, once its money is settled by hand.
pub(super) fn last_resort(order: &Order, number: u64) -> Option<Submission> {
    let known = order.steps.pay.as_ref().is_some_and(|pay| {
        matches!(pay.status, StepStatus::Succeeded | StepStatus::Pending) && !pay.undone
    });
    let unwinding = order.unwind.is_some();
    let event = if known && unwinding && number.is_multiple_of(2) {
        Event::UndoMarked {
            evidence: "given back by hand".to_owned(),
        }
    } else {
        Event::Abandoned {
            comment: "settled by hand".to_owned(),
        }
    };
    let id = format!("op-{}-{number}", order.order_id);
    submission(event, &id, "operate", "operator:simulated")
}

/// Gives back by hand whatever the gateway holds of an order.
pub(super) fn settle_by_hand(outside: &mut Outside, order_id: &OrderId, now: Duration) {
    let account = outside.book.ledger(now).remove(order_id.as_str());
    for payment in account.into_iter().flat_map(|account| account.payments) {
        let left = payment.amount_minor - payment.refunded_minor;
        let open = matches!(
            payment.status,
            PaymentStatus::Approved | PaymentStatus::Pending
        );
        if !open || left <= 0 {
            continue;
        }
        let body = RefundBody {
            amount_minor: left,
            currency: payment.currency.clone(),
        };
        // A person insists: scripted refusals are finite.
        for attempt in 0..20 {
            let key = format!("{BY_HAND}{order_id}-{attempt}");
            if outside
                .book
                .refund(&payment.payment_id, &key, &body, now)
                .status
                == 201
            {
                break;
            }
        }
    }
}

/// The gateway tells of an order's payment what is true of it.
pub(super) fn gateway_report(world: &World, order_id: &OrderId, number: u64) -> Option<Submission> {
    let now = world.shared.clock.elapsed();
    let account = world
        .shared
        .outside()
        .book
        .ledger(now)
        .remove(order_id.as_str())?;
    let payment = account.payments.first()?;
    let kind = match payment.status {
        PaymentStatus::Approved if payment.refunded_minor >= payment.amount_minor => {
            CallbackKind::PaymentRefunded
        }
        PaymentStatus::Approved => CallbackKind::PaymentApproved,
        PaymentStatus::Declined => CallbackKind::PaymentDeclined,
        PaymentStatus::Pending => return None,
        PaymentStatus::Voided => CallbackKind::PaymentRefunded,
    };
    report(Callback {
        payment_id: Some(payment.payment_id.clone()),
        op_id: Some(payment.key.clone()),
        ..callback(order_id, kind, &format!("gateway-{order_id}-{number}"))
    })
}

/// Fulfilment tells that it sent the goods, or cannot.
pub(super) fn fulfilment_report(order_id: &OrderId, sent: bool) -> Option<Submission> {
    if sent {
        return report(Callback {
            tracking: Some(format!("track-{order_id}")),
            ..callback(
                order_id,
                CallbackKind::ShipmentSent,
                &format!("sent-{order_id}"),
            )
        });
    }
    report(callback(
        order_id,
        CallbackKind::FulfilmentRefused,
        &format!("refused-{order_id}"),
    ))
}

fn callback(order_id: &OrderId, kind: CallbackKind, event_id: &str) -> Callback {
    Callback {
        event_id: event_id.to_owned(),
        kind,
        order_id: order_id.clone(),
        op_id: None,
        payment_id: None,
        tracking: None,
        reason: None,
        at: None,
    }
}

fn report(callback: Callback) -> Option<Submission> {
    Some(Submission {
        event: callback.event().ok()?,
        request_id: callback.request_id(),
        payload_hash: callback.payload_hash(),
        operation: "report",
        actor: callback.kind.actor().to_owned(),
        expected: None,
    })
}

fn submission(
    event: Event,
    request_id: &str,
    operation: &'static str,
    actor: &str,
) -> Option<Submission> {
    Some(Submission {
        payload_hash: PayloadHash::of(&serde_json::to_value(&event).ok()?),
        event,
        request_id: RequestId::parse(request_id).ok()?,
        operation,
        actor: actor.to_owned(),
        expected: None,
    })
}
