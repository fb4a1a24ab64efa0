//! What a decision and its consequence cost: `decide` and `evolve` over every transition of a straight order, and of a return.
//!
//! `cargo bench -p sagaline-order --bench decide`
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a benchmark may fail loudly, and criterion's macros document nothing"
)]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use sagaline_order::{
    Cause, Context, Event, Order, OrderInput, PaymentId, RefundId, RequestId, SagaConfig,
    Timestamp, Verdict, apply, decide, evolve, pending,
};

fn context() -> Context {
    Context {
        now: Timestamp::parse("2026-03-01T08:00:00.000Z").unwrap(),
        config: SagaConfig::default(),
    }
}

fn placed() -> Order {
    let input = r#"{"order_id":"o-1","user_id":"u-1","request_id":"r-1","currency":"EUR","payment_token":"approve",
        "lines":[{"sku":"lamp-brass","name":"Brass lamp","qty":2,"unit_minor":4500},{"sku":"mug","name":"Blue mug","qty":1,"unit_minor":1250}]}"#;
    let unused = RequestId::parse("unused").unwrap();
    let input = OrderInput::from_json(input).unwrap();
    input.check(&unused, "customer", &context()).unwrap().order
}

fn straight() -> Vec<Event> {
    vec![
        Event::StockReserved,
        Event::PaymentApproved {
            payment_id: PaymentId::stored("p-1"),
        },
        Event::ConfirmationPublished,
    ]
}

fn returned() -> Vec<Event> {
    let mut events = straight();
    events.extend([
        Event::CancelRequested {
            reason: "changed my mind".to_owned(),
        },
        Event::NoticePublished,
        Event::RefundDue,
        Event::RefundSucceeded {
            refund_id: RefundId::stored("f-1"),
        },
    ]);
    events
}

/// Each event with the order it meets.
fn transitions(events: &[Event]) -> Vec<(Order, Event)> {
    let c = context();
    let cause = Cause {
        id: "bench".to_owned(),
        actor: "saga".to_owned(),
    };
    let mut order = placed();
    let mut met = Vec::new();
    for event in events {
        let decision = decide(&order, event, &c);
        assert_eq!(decision.verdict, Verdict::Applied);
        let next = apply(&order, event, &decision, &cause, &c);
        met.push((order, event.clone()));
        order = next;
    }
    met
}

fn bench(criterion: &mut Criterion) {
    let c = context();
    for (name, events) in [("straight", straight()), ("returned", returned())] {
        for (order, event) in transitions(&events) {
            criterion.bench_function(
                &format!("decide+evolve/{name}/{}", event.kind()),
                |bencher| {
                    bencher.iter_batched(
                        || order.clone(),
                        |order| {
                            let decision = decide(&order, black_box(&event), &c);
                            decision.changes.iter().fold(order, evolve)
                        },
                        BatchSize::SmallInput,
                    );
                },
            );
        }
    }
    let order = placed();
    criterion.bench_function("pending", |bencher| {
        bencher.iter(|| pending(black_box(&order), &c));
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);
