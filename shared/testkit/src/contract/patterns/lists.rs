//! The lists: of users, products, days, and of what is open.

use std::collections::BTreeSet;

use futures::TryStreamExt as _;
use sagaline_order::{Order, OrderId, Status};
use sagaline_store::{
    Consistency, Cursor, Direction, ListedStatus, ProductTotals, Span, Store, Table,
};

use super::reading::{reads_as, rows};
use super::{Written, at, ids, sku, span};
use crate::contract::Names;

pub(super) async fn lists_of_users<T: Table>(store: &Store<T>, names: &Names, written: &Written) {
    let of = |users: &[&str]| {
        let names: Vec<_> = users.iter().map(|user| names.name(user)).collect();
        let orders = written.unpaid.iter();
        ids(
            orders.filter(|order| names.iter().any(|name| order.user_id.as_str() == name)),
            |order| order.created_at,
        )
    };
    for user in ["u-patterns-0", "u-patterns-1"] {
        let id = sagaline_order::UserId::parse(&names.name(user)).expect("an id");
        for consistency in [Consistency::Strong, Consistency::Eventual] {
            let listing = || store.user_orders(&id, Span::ALL).consistency(consistency);
            reads_as(
                "a user's orders",
                listing,
                |row| row.order_id.to_string(),
                &of(&[user]),
            )
            .await;
        }
        let early = Span::between(at(written.midnight, -60_000), written.midnight);
        let orders = written
            .unpaid
            .iter()
            .filter(|order| order.user_id == id && order.created_at < written.midnight);
        let expected = ids(orders, |order| order.created_at);
        let listing = || store.user_orders(&id, early);
        reads_as(
            "a user's orders before midnight",
            listing,
            |row| row.order_id.to_string(),
            &expected,
        )
        .await;
    }
    let hash = |key: &str| names.name(&format!("hash-{key}"));
    let both = [hash("new"), hash("old")];
    let users: Vec<_> = store
        .users_of_phone(&both)
        .stream()
        .try_collect()
        .await
        .expect("users");
    assert_eq!(
        users.len(),
        3,
        "one user under two keys, one under one: {users:?}"
    );
    let orders = async |hashes: &[String]| {
        let listing = store.orders_of_phone(hashes, span(written)).await;
        listing.expect("the users of a phone")
    };
    let expected = of(&["u-patterns-0", "u-patterns-1"]);
    let listing = orders(&both)
        .await
        .direction(Direction::OldestFirst)
        .page_size(2);
    let found: Vec<_> = listing.stream().try_collect().await.expect("orders");
    let found: Vec<_> = found.iter().map(|row| row.order_id.to_string()).collect();
    assert_eq!(found, expected, "the orders of both users, each once");
    // Page by page the users are looked up anew.
    let (mut found, mut cursor) = (Vec::new(), None::<Cursor>);
    loop {
        let page = orders(&both).await.page_size(2).after(cursor.as_ref());
        let page = page.page().await.expect("a page");
        found.extend(page.rows.iter().rev().map(|row| row.order_id.to_string()));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found.len(), expected.len(), "page by page, too");
    let none = orders(&[names.name("hash-nobody")]).await;
    assert_eq!(
        none.page().await.expect("a page").rows,
        [],
        "a phone that nobody gave"
    );
}

pub(super) async fn lists_of_products<T: Table>(
    store: &Store<T>,
    names: &Names,
    written: &Written,
) {
    let all = written.unpaid.iter().chain(&written.refunded);
    for number in 0..3 {
        let sku = sku(names, number);
        let orders: Vec<&Order> = all
            .clone()
            .filter(|order| order.lines.iter().any(|line| line.sku == sku))
            .collect();
        let expected = ids(orders, |order| order.created_at);
        for consistency in [Consistency::Strong, Consistency::Eventual] {
            let listing = || {
                store
                    .product_orders(&sku, span(written))
                    .consistency(consistency)
            };
            reads_as(
                "a product's orders",
                listing,
                |row| row.order_id.to_string(),
                &expected,
            )
            .await;
        }
        let totals = store
            .product_totals(&sku, Span::ALL, Consistency::Strong)
            .await;
        let orders = u64::try_from(expected.len()).expect("few");
        let expected = ProductTotals {
            orders,
            qty: 2 * orders,
        };
        assert_eq!(
            totals.expect("totals"),
            expected,
            "whatever became of the orders"
        );
    }
}

pub(super) async fn lists_of_days<T: Table>(store: &Store<T>, written: &Written) {
    let (Some(from), Some(until)) = (span(written).from, span(written).until) else {
        panic!("a span with ends")
    };
    let all = written.unpaid.iter().chain(&written.refunded);
    let expected = ids(all, |order| order.updated_at);
    let listing = || store.updated(from, until);
    reads_as(
        "what changed",
        listing,
        |row| row.order_id.to_string(),
        &expected,
    )
    .await;
    let refunds = ids(&written.refunded, |order| order.updated_at);
    for consistency in [Consistency::Strong, Consistency::Eventual] {
        let listing = || store.refunds(from, until).consistency(consistency);
        reads_as(
            "refunds of a range",
            listing,
            |row| row.order_id.to_string(),
            &refunds,
        )
        .await;
    }
    let day = Span::of_day(&written.midnight.day()).expect("a day");
    let (Some(from), Some(until)) = (day.from, day.until) else {
        panic!("a span with ends")
    };
    let today = written.refunded.iter();
    let today = ids(
        today.filter(|order| order.updated_at >= written.midnight),
        |order| order.updated_at,
    );
    assert!(
        !today.is_empty() && today.len() < refunds.len(),
        "some of them"
    );
    let listing = || store.refunds(from, until);
    reads_as(
        "refunds of a day",
        listing,
        |row| row.order_id.to_string(),
        &today,
    )
    .await;
}

pub(super) async fn lists_of_what_is_open<T: Table>(store: &Store<T>, written: &Written) {
    let unpaid = ListedStatus::new(Status::Unpaid).expect("a listed status");
    let expected = ids(&written.unpaid, |order| order.created_at);
    let listing = || store.by_status(unpaid, span(written));
    reads_as(
        "unpaid orders",
        listing,
        |row| row.order_id.to_string(),
        &expected,
    )
    .await;
    // Other runs have older orders that are overdue: only those of this run are compared.
    let until = at(written.midnight, 60_000);
    let mine: BTreeSet<&OrderId> = written.unpaid.iter().map(|order| &order.order_id).collect();
    let overdue: Vec<_> = rows(store.overdue(until).page_size(7).stream()).await;
    let overdue = overdue.iter().filter(|row| mine.contains(&row.order_id));
    let overdue: Vec<_> = overdue.map(|row| row.order_id.to_string()).collect();
    assert_eq!(
        overdue,
        ids(&written.unpaid, |order| order.created_at),
        "the longest overdue first, over all shards"
    );
}
