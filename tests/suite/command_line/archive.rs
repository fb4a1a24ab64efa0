//! `sagaline archive`: what it answers, what it finds missing or broken, and what it mends.

mod table;

use std::collections::BTreeSet;
use std::path::Path;

use sagaline_archive::{ArchiveSink, AwsTarget, HashKeys, Redaction, Row, SinkVerdict};
use sagaline_order::OrderId;
use sagaline_search::image_of;
use sagaline_store::{AttributeValue, UPDATED_SHARDS};
use sagaline_stream::{Attribute, Image, Record};
use serde_json::{Value, json};

use crate::support::{Place, SOON, budget, until};

/// 2025-11-30T10:53:20Z: long ago, so that nothing is on its way.
const AT: i64 = 1_764_500_000;
const DAY: &str = "2025-11-30";
const TIME: &str = "2025-11-30T10:53:20.000Z";

/// The head of an order at a version, as DynamoDB JSON.
fn head(order: &str, version: u64) -> Value {
    let shard = OrderId::parse(order).unwrap().shard(UPDATED_SHARDS);
    json!({
        "PK": {"S": format!("ORDER#{order}")}, "SK": {"S": "ORDER#DETAIL"}, "order_id": {"S": order},
        "version": {"N": version.to_string()}, "status": {"S": if version == 1 { "UNPAID" } else { "CONFIRMED" }},
        "total_minor": {"N": "1250"}, "currency": {"S": "EUR"}, "updated_at": {"S": TIME},
        "shipping": {"M": {"street": {"S": "Baker Street"}}}, "phone_masked": {"S": "+49*****678"}, "payment_token": {"S": "tok_secret"},
        "updated_pk": {"S": format!("DAY#{DAY}#{shard}")}, "updated_sk": {"S": format!("20251130T105320.000Z#{order}")},
        "last_event": {"M": {"id": {"S": "r-1"}, "kind": {"S": "PaymentDue"}, "actor": {"S": "saga"}, "reason": {"S": "stock is reserved"}, "at": {"S": TIME}}},
    })
}

/// The record of the change to that version.
fn record(order: &str, version: u64) -> Value {
    let name = if version == 1 { "INSERT" } else { "MODIFY" };
    let mut dynamodb = json!({
        "ApproximateCreationDateTime": AT, "SequenceNumber": format!("{version:021}"),
        "Keys": {"PK": {"S": format!("ORDER#{order}")}, "SK": {"S": "ORDER#DETAIL"}}, "NewImage": head(order, version),
    });
    if version > 1 {
        dynamodb["OldImage"] = head(order, version - 1);
    }
    json!({"eventID": format!("{order}-{version}"), "eventName": name, "dynamodb": dynamodb})
}

fn row_of(record: &Value, redaction: &Redaction) -> Row {
    Row::from_record(&Record::decode(&record.to_string()).unwrap(), redaction).unwrap()
}

fn redaction(key: Option<&str>) -> Redaction {
    let keys = key.map(|id| {
        let secret = format!(r#"{{"current":"{id}","keys":{{"{id}":"SmVmZQ=="}}}}"#);
        HashKeys::parse(&secret).unwrap()
    });
    Redaction::new("shipping,phone_masked", keys)
}

fn row(order: &str, version: u64) -> Row {
    row_of(&record(order, version), &redaction(None))
}

/// DynamoDB JSON as an item.
fn item(image: &Value) -> sagaline_store::Item {
    fn value(attribute: &Attribute<'_>) -> AttributeValue {
        match attribute {
            Attribute::S(text) => AttributeValue::S(text.to_string()),
            Attribute::N(digits) => AttributeValue::N(digits.to_string()),
            Attribute::M(members) => AttributeValue::M(map(members)),
            Attribute::L(items) => AttributeValue::L(items.iter().map(value).collect()),
            Attribute::Bool(truth) => AttributeValue::Bool(*truth),
            Attribute::Null => AttributeValue::Null(true),
            Attribute::B(_) => AttributeValue::B(attribute.bytes().unwrap().into()),
            Attribute::Ss(texts) => {
                AttributeValue::Ss(texts.iter().map(ToString::to_string).collect())
            }
            Attribute::Ns(digits) => {
                AttributeValue::Ns(digits.iter().map(ToString::to_string).collect())
            }
            Attribute::Bs(texts) => AttributeValue::Bs(
                texts
                    .iter()
                    .map(|text| Attribute::B(text.clone()).bytes().unwrap().into())
                    .collect(),
            ),
        }
    }
    fn map(image: &Image<'_>) -> sagaline_store::Item {
        image
            .iter()
            .map(|(name, attribute)| (name.to_owned(), value(attribute)))
            .collect()
    }
    map(&Image::parse(&image.to_string()).unwrap())
}

async fn put(place: &Place, image: &Value) {
    let put = place
        .dynamodb()
        .put_item()
        .table_name(place.var("ORDERS_TABLE"))
        .set_item(Some(item(image)));
    put.send().await.unwrap();
}

/// An order in the table at that version, with its history.
async fn order(place: &Place, order: &str, version: u64) {
    put(place, &head(order, version)).await;
    for version in 1..=version {
        put(place, &json!({
            "PK": {"S": format!("ORDER#{order}")}, "SK": {"S": format!("HISTORY#{version:010}")}, "version": {"N": version.to_string()},
            "at": {"S": TIME}, "actor": {"S": "saga"}, "reason": {"S": format!("step {version}")}, "verdict": {"S": "applied"}, "events": {"L": []},
        }))
        .await;
    }
}

async fn archived(place: &Place, rows: Vec<Row>) {
    let versions: BTreeSet<_> = rows
        .iter()
        .map(|row| (row.order_id.clone(), row.version))
        .collect();
    let orders: Vec<_> = rows
        .iter()
        .map(|row| format!("'{}'", row.order_id))
        .collect();
    let target = AwsTarget {
        firehose: aws_sdk_firehose::Client::new(&place.sdk),
        stream: place.var("ARCHIVE_STREAM").to_owned(),
        s3: place.s3(),
        bucket: place.var("ARCHIVE_BUCKET").to_owned(),
    };
    let written = ArchiveSink::new(target)
        .write(rows, &budget(std::time::Duration::from_secs(60)))
        .await;
    assert!(written.iter().all(|verdict| *verdict == SinkVerdict::Done));
    let select = format!(
        "SELECT version FROM order_changes WHERE order_id IN ({})",
        orders.join(", ")
    );
    until("all rows are shown", SOON, async || {
        let shown = place.archive().query(&select, |_| {}).await.unwrap();
        (shown.rows.len() >= versions.len()).then_some(())
    })
    .await;
}

async fn park(place: &Place, key: &str, object: &str) {
    let put = place
        .s3()
        .put_object()
        .bucket(place.var("PARK_BUCKET"))
        .key(key)
        .body(object.to_owned().into_bytes().into());
    put.send().await.unwrap();
}

async fn verify(place: &Place, more: &[&str], code: i32) -> Value {
    let args = [&["archive", "verify", "--date", DAY, "--json"][..], more].concat();
    let said = place.sagaline(&args).await;
    if code == 0 {
        said.ok().json()
    } else {
        said.refused(code, "SL4001").json()
    }
}

/// Order and version of a list of findings.
fn named(found: &Value) -> Vec<(String, i64)> {
    let named = found.as_array().unwrap().iter().map(|one| {
        (
            one["order_id"].as_str().unwrap().to_owned(),
            one["version"].as_i64().unwrap(),
        )
    });
    named.collect()
}

#[tokio::test]
async fn a_day_whose_changes_are_all_there_is_whole_repeats_and_large_rows_included() {
    let place = Place::fresh("whole").await;
    assert_eq!(
        verify(&place, &[], 0).await["orders"],
        0,
        "an empty day is whole"
    );
    for (id, version) in [("o-1", 3), ("o-2", 1), ("o-3", 3)] {
        order(&place, id, version).await;
    }
    // A row too large for Firehose lies beside the others.
    let large = |mut record: Value, side: &str| {
        record["dynamodb"][side]["note"] = json!({"S": "x".repeat(1_024_000)});
        row_of(&record, &redaction(None))
    };
    let rows = vec![
        row("o-1", 1),
        row("o-1", 2),
        row("o-1", 3),
        row("o-2", 1),
        row("o-3", 1),
        large(record("o-3", 2), "NewImage"),
        large(record("o-3", 3), "OldImage"),
    ];
    archived(&place, rows.clone()).await;
    archived(&place, rows).await;
    let found = verify(&place, &[], 0).await;
    assert_eq!(
        (&found["orders"], &found["changes"]),
        (&json!(3), &json!(7)),
        "{found}"
    );
    assert_eq!(
        found["counts"],
        json!({"fitting": 4, "unverifiable": 0, "broken": 0, "missing": 0, "repaired": 0, "on_its_way": 0})
    );
}

#[tokio::test]
async fn what_is_missing_is_named_and_mended_from_what_was_put_aside_and_nothing_else() {
    let place = Place::fresh("missing").await;
    for (id, version) in [("o-gap", 3), ("o-end", 3), ("o-unheard", 1), ("o-lost", 2)] {
        order(&place, id, version).await;
    }
    archived(
        &place,
        vec![
            row("o-gap", 1),
            row("o-gap", 3),
            row("o-end", 1),
            row("o-end", 2),
            row("o-lost", 1),
        ],
    )
    .await;
    let missing = [("o-gap", 2), ("o-end", 3), ("o-unheard", 1), ("o-lost", 2)];
    let missing = |orders: &[&str]| {
        let mut named: Vec<(String, i64)> = missing
            .iter()
            .filter(|(id, _)| orders.contains(id))
            .map(|(id, version)| ((*id).to_owned(), *version))
            .collect();
        named.sort();
        named
    };
    let found = verify(&place, &[], 1).await;
    let mut names = named(&found["missing"]);
    names.sort();
    assert_eq!(
        names,
        missing(&["o-gap", "o-end", "o-unheard", "o-lost"]),
        "{found}"
    );
    let gap = &found["missing"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["order_id"] == "o-gap")
        .unwrap();
    assert_eq!(
        (&gap["at"], &gap["why"]),
        (&json!(TIME), &json!("saga: step 2"))
    );

    // A parked record, a spilled row, and what a mapping gave up on; one object that is nothing.
    let parked = json!({
        "who": "archive", "reason": "r", "error": "e", "function": "f", "request_id": "r", "stream_arn": null, "sequence_number": null,
        "event_id": null, "parked_at": TIME, "record": record("o-gap", 2).to_string(),
    });
    park(
        &place,
        "parked/archive/2025/11/30/2-e.json",
        &parked.to_string(),
    )
    .await;
    park(&place, "parked/projector/2025/11/30/none.json", "garbage").await;
    park(
        &place,
        "spill/archive/2025-11-30/o-end-3-e.json",
        &row("o-end", 3).to_line(),
    )
    .await;
    let document = json!({
        "requestContext": {"requestId": "r", "functionArn": "arn:aws:lambda:us-east-1:1:function:shop-projector", "condition": "RetryAttemptsExhausted", "approximateInvokeCount": 4},
        "version": "1.0", "timestamp": TIME,
        "DDBStreamBatchInfo": {"shardId": "shardId-7", "startSequenceNumber": "1", "endSequenceNumber": "1", "batchSize": 1, "streamArn": "arn:aws:dynamodb:us-east-1:1:table/orders/stream/x"},
        "payload": json!({"Records": [record("o-unheard", 1)]}).to_string(),
    });
    park(&place, "aws/lambda/m/s/2025/11/30/d", &document.to_string()).await;

    let found = verify(&place, &["--repair"], 1).await;
    assert_eq!(
        (&found["counts"]["repaired"], &found["left"]),
        (&json!(3), &json!(1)),
        "{found}"
    );
    let not_used = found["not_used"].as_array().unwrap();
    assert!(
        not_used.len() == 1
            && not_used[0]
                .as_str()
                .unwrap()
                .starts_with("parked/projector/"),
        "{found}"
    );
    let left = until("what was mended is shown", SOON, async || {
        let found = verify(&place, &[], 1).await;
        (found["left"] == 1).then(|| named(&found["missing"]))
    })
    .await;
    assert_eq!(left, missing(&["o-lost"]), "nobody put it aside");
    let objects = place.objects(place.var("PARK_BUCKET")).await;
    assert!(
        objects.iter().any(|key| key.starts_with("parked/archive/")),
        "nothing is removed"
    );
}

#[tokio::test]
async fn a_change_that_does_not_fit_to_the_one_before_is_broken_and_named() {
    let place = Place::fresh("broken").await;
    order(&place, "o-1", 2).await;
    let mut altered = record("o-1", 2);
    altered["dynamodb"]["OldImage"]["total_minor"] = json!({"N": "1"});
    archived(
        &place,
        vec![row("o-1", 1), row_of(&altered, &redaction(None))],
    )
    .await;
    let found = verify(&place, &["--repair"], 1).await;
    assert_eq!(named(&found["broken"]), [("o-1".to_owned(), 2)]);
    let why = found["broken"][0]["why"].as_str().unwrap();
    assert!(why.ends_with(": total_minor"), "{why}");
}

#[tokio::test]
async fn hidden_values_leave_the_check_green_and_over_a_change_of_key_unverifiable() {
    let place = Place::fresh("hidden").await;
    order(&place, "o-1", 4).await;
    let of = |version, key| row_of(&record("o-1", version), &redaction(Some(key)));
    let rows = vec![of(1, "k1"), of(2, "k1"), of(3, "k2"), of(4, "k2")];
    for row in &rows {
        for secret in ["Baker", "678", "tok_secret"] {
            assert!(!row.to_line().contains(secret));
        }
    }
    archived(&place, rows).await;
    let found = verify(&place, &[], 0).await;
    assert_eq!(
        (
            &found["counts"]["fitting"],
            &found["counts"]["unverifiable"]
        ),
        (&json!(2), &json!(1)),
        "{found}"
    );
    let why = found["unverifiable"][0]["why"].as_str().unwrap();
    assert!(
        why.ends_with(": payment_token, phone_masked, shipping"),
        "{why}"
    );
    let other = row_of(&record("o-1", 3), &Redaction::new("shipping", None));
    assert!(other.to_line().contains("678"), "another set hides less");
}

#[tokio::test]
async fn the_archive_is_asked_in_sql_and_answers_typed() {
    let place = Place::fresh("asked").await;
    archived(&place, vec![row("o-1", 1), row("o-1", 2)]).await;
    let timeline = place.json(&["archive", "timeline", "o-1"]).await;
    let second = &timeline["timeline"][1];
    assert_eq!(
        (
            &second["version"],
            &second["cause_actor"],
            &second["previous_status"],
            &second["status"]
        ),
        (
            &json!(2),
            &json!("saga"),
            &json!("UNPAID"),
            &json!("CONFIRMED")
        )
    );
    let shown = place.sagaline(&["archive", "timeline", "o-1"]).await.ok();
    assert!(shown.out.contains("UNPAID -> CONFIRMED"), "{}", shown.out);
    place
        .sagaline(&["archive", "timeline", "o'2"])
        .await
        .refused(3, "SL2001");

    let sql = "SELECT version, ttl_expired, old_image IS NULL AS first FROM order_changes WHERE order_id = 'o-1' ORDER BY version;";
    let answer = place.json(&["archive", "query", sql]).await;
    assert_eq!(
        answer["rows"],
        json!([{"version": 1, "ttl_expired": false, "first": true}, {"version": 2, "ttl_expired": false, "first": false}])
    );
    let own = "WITH mine AS (SELECT * FROM order_timeline) SELECT COUNT(*) AS n FROM mine";
    assert_eq!(
        place.json(&["archive", "query", own]).await["rows"],
        json!([{"n": 2}])
    );
    place
        .sagaline(&["archive", "query", "DROP TABLE changes"])
        .await
        .refused(2, "SL0002");
    let failed = place
        .sagaline(&["archive", "query", "SELECT nope FROM changes"])
        .await
        .refused(2, "SL1008");
    assert!(
        failed.err.contains("nope"),
        "Athena's reason is passed on: {}",
        failed.err
    );
    let elsewhere = [("ORDERS_TABLE", "abc")];
    place
        .sagaline_in(&elsewhere, &["archive", "query", "SELECT 1"])
        .await
        .refused(2, "SL1001");
    let nobody = [("AWS_ENDPOINT_URL", "http://127.0.0.1:9")];
    place
        .sagaline_in(&nobody, &["archive", "query", "SELECT 1"])
        .await
        .refused(2, "SL1003");

    // The local Athena keeps no views, and says so.
    let made = place.json(&["archive", "init"]).await;
    assert_eq!(
        made["views"][0],
        json!({"view": "order_changes", "kept": false})
    );
}

#[tokio::test]
async fn the_changes_of_some_days_become_a_file_of_each_form() {
    let place = Place::fresh("exported").await;
    archived(&place, vec![row("o-1", 1), row("o-1", 2)]).await;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let export = async |format: &str, to: &str| {
        let args = [
            "archive", "export", "--from", DAY, "--to", DAY, "--format", format, "--out", to,
        ];
        place.json(&args).await
    };
    for format in ["csv", "ndjson", "parquet"] {
        let told = export(format, &path(format)).await;
        assert_eq!(told["rows"], 2);
        let bytes = std::fs::read(path(format)).unwrap();
        assert_eq!(told["bytes"], bytes.len());
        assert_eq!(told["sha256"].as_str().unwrap().len(), 64);
    }
    let lines = std::fs::read_to_string(path("ndjson")).unwrap();
    let rows: Vec<Row> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows, [row("o-1", 1), row("o-1", 2)], "to the last digit");
    let csv = std::fs::read_to_string(path("csv")).unwrap();
    assert!(
        csv.starts_with("event_id,event_name,order_id,version,"),
        "{csv}"
    );

    let nothing = [
        "archive",
        "export",
        "--from",
        "2024-01-01",
        "--to",
        "2024-01-02",
        "--format",
        "ndjson",
    ];
    assert_eq!(place.sagaline(&nothing).await.ok().out, "");
    let backwards = [
        "archive",
        "export",
        "--from",
        DAY,
        "--to",
        "2024-01-02",
        "--format",
        "csv",
    ];
    place.sagaline(&backwards).await.refused(2, "SL0002");
    let nowhere = path("none/file");
    let args = [
        "archive", "export", "--from", DAY, "--to", DAY, "--format", "csv", "--out", &nowhere,
    ];
    place.sagaline(&args).await.refused(2, "SL0003");
    assert!(!Path::new(&nowhere).exists());
}

/// An item read from the table is encoded as the stream delivers it.
#[test]
fn an_item_and_a_record_of_it_have_the_same_text() {
    let image = table::every_type("o-1");
    let text = image.to_string();
    let streamed = Image::parse(&text).unwrap().to_canonical();
    assert_eq!(image_of(&item(&image)).to_canonical(), streamed);
}
