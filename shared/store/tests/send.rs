//! Every future of the store can move between threads: a Lambda handler and a spawned task need it.

use std::pin::pin;

use futures::StreamExt as _;
use sagaline_order::{NewOrder, OrderId, PaymentId, RequestId, Sku, Timestamp, UserId};
use sagaline_store::{Commit, Consistency, ListedStatus, Placement, Span, Store, Table};

/// All that the methods are asked with.
struct Asked {
    order: OrderId,
    user: UserId,
    sku: Sku,
    payment: PaymentId,
    request: RequestId,
    status: ListedStatus,
    at: Timestamp,
    new: NewOrder,
    commit: Commit,
}

fn can_be_sent(_future: impl Future + Send) {}

/// Compiles only if every future is `Send`, whatever the table.
#[expect(dead_code, reason = "the proof is that it compiles")]
fn every_future_can_be_sent<T: Table>(store: &Store<T>, asked: Asked) {
    let hashes = ["hash".to_owned()];
    let config = serde_json::Map::new();
    can_be_sent(store.load(&asked.order));
    can_be_sent(store.load_item(&asked.order));
    can_be_sent(store.reread_intent(&asked.order));
    can_be_sent(store.place(asked.new, Placement::default()));
    can_be_sent(store.commit(asked.commit));
    can_be_sent(store.user_orders(&asked.user, Span::ALL).page());
    can_be_sent(store.by_status(asked.status, Span::ALL).page());
    can_be_sent(store.due(0, asked.at).page());
    can_be_sent(store.updated(asked.at, asked.at).page());
    can_be_sent(store.refunds(asked.at, asked.at).page());
    can_be_sent(store.product_orders(&asked.sku, Span::ALL).page());
    can_be_sent(store.history(&asked.order).page());
    can_be_sent(store.users_of_phone(&hashes).page());
    can_be_sent(store.orders_of_phone(&hashes, Span::ALL));
    can_be_sent(store.overdue(asked.at).page());
    can_be_sent(store.product_totals(&asked.sku, Span::ALL, Consistency::Eventual));
    can_be_sent(store.home(&asked.user));
    can_be_sent(store.order_by_payment(&asked.payment));
    let ids = std::slice::from_ref(&asked.order);
    can_be_sent(store.load_many(ids, Consistency::Strong));
    let stocks = [(asked.sku.clone(), 1)];
    can_be_sent(store.set_stocks(&stocks));
    can_be_sent(async {
        let mut rows = pin!(store.user_orders(&asked.user, Span::ALL).stream());
        rows.next().await
    });
    can_be_sent(store.order_of_payment(&asked.payment));
    can_be_sent(store.guard(&asked.request));
    can_be_sent(store.metrics(&asked.user));
    can_be_sent(store.stock(&asked.sku));
    can_be_sent(store.set_stock(&asked.sku, 1, None));
    can_be_sent(store.add_stock(&asked.sku, 1));
    can_be_sent(store.saga_config(asked.at));
    can_be_sent(store.search_targets(asked.at));
    can_be_sent(store.put_config("saga", &config));
}
