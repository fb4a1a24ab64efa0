//! Orders and commits as the pipeline makes them: by the same checks and decisions.

use sagaline_order::{
    Cause, Context, Event, NewOrder, Order, OrderInput, RequestId, SagaConfig, Seconds, Timestamp,
    Verdict, apply, decide, request_id,
};
use sagaline_store::{Commit, PayloadHash};
use serde_json::{Value, json};

/// When the orders of tests are placed.
pub const START: &str = "2025-11-30T10:53:20.000Z";

/// The present `seconds` after [`START`], with the default settings.
///
/// # Panics
/// Never; [`START`] is a time.
#[must_use]
pub fn context(seconds: u32) -> Context {
    let now = Timestamp::parse(START)
        .expect("START is a time")
        .plus(Seconds(seconds));
    Context {
        now,
        config: SagaConfig::default(),
    }
}

/// The input of a small order: 2 of `sku`. Change it as you like.
#[must_use]
pub fn input(order_id: &str, user_id: &str, request_id: &str, sku: &str) -> Value {
    json!({
        "order_id": order_id, "user_id": user_id, "request_id": request_id, "currency": "EUR",
        "lines": [{"sku": sku, "name": "Brass lamp", "qty": 2, "unit_minor": 1250}], "payment_token": "tok_approve",
    })
}

/// An order as it is placed at [`START`].
///
/// # Panics
/// If the input breaks a rule.
#[must_use]
pub fn new_order(input: &Value) -> NewOrder {
    let unused = RequestId::of_callback("no request id in this input");
    OrderInput::from_json(&input.to_string())
        .and_then(|input| input.check(&unused, "customer", &context(0)))
        .expect("the input keeps the rules")
}

/// The commit of an event, decided as the saga does and named by what it records.
///
/// # Panics
/// If the event has no effect on the order.
#[must_use]
pub fn commit(before: &Order, event: &Event, context: &Context) -> Commit {
    commit_as(before, event, context, request_id(before, event))
}

/// The same under another request id.
///
/// # Panics
/// If the event has no effect on the order.
#[must_use]
pub fn commit_as(
    before: &Order,
    event: &Event,
    context: &Context,
    request_id: RequestId,
) -> Commit {
    let decision = decide(before, event, context);
    assert_eq!(
        decision.verdict,
        Verdict::Applied,
        "{event:?} on {:?}: {}",
        before.state,
        decision.reason
    );
    let cause = Cause {
        id: request_id.to_string(),
        actor: "saga".to_owned(),
    };
    let after = apply(before, event, &decision, &cause, context);
    let payload = serde_json::to_value(event).expect("an event is JSON");
    Commit {
        before: before.clone(),
        after,
        decision,
        request_id,
        operation: event.kind(),
        payload_hash: PayloadHash::of(&payload),
    }
}
