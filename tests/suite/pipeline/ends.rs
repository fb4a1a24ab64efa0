//! How orders of every kind end, and that nothing happens afterwards.

use sagaline_order::{Order, State, StepStatus};
use sagaline_store::Metrics;
use sagaline_store::value::map_to_json;
use serde_json::{Value, json};

use crate::support::{Pipeline, SetUp};

fn is_pending(order: &Order) -> bool {
    let pay = order.steps.pay.as_ref();
    order.state == State::Paying && pay.is_some_and(|pay| pay.status == StepStatus::Pending)
}

/// What must not change any more once everything is at rest.
async fn picture(pipeline: &Pipeline) -> Value {
    let items = pipeline.place.items().await;
    let mut items: Vec<_> = items.iter().map(map_to_json).map(Value::Object).collect();
    items.sort_by_key(|item| format!("{} {}", item["PK"], item["SK"]));
    let ledger = pipeline.gateway.ledger().into_iter();
    let calls: Vec<_> = ledger
        .map(|(order, account)| format!("{order} {:?}", account.calls))
        .collect();
    let view = pipeline.archived("order_changes").await.into_iter();
    let view: Vec<_> = view
        .map(|(order, version)| format!("{order} {version}"))
        .collect();
    json!({"items": items, "calls": calls, "index": pipeline.index.versions().await, "view": view})
}

// C-05, C-15, C-29
#[tokio::test]
async fn orders_of_every_kind_end_as_they_must_and_a_replay_of_everything_changes_nothing() {
    let mut pipeline = Pipeline::start("kinds").await;
    pipeline.shelve("tea", 100).await;
    pipeline.shelve("last", 1).await;
    pipeline
        .place_order("o-happy", "tea:2:1250:Green tea", "tok_visa")
        .await;
    pipeline
        .place_order("o-declined", "tea:1:1250", "decline:insufficient_funds")
        .await;
    pipeline
        .place_order("o-short", "last:2:900", "tok_visa")
        .await;
    pipeline
        .place_order("o-charged", "tea:1:700", "timeout-charged")
        .await;
    pipeline
        .place_order("o-uncharged", "tea:1:700", "timeout-not-charged")
        .await;
    pipeline.place_order("o-late", "tea:1:400", "pending").await;
    pipeline
        .place_order("o-cancelled", "tea:3:500", "pending")
        .await;
    pipeline
        .place_order("o-returned", "tea:4:250", "tok_visa")
        .await;
    pipeline.place_order("o-free", "tea:1:0", "decline").await;

    let late = pipeline
        .until("o-late", "waiting for the gateway", is_pending)
        .await;
    pipeline
        .settle(late.payment_id.as_ref().unwrap().as_str(), "approved")
        .await;
    pipeline
        .until("o-cancelled", "waiting for the gateway", is_pending)
        .await;
    pipeline
        .place
        .sagaline(&["cancel", "o-cancelled", "--reason", "changed my mind"])
        .await
        .ok();
    pipeline
        .until("o-returned", "announced", Order::is_published)
        .await;
    pipeline
        .place
        .sagaline(&["cancel", "o-returned", "--reason", "too green"])
        .await
        .ok();
    pipeline.at_rest().await;

    for (id, state) in [
        ("o-happy", State::Confirmed),
        ("o-declined", State::Rejected),
        ("o-short", State::Rejected),
        ("o-charged", State::Confirmed),
        ("o-uncharged", State::Confirmed),
        ("o-late", State::Confirmed),
        ("o-cancelled", State::Cancelled),
        ("o-returned", State::Cancelled),
        ("o-free", State::Confirmed),
    ] {
        let order = pipeline.order(id).await;
        assert_eq!(order.state, state, "{id}: {order:?}");
        assert!(order.transitions < 64, "{id}");
    }
    // A happy order takes four commits: placed; stock and payment intent; outcome and confirmation; published.
    assert_eq!(pipeline.order("o-happy").await.version.get(), 4);
    let found = pipeline
        .place
        .json(&["search", "green status:CONFIRMED"])
        .await;
    assert_eq!(
        (&found["total"], &found["orders"][0]["order_id"]),
        (&json!(1), &json!("o-happy"))
    );
    let timeline = pipeline
        .place
        .archive()
        .timeline("o-returned")
        .await
        .unwrap();
    let last = timeline.rows.last().unwrap();
    assert!(last.contains(&Some("CANCELLED".to_owned())), "{timeline:?}");
    let ledger = pipeline.gateway.ledger();
    assert_eq!(
        (
            ledger["o-charged"].charged_minor,
            ledger["o-charged"].payments.len()
        ),
        (700, 1)
    );
    assert!(
        !ledger.contains_key("o-short") && !ledger.contains_key("o-free"),
        "nothing was asked of the gateway"
    );
    assert_eq!(
        (
            ledger["o-returned"].charged_minor,
            ledger["o-returned"].refunded_minor
        ),
        (1_000, 1_000)
    );
    let user = pipeline.order("o-happy").await.user_id;
    let metrics = Metrics {
        order_count: 9,
        unpaid_count: 0,
    };
    assert_eq!(pipeline.store.metrics(&user).await.unwrap(), metrics);
    pipeline.check_invariants().await;

    let before = picture(&pipeline).await;
    pipeline.stop_runner().await;
    pipeline.lines.lock().unwrap().clear();
    pipeline.replay().await;
    pipeline.at_rest().await;
    let status = pipeline.runner.as_ref().unwrap().status();
    let projected = status
        .iter()
        .find(|mapping| mapping.function.ends_with("projector"))
        .unwrap();
    assert!(projected.invoked > 0, "everything came again: {status:?}");
    assert_eq!(picture(&pipeline).await, before);
    assert_eq!(
        pipeline.count("projector", "RecordsDone") + pipeline.count("projector", "RecordsStale"),
        pipeline.count("projector", "RecordsIn")
    );
    pipeline.check_invariants().await;
    pipeline.stop().await;
}

#[tokio::test]
async fn every_order_ends_by_the_sweeper_alone_when_the_stream_brings_the_saga_nothing() {
    let set_up = SetUp {
        env: Vec::new(),
        unfed: Some("saga"),
    };
    let mut pipeline = Pipeline::start_as("swept", set_up).await;
    pipeline.shelve("tea", 10).await;
    pipeline
        .place_order("o-happy", "tea:2:1250", "tok_visa")
        .await;
    pipeline
        .place_order("o-declined", "tea:1:1250", "decline")
        .await;
    pipeline
        .place_order("o-short", "none:1:900", "tok_visa")
        .await;
    pipeline
        .place_order("o-late", "tea:1:700", "timeout-charged")
        .await;
    pipeline.at_rest().await;
    for (id, state) in [
        ("o-happy", State::Confirmed),
        ("o-declined", State::Rejected),
        ("o-short", State::Rejected),
        ("o-late", State::Confirmed),
    ] {
        assert_eq!(pipeline.order(id).await.state, state, "{id}");
    }
    assert_eq!(pipeline.count("saga", "RecordsIn"), 0);
    pipeline.check_invariants().await;
    pipeline.stop().await;
}
