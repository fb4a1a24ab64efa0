//! How lists and batches are read: how often, what is asked again, and when it ends.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

mod common;

use std::time::Duration;

use backon::ExponentialBuilder;
use common::{memory, placed};
use futures::{StreamExt as _, TryStreamExt as _};
use sagaline_order::{OrderId, Sku, Timestamp, UserId};
use sagaline_store::{
    Consistency, CursorKey, Direction, Disposition, Source, Span, StockError, Store, StoreError,
};
use sagaline_testkit::MemoryTable;
use sagaline_testkit::contract::counted::{Counted, Request};
use sagaline_testkit::contract::orders::{context, input, new_order};
use sagaline_testkit::memory::{Call, Fault};

/// So many orders of one user for one product, one a second.
async fn filled(orders: u32) -> (MemoryTable, Counted<MemoryTable>) {
    let (table, store) = memory();
    for number in 0..orders {
        let ids = ["o", "r"].map(|what| format!("{what}-{number}"));
        let mut new = new_order(&input(&ids[0], "u-1", &ids[1], "tea"));
        (new.order.created_at, new.order.updated_at) = (context(number).now, context(number).now);
        placed(&store, new).await;
    }
    (table.clone(), Counted::new(table))
}

fn user() -> UserId {
    UserId::parse("u-1").unwrap()
}

fn quick<T: sagaline_store::Table>(table: T) -> Store<T> {
    let waits = ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(1))
        .with_max_times(3);
    Store::new(table).with_resends(waits)
}

#[tokio::test]
async fn a_stream_reads_every_row_once_and_a_page_every_shard_once() {
    let (_, table) = filled(100).await;
    let store = Store::new(table.clone());
    let tea = Sku::parse("tea").unwrap();
    let queries = || table.take().requests.len();
    let rows: Vec<_> = store
        .product_orders(&tea, Span::ALL)
        .page_size(10)
        .stream()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(rows.len(), 100);
    // 100 rows by 10 are 10 full pages; each of four shards may have begun one more, and one that was empty.
    let asked = queries();
    assert!((10..=18).contains(&asked), "{asked} queries");
    let page = store
        .product_orders(&tea, Span::ALL)
        .page_size(10)
        .page()
        .await
        .unwrap();
    assert_eq!(
        (page.rows.len(), queries()),
        (10, 4),
        "a page asks each shard once"
    );
    let page = store
        .product_orders(&tea, Span::ALL)
        .page_size(10)
        .after(page.next.as_ref())
        .page()
        .await
        .unwrap();
    assert_eq!(
        (page.rows.len(), queries()),
        (10, 4),
        "also behind a cursor"
    );
    // Whoever drops a stream reads no further.
    let first: Vec<_> = store
        .user_orders(&user(), Span::ALL)
        .page_size(10)
        .stream()
        .take(5)
        .try_collect()
        .await
        .unwrap();
    assert_eq!((first.len(), queries()), (5, 1));
}

#[tokio::test]
async fn consistency_is_what_the_caller_says_or_the_lists_default() {
    let (_, table) = filled(3).await;
    let store = Store::new(table.clone());
    let tea = Sku::parse("tea").unwrap();
    let all_are = |consistent: bool| {
        let requests = table.take().requests;
        assert!(!requests.is_empty());
        let wanted = Request::Query(Source::Table { consistent });
        assert!(
            requests.iter().all(|request| *request == wanted),
            "{requests:?}"
        );
    };
    store.user_orders(&user(), Span::ALL).page().await.unwrap();
    all_are(true);
    store
        .user_orders(&user(), Span::ALL)
        .consistency(Consistency::Eventual)
        .page()
        .await
        .unwrap();
    all_are(false);
    store.product_orders(&tea, Span::ALL).page().await.unwrap();
    all_are(false);
    store
        .product_orders(&tea, Span::ALL)
        .consistency(Consistency::Strong)
        .page()
        .await
        .unwrap();
    all_are(true);
    store
        .refunds(context(0).now, context(1).now)
        .page()
        .await
        .unwrap();
    all_are(true);
    store
        .history(&OrderId::parse("o-1").unwrap())
        .page()
        .await
        .unwrap();
    all_are(true);
}

#[tokio::test]
async fn an_empty_or_backward_span_asks_nothing_and_finds_nothing() {
    let (_, table) = filled(3).await;
    let store = Store::new(table.clone());
    let (early, late) = (context(0).now, context(1).now);
    assert_eq!(store.updated(late, early).page().await.unwrap().rows, []);
    assert_eq!(store.refunds(early, early).page().await.unwrap().rows, []);
    let backward = Span::between(late, early);
    assert_eq!(
        store
            .user_orders(&user(), backward)
            .page()
            .await
            .unwrap()
            .rows,
        []
    );
    assert_eq!(
        table.take().requests,
        [],
        "a range that ends before it begins is refused by DynamoDB, so it is not asked"
    );
    // The last days of the calendar have no day after.
    let end = Timestamp::parse("9999-12-30T00:00:00Z").unwrap();
    let last = Timestamp::parse("9999-12-30T22:00:00Z").unwrap();
    assert_eq!(store.updated(end, last).page().await.unwrap().rows, []);
}

#[tokio::test]
async fn a_list_over_days_goes_backwards_too() {
    let (_, table) = filled(5).await;
    let store = Store::new(table);
    let from = Timestamp::from_millis(context(0).now.as_millis() - 3 * 86_400_000).unwrap();
    let until = Timestamp::from_millis(context(0).now.as_millis() + 3 * 86_400_000).unwrap();
    let newest = store
        .updated(from, until)
        .direction(Direction::NewestFirst)
        .page_size(2);
    let rows: Vec<_> = newest.stream().try_collect().await.unwrap();
    let rows: Vec<_> = rows.iter().map(|row| row.order_id.as_str()).collect();
    assert_eq!(rows, ["o-4", "o-3", "o-2", "o-1", "o-0"]);
}

#[tokio::test]
async fn a_failing_shard_ends_a_list_with_its_error_and_shows_nothing_of_it() {
    let (table, _) = filled(5).await;
    let store = Store::new(table.clone());
    table.fail(Call::Query, 3, Fault::Throttle);
    let failed = store
        .product_orders(&Sku::parse("tea").unwrap(), Span::ALL)
        .page()
        .await;
    assert_eq!(failed.unwrap_err().disposition(), Disposition::Retry);
    table.fail(Call::Query, 2, Fault::Lost);
    let rows: Vec<_> = store
        .user_orders(&user(), Span::ALL)
        .page_size(2)
        .stream()
        .collect()
        .await;
    assert_eq!(
        rows.iter().map(Result::is_ok).collect::<Vec<_>>(),
        [true, true, false]
    );
}

#[tokio::test]
async fn cursors_hold_between_stores_of_one_key_only() {
    let (table, _) = filled(5).await;
    let store = |key: CursorKey| Store::new(table.clone()).with_cursor_key(key);
    let (first, second) = (
        store(CursorKey::secret(b"s")),
        store(CursorKey::secret(b"s")),
    );
    let page = first
        .user_orders(&user(), Span::ALL)
        .page_size(2)
        .page()
        .await
        .unwrap();
    let rest = second
        .user_orders(&user(), Span::ALL)
        .after(page.next.as_ref())
        .page()
        .await
        .unwrap();
    assert_eq!(rest.rows.len(), 3);
    for other in [CursorKey::secret(b"t"), CursorKey::of_table("orders")] {
        let refused = store(other)
            .user_orders(&user(), Span::ALL)
            .after(page.next.as_ref())
            .page()
            .await;
        let error = refused.unwrap_err();
        assert!(
            matches!(
                error,
                StoreError::Cursor {
                    list: "user_orders",
                    ..
                }
            ),
            "{error:?}"
        );
        assert_eq!(
            error.disposition(),
            Disposition::Poison,
            "sending it again does not help"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_batch_leaves_undone_is_asked_for_again_until_it_is_done() {
    let (table, counted) = filled(150).await;
    table.limit_batches(40);
    let ids: Vec<OrderId> = (0..150)
        .map(|number| OrderId::stored(format!("o-{number}")))
        .collect();
    let found = quick(counted.clone())
        .load_many(&ids, Consistency::Eventual)
        .await
        .unwrap();
    assert!(
        found
            .iter()
            .zip(&ids)
            .all(|(order, id)| order.as_ref().is_some_and(|order| order.order_id == *id))
    );
    let mut keys: Vec<_> = counted
        .take()
        .requests
        .into_iter()
        .map(|request| {
            let Request::GetMany {
                keys,
                strong: false,
            } = request
            else {
                panic!("{request:?}")
            };
            keys
        })
        .collect();
    keys.sort_unstable();
    assert_eq!(
        keys,
        [10, 20, 50, 60, 100],
        "batches of 100 and 50, each the rest of the one before"
    );

    table.limit_batches(10);
    let stocks: Vec<_> = (0..60_u32)
        .map(|number| (Sku::parse(&format!("sku-{number}")).unwrap(), number))
        .collect();
    let store = quick(counted.clone());
    store.set_stocks(&stocks).await.unwrap();
    for (sku, stock) in &stocks {
        assert_eq!(store.stock(sku).await.unwrap(), i64::from(*stock));
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_makes_no_way_ends_with_an_error_that_may_be_tried_again() {
    let (table, counted) = filled(2).await;
    table.limit_batches(0);
    let store = quick(counted.clone());
    let ids = ["o-0", "o-1"].map(OrderId::stored);
    let error = store
        .load_many(&ids, Consistency::Strong)
        .await
        .unwrap_err();
    assert_eq!(error.disposition(), Disposition::Retry);
    assert_eq!(
        counted.take().requests.len(),
        4,
        "once and three times more"
    );
    let tea = Sku::parse("tea").unwrap();
    let error = store.set_stocks(&[(tea.clone(), 1)]).await.unwrap_err();
    let names_it = matches!(&error, StockError::Write { sku, .. } if *sku == tea);
    assert!(names_it, "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_throttled_or_lost_is_sent_again() {
    let (table, counted) = filled(2).await;
    table.fail(Call::GetMany, 1, Fault::Throttle);
    table.fail(Call::GetMany, 2, Fault::Lost);
    let ids = ["o-0", "none", "o-1", "o-0"].map(OrderId::stored);
    let found = quick(counted)
        .load_many(&ids, Consistency::Strong)
        .await
        .unwrap();
    assert_eq!(
        found.iter().map(Option::is_some).collect::<Vec<_>>(),
        [true, false, true, true]
    );
}
