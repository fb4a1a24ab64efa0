//! The operator's side, where it needs no service: files of records, on-failure documents, usage.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the helpers of a test fail like a test"
)]

mod common;

use serde_json::{Value, json};
use std::io::Write as _;
use std::time::{Duration, Instant};

use common::{check, sagaline, stderr};

struct File(tempfile::NamedTempFile);

impl File {
    fn of(text: impl AsRef<[u8]>) -> Self {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_ref()).unwrap();
        Self(file)
    }

    fn path(&self) -> &str {
        self.0.path().to_str().unwrap()
    }
}

/// A record of a head, with one image.
fn record(number: u32, name: &str, image: &str) -> Value {
    let order = format!("o-{number}");
    let keys = json!({"PK": {"S": format!("ORDER#{order}")}, "SK": {"S": "ORDER#DETAIL"}});
    let mut head = keys.clone();
    head["order_id"] = json!({"S": order});
    head["version"] = json!({"N": "1"});
    head["due_pk"] = json!({"S": "DUE#1"});
    json!({"eventID": format!("e-{number}"), "eventName": name, "eventSource": "aws:dynamodb",
        "dynamodb": {"SequenceNumber": format!("{}", 1000 + number), "Keys": keys, image: head}})
}

fn replayed(text: &str) -> Vec<Value> {
    let file = File::of(text);
    let output = sagaline(&["replay", file.path(), "--json"], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    json["records"].as_array().unwrap().clone()
}

// C-11
#[test]
fn a_replay_shows_the_verdict_of_each_record_and_the_reason_of_those_that_would_be_parked() {
    let mut records = [1, 2, 3].map(|number| record(number, "INSERT", "NewImage"));
    records[1]["dynamodb"]["NewImage"]["note"] = json!({});
    records[2]["dynamodb"]["NewImage"]["note"] = json!({"L": "x"});
    let shown = replayed(&json!({"Records": records}).to_string());
    let verdicts: Vec<_> = shown
        .iter()
        .map(|record| record["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["done", "parked", "parked"]);
    assert_eq!(shown[0]["projection"]["saga"], "drive o-1");
    assert_eq!(shown[0]["projection"]["search"]["version"], 1);
    assert_eq!(shown[0]["projection"]["archive"]["event_id"], "e-1");
    for parked in &shown[1..] {
        let reason = parked["detail"].as_str().unwrap();
        assert!(reason.contains("NewImage.note"), "{reason}");
    }
    assert_eq!(shown[1]["sequence_number"], "1002");
}

// C-47
#[test]
fn only_the_full_identity_is_an_expiry_and_none_compensates_an_order() {
    let service = "dynamodb.amazonaws.com";
    let identities = [
        json!({"type": "Service", "principalId": service}),
        json!({"principalId": service}),
        json!({"type": "Service", "principalId": "someone.amazonaws.com"}),
        json!({"type": "AssumedRole", "principalId": "AROA:operator"}),
    ];
    let mut records: Vec<Value> = (1..)
        .zip(&identities)
        .map(|(number, identity)| {
            let mut removed = record(number, "REMOVE", "OldImage");
            removed["userIdentity"] = identity.clone();
            removed
        })
        .collect();
    let mut inserted = record(9, "INSERT", "NewImage");
    inserted["userIdentity"] = identities[0].clone();
    records.push(inserted);
    let shown = replayed(&json!({"Records": records}).to_string());
    let expired: Vec<_> = shown
        .iter()
        .map(|record| {
            record["projection"]["archive"]["ttl_expired"]
                .as_bool()
                .unwrap()
        })
        .collect();
    assert_eq!(expired, [true, false, false, false, false]);
    for removed in &shown[..4] {
        assert_eq!(removed["projection"]["saga"], "skip");
        assert_eq!(removed["projection"]["search"]["deleted"], true);
    }
    assert_eq!(shown[4]["projection"]["saga"], "drive o-9");
}

// C-51
#[test]
fn a_file_cut_off_in_the_middle_of_a_record_is_refused_whole_with_file_and_line() {
    let lines: Vec<String> = [1, 2, 3]
        .map(|number| record(number, "INSERT", "NewImage").to_string())
        .to_vec();
    let whole = format!("{{\"Records\":[\n{}\n]}}\n", lines.join(",\n"));
    let cut = File::of(&whole[..whole.len() - 60]);
    // Neither table nor sink is even asked for: no record is handled.
    for handler in [
        &[][..],
        &["--to", "search"],
        &["--to", "archive"],
        &["--to", "saga"],
    ] {
        let output = sagaline(&[&["replay", cut.path()], handler].concat(), &[]);
        check(
            &output,
            2,
            &format!("error[SL0002]: {}: line 4: ", cut.path()),
        );
        assert!(output.stdout.is_empty());
    }
    let missing = sagaline(&["replay", "/nonexistent.json"], &[]);
    check(
        &missing,
        2,
        "error[SL0003]: /nonexistent.json cannot be read",
    );
}

// C-52
#[test]
fn an_event_and_a_bare_list_are_taken_and_an_envelope_is_refused_by_name() {
    let record = record(1, "INSERT", "NewImage");
    assert_eq!(replayed(&json!({"Records": [record]}).to_string()).len(), 1);
    assert_eq!(replayed(&json!([record, record]).to_string()).len(), 2);
    let refused = |value: Value| {
        let file = File::of(value.to_string());
        let output = sagaline(&["replay", file.path()], &[]);
        assert!(output.stdout.is_empty());
        output
    };
    let envelope = refused(
        json!({"version": "0", "id": "1", "detail-type": "order", "source": "x", "detail": record}),
    );
    check(&envelope, 2, "error[SL0002]: ");
    let said = stderr(&envelope);
    assert!(
        said.contains("an EventBridge envelope (`detail-type`, `detail`)"),
        "{said}"
    );
    let single = stderr(&refused(record));
    assert!(single.contains("a single record"), "{single}");
}

fn document(rest: &str) -> File {
    File::of(format!(
        r#"{{"requestContext":{{"requestId":"r","functionArn":"arn:aws:lambda:eu-west-1:1:function:shop-projector","condition":"RetryAttemptsExhausted","approximateInvokeCount":4}},"version":"1.0","timestamp":"2026-11-30T10:00:00.000Z",{rest}}}"#
    ))
}

const SHARD: &str = r#""DDBStreamBatchInfo":{"shardId":"shardId-7","startSequenceNumber":"1100","endSequenceNumber":"1300","batchSize":3,"streamArn":"arn:aws:dynamodb:eu-west-1:1:table/orders/stream/x"}"#;

// C-50
#[test]
fn a_pointer_names_its_range_and_what_helps_instead() {
    let pointer = document(SHARD);
    let output = sagaline(&["dlq", "redrive", "--file", pointer.path()], &[]);
    check(&output, 4, "error[SL3007]: ");
    for said in [
        "only a pointer",
        "shardId-7",
        "1100 to 1300",
        "`sagaline search verify --repair`",
        "`sagaline archive verify --date 2026-11-30`",
    ] {
        assert!(
            stderr(&output).contains(said),
            "{said}: {}",
            stderr(&output)
        );
    }
    assert_eq!(stderr(&output).lines().count(), 1);
    let output = sagaline(&["dlq", "show", "--file", pointer.path()], &[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("only a pointer"));
}

// C-50
#[test]
fn a_payload_is_used_and_the_document_of_a_window_refused_in_one_line() {
    let event = json!({"Records": [record(1, "INSERT", "NewImage")]}).to_string();
    let payload = document(&format!("{SHARD},\"payload\":{}", json!(event)));
    // Its records are there to be handled; what is missing now is the table.
    let output = sagaline(&["dlq", "redrive", "--file", payload.path()], &[]);
    check(&output, 2, "error[SL1001]: ORDERS_TABLE is not set");
    let output = sagaline(&["dlq", "show", "--file", payload.path()], &[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("ORDER#o-1")
    );

    let window = document(r#""timeWindowInfo":{"windowStart":"a","windowEnd":"b"},"shardId":"s""#);
    for command in ["redrive", "show"] {
        let output = sagaline(&["dlq", command, "--file", window.path()], &[]);
        check(
            &output,
            2,
            &format!(
                "error[SL0002]: {}: an on-failure document of a tumbling window (`timeWindowInfo`)",
                window.path()
            ),
        );
        assert_eq!(stderr(&output).lines().count(), 1);
    }
    // A document is no event.
    let output = sagaline(&["replay", payload.path()], &[]);
    check(&output, 2, "error[SL0002]: ");
    assert!(stderr(&output).contains("an on-failure document"));
}

#[test]
fn help_has_examples_and_names_the_queues() {
    for command in ["parked", "dlq", "replay"] {
        let output = sagaline(&[command, "--help"], &[]);
        assert_eq!(output.status.code(), Some(0), "{command}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("Examples:\n  sagaline "), "{command}: {text}");
        assert!(
            text.contains("--json") && text.contains("--table"),
            "{command}"
        );
        if command == "dlq" {
            assert!(
                text.contains("SEARCH_DEAD_LETTER_QUEUE_URL")
                    && text.contains("ARCHIVE_DEAD_LETTER_QUEUE_URL")
            );
            assert!(text.contains("<stack>-search-dead") && text.contains("<stack>-archive-dead"));
        }
    }
}

#[test]
fn what_is_not_named_or_not_ours_is_refused_before_anything_is_asked_of_anyone() {
    for usage in [
        &["parked", "redrive"][..],
        &["parked", "redrive", "--all"],
        &["parked", "redrive", "--who", "search"],
        &["parked", "redrive", "parked/saga/x", "--rate", "0"],
        &["parked", "drop"],
        &["parked", "ls", "--since", "yesterday"],
        &["parked", "ls", "--who", "nobody"],
        &["dlq", "redrive"],
        &["dlq", "show"],
        &["replay"],
        &["replay", "x", "--to", "projector"],
    ] {
        check(&sagaline(usage, &[]), 2, "error[SL0001]: ");
    }
    for foreign in [
        &["parked", "show", "spill/archive/x"][..],
        &["parked", "drop", "--yes", "spill/archive/x"],
        &["parked", "redrive", "athena/x"],
        &["dlq", "show", "spill/x"],
    ] {
        check(&sagaline(foreign, &[]), 2, "error[SL0002]: '");
    }
    for bucket in [
        &["parked", "ls"][..],
        &["parked", "show", "parked/saga/x"],
        &["dlq", "ls"],
    ] {
        check(
            &sagaline(bucket, &[]),
            2,
            "error[SL1001]: PARK_BUCKET is not set",
        );
    }
}

#[test]
fn nobody_at_the_bucket_is_said_soon() {
    let environment = [
        ("PARK_BUCKET", "park"),
        ("AWS_ACCESS_KEY_ID", "a"),
        ("AWS_SECRET_ACCESS_KEY", "b"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:9"),
    ];
    let begun = Instant::now();
    let output = sagaline(&["parked", "ls"], &environment);
    check(
        &output,
        5,
        "error[SL5001]: s3://park/parked/ could not be listed",
    );
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    let output = sagaline(&["parked", "ls"], &environment[..1]);
    check(&output, 2, "error[SL1002]: ");
}
