//! The task of one shard, with a stream in memory and a scripted function.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use axum::http::StatusCode;
use bytes::Bytes;
use sagaline_mapping::clock::Millis;
use sagaline_mapping::document::Origin;
use sagaline_mapping::drive::{Invocation, Invoker, ShardEnd, ShardTask, Shared, Stop};
use sagaline_mapping::response::Outcome;
use sagaline_mapping::shard::{Record, Rules};
use sagaline_mapping::source::{Page, Read, ReadError, ShardReader};
use sagaline_mapping::{Metric, OnFailure};
use serde_json::Value;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::support::{names, raises, rules};

/// A record that was written just now: these tests run by the real clock.
fn record(sequence: &str) -> Record {
    let now = UNIX_EPOCH.elapsed().unwrap() - Duration::from_secs(5);
    Record {
        arrived: Some(Millis(u64::try_from(now.as_millis()).unwrap())),
        ..crate::support::record(sequence, 1)
    }
}

/// A shard that gives these pages one after another, and then nothing.
struct Pages(VecDeque<Result<Page, ReadError>>);

impl ShardReader for Pages {
    async fn read(&mut self) -> Result<Page, ReadError> {
        self.0.pop_front().unwrap_or(Ok(Page::default()))
    }
}

fn page(sequences: &[&str], end: bool) -> Result<Page, ReadError> {
    let records = sequences
        .iter()
        .map(|sequence| Read::Admitted(record(sequence)))
        .collect();
    Ok(Page { records, end })
}

/// A function that is a closure over the sequence numbers of a batch.
#[derive(Clone)]
struct Scripted(Arc<Script>);

type Script = dyn Fn(&[&str]) -> Outcome + Send + Sync;

impl Invoker for Scripted {
    async fn invoke(&self, _: Uuid, event: Bytes) -> Invocation {
        let event: Value = serde_json::from_slice(&event).unwrap();
        let sequences: Vec<&str> = event["Records"]
            .as_array()
            .unwrap()
            .iter()
            .map(|record| record["dynamodb"]["SequenceNumber"].as_str().unwrap())
            .collect();
        Invocation {
            outcome: (self.0)(&sequences),
            duration: Duration::ZERO,
        }
    }
}

/// What a run left behind.
struct Run {
    end: ShardEnd,
    shared: Shared,
    calls: Vec<String>,
    checkpoints: Vec<String>,
}

impl Run {
    fn counts(&self) -> [u64; 6] {
        [
            Metric::PolledEventCount,
            Metric::FilteredOutEventCount,
            Metric::InvokedEventCount,
            Metric::FailedInvokeEventCount,
            Metric::DroppedEventCount,
            Metric::OnFailureDestinationDeliveredEventCount,
        ]
        .map(|metric| self.shared.count(metric))
    }
}

fn origin() -> Origin {
    Origin {
        mapping_id: Uuid::nil(),
        function_arn: "arn:function".into(),
        stream_arn: "arn:stream".into(),
        shard_id: "shard-1".into(),
    }
}

async fn run(
    rules: Rules,
    pages: Vec<Result<Page, ReadError>>,
    on_failure: OnFailure,
    function: impl Fn(&[&str]) -> Outcome + Send + Sync + 'static,
) -> Run {
    let shared = Shared::quiet("function", "function/table");
    let calls = Arc::new(Mutex::new(Vec::new()));
    let checkpoints = Arc::new(Mutex::new(Vec::new()));
    let (seen, stored) = (Arc::clone(&calls), Arc::clone(&checkpoints));
    let task = ShardTask {
        reader: Pages(pages.into()),
        function: Scripted(Arc::new(move |sequences| {
            seen.lock().unwrap().push(sequences.join(","));
            function(sequences)
        })),
        rules,
        reports: true,
        origin: origin(),
        on_failure,
        longest_poll: Duration::from_millis(20),
        shared: shared.clone(),
        checkpoint: move |sequence: &str| stored.lock().unwrap().push(sequence.to_owned()),
        stop: Stop::default(),
    };
    let end = task.run().await;
    let calls = calls.lock().unwrap().clone();
    let checkpoints = checkpoints.lock().unwrap().clone();
    Run {
        end,
        shared,
        calls,
        checkpoints,
    }
}

#[tokio::test]
async fn a_closed_shard_ends_when_everything_in_it_is_finished() {
    let pages = vec![
        page(&["1", "2"], false),
        page(&[], false),
        page(&["3"], true),
    ];
    let run = run(rules(), pages, OnFailure::default(), |_| names(&[])).await;
    assert_eq!(
        (run.end, run.calls, run.checkpoints.last().unwrap().as_str()),
        (
            ShardEnd::Finished,
            vec!["1,2".to_owned(), "3".to_owned()],
            "3"
        )
    );
}

#[tokio::test]
async fn f_esm_17_waiting_records_arrive_after_a_permission_is_repaired() {
    let denied = || Err(ReadError::Later("AccessDenied".into()));
    let run = run(
        rules(),
        vec![denied(), denied(), page(&["1"], true)],
        OnFailure::default(),
        |_| names(&[]),
    )
    .await;
    assert_eq!(
        (run.end, run.calls),
        (ShardEnd::Finished, vec!["1".to_owned()])
    );
}

#[tokio::test]
async fn a_shard_that_is_gone_ends_after_what_was_read_is_finished() {
    let pages = vec![page(&["1"], false), Err(ReadError::Gone("deleted".into()))];
    let run = run(rules(), pages, OnFailure::default(), |_| names(&[])).await;
    assert_eq!((run.end, run.calls), (ShardEnd::Gone, vec!["1".to_owned()]));
}

#[tokio::test]
async fn f_esm_19_and_20_records_are_counted_not_calls() {
    let dropped = Read::Dropped("2".into());
    let pages = vec![Ok(Page {
        records: vec![
            Read::Admitted(record("1")),
            dropped,
            Read::Admitted(record("3")),
            Read::Admitted(record("4")),
        ],
        end: true,
    })];
    let first = std::sync::atomic::AtomicBool::new(true);
    let run = run(rules(), pages, OnFailure::default(), move |_| {
        if first.swap(false, std::sync::atomic::Ordering::Relaxed) {
            names(&["3"])
        } else {
            names(&[])
        }
    })
    .await;
    assert_eq!(run.calls, ["1,3,4", "3,4"]);
    assert_eq!(run.counts(), [4, 1, 5, 2, 0, 0]);
    assert!(
        run.shared.count(Metric::IteratorAge) > 0,
        "the records are older than now"
    );
    assert_eq!(
        run.checkpoints,
        ["2", "4"],
        "a checkpoint moves over dropped records too"
    );
}

#[tokio::test]
async fn f_esm_21_without_a_destination_nothing_is_counted_as_dropped() {
    let run = run(
        Rules {
            max_retries: Some(0),
            ..rules()
        },
        vec![page(&["1", "2", "3"], true)],
        OnFailure::default(),
        |_| raises(),
    )
    .await;
    assert_eq!(
        (run.end, run.counts()),
        (ShardEnd::Finished, [3, 0, 3, 3, 0, 0])
    );
    assert_eq!(run.checkpoints, ["3"]);
}

/// A queue that answers each send with the next of these statuses, then with success.
async fn queue(statuses: &[StatusCode]) -> (OnFailure, Arc<Mutex<Vec<Value>>>) {
    let taken = Arc::new(Mutex::new(Vec::new()));
    let (statuses, kept) = (
        Arc::new(Mutex::new(VecDeque::from(statuses.to_vec()))),
        Arc::clone(&taken),
    );
    let router = axum::Router::new().fallback(move |body: Bytes| {
        let (statuses, kept) = (Arc::clone(&statuses), Arc::clone(&kept));
        async move {
            match statuses.lock().unwrap().pop_front() {
                Some(status) => (
                    status,
                    r#"{"__type":"com.amazonaws.sqs#AccessDenied"}"#.to_owned(),
                ),
                None => {
                    let request: Value = serde_json::from_slice(&body).unwrap();
                    kept.lock().unwrap().push(
                        serde_json::from_str(request["MessageBody"].as_str().unwrap()).unwrap(),
                    );
                    (StatusCode::OK, r#"{"MessageId":"m"}"#.to_owned())
                }
            }
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(&url)
        .region(Region::new("eu-west-1"))
        .credentials_provider(Credentials::for_tests())
        .retry_config(RetryConfig::disabled())
        .build();
    (
        OnFailure::queue(
            aws_sdk_sqs::Client::from_conf(config),
            format!("{url}/0/failed"),
        ),
        taken,
    )
}

#[tokio::test]
async fn f_esm_22_a_destination_that_refuses_drops_the_records_and_the_shard_goes_on() {
    let (destination, taken) = queue(&[StatusCode::FORBIDDEN]).await;
    let pages = vec![page(&["1", "2", "3"], false), page(&["4"], true)];
    let run = run(
        Rules {
            max_retries: Some(0),
            batch_size: 3,
            ..rules()
        },
        pages,
        destination,
        |batch| {
            if batch.contains(&"4") {
                names(&[])
            } else {
                raises()
            }
        },
    )
    .await;
    assert_eq!(
        (run.end, run.counts()),
        (ShardEnd::Finished, [4, 0, 4, 3, 3, 0])
    );
    assert_eq!(
        (
            run.checkpoints.last().unwrap().as_str(),
            taken.lock().unwrap().len()
        ),
        ("4", 0)
    );
}

#[tokio::test]
async fn a_destination_that_cannot_be_reached_is_waited_for() {
    let (destination, taken) = queue(&[StatusCode::SERVICE_UNAVAILABLE]).await;
    let run = run(
        Rules {
            max_retries: Some(0),
            ..rules()
        },
        vec![page(&["1", "2"], true)],
        destination,
        |_| raises(),
    )
    .await;
    assert_eq!(
        (run.end, run.counts()),
        (ShardEnd::Finished, [2, 0, 2, 2, 0, 2])
    );
    let documents = taken.lock().unwrap().clone();
    assert_eq!(documents.len(), 1);
    assert_eq!(
        (
            &documents[0]["DDBStreamBatchInfo"]["batchSize"],
            &documents[0]["requestContext"]["condition"]
        ),
        (&Value::from(2), &Value::from("RetryAttemptsExhausted"))
    );
}

/// A function that tells when it was called and answers when it is told to.
#[derive(Clone, Default)]
struct Held {
    called: Arc<Notify>,
    answer: Arc<Notify>,
}

impl Invoker for Held {
    async fn invoke(&self, _: Uuid, _: Bytes) -> Invocation {
        self.called.notify_one();
        self.answer.notified().await;
        Invocation {
            outcome: names(&[]),
            duration: Duration::ZERO,
        }
    }
}

fn held_task(
    function: Held,
    stop: Stop,
    stored: Arc<Mutex<Vec<String>>>,
) -> tokio::task::JoinHandle<ShardEnd> {
    let task = ShardTask {
        reader: Pages(vec![page(&["1"], false), page(&["2"], false)].into()),
        function,
        rules: Rules {
            batch_size: 1,
            ..rules()
        },
        reports: true,
        origin: origin(),
        on_failure: OnFailure::default(),
        longest_poll: Duration::from_millis(20),
        shared: Shared::quiet("function", "function/table"),
        checkpoint: move |sequence: &str| stored.lock().unwrap().push(sequence.to_owned()),
        stop,
    };
    tokio::spawn(task.run())
}

#[tokio::test]
async fn a_stop_lets_a_running_call_end_and_checkpoints_it_and_begins_no_other() {
    let (function, stop, stored) = (Held::default(), Stop::default(), Arc::default());
    let task = held_task(function.clone(), stop.clone(), Arc::clone(&stored));
    function.called.notified().await;
    stop.drain.cancel();
    function.answer.notify_one();
    assert_eq!(task.await.unwrap(), ShardEnd::Stopped);
    assert_eq!(*stored.lock().unwrap(), ["1"]);
}

#[tokio::test]
async fn a_call_that_is_cut_is_not_checkpointed() {
    let (function, stop, stored) = (Held::default(), Stop::default(), Arc::default());
    let task = held_task(function.clone(), stop.clone(), Arc::clone(&stored));
    function.called.notified().await;
    stop.drain.cancel();
    stop.cut.cancel();
    assert_eq!(task.await.unwrap(), ShardEnd::Stopped);
    assert_eq!(*stored.lock().unwrap(), Vec::<String>::new());
}
