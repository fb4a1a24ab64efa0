//! The mapping runner on real streams, queues and buckets, with a real bootstrap that does as a folder tells it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType,
    ScalarAttributeType, StreamSpecification, StreamViewType,
};
use aws_sdk_sqs::types::QueueAttributeName;
use rustix::process::{Pid, Signal, kill_process};
use sagaline_mapping::{Config, Options, Runner};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Place, SOON, unique, until};

/// A table with a stream, and the folders of the functions that are fed from it.
struct Bench {
    place: Place,
    table: String,
    folder: TempDir,
}

impl Bench {
    async fn new(what: &str) -> Self {
        let place = Place::shared().await;
        let table = unique(what);
        let id = AttributeDefinition::builder()
            .attribute_name("id")
            .attribute_type(ScalarAttributeType::S);
        let key = KeySchemaElement::builder()
            .attribute_name("id")
            .key_type(KeyType::Hash);
        let stream = StreamSpecification::builder()
            .stream_enabled(true)
            .stream_view_type(StreamViewType::NewAndOldImages);
        let create = place
            .dynamodb()
            .create_table()
            .table_name(&table)
            .billing_mode(BillingMode::PayPerRequest)
            .attribute_definitions(id.build().unwrap())
            .key_schema(key.build().unwrap())
            .stream_specification(stream.build().unwrap());
        create.send().await.unwrap();
        Self {
            place,
            table,
            folder: TempDir::new().unwrap(),
        }
    }

    async fn put(&self, ids: &[&str]) {
        for id in ids {
            let put = self.place.dynamodb().put_item().table_name(&self.table);
            put.item("id", AttributeValue::S((*id).to_owned()))
                .send()
                .await
                .unwrap();
        }
    }

    fn function(&self, name: &str) -> Function {
        let folder = self.folder.path().join(name);
        for part in ["hold", "once", "refuse", "effects"] {
            fs::create_dir_all(folder.join(part)).unwrap();
        }
        Function(folder)
    }

    /// Feeds functions, each with a mapping of its own on the table: its name, and what differs from the usual settings.
    async fn run(&self, mappings: &[(&str, Value)]) -> Runner {
        let mut functions = BTreeMap::new();
        let mut feeds = Vec::new();
        for (name, settings) in mappings {
            let env = json!({"FUNCTION_DIR": self.folder.path().join(name)});
            let bootstrap = env!("CARGO_BIN_EXE_tests-function");
            functions.insert(
                *name,
                json!({"bootstrap": bootstrap, "env": env, "timeout_s": 60, "memory_mb": 512}),
            );
            let mut feed = json!({
                "function": name, "table": self.table, "StartingPosition": "TRIM_HORIZON",
                "FunctionResponseTypes": ["ReportBatchItemFailures"],
            });
            feed.as_object_mut()
                .unwrap()
                .extend(settings.as_object().unwrap().clone());
            feeds.push(feed);
        }
        let config = json!({"functions": functions, "mappings": feeds});
        let config = Config::parse(&config.to_string(), Path::new(".")).unwrap();
        let options = Options {
            state: Some(self.folder.path().join("state")),
            log: Some(self.folder.path().join("calls")),
            endpoint_url: Some(self.place.var("AWS_ENDPOINT_URL").to_owned()),
            ..Options::default()
        };
        Runner::start(&config, &options, &self.place.sdk)
            .await
            .unwrap()
    }

    /// How many records each call of a function had, with its first and last sequence number.
    fn calls(&self, function: &str) -> Vec<(u64, String, String)> {
        let log = fs::read_to_string(self.folder.path().join("calls")).unwrap_or_default();
        let calls = log
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let of = calls.filter(|call| call["function"] == function);
        let text = |call: &Value, name: &str| call[name].as_str().unwrap().to_owned();
        of.map(|call| {
            (
                call["count"].as_u64().unwrap(),
                text(&call, "first_sequence"),
                text(&call, "last_sequence"),
            )
        })
        .collect()
    }
}

/// A function's folder.
struct Function(PathBuf);

impl Function {
    fn tell(&self, what: &str, key: &str) {
        fs::write(self.0.join(what).join(key), "").unwrap();
    }

    fn untell(&self, what: &str, key: &str) {
        fs::remove_file(self.0.join(what).join(key)).unwrap();
    }

    /// How often something happened to a record, as in `done o-1`.
    fn times(&self, what: &str) -> usize {
        let log = fs::read_to_string(self.0.join("log")).unwrap_or_default();
        log.lines().filter(|line| *line == what).count()
    }

    async fn until(&self, what: &str, times: usize) {
        until(&format!("{what} {times} times"), SOON, async || {
            (self.times(what) >= times).then_some(())
        })
        .await;
    }
}

// C-01
#[tokio::test]
async fn a_reported_record_comes_again_with_all_behind_it_and_nothing_before_it() {
    let bench = Bench::new("rewind").await;
    let function = bench.function("small");
    function.tell("once", "o-2");
    bench.put(&["o-1", "o-2", "o-3"]).await;
    let runner = bench
        .run(&[(
            "small",
            json!({"BatchSize": 10, "MaximumRetryAttempts": 3, "MaximumRecordAgeInSeconds": 3600}),
        )])
        .await;
    function.until("done o-2", 1).await;
    function.until("stale o-3", 1).await;
    runner.stop().await;

    let calls = bench.calls("small");
    let [(3, first, last), (2, second, last_again)] = calls.as_slice() else {
        panic!("{calls:?}")
    };
    assert!(
        first < second && second < last && last == last_again,
        "{calls:?}"
    );
    let seen = [
        "done o-1",
        "stale o-1",
        "refused o-2",
        "done o-2",
        "done o-3",
        "stale o-3",
    ]
    .map(|what| function.times(what));
    assert_eq!(
        seen,
        [1, 0, 1, 1, 1, 1],
        "the second handling of o-3 has no effect"
    );
}

// C-06
#[tokio::test]
async fn retries_are_counted_anew_for_a_suffix_and_its_end_is_told_to_queue_and_bucket() {
    let bench = Bench::new("giveup").await;
    let (queue_url, queue_arn) = queue(&bench).await;
    let bucket = unique("giveup");
    bench
        .place
        .s3()
        .create_bucket()
        .bucket(&bucket)
        .send()
        .await
        .unwrap();
    for name in ["to-queue", "to-bucket"] {
        bench.function(name).tell("refuse", "o-6");
    }
    bench.put(&["o-1", "o-2", "o-3", "o-4", "o-5", "o-6"]).await;
    let settings = |arn: &str| json!({"BatchSize": 3, "MaximumRetryAttempts": 3, "DestinationConfig": {"OnFailure": {"Destination": arn}}});
    let runner = bench
        .run(&[
            ("to-queue", settings(&queue_arn)),
            ("to-bucket", settings(&format!("arn:aws:s3:::{bucket}"))),
        ])
        .await;
    for name in ["to-queue", "to-bucket"] {
        bench.function(name).until("refused o-6", 5).await;
    }
    // The shard goes on.
    bench.put(&["o-7"]).await;
    for name in ["to-queue", "to-bucket"] {
        bench.function(name).until("done o-7", 1).await;
    }
    let status = runner.status();
    runner.stop().await;
    for mapping in status {
        assert_eq!(
            (
                mapping.given_up,
                mapping.delivered_on_failure,
                mapping.dropped
            ),
            (1, 1, 0),
            "{mapping:?}"
        );
        let function = bench.function(&mapping.function);
        let once = ["o-1", "o-2", "o-3", "o-4", "o-5", "o-7"].map(|id| {
            function.times(&format!("done {id}")) + function.times(&format!("stale {id}"))
        });
        assert_eq!(
            (once, function.times("refused o-6")),
            ([1; 6], 5),
            "{}",
            mapping.function
        );
    }

    let received = bench
        .place
        .sqs()
        .receive_message()
        .queue_url(&queue_url)
        .max_number_of_messages(10)
        .send()
        .await
        .unwrap();
    let [message] = received.messages() else {
        panic!("one document: {received:?}")
    };
    let pointer: Value = serde_json::from_str(message.body().unwrap()).unwrap();
    tells_of_one_record_called_four_times(&pointer);
    assert_eq!(pointer.get("payload"), None, "a queue gets no records");

    let keys = bench.place.objects(&bucket).await;
    let [key] = keys.as_slice() else {
        panic!("one document: {keys:?}")
    };
    assert!(key.starts_with("aws/lambda/"), "{key}");
    let object = bench
        .place
        .s3()
        .get_object()
        .bucket(&bucket)
        .key(key)
        .send()
        .await
        .unwrap();
    let document: Value =
        serde_json::from_slice(&object.body.collect().await.unwrap().into_bytes()).unwrap();
    tells_of_one_record_called_four_times(&document);
    let payload: Value = serde_json::from_str(document["payload"].as_str().unwrap()).unwrap();
    assert_eq!(
        payload["Records"][0]["dynamodb"]["Keys"],
        json!({"id": {"S": "o-6"}})
    );
}

#[track_caller]
fn tells_of_one_record_called_four_times(document: &Value) {
    assert_eq!(
        document["requestContext"]["condition"],
        "RetryAttemptsExhausted"
    );
    assert_eq!(document["requestContext"]["approximateInvokeCount"], 4);
    assert_eq!(document["DDBStreamBatchInfo"]["batchSize"], 1);
}

async fn queue(bench: &Bench) -> (String, String) {
    let sqs = bench.place.sqs();
    let made = sqs
        .create_queue()
        .queue_name(unique("giveup"))
        .send()
        .await
        .unwrap();
    let url = made.queue_url().unwrap().to_owned();
    let arn = QueueAttributeName::QueueArn;
    let asked = sqs
        .get_queue_attributes()
        .queue_url(&url)
        .attribute_names(arn.clone());
    let answer = asked.send().await.unwrap();
    let arn = answer.attributes().unwrap()[&arn].clone();
    (url, arn)
}

#[tokio::test]
async fn a_bootstrap_killed_in_the_middle_of_a_batch_loses_nothing_and_repeats_no_effect() {
    let bench = Bench::new("kill").await;
    let function = bench.function("small");
    function.tell("hold", "o-2");
    bench.put(&["o-1", "o-2", "o-3"]).await;
    let runner = bench
        .run(&[(
            "small",
            json!({"BisectBatchOnFunctionError": true, "MaximumRetryAttempts": 10}),
        )])
        .await;
    function.until("held o-2", 1).await;
    function.until("done o-3", 1).await;
    let pids = runner.pids();
    let [(pid, _)] = pids.as_slice() else {
        panic!("one process works: {pids:?}")
    };
    kill_process(
        Pid::from_raw(i32::try_from(*pid).unwrap()).unwrap(),
        Signal::KILL,
    )
    .unwrap();
    function.untell("hold", "o-2");
    function.until("done o-2", 1).await;
    until("the mapping is idle", SOON, async || runner.idle_for()).await;
    let status = runner.status();
    runner.stop().await;
    assert_eq!(status[0].given_up, 0, "{status:?}");
    assert_eq!(
        ["done o-1", "done o-2", "done o-3"].map(|what| function.times(what)),
        [1, 1, 1]
    );
    assert!(!alive(*pid), "no process is left behind");
}

fn alive(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[tokio::test]
async fn a_runner_that_is_stopped_goes_on_where_it_was_and_misses_nothing() {
    let bench = Bench::new("resume").await;
    let function = bench.function("small");
    let settings = [("small", json!({}))];
    bench.put(&["o-1"]).await;
    let runner = bench.run(&settings).await;
    function.until("done o-1", 1).await;
    until("the mapping is idle", SOON, async || runner.idle_for()).await;
    let ((), ()) = tokio::join!(runner.stop(), bench.put(&["o-2", "o-3", "o-4"]));
    bench.put(&["o-5"]).await;
    let runner = bench.run(&settings).await;
    for id in ["o-2", "o-3", "o-4", "o-5"] {
        function.until(&format!("done {id}"), 1).await;
    }
    runner.stop().await;
    assert_eq!(
        (function.times("done o-1"), function.times("stale o-1")),
        (1, 0),
        "what was finished does not come again"
    );
}
