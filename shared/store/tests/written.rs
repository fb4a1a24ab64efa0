//! What a commit writes, and what it refuses to write.

mod common;

use common::{approved, cancel, long, memory, paying, placed, step, tea};
use sagaline_order::{End, Event, NewOrder, PaymentId, State, Version};
use sagaline_store::value::{n, s};
use sagaline_store::{
    Action, AttributeValue, CommitError, Condition, Disposition, Key, Metrics, Placed, Placement,
    Table, Update,
};
use sagaline_testkit::contract::orders::{commit, context, input, new_order};
use sagaline_testkit::memory::{Call, Fault};
use serde_json::json;

// C-29
#[tokio::test(start_paused = true)]
async fn counters_rise_once_for_one_placement_however_often_it_is_sent() {
    let (table, store) = memory();
    table.fail(Call::Transact, 1, Fault::LostAcknowledgement);
    for _ in 0..2 {
        assert!(matches!(
            store.place(tea(), Placement::default()).await,
            Ok(Placed::AlreadyApplied { .. })
        ));
    }
    assert_eq!(
        store.metrics(&tea().order.user_id).await.unwrap(),
        Metrics {
            order_count: 1,
            unpaid_count: 1
        }
    );
    let inserts = table
        .changes(0)
        .iter()
        .filter(|change| change.is_head())
        .count();
    assert_eq!(inserts, 1, "and the stream shows one order");
}

// C-26
#[tokio::test]
async fn a_guard_expires_after_thirty_days_in_seconds() {
    let (table, store) = memory();
    let new = tea();
    assert_eq!(new.order.created_at.as_millis(), 1_764_500_000_000);
    placed(&store, new.clone()).await;
    let guard = table.item(&Key::guard(&new.request_id)).unwrap();
    assert_eq!(guard.get("expires_at"), Some(&n(1_767_092_000)));
}

// C-20
#[tokio::test]
async fn a_payment_belongs_to_one_order() {
    let (_, store) = memory();
    let first = paying(&store).await;
    let second = placed(&store, new_order(&input("o-2", "u-1", "r-2", "tea"))).await;
    let second = step(&store, &second, &Event::StockReserved).await;
    step(&store, &first, &approved("p-1")).await;
    let error = store
        .commit(commit(&second, &approved("p-1"), &context(2)))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, CommitError::PaymentIdClash { payment_id } if payment_id.as_str() == "p-1"),
        "{error:?}"
    );
    assert_eq!(
        store.load(&second.order_id).await.unwrap(),
        Some(second),
        "nothing written"
    );
}

// C-20: a pending payment that is approved later puts its look-up twice.
#[tokio::test]
async fn a_payment_may_be_linked_to_its_order_again() {
    let (_, store) = memory();
    let order = paying(&store).await;
    let order = step(
        &store,
        &order,
        &Event::PaymentPending {
            payment_id: PaymentId::stored("p-1"),
        },
    )
    .await;
    let order = step(&store, &order, &approved("p-1")).await;
    assert_eq!(order.state, State::Confirmed);
}

#[tokio::test]
async fn a_commit_has_as_many_actions_as_the_largest_order_allows() {
    let actions = async |new: NewOrder, reserve_now: bool| {
        let (table, store) = memory();
        for line in &new.order.lines {
            store.set_stock(&line.sku, 5, None).await.unwrap();
        }
        let placement = Placement {
            reserve_now,
            phone_lookup: Some("k1.00".to_owned()),
        };
        let Ok(Placed::Created { order }) = store.place(new, placement).await else {
            panic!("placed")
        };
        (table, store, order)
    };
    let (table, ..) = actions(long(40), true).await;
    assert_eq!(table.calls().actions, 86, "to place with stock");
    let (table, store, order) = actions(long(40), false).await;
    assert_eq!(table.calls().actions, 46, "to place");
    let order = step(&store, &order, &Event::StockReserved).await;
    let before = table.calls().actions;
    let order = step(
        &store,
        &order,
        &Event::PaymentDeclined {
            reason: "no funds".to_owned(),
        },
    )
    .await;
    assert_eq!(table.calls().actions - before, 45, "to undo");
    assert_eq!(
        (order.state, order.unwind.map(|unwind| unwind.to)),
        (State::Rejected, Some(End::Rejected))
    );
    assert_eq!(
        store.stock(&order.lines[39].sku).await.unwrap(),
        5,
        "the stock is back"
    );
}

#[tokio::test]
async fn short_stock_names_the_first_line_and_what_is_there() {
    let (_, store) = memory();
    let new = long(3);
    for (line, stock) in new.order.lines.iter().zip([5, 1, 0]) {
        store.set_stock(&line.sku, stock, None).await.unwrap();
    }
    let error = store
        .place(
            new.clone(),
            Placement {
                reserve_now: true,
                phone_lookup: None,
            },
        )
        .await
        .unwrap_err();
    let CommitError::StockShort { sku, have, want } = error else {
        panic!("{error:?}")
    };
    assert_eq!((sku.as_str(), have, want), ("sku-1", 1, 2));
    assert_eq!(
        store.stock(&new.order.lines[0].sku).await.unwrap(),
        5,
        "what was there is untouched"
    );
}

#[tokio::test]
async fn a_placement_with_stock_is_version_one_with_its_reservation_in_the_history() {
    let (_, store) = memory();
    let new = tea();
    store
        .set_stock(&new.order.lines[0].sku, 2, None)
        .await
        .unwrap();
    let Ok(Placed::Created { order }) = store
        .place(
            new,
            Placement {
                reserve_now: true,
                phone_lookup: None,
            },
        )
        .await
    else {
        panic!("placed")
    };
    assert_eq!(
        (order.version, order.state, order.steps.reserve.is_some()),
        (Version::FIRST, State::Placed, true)
    );
    let history = store
        .history(&order.order_id)
        .page_size(1)
        .page()
        .await
        .unwrap();
    let kinds: Vec<_> = history.rows[0]
        .events
        .iter()
        .map(|event| event["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["OrderPlaced", "StockReserved"]);
    let paying = step(&store, &order, &Event::PaymentDue).await;
    assert_eq!(
        (
            paying.state,
            store.stock(&order.lines[0].sku).await.unwrap()
        ),
        (State::Paying, 0)
    );
}

#[tokio::test]
async fn an_order_too_large_is_refused_with_a_sentence_before_anything_is_sent() {
    let (table, store) = memory();
    let mut input = input("o-1", "u-1", "r-1", "tea");
    input["lines"][0]["name"] = json!("x".repeat(410_000));
    let error = store
        .place(new_order(&input), Placement::default())
        .await
        .unwrap_err();
    let CommitError::Poison { reason } = &error else {
        panic!("{error:?}")
    };
    assert!(
        reason.starts_with("order o-1 is 41")
            && reason.ends_with("bytes large, an item holds at most 409600"),
        "{reason}"
    );
    assert_eq!(
        (error.disposition(), table.calls().transact),
        (Disposition::Poison, 0)
    );
}

#[tokio::test]
async fn attributes_that_dynamodb_cannot_hold_are_refused_before_anything_is_sent() {
    let (table, store) = memory();
    let nested = (0..33).fold(json!(1), |inner, _| json!([inner]));
    for (value, part) in [
        (json!(1e300), "beyond what DynamoDB keeps"),
        (nested, "deeper than 32"),
    ] {
        let mut input = input("o-1", "u-1", "r-1", "tea");
        input["attributes"] = json!({"odd": value});
        let error = store
            .place(new_order(&input), Placement::default())
            .await
            .unwrap_err();
        assert!(
            matches!(&error, CommitError::Poison { reason } if reason.contains(part)),
            "{error:?}"
        );
    }
    assert_eq!(table.calls().transact, 0);
}

#[tokio::test]
async fn an_unfinished_order_without_a_wake_time_cannot_be_written() {
    let (table, store) = memory();
    let order = placed(&store, tea()).await;
    let calls = table.calls().transact;
    let mut forgotten = commit(&order, &cancel("x"), &context(1));
    assert!(
        forgotten.after.wake_at.is_some(),
        "its notice is still to be sent"
    );
    forgotten.after.wake_at = None;
    let error = store.commit(forgotten).await.unwrap_err();
    assert!(
        matches!(&error, CommitError::Poison { reason } if reason.contains("no wake time")),
        "{error:?}"
    );
    assert_eq!(table.calls().transact, calls);
}

#[tokio::test]
async fn a_commit_that_does_not_follow_from_its_order_cannot_be_written() {
    let (_, store) = memory();
    let order = placed(&store, tea()).await;
    let mut skipped = commit(&order, &cancel("x"), &context(1));
    skipped.after.version = skipped.after.version.next();
    let error = store.commit(skipped).await.unwrap_err();
    assert_eq!(error.disposition(), Disposition::Poison, "{error:?}");
}

#[tokio::test]
async fn a_head_keeps_what_this_program_does_not_know() {
    let (table, store) = memory();
    let order = placed(&store, tea()).await;
    let odd = AttributeValue::M(
        [(
            "bytes".to_owned(),
            AttributeValue::Ns(vec!["12345678901234567890.12".to_owned()]),
        )]
        .into(),
    );
    let update = Update::of(Key::head(&order.order_id))
        .set("later_field", s("kept"))
        .set("attributes", odd.clone());
    table
        .write(Action::Update(
            update.when(Condition::VersionIs(Version::FIRST)),
        ))
        .await
        .unwrap();
    let loaded = store.load(&order.order_id).await.unwrap().unwrap();
    step(&store, &loaded, &cancel("x")).await;
    let head = store.load_item(&order.order_id).await.unwrap().unwrap();
    assert_eq!(
        (head.get("later_field"), head.get("attributes")),
        (Some(&s("kept")), Some(&odd))
    );
}

// C-23
#[tokio::test]
async fn a_head_is_read_whatever_form_its_numbers_have_but_not_whatever_type() {
    let (table, store) = memory();
    let order = paying(&store).await;
    let check = async |name: &str, value: AttributeValue, expected: Option<(u64, i64)>| {
        let update = Update::of(Key::head(&order.order_id))
            .set("version", n(2))
            .set("total_minor", n(2_500))
            .set(name, value.clone());
        table
            .write(Action::Update(update.clone()))
            .await
            .unwrap_or_else(|error| panic!("{error:?}"));
        let found = store
            .load(&order.order_id)
            .await
            .map(|order| order.map(|order| (order.version.get(), order.total_minor.get())));
        match expected {
            Some(expected) => assert_eq!(found.unwrap(), Some(expected), "{name} {value:?}"),
            None => assert_eq!(
                found.unwrap_err().disposition(),
                Disposition::Poison,
                "{name} {value:?}"
            ),
        }
    };
    check("version", n("3.0"), Some((3, 2_500))).await;
    check("version", n("3E0"), Some((3, 2_500))).await;
    check("version", s("3"), None).await;
    check("version", n(0), None).await;
    check("version", AttributeValue::Null(true), None).await;
    check("total_minor", n("1250.0"), Some((2, 1_250))).await;
    check("total_minor", n("12.5"), None).await;
    let mut unversioned = Update::of(Key::head(&order.order_id));
    unversioned.remove = vec!["version".to_owned()];
    table.write(Action::Update(unversioned)).await.unwrap();
    assert!(
        store.load(&order.order_id).await.is_err(),
        "no version is not version 0"
    );
}
