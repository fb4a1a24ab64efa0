use std::sync::Arc;

use serde_json::{Value, json};

use super::*;

fn origin() -> Origin {
    Origin {
        mapping_id: Uuid::from_u128(1),
        function_arn: "arn:aws:lambda:eu-west-1:123456789012:function:saga".into(),
        stream_arn:
            "arn:aws:dynamodb:eu-west-1:123456789012:table/orders/stream/2026-01-01T00:00:00.000"
                .into(),
        shard_id: "shardId-00000001".into(),
    }
}

fn record(sequence: &str, arrived: Option<u64>) -> Arc<Record> {
    Arc::new(Record {
        sequence: sequence.into(),
        key: 0,
        arrived: arrived.map(Millis),
        event: format!(r#"{{"eventID":"{sequence}"}}"#).into(),
    })
}

fn discarded(condition: Condition, last_failure: Option<Failure>) -> Discarded {
    let records = [
        record("100", Some(1_764_500_000_000)),
        record("200", Some(1_764_500_060_000)),
    ];
    Discarded {
        lane: 0,
        request_id: Uuid::from_u128(2),
        condition,
        invoke_count: 3,
        last_failure,
        records: records.into(),
    }
}

const NOW: Millis = Millis(1_764_500_100_250);

#[test]
fn f_ofd_1_a_queue_gets_the_pointer_with_all_fields_and_no_records() {
    let document: Value = serde_json::from_str(&pointer(
        &origin(),
        &discarded(Condition::RetryAttemptsExhausted, Some(Failure::Unhandled)),
        NOW,
    ))
    .unwrap();
    let wanted = json!({
        "requestContext": {
            "requestId": "00000000-0000-0000-0000-000000000002", "functionArn": "arn:aws:lambda:eu-west-1:123456789012:function:saga",
            "condition": "RetryAttemptsExhausted", "approximateInvokeCount": 3,
        },
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
        "version": "1.0",
        "timestamp": "2025-11-30T10:55:00.250Z",
        "DDBStreamBatchInfo": {
            "shardId": "shardId-00000001", "startSequenceNumber": "100", "endSequenceNumber": "200",
            "approximateArrivalOfFirstRecord": "2025-11-30T10:53:20Z", "approximateArrivalOfLastRecord": "2025-11-30T10:54:20Z", "batchSize": 2,
            "streamArn": "arn:aws:dynamodb:eu-west-1:123456789012:table/orders/stream/2026-01-01T00:00:00.000",
        },
    });
    assert_eq!(document, wanted);
}

#[test]
fn f_ofd_2_a_partial_response_has_a_null_error_and_an_aged_record_without_a_call_no_response() {
    let document = |failure| {
        serde_json::from_str::<Value>(&pointer(
            &origin(),
            &discarded(Condition::RecordAgeExceeded, failure),
            NOW,
        ))
        .unwrap()
    };
    assert_eq!(
        document(Some(Failure::Reported))["responseContext"],
        json!({"statusCode": 200, "executedVersion": "$LATEST", "functionError": null})
    );
    let aged = document(None);
    assert_eq!(
        (
            aged.get("responseContext"),
            &aged["requestContext"]["condition"]
        ),
        (None, &json!("RecordAgeExceeded"))
    );
}

#[test]
fn f_ofd_4_a_bucket_gets_the_whole_event_as_text_under_a_dated_key() {
    let document: Value = serde_json::from_str(&with_payload(
        &origin(),
        &discarded(Condition::RetryAttemptsExhausted, None),
        NOW,
    ))
    .unwrap();
    let payload: Value = serde_json::from_str(document["payload"].as_str().unwrap()).unwrap();
    assert_eq!(
        payload,
        json!({"Records": [{"eventID": "100"}, {"eventID": "200"}]})
    );
    assert_eq!(
        object_key(&origin(), NOW, Uuid::from_u128(3)),
        "aws/lambda/00000000-0000-0000-0000-000000000001/shardId-00000001/2025/11/30/2025-11-30T10.55.00-00000000-0000-0000-0000-000000000003"
    );
}
