//! A server that has too much to do, or two indices of which one is away: nothing is lost, nobody is hammered, and one costs the other nothing.

use crate::kinds;
use crate::server::{budget, bulk, head, quick, scripted};
use sagaline_search::{Limits, SearchInput, SinkVerdict};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[tokio::test]
async fn a_batch_of_a_thousand_records_is_one_request() {
    let server = scripted(quick(), |_, asked| bulk(asked, |_, _| 201)).await;
    let batch: Vec<SearchInput> = (0..1_000).map(|n| head(&format!("o-{n}"), 1)).collect();
    let verdicts = server.sink.write(batch, &budget(30_000)).await;
    assert!(verdicts.iter().all(|verdict| *verdict == SinkVerdict::Done));
    let asked = server.asked();
    assert_eq!((asked.len(), asked[0].items.len()), (1, 1_000));
}

// C-35, C-36
#[tokio::test]
async fn a_storm_of_429_loses_nothing_and_is_met_with_fewer_requests() {
    let storm = Arc::new(AtomicBool::new(true));
    let limits = Limits {
        breaker_pause: Duration::from_millis(200),
        ..quick()
    };
    let rages = Arc::clone(&storm);
    let server = scripted(limits, move |number, asked| {
        if !rages.load(Ordering::Relaxed) {
            return bulk(asked, |_, _| 201);
        }
        match number % 3 {
            // Of some items, of the whole request in words, of the whole request by something in between.
            0 => bulk(asked, |id, _| if id.ends_with('0') { 201 } else { 429 }),
            1 => (429, "Too Many Requests".to_owned()),
            _ => (429, "<html>slow down</html>".to_owned()),
        }
    })
    .await;
    let batches: Vec<Vec<SearchInput>> = (0..60)
        .map(|batch| {
            (0..20)
                .map(|n| head(&format!("o-{batch}-{n}"), 1))
                .collect()
        })
        .collect();
    let mut waiting = Vec::new();
    for together in batches.chunks(6) {
        let time = budget(10_000);
        let writes = together
            .iter()
            .map(|batch| server.sink.write(batch.clone(), &time));
        let answers = futures::future::join_all(writes).await;
        for (batch, verdicts) in together.iter().zip(answers) {
            for (input, verdict) in batch.iter().zip(verdicts) {
                match verdict {
                    SinkVerdict::Done => {}
                    SinkVerdict::Retry(_) => waiting.push(input.clone()),
                    other @ (SinkVerdict::Stale
                    | SinkVerdict::Refused(_)
                    | SinkVerdict::Behind(_)) => panic!("{other:?}"),
                }
            }
        }
    }
    let during = server.asked().len();
    // Without the breaker 60 writes would have asked four times each. What is left of them is what it let through to try.
    assert!(during < 120, "{during} requests in the storm");
    assert!(!waiting.is_empty());

    storm.store(false, Ordering::Relaxed);
    // As the retry queue does it: later, and again.
    for _ in 0..50 {
        if waiting.is_empty() {
            break;
        }
        let verdicts = server.sink.write(waiting.clone(), &budget(10_000)).await;
        let left = waiting.into_iter().zip(verdicts);
        waiting = left
            .filter(|(_, verdict)| matches!(verdict, SinkVerdict::Retry(_)))
            .map(|(input, _)| input)
            .collect();
        let pause = tokio::time::timeout(Duration::from_millis(50), std::future::pending::<()>());
        assert!(pause.await.is_err());
    }
    assert!(waiting.is_empty(), "{} never written", waiting.len());
}

#[tokio::test]
async fn an_index_to_come_that_is_away_costs_the_one_that_is_read_nothing() {
    let limits = Limits {
        breaker_failures: 2,
        breaker_pause: Duration::from_secs(600),
        ..quick()
    };
    let server = scripted(limits, |_, asked| {
        if asked.uri.starts_with("/orders-write-next/") {
            (503, String::new())
        } else {
            bulk(asked, |_, _| 201)
        }
    })
    .await;
    let both = ["orders-write", "orders-write-next"].map(str::to_owned);
    server.sink.set_targets(both.to_vec());
    for version in 1..=5 {
        // Told again with every batch, as the configuration is read again: what is known of a target stays.
        server.sink.set_targets(both.to_vec());
        let verdicts = server
            .sink
            .write(vec![head("o-1", version)], &budget(10_000))
            .await;
        assert_eq!(
            kinds(&verdicts),
            ["retry"],
            "it is still owed to the index to come"
        );
    }
    let asked = server.asked();
    let live = asked
        .iter()
        .filter(|asked| asked.uri.starts_with("/orders-write/"));
    let live: Vec<i64> = live.map(|asked| asked.items[0].1).collect();
    assert_eq!(
        live,
        [1, 2, 3, 4, 5],
        "the index that is read has every version, at once"
    );
    assert_eq!(
        asked.len() - live.len(),
        2,
        "the other was left alone after two failures"
    );

    server.sink.set_targets(vec!["orders-write".to_owned()]);
    let verdicts = server
        .sink
        .write(vec![head("o-1", 6)], &budget(10_000))
        .await;
    assert_eq!(kinds(&verdicts), ["done"]);
}

#[tokio::test]
async fn two_aliases_of_one_index_are_one_success() {
    let server = scripted(quick(), |_, asked| {
        // Whichever comes second finds the version there.
        bulk(asked, |_, _| {
            if asked.uri.starts_with("/orders-write/") {
                409
            } else {
                201
            }
        })
    })
    .await;
    let both = ["orders-write", "orders-write-old"].map(str::to_owned);
    server.sink.set_targets(both.to_vec());
    let verdicts = server
        .sink
        .write(vec![head("o-1", 1)], &budget(10_000))
        .await;
    assert_eq!(kinds(&verdicts), ["done"]);
}
