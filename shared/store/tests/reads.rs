//! Lists page by page, configuration, and stock by hand.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

mod common;

use common::{memory, placed, step};
use sagaline_order::{Event, OrderId, Sku, Status, UserId};
use sagaline_store::value::s;
use sagaline_store::{
    Action, Cursor, DUE_SHARDS, Direction, Key, ListedStatus, Metrics, Rows, Span, Store,
    StoreError, Table, Update,
};
use sagaline_testkit::MemoryTable;
use sagaline_testkit::contract::orders::{context, input, new_order};
use sagaline_testkit::memory::{Call, Fault};
use serde_json::{Value, json};

/// 30 orders of one user for one product, one a second.
async fn thirty() -> (MemoryTable, Store<MemoryTable>, Vec<OrderId>) {
    let (table, store) = memory();
    let mut ids = Vec::new();
    for number in 0..30 {
        let mut new = new_order(&input(
            &format!("o-{number}"),
            "u-1",
            &format!("r-{number}"),
            "tea",
        ));
        let at = context(number).now;
        (
            new.order.created_at,
            new.order.updated_at,
            new.order.wake_at,
        ) = (at, at, Some(at));
        ids.push(placed(&store, new).await.order_id);
    }
    (table, store, ids)
}

async fn every<R>(
    mut page: impl AsyncFnMut(Option<&Cursor>) -> Result<Rows<R>, StoreError>,
) -> Vec<R> {
    let (mut rows, mut cursor) = (Vec::new(), None::<Cursor>);
    loop {
        let found = page(cursor.as_ref()).await.unwrap();
        rows.extend(found.rows);
        match found.next {
            Some(next) => cursor = Some(Cursor::from_text(next.as_str())),
            None => return rows,
        }
    }
}

#[tokio::test]
async fn lists_over_shards_are_merged_by_time_at_any_page_size() {
    let (table, store, ids) = thirty().await;
    let newest: Vec<_> = ids.iter().rev().cloned().collect();
    let (user, tea) = (UserId::parse("u-1").unwrap(), Sku::parse("tea").unwrap());
    let unpaid = ListedStatus::new(Status::Unpaid).unwrap();
    let (from, until) = (context(0).now, context(60).now);
    for (size, table_page) in [(1, 1), (7, 2), (30, 100), (100, 100)] {
        table.limit_pages(table_page);
        let mut found: Vec<Vec<OrderId>> = Vec::new();
        for (direction, expected) in [
            (Direction::OldestFirst, &ids),
            (Direction::NewestFirst, &newest),
        ] {
            let rows = every(async |cursor| {
                store
                    .by_status(unpaid, Span::ALL)
                    .direction(direction)
                    .page_size(size)
                    .after(cursor)
                    .page()
                    .await
            })
            .await;
            found.push(rows.into_iter().map(|row| row.order_id).collect());
            let rows = every(async |cursor| {
                store
                    .product_orders(&tea, Span::ALL)
                    .direction(direction)
                    .page_size(size)
                    .after(cursor)
                    .page()
                    .await
            })
            .await;
            found.push(rows.into_iter().map(|row| row.order_id).collect());
            let rows = every(async |cursor| {
                store
                    .user_orders(&user, Span::ALL)
                    .direction(direction)
                    .page_size(size)
                    .after(cursor)
                    .page()
                    .await
            })
            .await;
            found.push(rows.into_iter().map(|row| row.order_id).collect());
            assert!(
                found.iter().all(|list| list == expected),
                "page size {size}, {direction:?}: {found:?}"
            );
            found.clear();
        }
        let rows = every(async |cursor| {
            store
                .updated(from, until)
                .page_size(size)
                .after(cursor)
                .page()
                .await
        })
        .await;
        assert_eq!(
            rows.into_iter().map(|row| row.order_id).collect::<Vec<_>>(),
            ids,
            "page size {size}"
        );
    }
}

#[tokio::test]
async fn a_list_goes_on_over_midnight() {
    let (_, store) = memory();
    let mut ids = Vec::new();
    // 10:53:20 plus 13 h 6 min 35 s is five seconds before midnight.
    for (number, seconds) in [
        47_195_u32,
        47_199,
        47_200,
        47_205,
        86_400 + 47_201,
        3 * 86_400,
    ]
    .into_iter()
    .enumerate()
    {
        let mut new = new_order(&input(
            &format!("o-{number}"),
            "u-1",
            &format!("r-{number}"),
            "tea",
        ));
        new.order.updated_at = context(seconds).now;
        ids.push(placed(&store, new).await.order_id);
    }
    for size in 1..8 {
        let rows = every(async |cursor| {
            store
                .updated(context(0).now, context(4 * 86_400).now)
                .page_size(size)
                .after(cursor)
                .page()
                .await
        })
        .await;
        assert_eq!(
            rows.into_iter().map(|row| row.order_id).collect::<Vec<_>>(),
            ids,
            "page size {size}"
        );
    }
    let one_day = store
        .updated(context(47_199).now, context(47_205).now)
        .page_size(10)
        .page()
        .await
        .unwrap();
    assert_eq!(
        one_day
            .rows
            .into_iter()
            .map(|row| row.order_id)
            .collect::<Vec<_>>(),
        ids[1..3],
        "from included, until excluded"
    );
}

#[tokio::test]
async fn a_span_of_time_cuts_a_list() {
    let (_, store, ids) = thirty().await;
    let user = UserId::parse("u-1").unwrap();
    let span = Span::between(context(10).now, context(13).now);
    let rows = store
        .user_orders(&user, span)
        .page_size(10)
        .page()
        .await
        .unwrap();
    assert_eq!(rows.next, None);
    assert_eq!(
        rows.rows
            .into_iter()
            .map(|row| row.order_id)
            .collect::<Vec<_>>(),
        [ids[12].clone(), ids[11].clone(), ids[10].clone()]
    );
    let none = store
        .user_orders(&user, Span::between(context(13).now, context(10).now))
        .page()
        .await
        .unwrap();
    assert!(
        none.rows.is_empty(),
        "a range that ends before it begins is empty, no error"
    );
}

#[tokio::test]
async fn every_due_order_is_in_one_shard_longest_overdue_first() {
    let (table, store, ids) = thirty().await;
    table.limit_pages(1);
    let until = context(19).now;
    let mut due = Vec::new();
    for shard in 0..DUE_SHARDS {
        let rows = every(async |cursor| {
            store
                .due(shard, until)
                .page_size(1)
                .after(cursor)
                .page()
                .await
        })
        .await;
        assert!(rows.is_sorted_by_key(|row| row.wake_at), "shard {shard}");
        due.extend(rows.into_iter().map(|row| row.order_id));
    }
    let sort = |mut ids: Vec<OrderId>| {
        ids.sort();
        ids
    };
    assert_eq!(
        sort(due),
        sort(ids[..20].to_vec()),
        "the one due at this very time is due"
    );
}

#[tokio::test]
async fn a_cursor_survives_that_its_row_moves_on() {
    let (_, store, ids) = thirty().await;
    let unpaid = ListedStatus::new(Status::Unpaid).unwrap();
    let first = store
        .by_status(unpaid, Span::ALL)
        .direction(Direction::OldestFirst)
        .page_size(10)
        .page()
        .await
        .unwrap();
    let last = store.load(&first.rows[9].order_id).await.unwrap().unwrap();
    step(
        &store,
        &last,
        &Event::CancelRequested {
            reason: "x".to_owned(),
        },
    )
    .await;
    let second = store
        .by_status(unpaid, Span::ALL)
        .direction(Direction::OldestFirst)
        .page_size(10)
        .after(first.next.as_ref())
        .page()
        .await
        .unwrap();
    assert_eq!(
        second
            .rows
            .into_iter()
            .map(|row| row.order_id)
            .collect::<Vec<_>>(),
        ids[10..20]
    );
}

fn config(value: Value) -> serde_json::Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[tokio::test]
async fn configuration_is_read_at_most_once_a_minute_and_the_last_known_stays_in_force() {
    let (table, store) = memory();
    let other = Store::new(table.clone());
    let deadline = async |seconds| {
        store
            .saga_config(context(seconds).now)
            .await
            .pay_deadline_s
            .0
    };
    assert_eq!(deadline(0).await, 1_800, "no item: the defaults");
    other
        .put_config("saga", &config(json!({"pay_deadline_s": 60})))
        .await
        .unwrap();
    assert_eq!(
        deadline(59).await,
        1_800,
        "not read again within the minute"
    );
    assert_eq!(deadline(60).await, 60);
    assert_eq!(
        store.saga_config(context(60).now).await.undo_attempts,
        3,
        "what it leaves out is the default"
    );
    assert_eq!(table.calls().get, 2);
    table.fail(Call::Get, 1, Fault::Lost);
    assert_eq!(deadline(120).await, 60, "no answer: the last known");
    other
        .put_config("saga", &config(json!({"pay_deadline_s": "soon"})))
        .await
        .unwrap();
    assert_eq!(deadline(180).await, 60, "not readable: the last known");
    assert_eq!(table.calls().get, 4);
}

#[tokio::test]
async fn search_targets_are_a_set_of_text_or_none() {
    let (table, store) = memory();
    assert_eq!(store.search_targets(context(0).now).await, None);
    let other = Store::new(table);
    other
        .put_config(
            "search",
            &config(json!({"targets": ["orders-write", "orders-write-next"]})),
        )
        .await
        .unwrap();
    let targets = store.search_targets(context(60).now).await;
    assert_eq!(
        targets,
        Some(vec![
            "orders-write".to_owned(),
            "orders-write-next".to_owned()
        ])
    );
}

#[tokio::test]
async fn an_addition_to_the_stock_is_never_sent_twice() {
    let (table, store) = memory();
    let tea = Sku::parse("tea").unwrap();
    table.fail(Call::Write, 1, Fault::LostAcknowledgement);
    assert!(
        store.add_stock(&tea, 3).await.is_err(),
        "it is not known whether it was made"
    );
    assert_eq!(
        (table.calls().write, store.stock(&tea).await.unwrap()),
        (1, 3)
    );
}

#[tokio::test]
async fn a_counter_that_nothing_was_added_to_is_zero_and_one_that_is_no_number_is_an_error() {
    let (table, store) = memory();
    let user = UserId::parse("u-1").unwrap();
    table
        .write(Action::Update(
            Update::of(Key::metrics(&user)).add("unpaid_count", -1),
        ))
        .await
        .unwrap();
    assert_eq!(
        store.metrics(&user).await.unwrap(),
        Metrics {
            order_count: 0,
            unpaid_count: -1
        }
    );
    table
        .write(Action::Update(
            Update::of(Key::metrics(&user)).set("order_count", s("1")),
        ))
        .await
        .unwrap();
    assert!(store.metrics(&user).await.is_err());
}
