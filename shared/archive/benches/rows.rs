//! How fast changes become rows, both images encoded, on one core; and what rows cost on their way.
//!
//! The batch is the one that the stream's engine is measured with: 1,000 records of about 2.9 KB. The figures of calls and billed bytes are
//! printed first: they are counted, not timed.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sagaline_archive::{ArchiveSink, HashKeys, PutError, Redaction, Row, Target};
use sagaline_stream::{
    Batch, BoxError, Budget, EpochMillis, Invocation, Limits, Record, Remaining,
};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[path = "../../stream/benches/batch/mod.rs"]
#[allow(
    dead_code,
    reason = "the visitor is for the benches of the crate that the batch belongs to"
)]
mod batch;

use batch::{RECORDS, payload};

/// What Firehose bills a record by (F-FH-3).
const BILLED_STEP: usize = 5 * 1024;

/// Takes everything, and counts the calls.
#[derive(Default)]
struct Counting {
    calls: AtomicUsize,
}

impl Target for Counting {
    async fn put_batch(&self, lines: &[&str]) -> Result<Vec<Option<String>>, PutError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Ok(vec![None; lines.len()])
    }

    async fn put_object(&self, _: &str, _: Vec<u8>) -> Result<(), BoxError> {
        Ok(())
    }
}

fn rows(records: &[Record<'_>], redaction: &Redaction) -> Vec<Row> {
    records
        .iter()
        .filter_map(|record| Row::from_record(record, redaction).ok())
        .collect()
}

fn benches(criterion: &mut Criterion) {
    let payload = payload();
    let Ok(batch) = Batch::parse(&payload) else {
        return;
    };
    let records: Vec<Record<'_>> = batch.records().flatten().collect();
    let keys = HashKeys::parse(r#"{"current":"k1","keys":{"k1":"SmVmZQ=="}}"#).ok();
    let bare = Redaction::new("", None);
    let hidden = Redaction::new("shipping,phone_masked", None);
    let hashed = Redaction::new("shipping,phone_masked", keys);
    counted(payload.len(), rows(&records, &hashed));

    let mut group = criterion.benchmark_group("1000 changes to lines, both images");
    group.throughput(Throughput::Elements(RECORDS));
    let mut encode = |name: &str, redaction: &Redaction| {
        group.bench_function(name, |bench| {
            bench.iter(|| {
                let rows = rows(black_box(&records), redaction);
                rows.iter().map(|row| row.to_line().len()).sum::<usize>()
            });
        });
    };
    encode("nothing hidden", &bare);
    encode("two attributes hidden, no key", &hidden);
    encode("two attributes hidden with their hashes", &hashed);
    group.finish();
}

/// Calls for 1,000 rows, and what Firehose bills for a million orders of four versions.
#[expect(clippy::print_stdout, reason = "the figures are what it is run for")]
fn counted(raw_bytes: usize, rows: Vec<Row>) {
    let lines: Vec<usize> = rows.iter().map(|row| row.to_line().len()).collect();
    let bytes: usize = lines.iter().sum();
    let billed: usize = lines
        .iter()
        .map(|bytes| bytes.div_ceil(BILLED_STEP) * BILLED_STEP)
        .sum();
    let count = rows.len().max(1);
    let target = Counting::default();
    let invocation = Invocation {
        function: "bench".to_owned(),
        request_id: String::new(),
        received_at: EpochMillis::new(0),
        remaining: Remaining::Known(Duration::from_secs(60)),
    };
    let budget = Budget::start(&invocation, &Limits::default());
    if let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
    {
        runtime.block_on(ArchiveSink::new(&target).write(rows, &budget));
    }
    println!(
        "counted: {} raw bytes a record, {} bytes a row",
        raw_bytes / count,
        bytes / count
    );
    println!(
        "counted: {} calls for {count} rows",
        target.calls.load(Ordering::Relaxed)
    );
    let per_million_orders = |bytes: usize| bytes / count * 4 / 1_000;
    println!(
        "counted: a million orders of four versions: {} GB sent, {} GB billed",
        per_million_orders(bytes),
        per_million_orders(billed)
    );
}

criterion_group!(rows_of_changes, benches);
criterion_main!(rows_of_changes);
