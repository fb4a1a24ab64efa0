//! How much memory a batch takes, counted by the allocator itself: the figures of the crate's documentation.

#![expect(clippy::expect_used, reason = "the helpers of a test fail like a test")]

#[path = "../benches/batch/mod.rs"]
mod batch;

use allocation_counter::{AllocationInfo, measure};
use batch::{RECORDS, payload, visit};
use sagaline_stream::{
    Answers, Batch, BatchHandler, Budget, Engine, EpochMillis, Failure, Invocation, MemoryParking,
    Record, RecordHandler, Remaining, Verdict,
};
use std::time::Duration;

/// Reads every value, and keeps none.
struct Visitor;

fn visit_both(record: &Record<'_>) -> usize {
    record.new_image().map_or(0, visit) + record.old_image().map_or(0, visit)
}

impl RecordHandler for Visitor {
    async fn handle(&self, record: &Record<'_>, _: &Budget) -> Result<Verdict, Failure> {
        assert!(visit_both(record) > 0);
        Ok(Verdict::Done)
    }
}

impl BatchHandler for Visitor {
    async fn handle_batch(
        &self,
        records: &[Record<'_>],
        answers: &Answers,
        _: &Budget,
    ) -> Result<(), Failure> {
        for (index, record) in records.iter().enumerate() {
            assert!(visit_both(record) > 0);
            answers.set(index, Ok(Verdict::Done));
        }
        Ok(())
    }
}

fn engine_run(payload: &[u8], in_one: bool) -> AllocationInfo {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let invocation = Invocation {
        function: "f".into(),
        request_id: "r".into(),
        received_at: EpochMillis::new(1_764_500_000_000),
        remaining: Remaining::Known(Duration::from_secs(600)),
    };
    let engine = Engine::new("memory", MemoryParking::default());
    measure(|| {
        let batch = Batch::parse(payload).expect("an event");
        let outcome = runtime.block_on(async {
            if in_one {
                engine.run_batch(&batch, &Visitor, &invocation).await
            } else {
                engine.run(&batch, &Visitor, &invocation).await
            }
        });
        assert_eq!(outcome.expect("an outcome").counts().done(), RECORDS);
    })
}

#[test]
fn a_batch_takes_less_than_three_times_its_size_the_event_included() {
    let payload = payload();
    for in_one in [false, true] {
        let info = engine_run(&payload, in_one);
        let times = (payload.len() as u64 + info.bytes_max) * 100 / payload.len() as u64;
        println!(
            "{RECORDS} records of {} bytes, all at once: {in_one}: {}.{:02} times the event, {} allocations a record",
            payload.len() as u64 / RECORDS,
            times / 100,
            times % 100,
            info.count_total / RECORDS
        );
        assert!(times < 300, "{times} %");
    }
}

#[test]
fn no_scalar_costs_an_allocation_only_containers_and_escaped_texts_do() {
    let payload = payload();
    let batch = Batch::parse(&payload).expect("an event");
    let (mut containers, mut escaped, mut scalars) = (0, 0, 0);
    for record in batch.records() {
        let record = record.expect("a record");
        for image in [record.keys(), record.new_image(), record.old_image()] {
            count(
                image.expect("an image"),
                &mut containers,
                &mut escaped,
                &mut scalars,
            );
        }
    }
    let info = measure(|| {
        for record in batch.records() {
            drop(record.expect("a record"));
        }
    });
    assert!(scalars > 20 * RECORDS);
    // The sequence number is owned, and the reader's scratch stacks grow a few times a batch.
    let most = containers + escaped + RECORDS + 64;
    assert!(info.count_total <= most, "{} of {most}", info.count_total);
}

fn count(
    image: &sagaline_stream::Image<'_>,
    containers: &mut u64,
    escaped: &mut u64,
    scalars: &mut u64,
) {
    use sagaline_stream::Attribute;
    fn value(
        attribute: &Attribute<'_>,
        containers: &mut u64,
        escaped: &mut u64,
        scalars: &mut u64,
    ) {
        match attribute {
            Attribute::M(members) => count(members, containers, escaped, scalars),
            Attribute::L(items) => {
                *containers += 1;
                for item in items {
                    value(item, containers, escaped, scalars);
                }
            }
            Attribute::Ss(_) | Attribute::Ns(_) | Attribute::Bs(_) => *containers += 1,
            Attribute::S(text) | Attribute::N(text) | Attribute::B(text) => {
                *scalars += 1;
                *escaped += u64::from(matches!(text, std::borrow::Cow::Owned(_)));
            }
            Attribute::Bool(_) | Attribute::Null => *scalars += 1,
        }
    }
    *containers += 1;
    for (_, attribute) in image.iter() {
        value(attribute, containers, escaped, scalars);
    }
}
