//! Single orders: created, shown, listed, cancelled, reported on.

use std::collections::BTreeSet;

use sagaline_order::State;
use sagaline_store::Metrics;
use sagaline_testkit::contract::orders::{input, new_order};
use serde_json::json;

use super::{create, metrics};
use crate::support::{Place, unique};

#[tokio::test]
async fn an_order_is_created_shown_and_listed_as_plain_json() {
    let place = Place::shared().await;
    let (id, user, request) = (unique("o"), unique("u"), unique("r"));
    let created = place
        .json(
            &[
                &create(&id, &user, &request, "mug:2:1250:Blue mug: large")[..],
                &["--payment-token", "tok_1"],
            ]
            .concat(),
        )
        .await;
    assert_eq!(
        (&created["result"], &created["request_id"]),
        (&json!("created"), &json!(request))
    );
    let order = &created["order"];
    assert_eq!(order["order_id"], json!(id));
    assert_eq!(
        (&order["state"], &order["status"], &order["version"]),
        (&json!("Placed"), &json!("UNPAID"), &json!(1))
    );
    assert_eq!(
        (&order["total_minor"], &order["currency"]),
        (&json!(2500), &json!("EUR"))
    );
    assert_eq!(
        order["lines"],
        json!([{"sku": "mug", "name": "Blue mug: large", "qty": 2, "unit_minor": 1250}])
    );

    let shown = place.json(&["show", &id]).await;
    assert_eq!(shown["order"], *order);
    let [first] = shown["history"].as_array().unwrap().as_slice() else {
        panic!("one row: {shown}")
    };
    for name in ["version", "at", "actor", "reason", "verdict", "events"] {
        assert!(first.get(name).is_some(), "{name}: {first}");
    }
    let placed = &first["events"][0];
    assert_eq!(
        (&placed["kind"], placed["order"].get("payment_token")),
        (&json!("OrderPlaced"), None)
    );

    let listed = place.json(&["ls", "--user", &user]).await;
    assert_eq!(listed["orders"][0]["order_id"], json!(id));
    let unpaid = place
        .json(&["ls", "--status", "UNPAID", "--limit", "1000"])
        .await;
    let unpaid: BTreeSet<_> = unpaid["orders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|order| order["order_id"].as_str().unwrap())
        .collect();
    assert!(unpaid.contains(id.as_str()));
    let people = place.sagaline(&["show", &id]).await.ok().out;
    assert!(
        people.contains("25.00") && people.contains("Blue mug: large"),
        "{people}"
    );
}

// C-27, C-29
#[tokio::test]
async fn a_request_has_one_effect_however_often_and_with_whatever_it_comes() {
    let place = Place::shared().await;
    let (id, user, request) = (unique("o"), unique("u"), unique("r"));
    let one = create(&id, &user, &request, "mug:1:1250");
    assert_eq!(place.json(&one).await["result"], "created");
    let again = place.json(&one).await;
    assert_eq!(
        (&again["result"], &again["order"]["version"]),
        (&json!("already_applied"), &json!(1))
    );
    let said = place
        .sagaline(&create(&id, &user, &request, "mug:2:1250"))
        .await
        .refused(4, "SL3003");
    assert!(
        !said.err.contains("1250") && said.out.is_empty(),
        "no data of the first request: {said:?}"
    );
    let said = place
        .sagaline(&create(&id, &user, &unique("r"), "mug:1:1250"))
        .await;
    said.refused(4, "SL3002");
    assert_eq!(
        metrics(&place, &user).await,
        Metrics {
            order_count: 1,
            unpaid_count: 1
        }
    );
}

// C-27
#[tokio::test]
async fn the_same_request_twice_at_the_same_moment_has_one_effect_and_both_are_told_of_it() {
    let place = Place::shared().await;
    let (id, user, request) = (unique("o"), unique("u"), unique("r"));
    let args = create(&id, &user, &request, "mug:1:1250");
    let (one, other) = tokio::join!(place.json(&args), place.json(&args));
    let results = BTreeSet::from([one["result"].to_string(), other["result"].to_string()]);
    assert_eq!(
        results,
        BTreeSet::from(["\"already_applied\"".to_owned(), "\"created\"".to_owned()])
    );
    assert_eq!(one["order"], other["order"]);
    assert_eq!(
        metrics(&place, &user).await,
        Metrics {
            order_count: 1,
            unpaid_count: 1
        }
    );
}

#[tokio::test]
async fn a_cancellation_takes_effect_once_and_ends_well_when_there_is_nothing_to_do() {
    let place = Place::shared().await;
    let (id, user, request) = (unique("o"), unique("u"), unique("r"));
    place
        .sagaline(&create(&id, &user, &request, "mug:1:100"))
        .await
        .ok();
    let args = ["cancel", &id, "--reason", "changed my mind"];
    let done = place.json(&args).await;
    assert_eq!(
        (&done["result"], &done["order"]["state"]),
        (&json!("applied"), &json!("Cancelled"))
    );
    let version = done["order"]["version"].as_u64().unwrap();
    let again = place.json(&args).await;
    assert_ne!(again["result"], "applied");
    assert_eq!(again["order"]["version"], version);
    place
        .sagaline(&["cancel", &unique("none"), "--reason", "why"])
        .await
        .refused(3, "SL2001");
    place.sagaline(&["cancel", &id]).await.refused(2, "SL0001");
    place
        .sagaline(&["cancel", &id, "--reason", "  "])
        .await
        .refused(2, "SL0002");
}

#[tokio::test]
async fn a_report_is_taken_once_by_its_event_id_and_one_without_effect_ends_well() {
    let place = Place::shared().await;
    let (id, user, request) = (unique("o"), unique("u"), unique("r"));
    place
        .sagaline(&create(&id, &user, &request, "mug:1:100"))
        .await
        .ok();
    let none = place
        .json(&["report", &id, "--type", "payment.refunded"])
        .await;
    assert_eq!(
        (&none["result"], none["event_id"].is_string()),
        (&json!("no_effect"), true)
    );
    place
        .sagaline(&["report", &id, "--type", "shipment.sent"])
        .await
        .refused(2, "SL0002");
    place
        .sagaline(&["report", &id, "--type", "nonsense"])
        .await
        .refused(2, "SL0002");
    place
        .sagaline(&[
            "report",
            &unique("none"),
            "--type",
            "payment.approved",
            "--payment-id",
            "p",
        ])
        .await
        .refused(3, "SL2001");
    assert_eq!(
        place.json(&["show", &id]).await["order"]["version"],
        1,
        "nothing was written"
    );

    // A confirmed order, written as the saga would: it is on its way once, whoever says so how often.
    let store = place.store();
    let shipped = confirmed(&place, &unique("o")).await;
    let event = unique("event");
    let args = [
        "report",
        &shipped,
        "--type",
        "shipment.sent",
        "--tracking",
        "1Z999",
        "--event-id",
        &event,
    ];
    let sent = place.json(&args).await;
    assert_eq!(
        (&sent["result"], &sent["order"]["status"], &sent["event_id"]),
        (&json!("applied"), &json!("SHIPPED"), &json!(event))
    );
    let again = place.json(&args).await;
    assert_eq!(again["result"], "already_applied");
    assert_eq!(again["order"], sent["order"]);
    // Another report under the same event id is not taken for it.
    let other = [
        "report",
        &shipped,
        "--type",
        "fulfilment.refused",
        "--event-id",
        &event,
    ];
    place.sagaline(&other).await.refused(4, "SL3003");
    place
        .sagaline(&["cancel", &shipped, "--reason", "too late"])
        .await
        .refused(4, "SL3004");
    let order = store
        .load(&sagaline_order::OrderId::parse(&shipped).unwrap())
        .await
        .unwrap()
        .unwrap();
    assert_eq!((order.state, order.version.get()), (State::Confirmed, 5));
}

/// An order as the saga leaves it after its confirmation is out.
async fn confirmed(place: &Place, id: &str) -> String {
    use sagaline_order::{Event, PaymentId};
    use sagaline_store::{Committed, Placed, Placement};
    use sagaline_testkit::contract::orders::{commit, context};

    let store = place.store();
    let new = new_order(&input(id, "u-1", &unique("r"), &unique("sku")));
    let Ok(Placed::Created { mut order }) = store.place(new, Placement::default()).await else {
        panic!("{id} is placed")
    };
    store.set_stock(&order.lines[0].sku, 9, None).await.unwrap();
    let payment_id = PaymentId::stored(unique("p"));
    let events = [
        Event::StockReserved,
        Event::PaymentApproved { payment_id },
        Event::ConfirmationPublished,
    ];
    for (seconds, event) in (1..).zip(events) {
        let committed = store
            .commit(commit(&order, &event, &context(seconds)))
            .await
            .unwrap();
        let Committed::Applied { order: after, .. } = committed else {
            panic!("{event:?} is applied")
        };
        order = after;
    }
    id.to_owned()
}
