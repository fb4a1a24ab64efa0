//! Records that end badly: unreadable, panicking, fatal, without a name.

use crate::common::{
    Each, NoParking, Scripted, broken, endings, modify, reported, run_both, run_with, throttled,
};
use sagaline_stream::Ending::{Done, Failed, Parked};
use sagaline_stream::{Failure, InvocationError, MemoryParking, Verdict};
use std::sync::atomic::{AtomicUsize, Ordering};

// C-11
#[tokio::test(start_paused = true)]
async fn a_record_that_cannot_be_read_is_parked_with_its_reason_and_its_neighbours_are_done() {
    let list = broken("1300").replace("{}", r#"{"L":"x"}"#);
    let records = [modify("1100", "o-1"), broken("1200"), list.clone()];
    let (outcome, parked) = run_both(&records, &Scripted(vec![])).await;
    assert_eq!(endings(&outcome.report), [Done, Parked, Parked]);
    assert!(outcome.response.is_empty());
    let errors: Vec<&str> = parked.iter().map(|parked| parked.error.as_str()).collect();
    assert_eq!(
        errors,
        [
            "dynamodb.NewImage.id: a value without a type tag",
            "dynamodb.NewImage.id: L must hold a list"
        ]
    );
    assert_eq!(parked[1].record, list, "the exact text");
    insta::assert_json_snapshot!(parked[0]);
    assert_eq!(parked[0].key(), "parked/tester/2025/11/30/1200-1200.json");

    let outcome = run_with(&records, &Scripted(vec![]), NoParking)
        .await
        .expect("an outcome");
    assert_eq!(endings(&outcome.report), [Done, Failed, Failed]);
    assert_eq!(reported(&outcome), ["1200"], "the lower of the two");
}

#[tokio::test(start_paused = true)]
async fn the_key_of_a_parked_record_takes_no_foreign_path() {
    let records = [
        r#"{"eventID":"../../x","eventName":"NONE","dynamodb":{"SequenceNumber":"a/b"}}"#,
        r#"{"eventID":"e-1","eventName":"NONE"}"#,
    ];
    let (_, parked) = run_both(&records, &Scripted(vec![])).await;
    let keys: Vec<String> = parked.iter().map(sagaline_stream::Parked::key).collect();
    assert_eq!(
        keys,
        [
            "parked/tester/2025/11/30/none-2a6a10ed856cb0df.json",
            "parked/tester/2025/11/30/none-e-1.json"
        ]
    );
}

// C-12
#[tokio::test(start_paused = true)]
async fn a_panic_is_its_records_failure_also_inside_a_spawned_task() {
    let records = [
        modify("1100", "o-1"),
        modify("1200", "o-2"),
        modify("1300", "o-3"),
    ];
    let panicking = Each(|event_id: String| async move {
        assert!(event_id != "1200", "this one panics");
        Ok(Verdict::Done)
    });
    let spawned = Each(|event_id: String| async move {
        let task = tokio::spawn(async move { assert!(event_id != "1200", "this one panics") });
        task.await?;
        Ok(Verdict::Done)
    });
    let unwrapped = Each(|event_id: String| async move {
        tokio::spawn(async move { assert!(event_id != "1200", "this one panics") })
            .await
            .expect("the task ends well");
        Ok(Verdict::Done)
    });
    let early = Each(|event_id: String| {
        assert!(
            event_id != "1200",
            "this one panics before there is a future"
        );
        async { Ok(Verdict::Done) }
    });
    #[track_caller]
    fn check(outcome: Result<sagaline_stream::Outcome, InvocationError>) {
        let outcome = outcome.expect("the process serves on");
        assert_eq!(endings(&outcome.report), [Done, Failed, Done]);
        assert_eq!(reported(&outcome), ["1200"]);
        let why = outcome.report.handled[1].why.as_deref().unwrap_or_default();
        assert!(why.contains("panicked"), "{why}");
    }
    check(run_with(&records, &panicking, MemoryParking::default()).await);
    check(run_with(&records, &spawned, MemoryParking::default()).await);
    check(run_with(&records, &unwrapped, MemoryParking::default()).await);
    check(run_with(&records, &early, MemoryParking::default()).await);
    check(run_with(&records, &panicking, MemoryParking::default()).await);
}

// C-14
#[tokio::test(start_paused = true)]
async fn a_record_without_a_sequence_number_is_done_or_fails_the_invocation() {
    let unnamed =
        r#"{"eventID":"u","eventName":"REMOVE","dynamodb":{"Keys":{"id":{"S":"o-2"}}}}"#.to_owned();
    let records = [modify("1100", "o-1"), unnamed, modify("1300", "o-3")];
    let (outcome, _) = run_both(&records, &Scripted(vec![])).await;
    assert!(outcome.response.is_empty());
    assert_eq!(endings(&outcome.report), [Done, Done, Done]);
    // Its neighbours may still be reported.
    let (outcome, _) = run_both(&records, &Scripted(vec![("1300", throttled)])).await;
    assert_eq!(reported(&outcome), ["1300"]);

    let handler = Scripted(vec![("u", throttled), ("1100", throttled)]);
    let error = run_with(&records, &handler, MemoryParking::default())
        .await
        .expect_err("no honest response");
    assert!(
        matches!(error, InvocationError::Unnamed { place: 1, .. }),
        "{error}"
    );
    assert_eq!(
        error.to_string(),
        "record 1 of the batch must come again but has no identifier (the store throttles)"
    );
    assert_eq!(error.report().map(|report| report.counts.failed()), Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_fatal_failure_fails_the_invocation_and_admits_nothing_more() {
    let records: Vec<String> = (0..40)
        .map(|n| modify(&n.to_string(), &format!("o-{n}")))
        .collect();
    let ran = AtomicUsize::new(0);
    let handler = Each(|event_id: String| {
        ran.fetch_add(1, Ordering::SeqCst);
        async move {
            if event_id == "0" {
                Err(Failure::fatal("no permission"))
            } else {
                Ok(Verdict::Done)
            }
        }
    });
    let error = run_with(&records, &handler, MemoryParking::default())
        .await
        .expect_err("fatal");
    assert!(
        matches!(&error, InvocationError::Fatal { place: 0, .. }),
        "{error}"
    );
    assert_eq!(
        std::error::Error::source(&error)
            .map(ToString::to_string)
            .as_deref(),
        Some("no permission")
    );
    assert!(
        ran.load(Ordering::SeqCst) <= 16,
        "no more than what was in flight"
    );
}
