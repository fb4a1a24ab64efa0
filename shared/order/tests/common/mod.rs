//! Orders in every situation, reached the way real ones get there: by events.
#![allow(
    clippy::unwrap_used,
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "each test binary uses its part of this module"
)]

use sagaline_order::{
    Cause, Context, Decision, Event, Order, OrderInput, PaymentId, RefundId, RequestId, SagaConfig,
    Seconds, Timestamp, Verdict, apply, decide,
};

pub const START: &str = "2026-03-01T08:00:00.000Z";

pub fn context() -> Context {
    Context {
        now: Timestamp::parse(START).unwrap(),
        config: SagaConfig::default(),
    }
}

pub fn later(context: &Context, seconds: u32) -> Context {
    Context {
        now: context.now.plus(Seconds(seconds)),
        config: context.config.clone(),
    }
}

pub fn input(json: serde_json::Value) -> OrderInput {
    OrderInput::from_json(&json.to_string()).unwrap()
}

pub fn placed() -> Order {
    placed_with(4_500)
}

pub fn placed_with(unit_minor: i64) -> Order {
    let input = input(serde_json::json!({
        "order_id": "o-1", "user_id": "u-1", "request_id": "r-1", "currency": "EUR",
        "lines": [{"sku": "lamp-brass", "name": "Brass lamp", "qty": 2, "unit_minor": unit_minor}], "payment_token": "approve",
    }));
    input
        .check(&RequestId::parse("unused").unwrap(), "customer", &context())
        .unwrap()
        .order
}

#[track_caller]
pub fn step(order: &Order, event: &Event, context: &Context) -> Order {
    let decision = decide(order, event, context);
    assert_eq!(
        decision.verdict,
        Verdict::Applied,
        "{event:?} on {:?}: {}",
        order.state,
        decision.reason
    );
    record(order, event, &decision, context)
}

pub fn record(order: &Order, event: &Event, decision: &Decision, context: &Context) -> Order {
    let cause = Cause {
        id: format!("test#{}", order.version),
        actor: "saga".to_owned(),
    };
    apply(order, event, decision, &cause, context)
}

pub fn approved() -> Event {
    Event::PaymentApproved {
        payment_id: PaymentId::stored("p-1"),
    }
}

pub fn pending_payment() -> Event {
    Event::PaymentPending {
        payment_id: PaymentId::stored("p-1"),
    }
}

pub fn unknown() -> Event {
    Event::PaymentUnknown {
        reason: "no answer".to_owned(),
    }
}

pub fn cancel() -> Event {
    Event::CancelRequested {
        reason: "changed my mind".to_owned(),
    }
}

pub fn refunded() -> Event {
    Event::RefundSucceeded {
        refund_id: RefundId::stored("f-1"),
    }
}

pub fn refused() -> Event {
    Event::RefundRefused {
        reason: "account closed".to_owned(),
    }
}

/// Every event once, with plausible values.
pub fn events() -> Vec<Event> {
    vec![
        Event::StockReserved,
        Event::StockShort {
            sku: sagaline_order::Sku::stored("lamp-brass"),
            have: 1,
            want: 2,
        },
        Event::PaymentDue,
        approved(),
        pending_payment(),
        Event::PaymentDeclined {
            reason: "insufficient funds".to_owned(),
        },
        unknown(),
        Event::PaymentNotFound,
        Event::PaymentRefunded,
        Event::PaymentIdClash {
            payment_id: PaymentId::stored("p-1"),
        },
        Event::RefundDue,
        refunded(),
        refused(),
        Event::RefundUnknown {
            reason: "no answer".to_owned(),
        },
        Event::UnwindDue,
        Event::ConfirmationPublished,
        Event::ConfirmationDelayed {
            reason: "throttled".to_owned(),
        },
        Event::NoticePublished,
        Event::NoticeDelayed {
            reason: "throttled".to_owned(),
        },
        Event::DeadlinePassed,
        Event::AttentionDue,
        Event::CommitPoisoned {
            reason: "validation".to_owned(),
        },
        Event::Nudged,
        Event::StepRetried,
        Event::UndoRetried,
        Event::UndoMarked {
            evidence: "bank statement of 3 March".to_owned(),
        },
        Event::Parked {
            reason: "under review".to_owned(),
        },
        Event::Unparked,
        Event::Abandoned {
            comment: "settled by phone".to_owned(),
        },
        cancel(),
        Event::ShipmentSent {
            tracking: "T-77".to_owned(),
        },
        Event::FulfilmentRefused {
            reason: "damaged in store".to_owned(),
        },
    ]
}

/// Every situation that an order can be in, as far as a decision can tell them apart.
pub fn situations() -> Vec<(&'static str, Order)> {
    let c = context();
    let run = |from: &Order, events: &[Event]| {
        events
            .iter()
            .fold(from.clone(), |order, event| step(&order, event, &c))
    };
    let placed = placed();
    let paying = run(&placed, &[Event::StockReserved]);
    let pay_unknown = run(&paying, &[unknown()]);
    let pay_pending = run(&paying, &[pending_payment()]);
    let confirmed = run(&paying, &[approved()]);
    let noted = run(&confirmed, &[cancel()]);
    let published = run(&confirmed, &[Event::ConfirmationPublished]);
    let shipped = run(
        &published,
        &[Event::ShipmentSent {
            tracking: "T-77".to_owned(),
        }],
    );
    let open = run(&paying, &[cancel()]);
    let open_unknown = run(&pay_unknown, &[cancel()]);
    let to_refund = run(&open, &[approved()]);
    let refunding = run(&to_refund, &[Event::RefundDue]);
    let returning = run(&published, &[cancel()]);
    let cancelled = run(&placed, &[cancel(), Event::NoticePublished]);
    let recheck = run(&open, &[Event::PaymentNotFound, Event::NoticePublished]);
    let late = run(&recheck, &[approved()]);
    let rejected = run(
        &paying,
        &[Event::PaymentDeclined {
            reason: "insufficient funds".to_owned(),
        }],
    );
    let stuck = run(
        &refunding,
        &[
            refused(),
            Event::RefundDue,
            refused(),
            Event::RefundDue,
            refused(),
            Event::NoticePublished,
        ],
    );
    let park = || Event::Parked {
        reason: "under review".to_owned(),
    };
    let parked_paying = run(&pay_unknown, &[park(), Event::NoticePublished]);
    let parked_confirmed = run(&confirmed, &[park(), Event::NoticePublished]);
    let mut unanswered = step(&open, &Event::DeadlinePassed, &later(&c, 86_401));
    unanswered = step(&unanswered, &Event::NoticePublished, &c);
    let mut taken = placed.clone();
    taken.steps.reserve.clone_from(&paying.steps.reserve);
    vec![
        ("Placed", placed),
        ("Placed, stock taken at placement", taken),
        ("Paying, payment requested", paying),
        ("Paying, outcome unknown", pay_unknown),
        ("Paying, payment pending", pay_pending),
        ("Confirmed, to be published", confirmed),
        ("Confirmed, a cancellation waits for the publication", noted),
        ("Confirmed, published", published),
        ("Confirmed, shipped", shipped),
        ("Unwinding, payment under way", open),
        ("Unwinding, payment unknown", open_unknown),
        ("Unwinding, paid", to_refund),
        ("Unwinding, refund under way", refunding),
        ("Unwinding, a return to be announced", returning),
        ("Cancelled, finished", cancelled),
        ("Cancelled, last enquiry to come", recheck),
        ("Cancelled, a late payment to be undone", late),
        ("Rejected", rejected),
        ("NeedsOperator, refund refused three times", stuck),
        (
            "NeedsOperator, a payment stayed unknown while unwinding",
            unanswered,
        ),
        (
            "NeedsOperator, parked while the payment was unknown",
            parked_paying,
        ),
        (
            "NeedsOperator, parked before the publication",
            parked_confirmed,
        ),
    ]
}
