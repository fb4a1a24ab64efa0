//! The time budget, on a paused clock.

use crate::common::{
    Each, Scripted, broken, endings, event, invocation, modify, reported, run_limited, wait,
};
use sagaline_stream::Ending::{Done, Failed};
use sagaline_stream::{
    Answers, Batch, BatchHandler, Budget, Dimensions, Engine, EpochMillis, Failure, Limits,
    MemoryParking, Record, RecordHandler, Remaining, Verdict,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::Instant;

const MARGIN: Limits = Limits {
    concurrency: 1,
    margin: Duration::from_secs(1),
    default_remaining: Duration::from_secs(5),
};

fn sixty() -> Vec<String> {
    (0..60)
        .map(|n| modify(&(1_000 + n).to_string(), &format!("o-{n}")))
        .collect()
}

/// Takes 200 ms a record.
struct Slow;

impl RecordHandler for Slow {
    async fn handle(&self, _: &Record<'_>, _: &Budget) -> Result<Verdict, Failure> {
        wait(Duration::from_millis(200)).await;
        Ok(Verdict::Done)
    }
}

impl BatchHandler for Slow {
    async fn handle_batch(
        &self,
        records: &[Record<'_>],
        answers: &Answers,
        _: &Budget,
    ) -> Result<(), Failure> {
        // It never looks at its budget.
        for index in 0..records.len() {
            wait(Duration::from_millis(200)).await;
            answers.set(index, Ok(Verdict::Done));
        }
        Ok(())
    }
}

// C-08
#[tokio::test(start_paused = true)]
async fn no_time_left_admits_nothing_and_unknown_time_is_the_configured_default() {
    let mut records = sixty();
    records.push(broken("2000"));
    let ran = AtomicUsize::new(0);
    let handler = Each(|_| {
        ran.fetch_add(1, Ordering::SeqCst);
        async { Ok(Verdict::Done) }
    });
    let outcome = run_limited(&records, &handler, Remaining::Known(Duration::ZERO), MARGIN).await;
    assert_eq!(ran.load(Ordering::SeqCst), 0);
    assert_eq!(reported(&outcome), ["1000"]);
    assert_eq!(
        (outcome.counts().failed(), outcome.report.starved),
        (61, true)
    );
    let past = Remaining::until(EpochMillis::new(1_000), EpochMillis::new(2_000));
    assert_eq!(past, Remaining::Known(Duration::ZERO));

    let outcome = run_limited(&records, &handler, Remaining::Unknown, MARGIN).await;
    assert_eq!(
        (
            outcome.counts().done(),
            outcome.counts().parked(),
            outcome.report.starved
        ),
        (60, 1, false)
    );

    // The same in one: nothing is called, nothing is parked.
    let payload = event(&records);
    let batch = Batch::parse(&payload).expect("an event");
    let engine = Engine::new("tester", MemoryParking::default()).with_limits(MARGIN);
    let outcome = engine
        .run_batch(
            &batch,
            &Scripted(vec![]),
            &invocation(Remaining::Known(Duration::ZERO)),
        )
        .await
        .expect("an outcome");
    assert_eq!(
        (
            reported(&outcome),
            outcome.counts().failed(),
            engine.parking().kept().len()
        ),
        (vec!["1000"], 61, 0)
    );
}

// C-13
#[tokio::test(start_paused = true)]
async fn a_slow_sink_is_stopped_before_the_deadline_and_the_lowest_unfinished_is_named() {
    let began = Instant::now();
    let outcome = run_limited(
        &sixty(),
        &Slow,
        Remaining::Known(Duration::from_secs(3)),
        MARGIN,
    )
    .await;
    assert_eq!(
        began.elapsed(),
        Duration::from_secs(2),
        "deadline minus margin"
    );
    assert_eq!(
        (
            outcome.counts().records_in(),
            outcome.counts().done(),
            outcome.counts().failed()
        ),
        (60, 10, 50)
    );
    assert_eq!(reported(&outcome), ["1010"]);

    // Also inside a single lane.
    let one_item: Vec<String> = (0..60)
        .map(|n| modify(&(1_000 + n).to_string(), "o-1"))
        .collect();
    let began = Instant::now();
    let outcome = run_limited(
        &one_item,
        &Slow,
        Remaining::Known(Duration::from_secs(3)),
        MARGIN,
    )
    .await;
    assert_eq!(
        (began.elapsed(), outcome.counts().done()),
        (Duration::from_secs(2), 10)
    );

    let payload = event(&sixty());
    let batch = Batch::parse(&payload).expect("an event");
    let engine = Engine::new("tester", MemoryParking::default()).with_limits(MARGIN);
    let began = Instant::now();
    let outcome = engine
        .run_batch(
            &batch,
            &Slow,
            &invocation(Remaining::Known(Duration::from_secs(3))),
        )
        .await
        .expect("an outcome");
    assert_eq!(
        began.elapsed(),
        Duration::from_millis(2_500),
        "half of the margin is left for the answer"
    );
    assert_eq!(
        (outcome.counts().done(), outcome.counts().failed()),
        (12, 48),
        "what was answered by then counts"
    );
    assert_eq!(reported(&outcome), ["1012"]);
}

#[tokio::test(start_paused = true)]
async fn work_in_flight_is_asked_to_end_and_then_dropped() {
    struct Stubborn;
    impl RecordHandler for Stubborn {
        async fn handle(&self, record: &Record<'_>, budget: &Budget) -> Result<Verdict, Failure> {
            match record.event_id() {
                Some("1000") => std::future::pending().await,
                Some("1001") => {
                    budget.token().cancelled().await;
                    Ok(Verdict::Deferred)
                }
                _ => budget
                    .within(std::future::pending::<()>())
                    .await
                    .map(|()| Verdict::Done),
            }
        }
    }
    let limits = Limits {
        concurrency: 3,
        ..MARGIN
    };
    let began = Instant::now();
    let outcome = run_limited(
        &sixty(),
        &Stubborn,
        Remaining::Known(Duration::from_secs(3)),
        limits,
    )
    .await;
    assert_eq!(began.elapsed(), Duration::from_millis(2_500));
    assert_eq!(
        (outcome.counts().deferred(), outcome.counts().failed()),
        (1, 59)
    );
    let why = |place: usize| outcome.report.handled[place].why.as_deref();
    assert_eq!(why(0), Some("cut off: the invocation's time was up"));
    assert_eq!(why(2), Some("the invocation's time was up"));
    assert_eq!(why(3), Some("not begun: the invocation's time was up"));
    assert_eq!(reported(&outcome), ["1000"]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_settles_no_record_in_its_time_says_so() {
    let records = [modify("1", "a"), modify("2", "b")];
    let never = Each(|_| std::future::pending());
    let outcome = run_limited(
        &records,
        &never,
        Remaining::Known(Duration::from_secs(3)),
        MARGIN,
    )
    .await;
    assert!(outcome.report.starved);
    let dimensions = Dimensions {
        function: "f",
        consumer: "c",
    };
    let emf = outcome.report.emf(dimensions, EpochMillis::new(0));
    assert!(emf.contains(r#""BatchStarved":1"#), "{emf}");
    assert_eq!(endings(&outcome.report), [Failed, Failed]);
    let outcome = run_limited(
        &records,
        &Slow,
        Remaining::Known(Duration::from_millis(1_100)),
        MARGIN,
    )
    .await;
    assert_eq!(
        (endings(&outcome.report), outcome.report.starved),
        (vec![Done, Failed], false)
    );
}

#[tokio::test(start_paused = true)]
async fn a_handler_is_told_the_time_and_what_is_left() {
    struct Asking;
    impl RecordHandler for Asking {
        async fn handle(&self, _: &Record<'_>, budget: &Budget) -> Result<Verdict, Failure> {
            wait(Duration::from_millis(250)).await;
            assert_eq!(budget.remaining(), Duration::from_millis(1_750));
            assert_eq!(budget.now().to_string(), "2025-11-30T10:53:20.250Z");
            assert_eq!(
                (budget.function(), budget.request_id()),
                ("function", "r-1")
            );
            Ok(Verdict::Done)
        }
    }
    let outcome = run_limited(
        &[modify("1", "a")],
        &Asking,
        Remaining::Known(Duration::from_secs(3)),
        MARGIN,
    )
    .await;
    assert_eq!(endings(&outcome.report), [Done]);
}
