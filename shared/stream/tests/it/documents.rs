//! On-failure documents.

use crate::common::{Scripted, event, invocation, modify, reported, throttled};
use sagaline_stream::{
    Batch, Engine, FailureDocument, MemoryParking, NotAFailureDocument, NotAnEvent, Remaining,
};

const CONTEXT: &str = r#""requestContext":{"requestId":"r","functionArn":"arn:aws:lambda:f","condition":"RetryAttemptsExhausted","approximateInvokeCount":2},"responseContext":{"statusCode":200,"executedVersion":"$LATEST","functionError":null},"version":"1.0","timestamp":"2026-11-30T10:00:00.000Z""#;
const INFO: &str = r#""DDBStreamBatchInfo":{"shardId":"shardId-1","startSequenceNumber":"1100","endSequenceNumber":"1200","approximateArrivalOfFirstRecord":"x","approximateArrivalOfLastRecord":"x","batchSize":2,"streamArn":"arn:aws:dynamodb:eu-west-1:123456789012:table/orders/stream/x"}"#;

// C-50 (this crate's half)
#[tokio::test(start_paused = true)]
async fn a_document_from_s3_is_run_again_and_one_from_a_queue_is_only_a_pointer() {
    let pointer = format!("{{{CONTEXT},{INFO}}}");
    let document = FailureDocument::parse(pointer.as_bytes()).expect("a pointer");
    assert!(document.is_pointer() && document.batch().is_none());
    assert_eq!(
        (
            document.range.shard_id.as_str(),
            document.range.start.as_str(),
            document.range.end.as_str()
        ),
        ("shardId-1", "1100", "1200")
    );
    assert_eq!(
        (document.invoke_count, document.function_error.as_deref()),
        (Some(2), None)
    );

    let payload =
        String::from_utf8(event(&[modify("1100", "o-1"), modify("1200", "o-2")])).expect("text");
    let whole = format!(
        "{{{CONTEXT},{INFO},\"payload\":{}}}",
        serde_json::to_string(&payload).expect("JSON")
    );
    let document = FailureDocument::parse(whole.as_bytes()).expect("a document");
    let batch = document.batch().expect("the S3 form").expect("an event");
    let engine = Engine::new("redrive", MemoryParking::default());
    let handler = Scripted(vec![("1200", throttled)]);
    let outcome = engine
        .run(&batch, &handler, &invocation(Remaining::Unknown))
        .await
        .expect("an outcome");
    assert_eq!(
        (reported(&outcome), outcome.counts().done()),
        (vec!["1200"], 1)
    );

    assert_eq!(
        Batch::parse(pointer.as_bytes()),
        Err(NotAnEvent::FailureDocument),
        "and it is not taken for an event"
    );
}

// C-50
#[test]
fn a_document_that_names_no_records_is_refused_in_one_line() {
    #[track_caller]
    fn check(document: &str, expected: &str) {
        let error = FailureDocument::parse(document.as_bytes()).expect_err(document);
        assert_eq!(error.to_string(), expected);
    }
    let window = r#""timeWindowInfo":{"window":{"start":"x","end":"y"}},"DDBStreamBatchInfo":{"shardId":"s","streamArn":"a"}"#;
    check(
        &format!("{{{CONTEXT},{window}}}"),
        "an on-failure document of a tumbling window (`timeWindowInfo`): it names no records, so there is nothing to redrive",
    );
    check(
        &format!("{{{CONTEXT}}}"),
        "an on-failure document without a DynamoDB stream's batch information (`DDBStreamBatchInfo`)",
    );
    let no_start = INFO.replace("startSequenceNumber", "start");
    check(
        &format!("{{{CONTEXT},{no_start}}}"),
        "an on-failure document whose `DDBStreamBatchInfo` has no startSequenceNumber",
    );
    check(
        r#"{"Records":[]}"#,
        "not an on-failure document of a stream mapping",
    );
    // Nothing was called: no response context, and the count is 1 all the same (F-TRC-9).
    let aged = r#""requestContext":{"requestId":"r","functionArn":"f","condition":"RecordAgeExceeded","approximateInvokeCount":1}"#;
    let document =
        FailureDocument::parse(format!("{{{aged},{INFO}}}").as_bytes()).expect("a pointer");
    assert_eq!(
        (document.condition.as_str(), document.function_error),
        ("RecordAgeExceeded", None)
    );
    assert!(matches!(
        FailureDocument::parse(b"x"),
        Err(NotAFailureDocument::Malformed(_))
    ));
}
