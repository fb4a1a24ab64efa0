//! What the checks of the store have in common: orders of this run, their steps, whole lists.

use sagaline_order::{Event, NewOrder, Order, Seconds};
use sagaline_store::{
    Commit, Committed, CommittedIntent, Cursor, DUE_SHARDS, Placed, Placement, Rows, Store,
    StoreError, Table,
};
use serde_json::Value;

use super::Names;
use super::orders::{commit, context, input};

pub(super) fn small(names: &Names, what: &str) -> Value {
    input(
        &names.name(&format!("o-{what}")),
        &names.name(&format!("u-{what}")),
        &names.name(&format!("r-{what}")),
        &names.name(&format!("sku-{what}")),
    )
}

pub(super) async fn created<T: Table>(
    store: &Store<T>,
    new: NewOrder,
    placement: Placement,
) -> Order {
    match store.place(new, placement).await {
        Ok(Placed::Created { order }) => order,
        other => panic!("a new order: {other:?}"),
    }
}

pub(super) async fn applied<T: Table>(
    store: &Store<T>,
    before: &Order,
    event: &Event,
    seconds: u32,
) -> (Order, Option<CommittedIntent>) {
    applied_as_is(store, commit(before, event, &context(seconds))).await
}

pub(super) async fn applied_as_is<T: Table>(
    store: &Store<T>,
    commit: Commit,
) -> (Order, Option<CommittedIntent>) {
    match store.commit(commit).await {
        Ok(Committed::Applied { order, intent }) => (order, intent),
        other => panic!("a step: {other:?}"),
    }
}

pub(super) async fn load<T: Table>(store: &Store<T>, order: &Order) -> Order {
    store
        .load(&order.order_id)
        .await
        .expect("a read")
        .expect("an order")
}

/// Whether the order's shard lists it at any time. Never `None`; an `Option` to be waited for.
pub(super) async fn due<T: Table>(store: &Store<T>, order: &Order) -> Option<bool> {
    let until = context(0).now.plus(Seconds(100 * 86_400));
    let shard = order.order_id.shard(DUE_SHARDS);
    let rows = every(async |cursor| {
        store
            .due(shard, until)
            .page_size(3)
            .after(cursor)
            .page()
            .await
    })
    .await;
    Some(
        rows.iter()
            .any(|row| row.order_id == order.order_id && row.wake_at.is_some()),
    )
}

/// Every row of a list, page after page.
pub(super) async fn every<R>(
    mut page: impl AsyncFnMut(Option<&Cursor>) -> Result<Rows<R>, StoreError>,
) -> Vec<R> {
    let mut rows = Vec::new();
    let mut cursor: Option<Cursor> = None;
    loop {
        let found = page(cursor.as_ref()).await.expect("a page");
        rows.extend(found.rows);
        match found.next {
            Some(next) => cursor = Some(next),
            None => return rows,
        }
    }
}
