//! The store over the table: every access pattern of the design, forwards and backwards, at page size 1 and others, from cursor to cursor.
//!
//! The orders of a run stand around a midnight of its own, long ago: lists by time can then be asked for exactly them, whatever else the table
//! holds, and lists by day go over the end of a day.

mod lists;
mod reading;

use std::collections::BTreeSet;

use futures::StreamExt as _;
use sagaline_order::{Context, Event, Order, OrderId, PaymentId, RefundId, Sku, Timestamp};
use sagaline_store::{
    Consistency, Cursor, CursorError, Direction, Home, Metrics, Placement, Span, Store, StoreError,
    Table,
};
use serde_json::json;

use super::Names;
use super::orders::{commit, context, new_order};
use super::steps::{applied_as_is, created, small};
use lists::{lists_of_days, lists_of_products, lists_of_users, lists_of_what_is_open};
use reading::rows;

/// Orders that stay unpaid.
const UNPAID: i64 = 9;
/// Orders that are paid, cancelled and refunded.
const REFUNDED: i64 = 4;

/// What a run wrote.
struct Written {
    midnight: Timestamp,
    unpaid: Vec<Order>,
    refunded: Vec<Order>,
}

pub(super) async fn run<T: Table>(store: &Store<T>, names: &Names) {
    let written = Box::pin(write(store, names)).await;
    Box::pin(lists_of_users(store, names, &written)).await;
    Box::pin(lists_of_products(store, names, &written)).await;
    Box::pin(lists_of_days(store, &written)).await;
    Box::pin(lists_of_what_is_open(store, &written)).await;
    Box::pin(pages_of_single_rows(store, &written)).await;
    Box::pin(batches(store, names, &written)).await;
    Box::pin(cursors_are_refused_by_name(store, &written)).await;
}

impl Names {
    /// A midnight between the years 1000 and 1900 that no other run is likely to use.
    fn midnight(&self) -> Timestamp {
        let number = i64::from_str_radix(&self.0, 16).expect("a run's name is hexadecimal");
        let days = number % (900 * 365);
        let year_1000 = Timestamp::parse("1000-01-01T00:00:00Z").expect("a time");
        Timestamp::from_millis(year_1000.as_millis() + days * 86_400_000).expect("a time")
    }
}

fn at(midnight: Timestamp, millis: i64) -> Timestamp {
    Timestamp::from_millis(midnight.as_millis() + millis).expect("a time")
}

/// The time around midnight that holds everything of the run.
fn span(written: &Written) -> Span {
    Span::between(at(written.midnight, -60_000), at(written.midnight, 60_000))
}

fn sku(names: &Names, number: i64) -> Sku {
    Sku::parse(&names.name(&format!("sku-patterns-{number}"))).expect("a sku")
}

async fn write<T: Table>(store: &Store<T>, names: &Names) -> Written {
    let midnight = names.midnight();
    let place = async |what: &str, number: i64, user: i64, hash: Option<String>| {
        let mut input = small(names, &format!("{what}-{number}"));
        input["user_id"] = json!(names.name(&format!("u-{what}-{user}")));
        input["lines"][0]["sku"] = json!(sku(names, number % 3));
        let mut new = new_order(&input);
        let now = at(midnight, (number - 4) * 1_500);
        (new.order.created_at, new.order.updated_at) = (now, now);
        new.order.wake_at = Some(now);
        let placement = Placement {
            reserve_now: false,
            phone_lookup: hash,
        };
        created(store, new, placement).await
    };
    let mut unpaid = Vec::new();
    for number in 0..UNPAID {
        // One phone, hashed with an older key for the second user, and with both for the first.
        let key = if number % 4 == 0 { "new" } else { "old" };
        let hash = names.name(&format!("hash-{key}"));
        unpaid.push(place("patterns", number, number % 2, Some(hash)).await);
    }
    let mut refunded = Vec::new();
    for number in 0..3 {
        let stocked = store.set_stock(&sku(names, number), 100, None).await;
        stocked.expect("a write");
    }
    for number in 0..REFUNDED {
        let mut order = place("refunds", number, number, None).await;
        let payment_id = PaymentId::stored(names.name(&format!("p-{number}")));
        let refund_id = RefundId::stored(names.name(&format!("rf-{number}")));
        let reason = "changed my mind".to_owned();
        let events = [
            Event::StockReserved,
            Event::CancelRequested { reason },
            Event::PaymentApproved { payment_id },
            Event::RefundDue,
            Event::RefundSucceeded { refund_id },
        ];
        for (millis, event) in (0..).zip(events) {
            let now = at(midnight, (number - 2) * 5_000 + millis);
            let now = Context {
                now: now.max(order.updated_at),
                ..context(0)
            };
            order = applied_as_is(store, commit(&order, &event, &now)).await.0;
        }
        refunded.push(order);
    }
    Written {
        midnight,
        unpaid,
        refunded,
    }
}

/// The ids of these orders by a time of theirs.
fn ids<'o>(
    orders: impl IntoIterator<Item = &'o Order>,
    time: impl Fn(&Order) -> Timestamp,
) -> Vec<String> {
    let keyed = orders.into_iter();
    let keyed = keyed.map(|order| (time(order), order.order_id.to_string()));
    let keyed: BTreeSet<_> = keyed.collect();
    keyed.into_iter().map(|(_, id)| id).collect()
}

async fn pages_of_single_rows<T: Table>(store: &Store<T>, written: &Written) {
    for user in ["0", "1"] {
        let orders = written.unpaid.iter();
        let orders: Vec<&Order> = orders
            .filter(|order| order.user_id.as_str().contains(&format!("patterns-{user}")))
            .collect();
        let first = orders.first().expect("a user with orders");
        let Home {
            orders: shown,
            metrics,
        } = store.home(&first.user_id).await.expect("a home page");
        let shown: Vec<_> = shown.iter().map(|row| &row.order_id).collect();
        let newest: Vec<_> = orders
            .iter()
            .rev()
            .take(3)
            .map(|order| &order.order_id)
            .collect();
        assert_eq!(shown, newest, "the last three, newest first");
        let count = i64::try_from(orders.len()).expect("few");
        let expected = Metrics {
            order_count: count,
            unpaid_count: count,
        };
        assert_eq!(metrics, expected);
    }
    let nobody = sagaline_order::UserId::stored("nobody-ever");
    assert_eq!(
        store.home(&nobody).await.expect("a home page"),
        Home::default()
    );
    for order in &written.refunded {
        let payment = order.payment_id.as_ref().expect("a payment");
        let found = store.order_by_payment(payment).await.expect("a read");
        assert_eq!(found.as_ref(), Some(order), "an order by its payment");
        let history = store.history(&order.order_id).page_size(4);
        let versions: Vec<_> = rows(history.stream()).await;
        let versions: Vec<_> = versions.iter().map(|row| row.version.get()).collect();
        assert_eq!(versions, [1, 2, 3, 4, 5, 6], "a history without a gap");
    }
    let unknown = PaymentId::stored("p-unknown-ever");
    assert_eq!(
        store.order_by_payment(&unknown).await.expect("a read"),
        None
    );
}

async fn batches<T: Table>(store: &Store<T>, names: &Names, written: &Written) {
    let all: Vec<&Order> = written.unpaid.iter().chain(&written.refunded).collect();
    // More than one batch, with ids that are not there and ids that come twice.
    let ids: Vec<OrderId> = (0..230)
        .map(|number| match all.get(number % 40) {
            Some(order) => order.order_id.clone(),
            None => OrderId::stored(names.name(&format!("none-{number}"))),
        })
        .collect();
    for consistency in [Consistency::Strong, Consistency::Eventual] {
        let found = store.load_many(&ids, consistency).await.expect("a batch");
        let expected: Vec<_> = (0..230)
            .map(|number| all.get(number % 40).copied().cloned())
            .collect();
        assert_eq!(found, expected, "in the order of the ids");
    }
    assert_eq!(
        store
            .load_many(&[], Consistency::Strong)
            .await
            .expect("nothing"),
        []
    );
    let stocks: Vec<(Sku, u32)> = (0..60)
        .map(|number| (sku(names, 100 + number), 7))
        .collect();
    store.set_stocks(&stocks).await.expect("batches");
    for (sku, stock) in stocks.iter().step_by(20) {
        assert_eq!(store.stock(sku).await.expect("a read"), i64::from(*stock));
    }
}

async fn cursors_are_refused_by_name<T: Table>(store: &Store<T>, written: &Written) {
    let order = written.unpaid.first().expect("an order");
    let other = written.unpaid.get(1).expect("an order of another user");
    let listing = || store.user_orders(&order.user_id, Span::ALL).page_size(1);
    let cursor = listing().page().await.expect("a page").next.expect("more");
    let refused = |refused: Option<StoreError>| match refused {
        Some(StoreError::Cursor { source, .. }) => source,
        other => panic!("a cursor of another list is refused: {other:?}"),
    };
    let after = |cursor: &Cursor| Some(cursor.clone());
    let foreign = store
        .user_orders(&other.user_id, Span::ALL)
        .after(after(&cursor).as_ref());
    assert_eq!(
        refused(foreign.page().await.err()),
        CursorError::OtherArguments
    );
    let backwards = listing()
        .direction(Direction::OldestFirst)
        .after(Some(&cursor));
    assert_eq!(
        refused(backwards.page().await.err()),
        CursorError::OtherArguments
    );
    let another = store.history(&order.order_id).after(Some(&cursor));
    let list = "user_orders".to_owned();
    assert_eq!(
        refused(another.page().await.err()),
        CursorError::OtherList { list }
    );
    let half = Cursor::from_text(cursor.as_str().split_at(cursor.as_str().len() / 2).0);
    let cut = listing().after(Some(&half)).page().await.err();
    assert!(matches!(
        refused(cut),
        CursorError::Forged | CursorError::Unreadable
    ));
    let streamed = listing().after(Some(&half)).stream();
    let mut streamed = std::pin::pin!(streamed);
    let first = streamed.next().await.expect("an error");
    assert!(matches!(
        refused(first.err()),
        CursorError::Forged | CursorError::Unreadable
    ));
    assert!(
        streamed.next().await.is_none(),
        "a stream ends with its first error"
    );
}
