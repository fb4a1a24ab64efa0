//! How many records a second go through the runner: a stream in memory, the real host, a real echo process, batches of 100.
//!
//! `cargo bench -p sagaline-mapping`. The aim is 20,000 a second on two cores.

#![allow(clippy::expect_used, reason = "a bench fails by panicking")]

use std::collections::{BTreeMap, VecDeque};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sagaline_mapping::config::Function;
use sagaline_mapping::document::Origin;
use sagaline_mapping::drive::{ShardEnd, ShardTask, Shared, Stop};
use sagaline_mapping::host::{Host, Output, Setting};
use sagaline_mapping::shard::{Record, Rules};
use sagaline_mapping::source::{Page, Read, ReadError, ShardReader};
use sagaline_mapping::{Metric, OnFailure};
use serde_json::json;
use tokio::runtime::Runtime;
use uuid::Uuid;

/// The records of one run.
const RECORDS: usize = 20_000;

/// What GetRecords gives at most.
const PAGE: usize = 1_000;

struct Memory(VecDeque<Page>);

impl ShardReader for Memory {
    async fn read(&mut self) -> Result<Page, ReadError> {
        Ok(self.0.pop_front().unwrap_or_default())
    }
}

/// Pages of records of 200 items, about half a kilobyte each.
fn pages() -> VecDeque<Page> {
    let record = |at: usize| {
        let sequence = format!("{:021}", at + 1);
        let key = format!("ORDER#o-{}", at % 200);
        let event = json!({
            "eventID": sequence, "eventName": "MODIFY", "eventSource": "aws:dynamodb",
            "dynamodb": {
                "Keys": {"PK": {"S": key}, "SK": {"S": "ORDER#DETAIL"}}, "SequenceNumber": sequence,
                "NewImage": {"PK": {"S": key}, "status": {"S": "UNPAID"}, "total_minor": {"N": "1250"}, "note": {"S": "x".repeat(200)}},
            },
        });
        Read::Admitted(Record {
            sequence: sequence.into(),
            key: (at % 200) as u64,
            arrived: None,
            event: event.to_string().into(),
        })
    };
    let last = RECORDS.div_ceil(PAGE) - 1;
    let page = |at: usize| Page {
        records: (at * PAGE..(at + 1) * PAGE).map(record).collect(),
        end: at == last,
    };
    (0..=last).map(page).collect()
}

fn host() -> Host {
    let function = Function {
        bootstrap: env!("CARGO_BIN_EXE_mapping-test-function").into(),
        env: BTreeMap::new(),
        timeout: Duration::from_secs(30),
        memory_mb: 256,
    };
    let setting = Setting {
        region: "eu-west-1".into(),
        account: "000000000000".into(),
        endpoint_url: None,
        credentials: None,
        output: Output::new(|_, line| {
            black_box(line);
        }),
    };
    Host::new(&BTreeMap::from([("echo".to_owned(), function)]), &setting)
}

async fn run(host: &Host, pages: VecDeque<Page>, lanes: usize) {
    let shared = Shared::quiet("echo", "echo/memory");
    let task = ShardTask {
        reader: Memory(pages),
        function: host.function("echo").expect("the host has it"),
        rules: Rules {
            batch_size: 100,
            window: Duration::ZERO,
            lanes,
            bisect: false,
            max_retries: Some(0),
            max_age: None,
        },
        reports: true,
        origin: Origin {
            mapping_id: Uuid::nil(),
            function_arn: "arn:aws:lambda:eu-west-1:000000000000:function:echo".into(),
            stream_arn: "arn:aws:dynamodb:eu-west-1:000000000000:table/t/stream/s".into(),
            shard_id: "shard".into(),
        },
        on_failure: OnFailure::default(),
        longest_poll: Duration::from_millis(75),
        shared: shared.clone(),
        checkpoint: |sequence: &str| {
            black_box(sequence);
        },
        stop: Stop::default(),
    };
    assert_eq!(task.run().await, ShardEnd::Finished);
    assert_eq!(
        (
            shared.count(Metric::InvokedEventCount),
            shared.count(Metric::FailedInvokeEventCount)
        ),
        (RECORDS as u64, 0)
    );
}

fn throughput(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let host = Arc::new(host());
    let mut group = criterion.benchmark_group("echo at batch 100");
    group.throughput(Throughput::Elements(RECORDS as u64));
    group.sample_size(10);
    let pages = pages();
    for lanes in [1, 2] {
        group.bench_function(format!("{lanes} lane(s)"), |bencher| {
            bencher.iter_batched(
                || pages.clone(),
                |pages| runtime.block_on(run(&host, pages, lanes)),
                criterion::BatchSize::LargeInput,
            );
        });
    }
    group.finish();
    runtime.block_on(host.shut_down());
}

criterion_group!(benches, throughput);
criterion_main!(benches);
