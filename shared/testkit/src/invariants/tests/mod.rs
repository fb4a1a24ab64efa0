//! A world that holds, built with the real decisions. `breakages` breaks one thing after the other.

use sagaline_order::{
    Cause, Event, OrderInput, PaymentId, RefundId, RequestId, SagaConfig, StepStatus, Timestamp,
    apply, decide, request_id,
};
use serde_json::json;

use super::*;

mod breakages;

const AT: &str = "2026-01-31T08:30:00.000Z";

fn context() -> Context {
    Context {
        now: Timestamp::parse(AT).unwrap(),
        config: SagaConfig::default(),
    }
}

fn paid(name: &str) -> Event {
    Event::PaymentApproved {
        payment_id: PaymentId::stored(format!("p-{name}")),
    }
}

fn cancel() -> Event {
    Event::CancelRequested {
        reason: "changed my mind".to_owned(),
    }
}

/// Adds an order that goes through `events` to the world, with everything outside as a faultless pipeline would leave it.
fn add(world: &mut World, name: &str, events: &[Event]) {
    let input = json!({"order_id": name, "user_id": "u-1", "currency": "EUR", "lines": [{"sku": "tea", "qty": 2, "unit_minor": 500}]});
    let input = OrderInput::from_json(&input.to_string()).unwrap();
    let placed = input
        .check(
            &RequestId::parse(&format!("r-{name}")).unwrap(),
            "customer",
            &world.context,
        )
        .unwrap();
    let mut order = placed.order.clone();
    commit(
        world,
        &order,
        &placed.request_id,
        vec![Change::OrderPlaced {
            order: Box::new(order.clone()),
        }],
    );
    for event in events {
        let decision = decide(&order, event, &world.context);
        assert!(
            !decision.changes.is_empty(),
            "{event:?} in {:?}: {}",
            order.state,
            decision.reason
        );
        let id = request_id(&order, event);
        let cause = Cause {
            id: id.to_string(),
            actor: "saga".to_owned(),
        };
        order = apply(&order, event, &decision, &cause, &world.context);
        commit(world, &order, &id, decision.changes.clone());
        outside(world, &order, &decision.changes);
    }
    let reserve = order.steps.reserve.as_ref();
    let holds = reserve.is_some_and(|step| step.status == StepStatus::Succeeded && !step.undone);
    if holds {
        *world.stock.get_mut(&Sku::stored("tea")).unwrap() -= 2;
    }
    let version = order.version;
    world.documents.push(Document {
        order_id: order.order_id.clone(),
        version,
        deleted: false,
        highest_seen: version,
    });
    world.heads.push(Head {
        in_due_index: order.wake_at.is_some(),
        order,
    });
}

fn commit(world: &mut World, order: &Order, request: &RequestId, changes: Vec<Change>) {
    let (order_id, version) = (order.order_id.clone(), order.version);
    world.guards.push(Guard {
        request_id: request.to_string(),
        order_id: order_id.clone(),
        result_version: version,
    });
    world.archived.push((order_id.clone(), version));
    world.view.push((order_id.clone(), version));
    world.history.push(Commit {
        order_id,
        version,
        changes,
    });
}

fn outside(world: &mut World, order: &Order, changes: &[Change]) {
    let pay = order.steps.pay.as_ref();
    for change in changes {
        if let Change::PaymentSucceeded { payment_id } = change {
            world.payments.push(Payment {
                key: pay.unwrap().op_id.to_string(),
                order_id: order.order_id.clone(),
                payment_id: payment_id.to_string(),
                amount_minor: 1000,
                currency: order.currency,
                charged_minor: 1000,
                refunded_minor: 0,
            });
        }
        if let Change::PaymentUndone { .. } = change {
            let payment = world.payments.last_mut().unwrap();
            payment.refunded_minor = payment.charged_minor;
            let key = pay.unwrap().undo.as_ref().unwrap().op_id.to_string();
            world.refunds.push(Refund {
                key,
                payment_id: payment.payment_id.clone(),
            });
        }
        if matches!(change, Change::ConfirmationPublished) {
            let id = format!("{}#{}", order.order_id, order.confirmed_version.unwrap());
            world.messages.get_or_insert_default().push(Message {
                kind: "OrderConfirmed".to_owned(),
                id,
            });
        }
    }
}

/// One order of each kind: confirmed, cancelled before and after the payment, sold out, under way.
fn world() -> World {
    let shelf = BTreeMap::from([(Sku::stored("tea"), 100)]);
    let mut world = World {
        context: context(),
        heads: Vec::new(),
        history: Vec::new(),
        guards: Vec::new(),
        initial_stock: shelf.clone(),
        stock: shelf,
        payments: Vec::new(),
        refunds: Vec::new(),
        messages: Some(Vec::new()),
        documents: Vec::new(),
        archived: Vec::new(),
        view: Vec::new(),
        feeds: vec![feed()],
        given_up_records: 0,
        parked_records: 1,
    };
    let refund = Event::RefundSucceeded {
        refund_id: RefundId::stored("f-1"),
    };
    let confirmed = [
        Event::StockReserved,
        paid("kept"),
        Event::ConfirmationPublished,
    ];
    let returned = [cancel(), Event::NoticePublished, Event::RefundDue, refund];
    add(&mut world, "kept", &confirmed);
    add(
        &mut world,
        "returned",
        &[
            &[
                Event::StockReserved,
                paid("returned"),
                Event::ConfirmationPublished,
            ][..],
            &returned,
        ]
        .concat(),
    );
    add(&mut world, "cancelled", &[cancel(), Event::NoticePublished]);
    add(
        &mut world,
        "sold-out",
        &[Event::StockShort {
            sku: Sku::stored("tea"),
            have: 1,
            want: 2,
        }],
    );
    add(&mut world, "under-way", &[Event::StockReserved]);
    world
}

fn feed() -> Feed {
    let outcomes = Outcomes {
        records_in: 12,
        done: 8,
        stale: 1,
        skipped: 1,
        parked: 1,
        deferred: 0,
        failed: 1,
    };
    Feed {
        name: "saga".to_owned(),
        read: 20,
        filtered: 9,

        given_up: 0,
        outcomes: Some(outcomes),
    }
}
