//! What each access pattern costs in requests and round trips, counted; the table of `docs/access-patterns.md` is written from it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

#[path = "../common/mod.rs"]
mod common;
mod table;

use std::fmt::Write as _;
use std::path::Path;

use common::{approved, cancel, memory, step};
use sagaline_order::Event;
use sagaline_store::{Placement, Store};
use sagaline_testkit::MemoryTable;
use sagaline_testkit::contract::counted::{Counted, Request};
use sagaline_testkit::contract::orders::{input, new_order};
use table::{Pattern, hashes, order, patterns, tea};

/// 20 orders of one user with a phone; the first is paid, cancelled and refunded.
async fn filled() -> Counted<MemoryTable> {
    let (table, store) = memory();
    store.set_stock(&tea(), 100, None).await.unwrap();
    for number in 0..20 {
        let ids = ["o", "r"].map(|what| format!("{what}-{number}"));
        let placement = Placement {
            reserve_now: false,
            phone_lookup: Some(hashes()[0].clone()),
        };
        store
            .place(new_order(&input(&ids[0], "u-1", &ids[1], "tea")), placement)
            .await
            .unwrap();
    }
    let mut order = store.load(&order()).await.unwrap().unwrap();
    let refund_id = sagaline_order::RefundId::stored("rf-1");
    for event in [
        Event::StockReserved,
        cancel("x"),
        approved("p-1"),
        Event::RefundDue,
        Event::RefundSucceeded { refund_id },
    ] {
        order = step(&store, &order, &event).await;
    }
    Counted::new(table)
}

/// `1 GetItem (strong), 4 Query of ...`: by kind.
fn summed(requests: &[Request]) -> String {
    let mut kinds: Vec<String> = requests.iter().map(Request::to_string).collect();
    kinds.sort();
    let kinds = kinds.chunk_by(|a, b| a == b);
    kinds
        .map(|same| format!("{} {}", same.len(), same[0]))
        .collect::<Vec<_>>()
        .join(", ")
}

#[tokio::test]
async fn every_pattern_costs_the_requests_and_round_trips_that_the_documentation_says() {
    let table = filled().await;
    let mut document = String::from(
        "<!-- Written by a test that counts: `UPDATE_DOCS=1 cargo test -p sagaline-store --test patterns`. -->\n\n\
         # What each access pattern costs in requests\n\n\
         Requests that are under way together are one round trip. A page asks each shard once, whatever its size, unless its rows exceed 1 MB; a\n\
         list by day asks the shards of each day until the page is full. A stream (`.stream()`) reads every row once.\n\n\
         | access pattern | `Store::` | requests | round trips |\n|---|---|---|---|\n",
    );
    for pattern in patterns() {
        let store = Store::new(table.clone());
        let _before = table.take();
        (pattern.run)(&store).await;
        let sent = table.take();
        assert_eq!(
            (summed(&sent.requests).as_str(), sent.round_trips),
            (pattern.requests, pattern.round_trips),
            "{}",
            pattern.name
        );
        let Pattern {
            name,
            method,
            requests,
            round_trips,
            ..
        } = pattern;
        writeln!(
            document,
            "| {name} | `{method}` | {requests} | {round_trips} |"
        )
        .unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/access-patterns.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &document).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written, document,
        "docs/access-patterns.md is stale: run this test with UPDATE_DOCS=1"
    );
}
