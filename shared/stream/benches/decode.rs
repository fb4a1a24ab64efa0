//! How fast a batch is split and read, and what the engine adds a record.
//!
//! 1,000 records of about 2.9 KB, both images. The floor is splitting alone.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sagaline_stream::{
    Attribute, Batch, Budget, Engine, EpochMillis, Failure, Image, Invocation, MemoryParking,
    Record, RecordHandler, Remaining, Verdict,
};
use std::hint::black_box;
use std::time::Duration;

const RECORDS: u64 = 1_000;

fn image(order: u64, version: u64) -> String {
    let lines: Vec<String> = (0..3)
        .map(|line| {
            format!(
                r#"{{"M":{{"sku":{{"S":"SKU-{order}-{line}"}},"name":{{"S":"A thing of some name, number {line}"}},"qty":{{"N":"{}"}},"unit_minor":{{"N":"1{line}99"}}}}}}"#,
                line + 1
            )
        })
        .collect();
    format!(
        r#"{{"PK":{{"S":"ORDER#order-{order:08}"}},"SK":{{"S":"ORDER#DETAIL"}},"order_id":{{"S":"order-{order:08}"}},"user_id":{{"S":"user-{}"}},"version":{{"N":"{version}"}},"schema":{{"N":"1"}},"status":{{"S":"UNPAID"}},"state":{{"S":"Paying"}},"lines":{{"L":[{}]}},"currency":{{"S":"EUR"}},"total_minor":{{"N":"9594"}},"created_at":{{"S":"2026-01-31T08:30:00.000Z"}},"updated_at":{{"S":"2026-01-31T08:30:01.250Z"}},"shipping":{{"M":{{"name":{{"S":"Zoë \"Z\" Müller"}},"street":{{"S":"Lange Straße 12"}},"city":{{"S":"Köln"}},"postal_code":{{"S":"50667"}},"country":{{"S":"DE"}}}}}},"phone_masked":{{"S":"+49*****42"}},"steps":{{"M":{{"reserve":{{"M":{{"state":{{"S":"Succeeded"}},"attempt":{{"N":"1"}}}}}}}}}},"wake_at":{{"S":"2026-01-31T09:00:00.000Z"}},"due_pk":{{"S":"DUE#7"}},"due_sk":{{"S":"20260131T090000.000Z#order-{order:08}"}},"updated_pk":{{"S":"DAY#2026-01-31#7"}},"transitions":{{"N":"2"}}}}"#,
        order % 97,
        lines.join(",")
    )
}

fn payload() -> Vec<u8> {
    let records: Vec<String> = (0..RECORDS)
        .map(|n| {
            format!(
                r#"{{"eventID":"{n:032x}","eventName":"MODIFY","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"eu-west-1","dynamodb":{{"ApproximateCreationDateTime":1.7645E9,"Keys":{{"PK":{{"S":"ORDER#order-{n:08}"}},"SK":{{"S":"ORDER#DETAIL"}}}},"NewImage":{},"OldImage":{},"SequenceNumber":"{:021}","SizeBytes":2100,"StreamViewType":"NEW_AND_OLD_IMAGES"}},"eventSourceARN":"arn:aws:dynamodb:eu-west-1:123456789012:table/orders/stream/2026-01-31T08:30:00.000"}}"#,
                image(n, 3),
                image(n, 2),
                100_000_000_000_000_000_u64 + n
            )
        })
        .collect();
    format!(r#"{{"Records":[{}]}}"#, records.join(",")).into_bytes()
}

/// Touches every value: the sum of all text lengths.
fn visit(image: &Image<'_>) -> usize {
    fn value(attribute: &Attribute<'_>) -> usize {
        match attribute {
            Attribute::S(text) | Attribute::N(text) | Attribute::B(text) => text.len(),
            Attribute::Bool(_) | Attribute::Null => 1,
            Attribute::L(items) => items.iter().map(value).sum(),
            Attribute::M(members) => visit(members),
            Attribute::Ss(members) | Attribute::Ns(members) | Attribute::Bs(members) => {
                members.iter().map(|text| text.len()).sum()
            }
        }
    }
    image
        .iter()
        .map(|(name, attribute)| name.len() + value(attribute))
        .sum()
}

fn decode_and_visit(payload: &[u8]) -> usize {
    let Ok(batch) = Batch::parse(payload) else {
        return 0;
    };
    let both = |record: &Record<'_>| {
        record.new_image().map_or(0, visit) + record.old_image().map_or(0, visit)
    };
    batch.records().flatten().map(|record| both(&record)).sum()
}

/// Does nothing, so that only the engine is measured.
struct Idle;

impl RecordHandler for Idle {
    async fn handle(&self, _: &Record<'_>, _: &Budget) -> Result<Verdict, Failure> {
        Ok(Verdict::Done)
    }
}

fn benches(criterion: &mut Criterion) {
    let payload = payload();
    let mut group = criterion.benchmark_group(format!(
        "{RECORDS} records of {} bytes",
        payload.len() as u64 / RECORDS
    ));
    group.throughput(Throughput::Elements(RECORDS));
    group.bench_function("split only", |bench| {
        bench.iter(|| Batch::parse(black_box(&payload)).map(|batch| batch.len()))
    });
    group.bench_function("split with serde_json's RawValue", |bench| {
        bench.iter(|| {
            serde_json::from_slice::<
                std::collections::HashMap<&str, Vec<&serde_json::value::RawValue>>,
            >(black_box(&payload))
            .map(|event| event.values().map(Vec::len).sum::<usize>())
        });
    });
    group.bench_function("split, decode, visit both images", |bench| {
        bench.iter(|| decode_and_visit(black_box(&payload)))
    });

    // What the engine does before its own work: all records decoded and held. Less this, the line after it is what the engine adds.
    group.bench_function("split, decode, hold all", |bench| {
        bench.iter(|| {
            Batch::parse(black_box(&payload)).map(|batch| batch.records().collect::<Vec<_>>().len())
        });
    });
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
    else {
        return;
    };
    let engine = Engine::new("bench", MemoryParking::default());
    let invocation = Invocation {
        function: "bench".into(),
        request_id: "bench".into(),
        received_at: EpochMillis::new(1_764_500_000_000),
        remaining: Remaining::Known(Duration::from_secs(60)),
    };
    group.bench_function("split, decode, run through the engine", |bench| {
        bench.iter(|| {
            let Ok(batch) = Batch::parse(black_box(&payload)) else {
                return None;
            };
            runtime
                .block_on(engine.run(&batch, &Idle, &invocation))
                .ok()
        });
    });
    group.finish();
}

criterion_group!(decode, benches);
criterion_main!(decode);
