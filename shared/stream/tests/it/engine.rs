//! The engine, record by record and in one.

use crate::common::{
    Each, Log, Scripted, broken, endings, event, invocation, modify, modify_event, refused,
    reported, run_both, run_limited, run_with, throttled, wait,
};
use sagaline_stream::Ending::{Deferred, Done, Failed, Parked, Skipped, Stale};
use sagaline_stream::{
    Batch, Dimensions, Engine, EpochMillis, Limits, MemoryParking, Remaining, Verdict,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

// C-01 (this crate's half)
#[tokio::test(start_paused = true)]
async fn a_throttled_record_is_reported_alone_and_its_neighbours_are_done() {
    let records = [
        modify("1100", "o-1"),
        modify("1200", "o-2"),
        modify("1300", "o-3"),
    ];
    let (outcome, _) = run_both(&records, &Scripted(vec![("1200", throttled)])).await;
    assert_eq!(reported(&outcome), ["1200"]);
    assert_eq!(endings(&outcome.report), [Done, Failed, Done]);
}

// C-04
#[tokio::test(start_paused = true)]
async fn sequence_numbers_are_compared_as_numbers_of_any_length() {
    let (short, middle, long) = (
        "888888888888888888888",
        "1200000000000000000000",
        "9100000000000000000000000000000000000042",
    );
    #[track_caller]
    fn check(reported: &[&str], expected: &str) {
        assert_eq!(reported, [expected]);
    }
    let fail_all = || {
        Scripted(vec![
            (short, throttled),
            (middle, throttled),
            (long, throttled),
            ("000888", throttled),
            ("shard-7", throttled),
        ])
    };
    for order in [
        [long, middle, short],
        [short, long, middle],
        [middle, short, long],
    ] {
        let records = order.map(|sequence| modify(sequence, sequence));
        let (outcome, _) = run_both(&records, &fail_all()).await;
        check(&reported(&outcome), short);
    }
    // Leading zeros count for nothing, and come back as they were.
    let (outcome, _) = run_both(&[modify(short, "a"), modify("000888", "b")], &fail_all()).await;
    check(&reported(&outcome), "000888");
    // One that is not numeric takes the order away from all: place decides.
    let (outcome, _) = run_both(
        &[
            modify(long, "a"),
            modify(short, "b"),
            modify("shard-7", "c"),
        ],
        &fail_all(),
    )
    .await;
    check(&reported(&outcome), long);
    let (outcome, _) = run_both(
        &[
            modify(long, "a"),
            modify(short, "b"),
            modify("opaque but done", "c"),
        ],
        &fail_all(),
    )
    .await;
    check(&reported(&outcome), long);
}

// C-05 (this crate's half)
#[tokio::test(start_paused = true)]
async fn a_repeat_inside_a_batch_is_run_once() {
    let ran = AtomicUsize::new(0);
    let counting = Each(|_| async {
        ran.fetch_add(1, Ordering::SeqCst);
        Ok(Verdict::Done)
    });
    let records = [
        modify_event("e1", "1100", "o-7"),
        modify_event("e2", "1200", "o-7"),
        modify_event("e1", "1100", "o-7"),
        // Public samples repeat one of the two ids: that is no repeat.
        modify_event("e1", "1300", "o-7"),
        modify_event("e3", "1200", "o-7"),
    ];
    let outcome = run_with(&records, &counting, MemoryParking::default())
        .await
        .expect("an outcome");
    assert_eq!(endings(&outcome.report), [Done, Done, Stale, Done, Done]);
    assert_eq!(ran.load(Ordering::SeqCst), 4);

    // A repeat of what failed has not been done either.
    let records = [
        modify_event("e1", "1100", "o-7"),
        modify_event("e2", "1200", "o-8"),
        modify_event("e1", "1100", "o-7"),
    ];
    let (outcome, _) = run_both(&records, &Scripted(vec![("e1", throttled)])).await;
    assert_eq!(endings(&outcome.report), [Failed, Done, Failed]);
    assert_eq!(reported(&outcome), ["1100"]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_freezes_its_lane_and_poison_does_not() {
    let records = [
        modify("1", "a"),
        modify("2", "b"),
        modify("3", "a"),
        modify("4", "b"),
        modify("5", "a"),
        modify("6", "c"),
        modify("7", "b"),
    ];
    let log = Log::default();
    let handler = Each(|event_id: String| {
        log.add(event_id.clone());
        async move {
            match event_id.as_str() {
                "3" => throttled(),
                "2" => refused(),
                "4" => Ok(Verdict::Stale),
                "6" => Ok(Verdict::Deferred),
                "7" => Ok(Verdict::Skipped),
                _ => Ok(Verdict::Done),
            }
        }
    });
    let outcome = run_with(&records, &handler, MemoryParking::default())
        .await
        .expect("an outcome");
    assert_eq!(
        endings(&outcome.report),
        [Done, Parked, Failed, Stale, Failed, Deferred, Skipped]
    );
    assert_eq!((outcome.report.lanes, outcome.report.blocked), (3, 1));
    assert!(
        outcome.report.handled[4].blocked && !log.lines().contains(&"5".to_owned()),
        "what is behind is not run"
    );
    assert_eq!(reported(&outcome), ["3"]);
    let counts = outcome.counts();
    assert_eq!(
        (
            counts.records_in(),
            counts.done(),
            counts.failed(),
            counts.parked(),
            counts.deferred()
        ),
        (7, 1, 2, 1, 1)
    );
    assert_eq!(outcome.report.iterator_age, Some(Duration::from_secs(10)));
    assert_eq!(
        outcome.report.lowest_failed_age,
        Some(Duration::from_secs(10))
    );
}

#[tokio::test(start_paused = true)]
async fn lanes_in_flight_are_bounded_and_the_bound_is_used() {
    let records: Vec<String> = (0..100)
        .map(|n| modify(&n.to_string(), &format!("o-{}", n % 50)))
        .collect();
    let (flying, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let handler = Each(|event_id: String| {
        let (flying, most) = (&flying, &most);
        async move {
            let now = flying.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(now, Ordering::SeqCst);
            wait(Duration::from_millis(event_id.len() as u64)).await;
            flying.fetch_sub(1, Ordering::SeqCst);
            Ok(Verdict::Done)
        }
    });
    for (concurrency, expected) in [(7, 7), (1, 1), (0, 1), (1_000, 50)] {
        most.store(0, Ordering::SeqCst);
        let limits = Limits {
            concurrency,
            ..Limits::default()
        };
        let outcome = run_limited(
            &records,
            &handler,
            Remaining::Known(Duration::from_secs(60)),
            limits,
        )
        .await;
        assert_eq!(
            (outcome.counts().done(), most.load(Ordering::SeqCst)),
            (100, expected)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_batch_is_acknowledged() {
    let records: [&str; 0] = [];
    let (outcome, _) = run_both(&records, &Scripted(vec![])).await;
    assert!(outcome.response.is_empty());
    assert_eq!(outcome.counts().records_in(), 0);
}

#[tokio::test(start_paused = true)]
async fn one_metric_object_a_batch_has_all_names() {
    let records = [modify("1", "a"), modify("2", "b"), broken("3")];
    let (outcome, _) = run_both(&records, &Scripted(vec![("2", throttled)])).await;
    let dimensions = Dimensions {
        function: "f-1",
        consumer: "saga",
    };
    let emf = outcome
        .report
        .emf(dimensions, EpochMillis::new(1_764_500_000_123));
    let value: serde_json::Value = serde_json::from_str(&emf).expect("JSON");
    insta::assert_json_snapshot!(value);
    assert!(!emf.contains('\n'));
}

#[tokio::test(start_paused = true)]
async fn the_engines_future_can_be_sent_to_another_thread() {
    let payload = event(&[modify("1", "a")]);
    let task = tokio::spawn(async move {
        let batch = Batch::parse(&payload).expect("an event");
        let engine = Engine::new("tester", MemoryParking::default());
        let known = invocation(Remaining::Known(Duration::from_secs(60)));
        let handler = Scripted(vec![]);
        let each = engine
            .run(&batch, &handler, &known)
            .await
            .expect("an outcome");
        let whole = engine
            .run_batch(&batch, &handler, &known)
            .await
            .expect("an outcome");
        (each.counts().done(), whole.counts().done())
    });
    assert_eq!(task.await.expect("joined"), (1, 1));
}
