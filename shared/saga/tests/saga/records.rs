//! Stream records on their way to the drive loop.

use std::collections::BTreeMap;
use std::sync::Mutex;

use sagaline_order::{
    BadSchema, Context, OrderId, OrderInput, RequestId, SagaConfig, Sku, Timestamp,
};
use sagaline_saga::{Counts, DriveError, Driven, Driver, Driving, OrderRecords, Recorder, Rest};
use sagaline_store::{AttributeValue, Key, Placement, Store, StoreError, TableError};
use sagaline_stream::{Batch, Engine, EpochMillis, Invocation, MemoryParking, Outcome, Remaining};
use sagaline_testkit::MemoryTable;
use sagaline_testkit::scripted::{ScriptedBus, ScriptedGateway, TokioClock};
use serde_json::{Value, json};

use tokio::time::Instant;

/// Says of each order how far it comes, and remembers which it was asked for.
#[derive(Debug, Default)]
struct Stub {
    throttled: Vec<&'static str>,
    broken: Vec<&'static str>,
    newer: Vec<&'static str>,
    rest: Rest,
    commits: u32,
    asked: Mutex<Vec<String>>,
}

impl Driving for Stub {
    async fn drive(&self, order_id: &OrderId, _: Instant) -> Result<Driven, DriveError> {
        self.asked.lock().unwrap().push(order_id.to_string());
        if self.throttled.contains(&order_id.as_str()) {
            let source = StoreError::Read {
                what: "the head".to_owned(),
                source: TableError::Throttled("scripted".into()),
            };
            return Err(DriveError::Read {
                order_id: order_id.clone(),
                source,
            });
        }
        if self.newer.contains(&order_id.as_str()) {
            let source = StoreError::Schema {
                what: "the head".to_owned(),
                source: BadSchema::Newer { found: 2, known: 1 },
            };
            return Err(DriveError::Read {
                order_id: order_id.clone(),
                source,
            });
        }
        if self.broken.contains(&order_id.as_str()) {
            return Err(DriveError::NoWayOn {
                order_id: order_id.clone(),
                reason: "scripted".to_owned(),
            });
        }
        Ok(Driven {
            commits: self.commits,
            alarms: 0,
            rest: self.rest,
        })
    }
}

fn invocation() -> Invocation {
    Invocation {
        function: "saga".to_owned(),
        request_id: "r-1".to_owned(),
        received_at: EpochMillis::new(1_764_500_000_000),
        remaining: Remaining::Unknown,
    }
}

fn image(order: &str, version: u64) -> Value {
    json!({
        "PK": {"S": format!("ORDER#{order}")}, "SK": {"S": "ORDER#DETAIL"},
        "version": {"N": version.to_string()}, "due_pk": {"S": "DUE#3"},
    })
}

fn record(name: &str, sequence: u32, order: &str, images: Value) -> Value {
    let mut change = json!({
        "SequenceNumber": sequence.to_string(),
        "Keys": {"PK": {"S": format!("ORDER#{order}")}, "SK": {"S": "ORDER#DETAIL"}},
    });
    for (name, image) in images.as_object().unwrap() {
        change[name] = image.clone();
    }
    json!({"eventID": format!("e-{sequence}"), "eventName": name, "eventSource": "aws:dynamodb", "dynamodb": change})
}

fn insert(sequence: u32, order: &str) -> Value {
    record(
        "INSERT",
        sequence,
        order,
        json!({"NewImage": image(order, 1)}),
    )
}

/// Runs records against a handler. The answer, what was parked.
async fn run<D: Driving>(records: &OrderRecords<D>, batch: &[Value]) -> (Outcome, Vec<String>) {
    let payload = json!({"Records": batch}).to_string();
    let engine = Engine::new("saga", MemoryParking::default());
    let outcome = engine
        .run(
            &Batch::parse(payload.as_bytes()).unwrap(),
            records,
            &invocation(),
        )
        .await
        .unwrap();
    let parked = engine
        .parking()
        .kept()
        .iter()
        .map(|parked| parked.reason.clone())
        .collect();
    (outcome, parked)
}

fn failures(outcome: &Outcome) -> Value {
    serde_json::to_value(&outcome.response).unwrap()["batchItemFailures"].clone()
}

// C-01
#[tokio::test(start_paused = true)]
async fn a_throttled_order_is_named_and_its_neighbours_are_done() {
    let records = OrderRecords::new(Stub {
        throttled: vec!["o-2"],
        commits: 1,
        rest: Rest::Finished,
        ..Stub::default()
    });
    let batch = [
        insert(1100, "o-1"),
        insert(1200, "o-2"),
        insert(1300, "o-3"),
    ];
    let (outcome, _) = run(&records, &batch).await;
    assert_eq!(failures(&outcome), json!([{"itemIdentifier": "1200"}]));
    assert_eq!(outcome.counts().done(), 2);

    let records = OrderRecords::new(Stub {
        rest: Rest::Finished,
        ..Stub::default()
    });
    let (outcome, _) = run(&records, &batch[1..]).await;
    assert_eq!(failures(&outcome), json!([]));
    assert_eq!(
        outcome.counts().stale(),
        2,
        "the second handling changes nothing"
    );
}

// C-03
#[tokio::test(start_paused = true)]
async fn a_removed_head_is_nothing_to_the_saga() {
    let records = OrderRecords::new(Stub {
        commits: 1,
        ..Stub::default()
    });
    let batch = [
        record("REMOVE", 1100, "o-1", json!({"OldImage": image("o-1", 4)})),
        record("REMOVE", 1200, "o-2", json!({})),
        record(
            "MODIFY",
            1300,
            "o-3",
            json!({"OldImage": image("o-3", 1), "NewImage": image("o-3", 2)}),
        ),
    ];
    let (outcome, parked) = run(&records, &batch).await;
    assert_eq!(
        (
            outcome.counts().skipped(),
            outcome.counts().done(),
            parked.len()
        ),
        (2, 1, 0)
    );
    assert_eq!(failures(&outcome), json!([]));
    assert_eq!(*records.driver().asked.lock().unwrap(), ["o-3"]);
}

// C-47
#[tokio::test(start_paused = true)]
async fn no_identity_makes_a_delete_a_compensation() {
    let identities = [
        json!({"type": "Service", "principalId": "dynamodb.amazonaws.com"}),
        json!({"principalId": "dynamodb.amazonaws.com"}),
        json!({"type": "Service", "principalId": "someone.amazonaws.com"}),
        json!({"type": "AssumedRole", "principalId": "AROA:operator"}),
    ];
    let mut batch: Vec<_> = (1_u32..)
        .zip(&identities)
        .map(|(i, identity)| {
            let mut removed = record(
                "REMOVE",
                1000 + i,
                &format!("o-{i}"),
                json!({"OldImage": image("o", 4)}),
            );
            removed["userIdentity"] = identity.clone();
            removed
        })
        .collect();
    let mut inserted = insert(2000, "o-9");
    inserted["userIdentity"] = identities[0].clone();
    batch.push(inserted);
    let records = OrderRecords::new(Stub {
        commits: 1,
        ..Stub::default()
    });
    let (outcome, _) = run(&records, &batch).await;
    assert_eq!(
        (outcome.counts().skipped(), outcome.counts().done()),
        (4, 1)
    );
    assert_eq!(*records.driver().asked.lock().unwrap(), ["o-9"]);
}

#[tokio::test(start_paused = true)]
async fn what_the_filter_should_have_kept_out_is_skipped() {
    let records = OrderRecords::new(Stub::default());
    let mut finished = image("o-1", 4);
    finished.as_object_mut().unwrap().remove("due_pk");
    let mut history = insert(1300, "o-2");
    history["dynamodb"]["Keys"]["SK"] = json!({"S": "HISTORY#0000000001"});
    let batch = [
        record("MODIFY", 1100, "o-1", json!({"NewImage": finished})),
        record(
            "MODIFY",
            1200,
            "o-3",
            json!({"OldImage": image("o-3", 5), "NewImage": image("o-3", 5)}),
        ),
        history,
    ];
    let (outcome, parked) = run(&records, &batch).await;
    assert_eq!((outcome.counts().skipped(), parked.len()), (3, 0));
    assert_eq!(
        records.take_counts(),
        Counts {
            alarms: 0,
            version_unchanged: 1
        }
    );
    assert!(records.driver().asked.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_record_that_says_too_little_is_parked_with_its_reason() {
    let records = OrderRecords::new(Stub {
        broken: vec!["o-6"],
        ..Stub::default()
    });
    let version = |value: Value| {
        let mut image = image("o-1", 1);
        image["version"] = value;
        json!({"NewImage": image})
    };
    let batch = [
        record("MODIFY", 1100, "o-1", json!({"OldImage": image("o-1", 1)})),
        record("INSERT", 1200, "o-2", version(json!({"S": "three"}))),
        record("INSERT", 1300, "o-3", version(json!({"N": "0"}))),
        record("INSERT", 1400, "o-4", version(json!({"N": "1.5"}))),
        record("UPSERT", 1500, "o-5", json!({"NewImage": image("o-5", 1)})),
        insert(1600, "o-6"),
        record("INSERT", 1700, "o-7", version(json!({"N": "3.0"}))),
    ];
    let (outcome, parked) = run(&records, &batch).await;
    assert_eq!(
        (outcome.counts().parked(), outcome.counts().stale()),
        (6, 1),
        "{parked:?}"
    );
    assert_eq!(failures(&outcome), json!([]));
    let count = parked
        .iter()
        .fold(BTreeMap::<&str, usize>::new(), |mut count, reason| {
            *count.entry(reason).or_default() += 1;
            count
        });
    let expected = [
        ("MODIFY without NewImage", 1),
        ("a head without a usable version", 3),
        ("not decodable", 1),
        ("the order could not be moved", 1),
    ];
    assert_eq!(count.into_iter().collect::<Vec<_>>(), expected);
}

#[tokio::test(start_paused = true)]
async fn an_order_that_a_newer_release_wrote_is_deferred_and_not_parked() {
    let records = OrderRecords::new(Stub {
        newer: vec!["o-1"],
        rest: Rest::Finished,
        commits: 1,
        ..Stub::default()
    });
    let batch = [insert(1100, "o-1"), insert(1200, "o-2")];
    let (outcome, parked) = run(&records, &batch).await;
    assert_eq!(
        (outcome.counts().deferred(), outcome.counts().done()),
        (1, 1)
    );
    assert_eq!((failures(&outcome), parked.len()), (json!([]), 0));
}

#[tokio::test(start_paused = true)]
async fn how_far_an_order_came_is_the_verdict() {
    #[track_caller]
    fn check(outcome: &Outcome, expected: (u64, u64, u64, u64)) {
        let counts = outcome.counts();
        assert_eq!(
            (
                counts.done(),
                counts.stale(),
                counts.deferred(),
                counts.failed()
            ),
            expected
        );
    }
    let at = Timestamp::parse("2026-01-31T08:30:00Z").unwrap();
    for (rest, commits, expected) in [
        (Rest::Finished, 2, (1, 0, 0, 0)),
        (Rest::Until(at), 1, (1, 0, 0, 0)),
        (Rest::Until(at), 0, (0, 1, 0, 0)),
        (Rest::Absent, 0, (0, 1, 0, 0)),
        (Rest::Deferred, 1, (0, 0, 1, 0)),
        (Rest::OutOfTime, 1, (0, 0, 0, 1)),
    ] {
        let records = OrderRecords::new(Stub {
            rest,
            commits,
            ..Stub::default()
        });
        let (outcome, _) = run(&records, &[insert(1100, "o-1")]).await;
        check(&outcome, expected);
    }
}

mod stream;
