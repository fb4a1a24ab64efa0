//! How fast a batch is split and read, and what the engine adds a record.
//!
//! 1,000 records of about 2.9 KB, both images. The floor is splitting alone.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sagaline_stream::{
    Batch, Budget, Engine, EpochMillis, Failure, Invocation, MemoryParking, Record, RecordHandler,
    Remaining, Verdict,
};
use std::hint::black_box;
use std::time::Duration;

#[path = "batch/mod.rs"]
mod batch;

use batch::{RECORDS, payload, visit};

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
