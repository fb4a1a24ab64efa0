//! What each body means, for streams and for queues.
//!
//! C-02: a response that says something else than meant.

use crate::support::{answer, raises};
use bytes::Bytes;
use sagaline_mapping::response::{Outcome, QueueVerdict, Verdict, queue_verdict, stream_verdict};

const IDS: [&str; 2] = ["100", "200"];

#[track_caller]
fn check(outcome: &Outcome, stream: Verdict, queue: &QueueVerdict) {
    assert_eq!(stream_verdict(outcome, true, &IDS), stream, "{outcome:?}");
    assert_eq!(queue_verdict(outcome, true, &IDS), *queue, "{outcome:?}");
}

#[track_caller]
fn body(text: &str, stream: Verdict, queue: &QueueVerdict) {
    check(&answer(text), stream, queue);
}

#[test]
fn f_rsp_1_an_absent_or_empty_list_is_success() {
    for text in [
        r#"{"batchItemFailures":[]}"#,
        r#"{"batchItemFailures":null}"#,
        "{}",
        "null",
        " {} ",
    ] {
        body(text, Verdict::Done, &QueueVerdict::Done);
    }
    // Seen on streams; for queues the safe side is to deliver again.
    body("[]", Verdict::Done, &QueueVerdict::Whole);
}

#[test]
fn f_rsp_2_keys_in_another_case_are_not_seen_and_the_records_are_lost() {
    body(
        r#"{"BatchItemFailures":[{"ItemIdentifier":"100"}]}"#,
        Verdict::Done,
        &QueueVerdict::Done,
    );
    body(
        r#"{"batchitemfailures":[{"itemIdentifier":"100"}]}"#,
        Verdict::Done,
        &QueueVerdict::Done,
    );
}

#[test]
fn f_rsp_3_to_6_a_malformed_element_fails_the_whole_batch() {
    for element in [
        r#"{"itemIdentifier":""}"#,
        r#"{"itemIdentifier":null}"#,
        r#"{"itemIdentifier":123}"#,
        r#"{"foo":"x"}"#,
        r#"{"ItemIdentifier":"100"}"#,
        r#""100""#,
        "100",
        "null",
        "[]",
    ] {
        body(
            &format!(r#"{{"batchItemFailures":[{element}]}}"#),
            Verdict::FailedWhole,
            &QueueVerdict::Whole,
        );
        // One bad element spoils a good list.
        body(
            &format!(r#"{{"batchItemFailures":[{{"itemIdentifier":"200"}},{element}]}}"#),
            Verdict::FailedWhole,
            &QueueVerdict::Whole,
        );
    }
}

#[test]
fn f_rsp_7_an_empty_element_is_acknowledged_by_a_queue_only() {
    body(
        r#"{"batchItemFailures":[{}]}"#,
        Verdict::FailedWhole,
        &QueueVerdict::Done,
    );
    body(
        r#"{"batchItemFailures":[{},{"itemIdentifier":"200"}]}"#,
        Verdict::FailedWhole,
        &QueueVerdict::Again(vec![1]),
    );
}

#[test]
fn f_rsp_8_what_is_no_list_fails_the_whole_batch() {
    for value in [
        r#""""#,
        r#""100""#,
        "0",
        "true",
        "{}",
        r#"{"itemIdentifier":"100"}"#,
    ] {
        body(
            &format!(r#"{{"batchItemFailures":{value}}}"#),
            Verdict::FailedWhole,
            &QueueVerdict::Whole,
        );
    }
}

#[test]
fn f_rsp_9_an_id_of_another_batch_fails_the_whole_batch() {
    body(
        r#"{"batchItemFailures":[{"itemIdentifier":"300"}]}"#,
        Verdict::FailedWhole,
        &QueueVerdict::Whole,
    );
    body(
        r#"{"batchItemFailures":[{"itemIdentifier":"200"},{"itemIdentifier":"300"}]}"#,
        Verdict::FailedWhole,
        &QueueVerdict::Whole,
    );
}

#[test]
fn f_rsp_10_errors_and_garbage_fail_the_whole_batch() {
    check(&raises(), Verdict::Unhandled, &QueueVerdict::Whole);
    for garbage in ["", "{", "ok", "\u{feff}{}", r#""ok""#, "1", "true", "[1]"] {
        body(garbage, Verdict::FailedWhole, &QueueVerdict::Whole);
    }
    check(
        &Outcome::Answered(Bytes::from_static(b"\xff\xfe")),
        Verdict::FailedWhole,
        &QueueVerdict::Whole,
    );
}

#[test]
fn f_rsp_11_the_lowest_counts_for_a_stream_and_exactly_the_named_ones_for_a_queue() {
    body(
        r#"{"batchItemFailures":[{"itemIdentifier":"200"}]}"#,
        Verdict::FailedFrom(1),
        &QueueVerdict::Again(vec![1]),
    );
    body(
        r#"{"batchItemFailures":[{"itemIdentifier":"200"},{"itemIdentifier":"100"},{"itemIdentifier":"200"}]}"#,
        Verdict::FailedFrom(0),
        &QueueVerdict::Again(vec![0, 1]),
    );
    body(
        r#"{"more":1,"batchItemFailures":[{"itemIdentifier":"200","more":1}]}"#,
        Verdict::FailedFrom(1),
        &QueueVerdict::Again(vec![1]),
    );
}

#[test]
fn f_rsp_12_without_reporting_no_body_is_looked_at() {
    for text in [
        r#"{"batchItemFailures":[{"itemIdentifier":"100"}]}"#,
        r#"{"batchItemFailures":[{"itemIdentifier":""}]}"#,
        "garbage",
        "",
    ] {
        assert_eq!(
            stream_verdict(&answer(text), false, &IDS),
            Verdict::Done,
            "{text}"
        );
        assert_eq!(
            queue_verdict(&answer(text), false, &IDS),
            QueueVerdict::Done,
            "{text}"
        );
    }
    assert_eq!(stream_verdict(&raises(), false, &IDS), Verdict::Unhandled);
    assert_eq!(queue_verdict(&raises(), false, &IDS), QueueVerdict::Whole);
}

#[test]
fn a_call_that_never_reached_the_function_is_no_failure_of_it() {
    let outcome = Outcome::NotInvoked("throttled".into());
    check(&outcome, Verdict::NotInvoked, &QueueVerdict::NotInvoked);
}
