//! What the repository adds to the bare SDK call.
//!
//! `alone`: the repository over a table that answers at once. Everything but the SDK's call is in it: keys, request, reading the head.
//! `over dynoxide`: the same order, read by the bare SDK and by the repository from one server, in turns. Their difference is the overhead
//! again, within the noise of a round trip; their ratio is what a caller feels.
//!
//! Run: `cargo bench -p sagaline-store --bench overhead`. Ends with an error if the repository alone takes more than the budget.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a bench fails by panicking, as tests do"
)]

#[path = "../tests/common/server.rs"]
mod server;

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use sagaline_order::{NewOrder, OrderId, UserId};
use sagaline_store::{
    Action, DynamoTable, Item, Key, PK, Page, Placement, Query, SK, Span, Store, Table, TableError,
    TransactError, WriteError,
};
use sagaline_testkit::contract::orders::{input, new_order};
use tokio::runtime::Runtime;

/// The most that the repository may add to one call.
const BUDGET: Duration = Duration::from_micros(15);

/// Answers at once, always the same.
struct Instantly {
    head: Item,
    page: Vec<Item>,
}

impl Table for Instantly {
    async fn get(&self, key: Key, _consistent: bool) -> Result<Option<Item>, TableError> {
        black_box(key);
        Ok(Some(self.head.clone()))
    }

    async fn query(&self, query: Query) -> Result<Page, TableError> {
        black_box(query);
        Ok(Page {
            items: self.page.clone(),
            next: None,
        })
    }

    async fn transact(&self, actions: Vec<Action>) -> Result<(), TransactError> {
        black_box(actions);
        Ok(())
    }

    async fn write(&self, _action: Action) -> Result<Item, WriteError> {
        Err(TableError::Invalid("not part of the bench".into()).into())
    }
}

fn order() -> NewOrder {
    new_order(&input("o-1", "u-1", "r-1", "tea"))
}

/// The median of a call, and of what the stub itself takes (it copies items, which the SDK would build).
fn median(runtime: &Runtime, mut call: impl AsyncFnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..20_000)
        .map(|_| {
            let began = Instant::now();
            runtime.block_on(call());
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn overhead(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let client = runtime.block_on(server::client());
    let dynamo = Store::new(DynamoTable::new(client.clone(), server::TABLE));
    let (id, user) = (
        OrderId::parse("o-1").unwrap(),
        UserId::parse("u-1").unwrap(),
    );
    let (head, page) = runtime.block_on(async {
        dynamo.place(order(), Placement::default()).await.unwrap();
        let head = dynamo.load_item(&id).await.unwrap().unwrap();
        let row = Key::user_order(&user, order().order.created_at, &id);
        let row = dynamo.table().get(row, true).await.unwrap().unwrap();
        (head, vec![row])
    });
    let store = Store::new(Instantly {
        head: head.clone(),
        page: page.clone(),
    });

    let mut group = criterion.benchmark_group("alone");
    group.bench_function("load", |bench| {
        bench.iter(|| runtime.block_on(store.load(&id)).unwrap());
    });
    group.bench_function("user_orders, a page", |bench| {
        bench.iter(|| {
            runtime
                .block_on(store.user_orders(&user, Span::ALL).page())
                .unwrap()
        });
    });
    let new = order();
    group.bench_function("place", |bench| {
        bench.iter(|| {
            let placed = runtime.block_on(store.place(new.clone(), Placement::default()));
            placed.unwrap()
        });
    });
    group.finish();

    let bare = async || {
        let get = client.get_item().table_name(server::TABLE);
        let get = get
            .key(PK, page_key(&head, PK))
            .key(SK, page_key(&head, SK));
        black_box(get.consistent_read(true).send().await.unwrap());
    };
    let mut group = criterion.benchmark_group("over dynoxide");
    group.bench_function("GetItem by the bare SDK", |bench| {
        bench.iter(|| runtime.block_on(bare()));
    });
    group.bench_function("load", |bench| {
        bench.iter(|| runtime.block_on(dynamo.load(&id)).unwrap());
    });
    group.finish();

    // The check: what the repository takes over the instant table, without the copy that the instant table makes.
    let measured = [
        (
            "load",
            median(&runtime, async || drop(black_box(store.load(&id).await))),
            median(&runtime, async || drop(black_box(head.clone()))),
        ),
        (
            "user_orders, a page",
            median(&runtime, async || {
                drop(black_box(store.user_orders(&user, Span::ALL).page().await));
            }),
            median(&runtime, async || drop(black_box(page.clone()))),
        ),
    ];
    for (what, took, copy) in measured {
        let overhead = took.saturating_sub(copy);
        println!("repository overhead of {what}: {overhead:?} (median; budget {BUDGET:?})");
        assert!(overhead <= BUDGET, "{what} is over its budget");
    }
}

fn page_key(item: &Item, name: &str) -> sagaline_store::AttributeValue {
    item.get(name).cloned().unwrap()
}

criterion_group!(benches, overhead);
criterion_main!(benches);
