//! The store over the table: what a placement writes, what is refused, and stock by hand.

use sagaline_order::{Event, RequestId, Sku, Version};
use sagaline_store::{CommitError, Committed, Metrics, Placed, Placement, Span, Store, Table};
use serde_json::json;

use super::Names;
use super::orders::{commit, commit_as, context, new_order};
use super::steps::{applied_as_is, created, due, every, load, small};

pub(super) async fn run<T: Table>(store: &Store<T>, names: &Names) {
    Box::pin(a_placement_writes_everything_once(store, names)).await;
    Box::pin(what_is_refused_leaves_nothing(store, names)).await;
    stock_is_counted_by_hand(store, names).await;
}

async fn a_placement_writes_everything_once<T: Table>(store: &Store<T>, names: &Names) {
    let mut input = small(names, "once");
    input["phone"] = json!("+4915112345678");
    input["attributes"] = json!({"channel": "web", "ratio": 10.5, "deep": {"list": [1, null, ""]}});
    let new = new_order(&input);
    let placement = || Placement {
        reserve_now: false,
        phone_lookup: Some(names.name("hash")),
    };
    let order = created(store, new.clone(), placement()).await;
    assert_eq!(order, new.order, "the order as it was asked for");
    assert_eq!(load(store, &order).await, order, "and as it is read");
    match store.place(new.clone(), placement()).await {
        Ok(Placed::AlreadyApplied { head }) => {
            assert_eq!(head, order, "a repeat gets the present head")
        }
        other => panic!("a repeat is applied already: {other:?}"),
    }
    let user = &order.user_id;
    assert_eq!(
        store.metrics(user).await.expect("counters"),
        Metrics {
            order_count: 1,
            unpaid_count: 1
        },
        "counted once"
    );
    let guard = store
        .guard(&new.request_id)
        .await
        .expect("a read")
        .expect("a guard");
    assert_eq!(
        (guard.marker.what.operation.as_str(), guard.result_version),
        ("place", Version::FIRST)
    );

    let listed = every(async |cursor| {
        store
            .user_orders(user, Span::ALL)
            .page_size(1)
            .after(cursor)
            .page()
            .await
    })
    .await;
    let listed: Vec<_> = listed
        .into_iter()
        .map(|row| {
            (
                row.order_id,
                row.status,
                row.total_minor,
                row.first_name,
                row.line_count,
            )
        })
        .collect();
    assert_eq!(
        listed,
        [(
            order.order_id.clone(),
            "UNPAID".to_owned(),
            2_500,
            Some("Brass lamp".to_owned()),
            1
        )]
    );
    let sku = &order.lines.first().expect("a line").sku;
    let sold = every(async |cursor| {
        store
            .product_orders(sku, Span::ALL)
            .page_size(1)
            .after(cursor)
            .page()
            .await
    })
    .await;
    assert_eq!(
        sold.iter()
            .map(|row| (&row.order_id, row.qty.get()))
            .collect::<Vec<_>>(),
        [(&order.order_id, 2)]
    );
    let hashes = [names.name("hash")];
    let users = every(async |cursor| {
        store
            .users_of_phone(&hashes)
            .page_size(1)
            .after(cursor)
            .page()
            .await
    })
    .await;
    assert_eq!(users, std::slice::from_ref(user));
    let history = every(async |cursor| {
        store
            .history(&order.order_id)
            .page_size(1)
            .after(cursor)
            .page()
            .await
    })
    .await;
    let [first] = history.as_slice() else {
        panic!("one row, not {history:?}")
    };
    assert_eq!(
        (first.version, first.actor.as_str(), first.verdict.as_str()),
        (Version::FIRST, "customer", "Applied")
    );
    let event = first.events.first().expect("an event");
    assert_eq!(event["kind"], "OrderPlaced");
    assert_eq!(
        event["order"].get("payment_token"),
        None,
        "the history holds no token"
    );
    assert_eq!(event["order"]["attributes"], input["attributes"]);
    assert_eq!(
        due(store, &order).await,
        Some(true),
        "an unfinished order is due at some time"
    );
}

async fn what_is_refused_leaves_nothing<T: Table>(store: &Store<T>, names: &Names) {
    let first = created(
        store,
        new_order(&small(names, "refused")),
        Placement::default(),
    )
    .await;
    // C-27
    let mut other = small(names, "refused");
    other["lines"][0]["qty"] = json!(1);
    let refused = store.place(new_order(&other), Placement::default()).await;
    assert!(
        matches!(refused, Err(CommitError::RequestIdReused)),
        "another payload under the same request id: {refused:?}"
    );
    other["request_id"] = json!(names.name("r-other"));
    let refused = store.place(new_order(&other), Placement::default()).await;
    assert!(
        matches!(refused, Err(CommitError::OrderIdUsed)),
        "another request for the same order id: {refused:?}"
    );

    let mut short = small(names, "short");
    short["lines"][0]["sku"] = json!(names.name("sku-short"));
    let new = new_order(&short);
    let refused = store
        .place(
            new.clone(),
            Placement {
                reserve_now: true,
                phone_lookup: None,
            },
        )
        .await;
    assert!(
        matches!(
            &refused,
            Err(CommitError::StockShort {
                have: 0,
                want: 2,
                ..
            })
        ),
        "nothing there: {refused:?}"
    );
    assert_eq!(
        store.load(&new.order.order_id).await.expect("a read"),
        None,
        "nothing stored"
    );
    assert_eq!(
        store.guard(&new.request_id).await.expect("a read"),
        None,
        "the request id is free"
    );

    let stale = commit(
        &first,
        &Event::CancelRequested {
            reason: "first".to_owned(),
        },
        &context(1),
    );
    applied_as_is(store, stale.clone()).await;
    let request = RequestId::parse(&names.name("r-second")).expect("an id");
    let late = commit_as(
        &first,
        &Event::CancelRequested {
            reason: "second".to_owned(),
        },
        &context(2),
        request,
    );
    let refused = store.commit(late).await;
    assert!(
        matches!(refused, Err(CommitError::Moved)),
        "the head moved: {refused:?}"
    );
    // C-16
    match store.commit(stale).await {
        Ok(Committed::AlreadyApplied { head }) => assert_eq!(head.version.get(), 2),
        other => panic!("a repeat is applied already: {other:?}"),
    }
}

async fn stock_is_counted_by_hand<T: Table>(store: &Store<T>, names: &Names) {
    let sku = Sku::parse(&names.name("sku-hand")).expect("a sku");
    assert_eq!(
        store.stock(&sku).await.expect("a read"),
        0,
        "a missing item counts as 0"
    );
    assert!(store.add_stock(&sku, -1).await.is_err(), "nothing to take");
    assert_eq!(store.add_stock(&sku, 7).await.expect("an addition"), 7);
    assert_eq!(store.add_stock(&sku, -7).await.expect("all there is"), 0);
    assert!(
        store.set_stock(&sku, 3, Some(1)).await.is_err(),
        "not as expected"
    );
    assert_eq!(
        store
            .set_stock(&sku, 3, Some(0))
            .await
            .expect("as expected"),
        3
    );
    assert_eq!(
        store
            .set_stock(&sku, 4, None)
            .await
            .expect("whatever it is"),
        4
    );
}
