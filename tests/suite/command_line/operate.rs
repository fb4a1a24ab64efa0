//! What an operator does to single orders, and to all that are stuck: dry run first, then on the version that was shown.

use sagaline_order::{Event, Order, OrderId, PaymentId};
use sagaline_store::{Committed, Placed, Placement};
use sagaline_testkit::contract::orders::{commit, context, input, new_order};
use serde_json::json;

use crate::support::{Place, unique};

/// An order to which this happened.
async fn order(place: &Place, events: &[Event]) -> Order {
    let store = place.store();
    let sku = unique("sku");
    let new = new_order(&input(&unique("o"), "u-1", &unique("r"), &sku));
    let placed = store.place(new, Placement::default()).await;
    let Ok(Placed::Created { mut order }) = placed else {
        panic!("{placed:?}")
    };
    store.set_stock(&order.lines[0].sku, 9, None).await.unwrap();
    for (seconds, event) in (1..).zip(events) {
        let committed = store.commit(commit(&order, event, &context(seconds))).await;
        let Ok(Committed::Applied { order: after, .. }) = committed else {
            panic!("{event:?}: {committed:?}")
        };
        order = after;
    }
    order
}

fn unknown() -> Event {
    Event::PaymentUnknown {
        reason: "no answer within 3000 ms".to_owned(),
    }
}

fn parked() -> Event {
    Event::Parked {
        reason: "under review".to_owned(),
    }
}

/// Refused three times: it waits for a person.
async fn stuck(place: &Place) -> Order {
    let payment_id = PaymentId::stored(unique("p"));
    let cancel = Event::CancelRequested {
        reason: "changed my mind".to_owned(),
    };
    let refused = || Event::RefundRefused {
        reason: "422 account closed".to_owned(),
    };
    let events = [
        Event::StockReserved,
        Event::PaymentApproved { payment_id },
        Event::ConfirmationPublished,
        cancel,
        Event::NoticePublished,
        Event::RefundDue,
        refused(),
        Event::RefundDue,
        refused(),
        Event::RefundDue,
        refused(),
    ];
    order(place, &events).await
}

async fn head(place: &Place, id: &OrderId) -> Order {
    place.store().load(id).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_dry_run_says_what_would_be_written_and_acting_is_bound_to_the_version_it_showed() {
    let place = Place::shared().await;
    let waiting = order(&place, &[Event::StockReserved, unknown()]).await;
    let id = waiting.order_id.as_str();
    let park = |more: &[&'static str]| {
        let mut args = vec!["park".to_owned(), id.to_owned()];
        args.extend(["--reason", "under review"].map(str::to_owned));
        args.extend(more.iter().map(|&arg| arg.to_owned()));
        args
    };
    let json = async |args: Vec<String>| {
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        place.json(&args).await
    };
    let said = async |args: Vec<String>| {
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        place.sagaline(&args).await
    };
    let foretold = json(park(&[])).await;
    assert_eq!(
        (
            &foretold["result"],
            &foretold["verdict"],
            &foretold["version"]
        ),
        (&json!("dry_run"), &json!("Applied"), &json!(3))
    );
    let writes = foretold["writes"].as_array().unwrap();
    assert_eq!(writes.len(), 5, "{foretold}");
    assert_eq!(writes[0]["condition"], "version = 3");
    assert_eq!(writes[1]["key"]["PK"], format!("REQUEST#{id}#3#park"));
    assert_eq!(
        head(&place, &waiting.order_id).await,
        waiting,
        "nothing was done"
    );
    let people = said(park(&[])).await.ok().out;
    assert!(
        people.contains("run it again with --yes --expect 3") && people.contains("if version = 3"),
        "{people}"
    );

    let done = json(park(&["--yes", "--expect", "3"])).await;
    assert_eq!(
        (&done["result"], &done["order"]["version"]),
        (&json!("applied"), &json!(4))
    );
    let again = json(park(&["--yes", "--expect", "3"])).await;
    assert_eq!(again["result"], "already_applied");
    said(park(&["--expect", "3"])).await.refused(4, "SL3005");
    said(park(&["--yes", "--expect", "2"]))
        .await
        .refused(4, "SL3005");
    said(park(&["--expect", "none"])).await.refused(2, "SL0001");
    let history = &place.json(&["show", id]).await["history"][3];
    assert!(history["actor"].as_str().unwrap().starts_with("operator:"));
}

#[tokio::test]
async fn an_event_is_explained_whatever_its_verdict_and_nothing_is_done() {
    let place = Place::shared().await;
    let placed = order(&place, &[]).await;
    let id = placed.order_id.as_str();
    for (event, verdict, writes) in [
        (
            json!({"kind": "CancelRequested", "reason": "late"}),
            "Applied",
            6,
        ),
        (json!({"kind": "ConfirmationPublished"}), "NoEffect", 0),
        (
            json!({"kind": "ShipmentSent", "tracking": "T-1"}),
            "Refused",
            0,
        ),
    ] {
        let said = place
            .json(&["explain", id, "--event", &event.to_string()])
            .await;
        assert_eq!(said["verdict"], verdict, "{said}");
        assert!(!said["reason"].as_str().unwrap().is_empty());
        assert!(
            !said.to_string().contains("tok_approve"),
            "no token is shown"
        );
        let written = said["writes"].as_array().unwrap().len();
        assert_eq!(written > 0, writes > 0, "{said}");
        let people = place
            .sagaline(&["explain", id, "--event", &event.to_string()])
            .await;
        assert!(people.ok().out.contains(id));
    }
    place
        .sagaline(&["explain", id, "--event", "{\"kind\":\"Nonsense\"}"])
        .await
        .refused(2, "SL0002");
    assert_eq!(head(&place, &placed.order_id).await, placed);
}

#[tokio::test]
async fn a_step_is_tried_again_out_of_a_persons_hands() {
    let place = Place::shared().await;
    // Its time to pay is long over: the orders of these tests were placed long ago.
    let over = order(&place, &[Event::StockReserved, unknown(), parked()]).await;
    let id = over.order_id.as_str();
    let said = place
        .sagaline(&["retry-step", id, "--yes"])
        .await
        .refused(4, "SL3004");
    assert!(said.err.contains("the time to pay is over"), "{}", said.err);
    let payment_id = PaymentId::stored(unique("p"));
    let delayed = Event::ConfirmationDelayed {
        reason: "the event bus cannot be reached".to_owned(),
    };
    let events = [
        Event::StockReserved,
        Event::PaymentApproved { payment_id },
        delayed,
        parked(),
    ];
    let waiting = order(&place, &events).await;
    let id = waiting.order_id.as_str();
    let done = place.json(&["retry-step", id, "--yes"]).await;
    assert_eq!(
        (
            &done["result"],
            &done["order"]["state"],
            &done["order"]["transitions"]
        ),
        (&json!("applied"), &json!("Confirmed"), &json!(1))
    );
    let returned = stuck(&place).await;
    place
        .sagaline(&["retry-step", returned.order_id.as_str()])
        .await
        .refused(4, "SL3004");
}

#[tokio::test]
async fn after_an_outage_every_stuck_undo_is_retried_and_nothing_else() {
    let place = Place::fresh("stuck").await;
    let none = place.json(&["retry-undo", "--all"]).await;
    assert_eq!((&none["stuck"], &none["others"]), (&json!(0), &json!(0)));
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(stuck(&place).await.order_id);
    }
    let other = order(&place, &[Event::StockReserved, parked()]).await;
    let foretold = place.json(&["retry-undo", "--all"]).await;
    assert_eq!(
        (&foretold["result"], &foretold["stuck"], &foretold["others"]),
        (&json!("dry_run"), &json!(3), &json!(1))
    );
    let people = place.sagaline(&["retry-undo", "--all"]).await.ok().out;
    assert!(
        people.contains("refused 3 times") && people.contains("run it again with --yes"),
        "{people}"
    );
    for id in &ids {
        assert_eq!(head(&place, id).await.version.get(), 12, "nothing was done");
    }
    // One was retried alone in the meantime, as by a run that was stopped.
    let first = ids[0].as_str();
    assert_eq!(
        place.json(&["retry-undo", first, "--yes"]).await["result"],
        "applied"
    );
    let done = place
        .json(&["retry-undo", "--all", "--yes", "--rate", "50"])
        .await;
    assert_eq!(
        (
            &done["retried"],
            &done["failed"],
            &done["left"],
            &done["others"]
        ),
        (&json!(2), &json!(0), &json!(0), &json!(1))
    );
    let results = done["orders"].as_array().unwrap();
    assert!(
        results.iter().all(|row| row["result"] == "applied"),
        "{done}"
    );
    for id in &ids {
        let order = head(&place, id).await;
        assert_eq!(order.state, sagaline_order::State::Unwinding);
        let undo = order.steps.pay.unwrap().undo.unwrap();
        assert_eq!(undo.refusals, 0);
    }
    assert_eq!(head(&place, &other.order_id).await, other);
    let again = place.json(&["retry-undo", "--all", "--yes"]).await;
    assert_eq!(again["orders"], json!([]));
    // One that a newer release wrote is named, and costs the others nothing.
    let newer = stuck(&place).await.order_id;
    let last = stuck(&place).await.order_id;
    let dynamodb = place.dynamodb();
    let key = |text: String| aws_sdk_dynamodb::types::AttributeValue::S(text);
    dynamodb
        .update_item()
        .table_name(place.var("ORDERS_TABLE"))
        .key("PK", key(format!("ORDER#{newer}")))
        .key("SK", key("ORDER#DETAIL".to_owned()))
        .update_expression("SET #s = :s")
        .expression_attribute_names("#s", "schema")
        .expression_attribute_values(
            ":s",
            aws_sdk_dynamodb::types::AttributeValue::N("9".to_owned()),
        )
        .send()
        .await
        .unwrap();
    let said = place
        .sagaline(&["retry-undo", "--all", "--yes", "--rate", "50"])
        .await
        .refused(4, "SL3004");
    assert!(
        said.out.contains(&format!("order {newer}: unreadable")) && said.out.contains("schema 9"),
        "{}",
        said.out
    );
    assert_eq!(
        head(&place, &last).await.state,
        sagaline_order::State::Unwinding
    );
    let said = place.sagaline(&["show", newer.as_str()]).await;
    assert!(said.refused(1, "SL4002").err.contains("schema 9"));
    for args in [
        &["retry-undo"][..],
        &["retry-undo", "o-1", "--all"],
        &["retry-undo", "--all", "--rate", "0"],
        &["retry-undo", "--all", "--expect", "3"],
    ] {
        place.sagaline(args).await.refused(2, "SL0001");
    }
}

#[tokio::test]
async fn what_an_abandoned_order_leaves_behind_is_told_before_and_after() {
    let place = Place::shared().await;
    let stuck = stuck(&place).await;
    let id = stuck.order_id.as_str();
    let args = ["abandon", id, "--comment", "settled by phone"];
    let left = "payment ";
    let foretold = place.json(&args).await;
    assert!(
        foretold["left_behind"].as_str().unwrap().contains(left),
        "{foretold}"
    );
    let done = place.json(&[&args[..], &["--yes"]].concat()).await;
    assert_eq!(done["left_behind"], foretold["left_behind"]);
    assert_eq!(done["order"]["state"], "Cancelled");
    place.sagaline(&args).await.refused(4, "SL3004");
}

#[tokio::test]
async fn a_cancellation_can_be_looked_at_first() {
    let place = Place::shared().await;
    let placed = order(&place, &[]).await;
    let id = placed.order_id.as_str();
    let args = ["cancel", id, "--reason", "late"];
    let foretold = place.json(&[&args[..], &["--dry-run"]].concat()).await;
    assert_eq!(
        (&foretold["result"], &foretold["leads_to"]),
        (&json!("dry_run"), &json!("Cancelled"))
    );
    assert_eq!(head(&place, &placed.order_id).await, placed);
    place
        .sagaline(&[&args[..], &["--expect", "2"]].concat())
        .await
        .refused(4, "SL3005");
    let done = place.json(&[&args[..], &["--expect", "1"]].concat()).await;
    assert_eq!(done["result"], "applied");
    let again = place.json(&[&args[..], &["--expect", "1"]].concat()).await;
    assert_eq!(again["result"], "already_applied");
}
