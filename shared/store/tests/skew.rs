//! 10,000 orders, 80 of 100 of them in a fifth of the users, products and time, through every list: complete, ordered, nothing twice.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

#[path = "common/server.rs"]
mod server;

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use sagaline_order::{
    Context, Event, NewOrder, Order, OrderId, PaymentId, RefundId, Sku, Status, Timestamp, UserId,
};
use sagaline_store::{
    Consistency, Cursor, Direction, ListedStatus, Listing, Placed, Placement, Source, Span, Store,
    Table,
};
use sagaline_testkit::MemoryTable;
use sagaline_testkit::contract::orders::{commit, context, input, new_order};

const ORDERS: u64 = 10_000;
const USERS: u64 = 500;
const PRODUCTS: u64 = 50;
/// Two days and a half.
const MILLIS: u64 = 216_000_000;
/// Every so many-th order is refunded.
const REFUNDED: u64 = 50;

/// A small random generator (SplitMix64): the same orders on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }

    /// 80 of 100 in the first fifth.
    fn skewed(&mut self, end: u64) -> u64 {
        if self.below(100) < 80 {
            self.below(end / 5)
        } else {
            end / 5 + self.below(end - end / 5)
        }
    }
}

fn time(millis: u64) -> Timestamp {
    let start = context(0).now.as_millis();
    Timestamp::from_millis(start + i64::try_from(millis).unwrap()).unwrap()
}

fn orders(random: &mut Random) -> Vec<NewOrder> {
    (0..ORDERS)
        .map(|number| {
            let (user, product) = (random.skewed(USERS), random.skewed(PRODUCTS));
            let ids = [
                format!("o-{number}"),
                format!("u-{user}"),
                format!("r-{number}"),
                format!("sku-{product}"),
            ];
            let mut new = new_order(&input(&ids[0], &ids[1], &ids[2], &ids[3]));
            // Whole seconds for some, so that many share a time.
            let millis = random.skewed(MILLIS);
            let now = time(if number % 3 == 0 {
                millis - millis % 1_000
            } else {
                millis
            });
            (
                new.order.created_at,
                new.order.updated_at,
                new.order.wake_at,
            ) = (now, now, Some(now));
            new
        })
        .collect()
}

fn hash_of(user: &UserId) -> String {
    let number: u64 = user.as_str().trim_start_matches("u-").parse().unwrap();
    format!("hash-{}", number % 40)
}

/// Places all of them, and takes every fiftieth to its refund. The heads as they stand then.
async fn fill<T: Table>(store: &Store<T>, random: &mut Random) -> Vec<Order> {
    let stocks: Vec<_> = (0..PRODUCTS)
        .map(|product| (Sku::parse(&format!("sku-{product}")).unwrap(), 1_000_000))
        .collect();
    store.set_stocks(&stocks).await.unwrap();
    stream::iter(orders(random).into_iter().enumerate())
        .map(async |(number, new)| {
            let placement = Placement {
                reserve_now: false,
                phone_lookup: Some(hash_of(&new.order.user_id)),
            };
            let Placed::Created { mut order } = store.place(new, placement).await.unwrap() else {
                panic!("placed before")
            };
            if (number as u64).is_multiple_of(REFUNDED) {
                let events = [
                    Event::StockReserved,
                    Event::CancelRequested {
                        reason: "x".to_owned(),
                    },
                    Event::PaymentApproved {
                        payment_id: PaymentId::stored(format!("p-{number}")),
                    },
                    Event::RefundDue,
                    Event::RefundSucceeded {
                        refund_id: RefundId::stored(format!("rf-{number}")),
                    },
                ];
                for (millis, event) in (1..).zip(events) {
                    let now = Timestamp::from_millis(order.created_at.as_millis() + millis * 700)
                        .unwrap();
                    let now = Context { now, ..context(0) };
                    order = store
                        .commit(commit(&order, &event, &now))
                        .await
                        .map(|done| match done {
                            sagaline_store::Committed::Applied { order, .. } => order,
                            other => panic!("{other:?}"),
                        })
                        .unwrap();
                }
            }
            order
        })
        .buffer_unordered(32)
        .collect()
        .await
}

/// The ids in the order of a time of theirs.
fn ids<'o>(
    orders: impl Iterator<Item = &'o Order>,
    at: impl Fn(&Order) -> Timestamp,
) -> Vec<String> {
    let keyed: BTreeSet<(Timestamp, String)> = orders
        .map(|order| (at(order), order.order_id.to_string()))
        .collect();
    keyed.into_iter().map(|(_, id)| id).collect()
}

/// A list has exactly these rows, as a stream and in pages of this size.
async fn reads_as<'s, T, R, S, F>(
    what: &str,
    listing: F,
    id: impl Fn(&R) -> String,
    expected: &[String],
    size: u32,
) where
    T: Table + 's,
    R: Send + 's,
    S: Copy + Into<Source> + Send + 's,
    F: Fn() -> Listing<'s, T, R, S>,
{
    let streamed: Vec<R> = listing()
        .direction(Direction::NewestFirst)
        .page_size(100)
        .stream()
        .try_collect()
        .await
        .unwrap();
    let mut streamed: Vec<_> = streamed.iter().map(&id).collect();
    streamed.reverse();
    assert!(
        streamed == expected,
        "{what}, streamed: {} rows, expected {}",
        streamed.len(),
        expected.len()
    );
    let (mut found, mut cursor) = (Vec::new(), None::<Cursor>);
    loop {
        let page = listing()
            .direction(Direction::OldestFirst)
            .page_size(size)
            .after(cursor.as_ref())
            .page()
            .await
            .unwrap();
        found.extend(page.rows.iter().map(&id));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert!(
        found == expected,
        "{what}, by {size}: {} rows, expected {}",
        found.len(),
        expected.len()
    );
}

async fn every_list_is_whole<T: Table>(store: Store<T>) {
    let mut random = Random(42);
    let orders = fill(&store, &mut random).await;
    let created = |order: &Order| order.created_at;
    let (from, until) = (time(0), time(2 * MILLIS));

    let mut by_user: BTreeMap<&UserId, Vec<&Order>> = BTreeMap::new();
    let mut by_sku: BTreeMap<&Sku, Vec<&Order>> = BTreeMap::new();
    for order in &orders {
        by_user.entry(&order.user_id).or_default().push(order);
        by_sku.entry(&order.lines[0].sku).or_default().push(order);
    }
    let hot: usize = by_user
        .iter()
        .filter(|(user, _)| {
            user.as_str()
                .trim_start_matches("u-")
                .parse::<u64>()
                .unwrap()
                < USERS / 5
        })
        .map(|(_, orders)| orders.len())
        .sum();
    assert!((7_800..8_200).contains(&hot), "the skew is there: {hot}");

    for (number, (user, orders)) in by_user.iter().enumerate() {
        let expected = ids(orders.iter().copied(), created);
        let size = if number < 20 { 1 } else { 40 };
        reads_as(
            "a user's orders",
            || store.user_orders(user, Span::ALL),
            |row| row.order_id.to_string(),
            &expected,
            size,
        )
        .await;
        let counters = store.home(user).await.unwrap().metrics;
        assert_eq!(usize::try_from(counters.order_count).unwrap(), orders.len());
        let unpaid = orders
            .iter()
            .filter(|order| order.status() == Status::Unpaid)
            .count();
        assert_eq!(usize::try_from(counters.unpaid_count).unwrap(), unpaid);
    }
    for (sku, orders) in &by_sku {
        let expected = ids(orders.iter().copied(), created);
        reads_as(
            "a product's orders",
            || store.product_orders(sku, Span::ALL),
            |row| row.order_id.to_string(),
            &expected,
            150,
        )
        .await;
        let day = Span::between(time(MILLIS / 10), time(MILLIS / 2));
        let inside = |order: &&&Order| (day.from..day.until).contains(&Some(order.created_at));
        let expected = orders.iter().filter(inside).count() as u64;
        let totals = store
            .product_totals(sku, day, Consistency::Eventual)
            .await
            .unwrap();
        assert_eq!(
            (totals.orders, totals.qty),
            (expected, 2 * expected),
            "{sku}"
        );
    }
    let unpaid = orders
        .iter()
        .filter(|order| order.status() == Status::Unpaid);
    let listed = ListedStatus::new(Status::Unpaid).unwrap();
    reads_as(
        "unpaid orders",
        || store.by_status(listed, Span::ALL),
        |row| row.order_id.to_string(),
        &ids(unpaid, created),
        500,
    )
    .await;
    // A refunded order still has its cancellation to announce, and one last enquiry.
    let due = orders
        .iter()
        .filter(|order| order.wake_at.is_some_and(|at| at <= until));
    reads_as(
        "overdue orders",
        || store.overdue(until),
        |row| row.order_id.to_string(),
        &ids(due, |order| order.wake_at.unwrap()),
        900,
    )
    .await;
    reads_as(
        "what changed",
        || store.updated(from, until),
        |row| row.order_id.to_string(),
        &ids(orders.iter(), |order| order.updated_at),
        700,
    )
    .await;
    let refunded = orders
        .iter()
        .filter(|order| order.status() == Status::Cancelled);
    let expected = ids(refunded, |order| order.updated_at);
    assert_eq!(expected.len() as u64, ORDERS / REFUNDED);
    reads_as(
        "refunds",
        || store.refunds(from, until),
        |row| row.order_id.to_string(),
        &expected,
        1,
    )
    .await;

    for hash in 0..3 {
        let hashes = [format!("hash-{hash}")];
        let theirs = orders
            .iter()
            .filter(|order| hash_of(&order.user_id) == hashes[0]);
        let listing = store.orders_of_phone(&hashes, Span::ALL).await.unwrap();
        let found: Vec<_> = listing
            .direction(Direction::OldestFirst)
            .stream()
            .try_collect()
            .await
            .unwrap();
        let found: Vec<_> = found.iter().map(|row| row.order_id.to_string()).collect();
        assert!(
            found == ids(theirs, created),
            "{} orders of one phone",
            found.len()
        );
    }
    let all: Vec<OrderId> = orders.iter().map(|order| order.order_id.clone()).collect();
    let heads = store.load_many(&all, Consistency::Strong).await.unwrap();
    assert!(
        heads.into_iter().flatten().eq(orders),
        "every head, as it was written"
    );
}

#[tokio::test]
async fn ten_thousand_skewed_orders_come_whole_out_of_every_list() {
    let table = MemoryTable::new();
    // Pages end early, as at a megabyte; batches are done in part.
    table.limit_pages(90);
    table.limit_batches(70);
    every_list_is_whole(Store::new(table)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_skewed_orders_come_whole_out_of_every_list_of_dynoxide() {
    every_list_is_whole(Store::new(server::table().await)).await;
}
