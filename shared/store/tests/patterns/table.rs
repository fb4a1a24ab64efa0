//! The access patterns: what is asked, and what it may cost.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use sagaline_order::{OrderId, PaymentId, Sku, Status, UserId};
use sagaline_store::{Consistency, ListedStatus, Placement, Span, Store};
use sagaline_testkit::MemoryTable;
use sagaline_testkit::contract::counted::Counted;
use sagaline_testkit::contract::orders::{context, input, new_order};

use crate::common::{cancel, step};

type Counting = Store<Counted<MemoryTable>>;

/// One access pattern.
pub(crate) struct Pattern {
    /// What is asked.
    pub(crate) name: &'static str,
    /// The method.
    pub(crate) method: &'static str,
    pub(crate) run: fn(&Counting) -> BoxFuture<'_, ()>,
    /// Every request of it.
    pub(crate) requests: &'static str,
    /// Round trips that are waited for.
    pub(crate) round_trips: usize,
}

fn user() -> UserId {
    UserId::parse("u-1").unwrap()
}

pub(crate) fn order() -> OrderId {
    OrderId::parse("o-0").unwrap()
}

pub(crate) fn tea() -> Sku {
    Sku::parse("tea").unwrap()
}

pub(crate) fn hashes() -> [String; 1] {
    ["hash".to_owned()]
}

pub(crate) fn patterns() -> Vec<Pattern> {
    let pattern = |name, method, requests, round_trips, run| Pattern {
        name,
        method,
        run,
        requests,
        round_trips,
    };
    vec![
        pattern(
            "order page: everything in one read",
            "load",
            "1 GetItem (strong)",
            1,
            |store| async { assert!(store.load(&order()).await.unwrap().is_some()) }.boxed(),
        ),
        pattern(
            "home page: last 3 orders and the unpaid count",
            "home",
            "1 GetItem (strong), 1 Query (strong)",
            1,
            |store| {
                async { assert_eq!(store.home(&user()).await.unwrap().orders.len(), 3) }.boxed()
            },
        ),
        pattern(
            "a user's orders by time, a page",
            "user_orders",
            "1 Query (strong)",
            1,
            |store| {
                async {
                    assert_eq!(
                        store
                            .user_orders(&user(), Span::ALL)
                            .page()
                            .await
                            .unwrap()
                            .rows
                            .len(),
                        20
                    )
                }
                .boxed()
            },
        ),
        pattern(
            "orders in a status (unpaid of the last 7 days), a page",
            "by_status",
            "4 Query of `by_status`",
            1,
            |store| {
                async {
                    let unpaid = ListedStatus::new(Status::Unpaid).unwrap();
                    assert!(
                        !store
                            .by_status(unpaid, Span::ALL)
                            .page()
                            .await
                            .unwrap()
                            .rows
                            .is_empty()
                    );
                }
                .boxed()
            },
        ),
        pattern(
            "orders by phone, a page (one user has the phone)",
            "orders_of_phone",
            "2 Query (strong)",
            2,
            |store| {
                async {
                    let listing = store.orders_of_phone(&hashes(), Span::ALL).await.unwrap();
                    assert_eq!(listing.page().await.unwrap().rows.len(), 20);
                }
                .boxed()
            },
        ),
        pattern(
            "order by payment id",
            "order_by_payment",
            "2 GetItem (strong)",
            2,
            |store| {
                async {
                    let found = store
                        .order_by_payment(&PaymentId::stored("p-1"))
                        .await
                        .unwrap();
                    assert!(found.is_some());
                }
                .boxed()
            },
        ),
        pattern(
            "a product's orders by time, a page",
            "product_orders",
            "4 Query (eventual)",
            1,
            |store| {
                async {
                    assert_eq!(
                        store
                            .product_orders(&tea(), Span::ALL)
                            .page()
                            .await
                            .unwrap()
                            .rows
                            .len(),
                        20
                    )
                }
                .boxed()
            },
        ),
        pattern(
            "totals sold of a product (up to 1 MB of rows a shard)",
            "product_totals",
            "4 Query (eventual)",
            1,
            |store| {
                async {
                    let totals = store
                        .product_totals(&tea(), Span::ALL, Consistency::Eventual)
                        .await
                        .unwrap();
                    assert_eq!(totals.orders, 20);
                }
                .boxed()
            },
        ),
        pattern(
            "refunds of a day, a page",
            "refunds",
            "4 Query (strong)",
            1,
            |store| {
                async {
                    let day = Span::of_day(&context(0).now.day()).unwrap();
                    let listing = store.refunds(day.from.unwrap(), day.until.unwrap());
                    assert_eq!(listing.page().await.unwrap().rows.len(), 1);
                }
                .boxed()
            },
        ),
        pattern(
            "what changed since, a page of one day",
            "updated",
            "16 Query of `by_updated`",
            1,
            |store| {
                async {
                    let listing = store.updated(context(0).now, context(3_600).now);
                    assert_eq!(listing.page().await.unwrap().rows.len(), 20);
                }
                .boxed()
            },
        ),
        pattern(
            "orders that are due, one shard (the sweeper)",
            "due",
            "1 Query of `due`",
            1,
            |store| {
                async {
                    store
                        .due(0, context(3_600).now)
                        .page()
                        .await
                        .map(drop)
                        .unwrap()
                }
                .boxed()
            },
        ),
        pattern(
            "orders that are overdue, all shards, a page",
            "overdue",
            "16 Query of `due`",
            1,
            |store| {
                async {
                    assert!(
                        !store
                            .overdue(context(3_600).now)
                            .page()
                            .await
                            .unwrap()
                            .rows
                            .is_empty()
                    )
                }
                .boxed()
            },
        ),
        pattern(
            "history of an order, a page",
            "history",
            "1 Query (strong)",
            1,
            |store| {
                async { assert_eq!(store.history(&order()).page().await.unwrap().rows.len(), 6) }
                    .boxed()
            },
        ),
        pattern(
            "many heads (100 a request)",
            "load_many",
            "2 BatchGetItem (strong)",
            1,
            |store| {
                async {
                    let ids: Vec<_> = (0..150)
                        .map(|number| OrderId::stored(format!("o-{number}")))
                        .collect();
                    let found = store.load_many(&ids, Consistency::Strong).await.unwrap();
                    assert_eq!(found.into_iter().flatten().count(), 20);
                }
                .boxed()
            },
        ),
        pattern(
            "stock of many products (25 a request)",
            "set_stocks",
            "2 BatchWriteItem",
            1,
            |store| {
                async {
                    let stocks: Vec<_> = (0..50)
                        .map(|number| (Sku::parse(&format!("sku-{number}")).unwrap(), 1))
                        .collect();
                    store.set_stocks(&stocks).await.unwrap();
                }
                .boxed()
            },
        ),
        pattern(
            "stock of one product",
            "stock",
            "1 GetItem (strong)",
            1,
            |store| async { store.stock(&tea()).await.map(drop).unwrap() }.boxed(),
        ),
        pattern(
            "configuration (read once a minute)",
            "saga_config",
            "1 GetItem (strong)",
            1,
            |store| {
                async {
                    store.saga_config(context(0).now).await;
                    store.saga_config(context(59).now).await;
                }
                .boxed()
            },
        ),
        pattern(
            "create: order, counters and, with `reserve_now`, stock",
            "place",
            "1 TransactWriteItems",
            1,
            |store| {
                async {
                    let placement = Placement {
                        reserve_now: true,
                        phone_lookup: None,
                    };
                    store
                        .place(new_order(&input("o-new", "u-2", "r-new", "tea")), placement)
                        .await
                        .map(drop)
                        .unwrap();
                }
                .boxed()
            },
        ),
        pattern(
            "one step of an order",
            "commit",
            "1 TransactWriteItems",
            1,
            |store| {
                async {
                    let new = new_order(&input("o-19", "u-1", "r-19", "tea"));
                    step(store, &new.order, &cancel("x")).await;
                }
                .boxed()
            },
        ),
    ]
}
