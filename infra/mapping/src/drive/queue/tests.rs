//! The task of a queue, against a queue in memory that speaks the SQS protocol.

use std::collections::VecDeque;
use std::sync::Mutex;

use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use axum::http::HeaderMap;
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::drive::Invocation;
use crate::filter::{Filter, Subject};
use crate::response::{FunctionError, FunctionErrorKind};

/// A queue whose messages are received once: what is not deleted stays hidden.
#[derive(Default)]
struct Stub {
    visible: Mutex<VecDeque<String>>,
    deleted: Mutex<Vec<String>>,
}

impl Stub {
    fn answer(&self, target: &str, request: &Value) -> Value {
        match target {
            "AmazonSQS.ReceiveMessage" => {
                let most =
                    usize::try_from(request["MaxNumberOfMessages"].as_u64().unwrap()).unwrap();
                let mut visible = self.visible.lock().unwrap();
                let count = most.min(visible.len());
                let message = |body: String| json!({"MessageId": body, "ReceiptHandle": format!("receipt {body}"), "Body": body});
                json!({ "Messages": visible.drain(..count).map(message).collect::<Vec<_>>() })
            }
            "AmazonSQS.DeleteMessageBatch" => {
                let entries = request["Entries"].as_array().unwrap();
                let receipts = entries.iter().map(|entry| {
                    entry["ReceiptHandle"]
                        .as_str()
                        .unwrap()
                        .replace("receipt ", "")
                });
                self.deleted.lock().unwrap().extend(receipts);
                json!({ "Successful": entries.iter().map(|entry| json!({"Id": entry["Id"]})).collect::<Vec<_>>(), "Failed": [] })
            }
            other => panic!("{other} is not asked of this queue"),
        }
    }
}

/// A function that is a closure over the bodies of a batch.
#[derive(Clone)]
struct Scripted(Arc<Script>);

type Script = dyn Fn(&[String]) -> Outcome + Send + Sync;

impl Invoker for Scripted {
    async fn invoke(&self, _: Uuid, event: Bytes) -> Invocation {
        let event: Value = serde_json::from_slice(&event).unwrap();
        let bodies: Vec<String> = event["Records"]
            .as_array()
            .unwrap()
            .iter()
            .map(|record| record["body"].as_str().unwrap().to_owned())
            .collect();
        Invocation {
            outcome: (self.0)(&bodies),
            duration: Duration::ZERO,
        }
    }
}

/// What a run left behind.
struct Run {
    calls: Vec<Vec<String>>,
    deleted: Vec<String>,
    shared: Shared,
}

impl Run {
    /// Polled, filtered out, invoked, failed, deleted.
    fn counts(&self) -> [u64; 5] {
        [
            Metric::PolledEventCount,
            Metric::FilteredOutEventCount,
            Metric::InvokedEventCount,
            Metric::FailedInvokeEventCount,
            Metric::DeletedEventCount,
        ]
        .map(|metric| self.shared.count(metric))
    }
}

fn settings() -> QueueSettings {
    QueueSettings {
        batch_size: 10,
        window: Duration::ZERO,
        filter: Filter::default(),
        report_failures: true,
        concurrency: 1,
    }
}

/// Runs until the queue is empty and nothing is under way, which is when the task asks for the queue's counts.
async fn run(
    settings: QueueSettings,
    messages: &[&str],
    function: impl Fn(&[String]) -> Outcome + Send + Sync + 'static,
) -> Run {
    let stub = Arc::new(Stub {
        visible: Mutex::new(messages.iter().map(ToString::to_string).collect()),
        ..Stub::default()
    });
    let stop = Stop::default();
    let (served, drain) = (Arc::clone(&stub), stop.drain.clone());
    let router = axum::Router::new().fallback(move |headers: HeaderMap, body: Bytes| {
        let (served, drain) = (Arc::clone(&served), drain.clone());
        async move {
            let target = headers["x-amz-target"].to_str().unwrap().to_owned();
            if target == "AmazonSQS.GetQueueAttributes" {
                drain.cancel();
                return json!({ "Attributes": {} }).to_string();
            }
            served
                .answer(&target, &serde_json::from_slice(&body).unwrap())
                .to_string()
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
    let calls = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&calls);
    let script = move |bodies: &[String]| {
        seen.lock().unwrap().push(bodies.to_vec());
        function(bodies)
    };
    let shared = Shared::quiet("function", "function/queue");
    let task = QueueTask {
        queue: Queue::at(
            aws_sdk_sqs::Client::from_conf(config),
            &format!("{url}/0/work"),
            "arn:aws:sqs:eu-west-1:0:work",
            Duration::from_secs(60),
        ),
        settings,
        function: Scripted(Arc::new(script)),
        wait_s: 0,
        shared: shared.clone(),
        stop,
    };
    task.run().await;
    let calls = calls.lock().unwrap().clone();
    let deleted = stub.deleted.lock().unwrap().clone();
    Run {
        calls,
        deleted,
        shared,
    }
}

fn answer(body: &Value) -> Outcome {
    Outcome::Answered(Bytes::from(body.to_string()))
}

fn raises() -> Outcome {
    Outcome::Failed(FunctionError {
        kind: FunctionErrorKind::Error,
        message: "raised".into(),
    })
}

#[tokio::test]
async fn f_sqs_2_success_deletes_the_batch_and_a_failure_leaves_it() {
    let good = run(settings(), &["a", "b"], |_| answer(&json!(null))).await;
    assert_eq!(
        (good.deleted.as_slice(), good.counts()),
        (["a".to_owned(), "b".to_owned()].as_slice(), [2, 0, 2, 0, 2])
    );
    let bad = run(settings(), &["a", "b"], |_| raises()).await;
    assert_eq!((bad.deleted.len(), bad.counts()), (0, [2, 0, 2, 2, 0]));
}

#[tokio::test]
async fn f_sqs_3_only_the_reported_message_stays() {
    let settings = QueueSettings {
        batch_size: 2,
        ..settings()
    };
    let run = run(settings, &["a", "b", "c"], |bodies| {
        let failures: Vec<Value> = bodies
            .iter()
            .filter(|body| *body == "b")
            .map(|body| json!({ "itemIdentifier": body }))
            .collect();
        answer(&json!({ "batchItemFailures": failures }))
    })
    .await;
    assert_eq!(
        run.calls,
        [vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned()]]
    );
    assert_eq!(
        (run.deleted.as_slice(), run.counts()),
        (["a".to_owned(), "c".to_owned()].as_slice(), [3, 0, 3, 1, 2])
    );
}

#[tokio::test]
async fn f_sqs_5_a_call_that_was_refused_keeps_its_messages_and_a_failed_one_is_not_repeated() {
    let refusals = Mutex::new(2);
    let refused = run(settings(), &["a"], move |_| {
        let mut left = refusals.lock().unwrap();
        if *left == 0 {
            return answer(&json!({}));
        }
        *left -= 1;
        Outcome::NotInvoked("throttled".into())
    })
    .await;
    assert_eq!(
        (refused.calls.len(), refused.deleted.len(), refused.counts()),
        (3, 1, [1, 0, 1, 2, 1])
    );
    let failed = run(settings(), &["a"], |_| raises()).await;
    assert_eq!((failed.calls.len(), failed.deleted.len()), (1, 0));
}

#[tokio::test]
async fn f_sqs_6_a_message_that_no_filter_admits_is_deleted_unseen() {
    let mut filter = Filter::default();
    filter
        .add(r#"{"body":{"kind":["search"]}}"#, Subject::QueueMessage)
        .unwrap();
    let messages = [r#"{"kind":"search"}"#, r#"{"kind":"archive"}"#, "no json"];
    let run = run(
        QueueSettings {
            filter,
            ..settings()
        },
        &messages,
        |_| answer(&json!({})),
    )
    .await;
    assert_eq!((run.calls.len(), run.counts()), (1, [3, 2, 1, 0, 3]));
}

#[tokio::test]
async fn f_sqs_1_a_large_batch_is_gathered_from_several_receives() {
    let bodies: Vec<String> = (0..25).map(|at| at.to_string()).collect();
    let messages: Vec<&str> = bodies.iter().map(String::as_str).collect();
    let settings = QueueSettings {
        batch_size: 25,
        window: Duration::from_secs(300),
        ..settings()
    };
    let run = run(settings, &messages, |_| answer(&json!({}))).await;
    assert_eq!(
        (
            run.calls.iter().map(Vec::len).collect::<Vec<_>>(),
            run.deleted.len()
        ),
        (vec![25], 25)
    );
}

fn message(bytes: usize) -> Received {
    Received {
        id: "m".into(),
        receipt: "r".into(),
        body: String::new(),
        event: "x".repeat(bytes),
    }
}

#[test]
fn a_batch_above_six_megabytes_becomes_several_calls() {
    let sizes: Vec<usize> = by_size((0..10).map(|_| message(1_048_576)).collect())
        .iter()
        .map(Vec::len)
        .collect();
    assert_eq!(sizes, [5, 5]);
    assert_eq!(by_size(vec![message(10), message(10)]).len(), 1);
}
