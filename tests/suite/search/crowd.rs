//! Many writers at once, and a server that goes away in the middle of it.

use std::collections::BTreeMap;
use std::time::Duration;

use sagaline_search::{Limits, SearchInput, SinkVerdict};
use tempfile::TempDir;

use super::versions::start;
use super::{bare, index};
use crate::support::{Index, budget};

/// Orders, each with its versions.
const ORDERS: u64 = 100;
const VERSIONS: u64 = 100;
const WRITERS: usize = 8;

/// Every seventh version is a deletion.
fn input(order: u64, version: u64) -> SearchInput {
    let id = format!("o-{order}");
    if (version + order).is_multiple_of(7) {
        SearchInput::tombstone(&id, i64::try_from(version).unwrap())
    } else {
        bare(&id, version)
    }
}

/// All versions of all orders in an order of their own for each seed.
fn shuffled(seed: u64) -> Vec<SearchInput> {
    let mut random = seed | 1;
    let mut pairs: Vec<(u64, u64)> = (0..ORDERS)
        .flat_map(|order| (1..=VERSIONS).map(move |version| (order, version)))
        .collect();
    for at in (1..pairs.len()).rev() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        pairs.swap(at, usize::try_from(random).unwrap() % (at + 1));
    }
    pairs
        .into_iter()
        .map(|(order, version)| input(order, version))
        .collect()
}

/// Writes all, again and again what was not taken.
async fn write(index: &Index, inputs: Vec<SearchInput>, limits: Limits) {
    let sink = index.sink_with(limits);
    for part in inputs.chunks(50) {
        let mut waiting = part.to_vec();
        while !waiting.is_empty() {
            let verdicts = sink
                .write(waiting.clone(), &budget(Duration::from_secs(20)))
                .await;
            let left = waiting.into_iter().zip(verdicts);
            waiting = left
                .filter(|(_, verdict)| match verdict {
                    SinkVerdict::Done | SinkVerdict::Stale => false,
                    SinkVerdict::Retry(_) | SinkVerdict::Behind(_) => true,
                    SinkVerdict::Refused(why) => panic!("{why}"),
                })
                .map(|(input, _)| input)
                .collect();
            tokio::task::yield_now().await;
        }
    }
}

fn highest() -> BTreeMap<String, (u64, bool)> {
    let of = |order| {
        (
            format!("o-{order}"),
            (VERSIONS, input(order, VERSIONS).deleted()),
        )
    };
    (0..ORDERS).map(of).collect()
}

// C-05, C-32
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_writers_in_any_order_leave_the_highest_version_of_every_order() {
    let index = index("crowd").await;
    let all = shuffled(42);
    let share = all.len() / WRITERS;
    let parts = all
        .chunks(share)
        .map(|part| write(&index, part.to_vec(), Limits::default()));
    futures::future::join_all(parts).await;
    assert_eq!(index.versions().await, highest());
}

// C-33, C-36
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_in_the_middle_and_started_again_has_everything_in_the_end() {
    let folder = TempDir::new().unwrap();
    let server = start(folder.path()).await;
    let url = server.url().to_owned();
    let mut gate = crate::support::Gate::to(&url).await;
    let index = Index::at(&gate.url(), "orders").made().await;
    let quick = Limits {
        retries: 2,
        breaker_pause: Duration::from_millis(300),
        ..Limits::default()
    };
    let writing = {
        let index = index.moved_to(&gate.url());
        tokio::spawn(async move { write(&index, shuffled(5), quick).await })
    };
    crate::support::until("some are written", crate::support::SOON, async || {
        (index.versions().await.len() > 20).then_some(())
    })
    .await;
    drop(server);
    gate.close();
    assert!(!writing.is_finished(), "killed in the middle");
    let server = start(folder.path()).await;
    gate.leads_to(server.url());
    gate.open().await;
    writing.await.unwrap();
    assert_eq!(index.versions().await, highest());
}
