//! A store over a table in memory, and the steps of its orders.
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test binary uses its part of this module"
)]

use sagaline_order::{Event, NewOrder, Order, PaymentId};
use sagaline_store::{Commit, Committed, CommittedIntent, Placed, Placement, Store, Table};
use sagaline_testkit::MemoryTable;
use sagaline_testkit::contract::orders::{commit, context, input, new_order};
use serde_json::json;

pub fn memory() -> (MemoryTable, Store<MemoryTable>) {
    let table = MemoryTable::new();
    (table.clone(), Store::new(table))
}

/// Order `o-1` of user `u-1`: 2 of `tea`, under request `r-1`.
pub fn tea() -> NewOrder {
    new_order(&input("o-1", "u-1", "r-1", "tea"))
}

/// An order with so many lines, and a phone.
pub fn long(lines: usize) -> NewOrder {
    let mut input = input("o-1", "u-1", "r-1", "tea");
    input["lines"] = (0..lines)
        .map(|line| json!({"sku": format!("sku-{line}"), "qty": 2, "unit_minor": 10}))
        .collect();
    new_order(&input)
}

pub fn cancel(reason: &str) -> Event {
    Event::CancelRequested {
        reason: reason.to_owned(),
    }
}

pub fn approved(payment: &str) -> Event {
    Event::PaymentApproved {
        payment_id: PaymentId::stored(payment),
    }
}

pub async fn placed(store: &Store<impl Table>, new: NewOrder) -> Order {
    match store.place(new, Placement::default()).await {
        Ok(Placed::Created { order }) => order,
        other => panic!("{other:?}"),
    }
}

pub async fn applied(
    store: &Store<impl Table>,
    commit: Commit,
) -> (Order, Option<CommittedIntent>) {
    match store.commit(commit).await {
        Ok(Committed::Applied { order, intent }) => (order, intent),
        other => panic!("{other:?}"),
    }
}

pub async fn step(store: &Store<impl Table>, before: &Order, event: &Event) -> Order {
    applied(store, commit(before, event, &context(1))).await.0
}

/// Placed, stocked, stock taken, payment requested: version 2.
pub async fn paying(store: &Store<impl Table>) -> Order {
    let order = placed(store, tea()).await;
    store
        .set_stock(&order.lines[0].sku, 10, None)
        .await
        .unwrap();
    step(store, &order, &Event::StockReserved).await
}
