//! What was put aside, through the command line: a real bucket and real queues, each test with a deployment of its own.

use std::process::Stdio;
use std::time::Duration;

use sagaline_lambda::ParkBucket;
use sagaline_stream::{Parked, Parking as _, SequenceNumber};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::create;
use crate::support::{Index, Place, SOON, stack, until};

/// A place with an index, and no pipeline that would do the work before the operator does.
async fn place(what: &str) -> (Place, Index) {
    let place = Place::fresh(what).await;
    let server = stack().await.opensearch_url();
    let index = Index::at(server, place.var("OPENSEARCH_ALIAS"))
        .made()
        .await;
    (place, index)
}

/// Places an order; its head is at version 1.
async fn order(place: &Place, id: &str) {
    let request = format!("place-{id}");
    place.json(&create(id, "u-1", &request, "tea:1:100")).await;
}

/// The record of a change that made that version.
fn record(order: &str, version: u64) -> Value {
    let keys = json!({"PK": {"S": format!("ORDER#{order}")}, "SK": {"S": "ORDER#DETAIL"}});
    let mut image = keys.clone();
    image["order_id"] = json!({"S": order});
    image["version"] = json!({"N": version.to_string()});
    json!({"eventID": format!("{order}-{version}"), "eventName": "INSERT", "eventSource": "aws:dynamodb",
        "dynamodb": {"SequenceNumber": format!("{:021}", 1_000 + version), "ApproximateCreationDateTime": 1_764_500_000, "Keys": keys, "NewImage": image}})
}

/// Parks a record as a processor does.
async fn park(place: &Place, who: &str, record: &str, id: &str) -> String {
    let parked = Parked {
        who: who.to_owned(),
        reason: "the sink refused it".to_owned(),
        error: "the sink refused it: mapper_parsing_exception".to_owned(),
        function: "f".to_owned(),
        request_id: "r".to_owned(),
        stream_arn: None,
        sequence_number: SequenceNumber::new("1100"),
        event_id: Some(id.to_owned()),
        parked_at: "2026-01-31T08:30:00.000Z".to_owned(),
        record: record.to_owned(),
    };
    let bucket = ParkBucket::new(place.s3(), place.var("PARK_BUCKET"));
    bucket.park(&parked).await.unwrap();
    parked.key()
}

async fn put(place: &Place, key: &str, body: &str) {
    let bucket = ParkBucket::new(place.s3(), place.var("PARK_BUCKET"));
    bucket.put(key, body.as_bytes().to_vec()).await.unwrap();
}

async fn lying(place: &Place) -> Vec<String> {
    place.objects(place.var("PARK_BUCKET")).await
}

/// What the records of a redrive ended as, by place.
fn verdicts(said: &Value) -> Vec<(&str, &str)> {
    let records = said["records"].as_array().unwrap();
    records
        .iter()
        .map(|record| {
            let verdict = record.get("verdict").or_else(|| record.get("would"));
            (
                record["place"].as_str().unwrap(),
                verdict.and_then(Value::as_str).unwrap(),
            )
        })
        .collect()
}

fn totals(said: &Value, names: [&str; 4]) -> [u64; 4] {
    names.map(|name| said["totals"][name].as_u64().unwrap())
}

const DONE: [&str; 4] = ["done", "stale", "refused", "removed"];

// C-49
#[tokio::test]
async fn what_was_parked_is_redriven_by_the_head_and_old_news_is_stale_and_never_applied() {
    let (place, index) = place("aside-parked").await;
    // An empty bucket is no error, and what is not there is.
    assert_eq!(place.json(&["parked", "ls"]).await, json!({"parked": []}));
    let nothing = place
        .json(&["parked", "redrive", "--all", "--who", "search", "--yes"])
        .await;
    assert_eq!(totals(&nothing, DONE), [0; 4]);
    let missing = "parked/search/2026/01/31/none.json";
    for args in [
        &["parked", "show", missing][..],
        &["parked", "drop", missing, "--yes"],
        &["parked", "redrive", missing],
    ] {
        place.sagaline(args).await.refused(3, "SL2002");
    }

    order(&place, "o-1").await;
    let first = park(&place, "search", &record("o-1", 1).to_string(), "e-1").await;
    let listed = place.json(&["parked", "ls", "--who", "search"]).await;
    let row = &listed["parked"][0];
    assert_eq!(
        (&row["key"], &row["who"], &row["day"]),
        (&json!(first), &json!("search"), &json!("2026-01-31"))
    );
    let later = place.json(&["parked", "ls", "--since", "2026-02-01"]).await;
    assert_eq!(later, json!({"parked": []}));
    let shown = place.sagaline(&["parked", "show", &first]).await.ok();
    assert!(shown.out.contains("mapper_parsing_exception") && shown.out.contains("ORDER#o-1"));

    // First it is only said.
    let said = place.json(&["parked", "redrive", &first]).await;
    assert_eq!(said["dry_run"], true);
    assert_eq!(
        verdicts(&said),
        [(first.as_str(), "write the head, which is at v1")]
    );
    assert_eq!(lying(&place).await, [first.as_str()]);
    let said = place.json(&["parked", "redrive", &first, "--yes"]).await;
    assert_eq!(verdicts(&said), [(first.as_str(), "done")]);
    assert_eq!(index.versions().await["o-1"], (1, false));
    assert!(lying(&place).await.is_empty(), "what is settled is removed");

    // Meanwhile the order went on, and so did the index.
    place
        .json(&["cancel", "o-1", "--reason", "changed my mind"])
        .await;
    let newest = place.json(&["show", "o-1"]).await["order"]["version"]
        .as_u64()
        .unwrap();
    assert!(newest > 1);
    let latest = park(&place, "search", &record("o-1", newest).to_string(), "e-2").await;
    place.json(&["parked", "redrive", &latest, "--yes"]).await;
    assert_eq!(index.versions().await["o-1"], (newest, false));
    let old = park(&place, "search", &record("o-1", 1).to_string(), "e-1").await;
    let said = place.json(&["parked", "redrive", &old, "--yes"]).await;
    assert_eq!(verdicts(&said), [(old.as_str(), "stale")]);
    assert_eq!(
        index.versions().await["o-1"],
        (newest, false),
        "never applied"
    );
    assert!(lying(&place).await.is_empty());
}

#[tokio::test]
async fn what_fails_again_or_is_garbage_stays_and_is_dropped_only_at_a_second_word() {
    let (place, index) = place("aside-stays").await;
    order(&place, "o-1").await;
    let good = park(&place, "search", &record("o-1", 1).to_string(), "e-1").await;

    // The sink is away.
    let away = [("OPENSEARCH_ENDPOINT", "http://127.0.0.1:9")];
    let args = ["parked", "redrive", &good, "--yes"];
    place.sagaline_in(&away, &args).await.refused(2, "SL1006");
    assert_eq!(lying(&place).await, [good.as_str()]);

    // Neither a record nor JSON, a record of nobody, one that the handler refuses again: each is said by name, and none costs the good one.
    let garbage = "parked/search/2026/01/31/garbage.json";
    put(&place, garbage, "{tru").await;
    let nobody = park(&place, "nobody", "{}", "e-2").await;
    let poison = park(&place, "search", r#"{"eventID":"e-3"}"#, "e-3").await;
    let args = ["parked", "redrive", garbage, &nobody, &poison, &good];
    let said = place
        .sagaline(&[&args[..], &["--yes", "--json"]].concat())
        .await
        .refused(4, "SL3007");
    assert_eq!(
        verdicts(&said.json()),
        [
            (garbage, "refused"),
            (nobody.as_str(), "refused"),
            (poison.as_str(), "refused"),
            (good.as_str(), "done")
        ]
    );
    assert_eq!(totals(&said.json(), DONE), [1, 0, 3, 1]);
    assert_eq!(index.versions().await["o-1"], (1, false));
    assert_eq!(lying(&place).await.len(), 3);
    // Alone, garbage is the error itself.
    let alone = place.sagaline(&["parked", "redrive", garbage]).await;
    alone.refused(2, "SL0002");
    place
        .sagaline(&["parked", "show", garbage])
        .await
        .refused(1, "SL4002");

    // A named one that is missing stops the drop before the first is gone.
    let missing = "parked/search/2026/01/31/none.json";
    place
        .sagaline(&["parked", "drop", garbage, missing, "--yes"])
        .await
        .refused(3, "SL2002");
    let said = place.json(&["parked", "drop", garbage, &poison]).await;
    assert_eq!(said["dry_run"], true);
    assert_eq!(lying(&place).await.len(), 3);
    let said = place
        .json(&["parked", "drop", garbage, &poison, "--yes"])
        .await;
    assert_eq!(said["dropped"][1]["reason"], "the sink refused it");
    assert_eq!(lying(&place).await, [nobody]);
}

#[tokio::test]
async fn a_redrive_keeps_its_rate_and_one_that_was_killed_goes_on_where_it_was() {
    let (place, index) = place("aside-resumed").await;
    let ids: Vec<String> = (0..12).map(|nth| format!("o-{nth:02}")).collect();
    for id in &ids {
        order(&place, id).await;
        park(&place, "search", &record(id, 1).to_string(), id).await;
    }
    let args = ["parked", "redrive", "--all", "--who", "search", "--yes"];

    // Killed in the middle: two a second leave time enough.
    let began = Instant::now();
    let mut slow = place.command(&[], &[&args[..], &["--rate", "2/s"]].concat());
    let mut slow = slow.stdout(Stdio::null()).spawn().unwrap();
    until("four are written", SOON, async || {
        (index.versions().await.len() >= 4).then_some(())
    })
    .await;
    // The first needs no turn, the other three wait half a second each.
    assert!(began.elapsed() >= Duration::from_millis(1_500));
    slow.kill().await.unwrap();
    let written = index.versions().await.len();
    assert!((4..12).contains(&written), "{written} of 12");

    // Whatever was done and not yet removed is stale now; nothing is done twice, nothing is left.
    let began = Instant::now();
    let said = place.json(&[&args[..], &["--rate", "5/s"]].concat()).await;
    let [done, stale, refused, removed] = totals(&said, DONE);
    assert_eq!(done + stale, removed);
    assert_eq!((done, refused), (12 - written as u64, 0));
    let least = Duration::from_millis(200) * u32::try_from(removed.saturating_sub(1)).unwrap();
    assert!(
        began.elapsed() >= least,
        "{removed} in {:?}",
        began.elapsed()
    );
    assert!(lying(&place).await.is_empty());
    let versions = index.versions().await;
    assert_eq!(versions.len(), 12);
    assert!(versions.values().all(|seen| *seen == (1, false)));
}

/// An on-failure document of a mapping (F-OFD-1), with the event or without.
fn document(function: &str, records: Option<&[Value]>) -> String {
    let mut document = json!({
        "requestContext": {"requestId": "r", "functionArn": format!("arn:aws:lambda:us-east-1:000000000000:function:{function}"),
            "condition": "RetryAttemptsExhausted", "approximateInvokeCount": 11},
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": null},
        "version": "1.0", "timestamp": "2026-01-31T08:30:00.000Z",
        "DDBStreamBatchInfo": {"shardId": "shardId-7", "startSequenceNumber": "1100", "endSequenceNumber": "1300", "batchSize": 2,
            "streamArn": "arn:aws:dynamodb:us-east-1:000000000000:table/orders/stream/x"},
    });
    if let Some(records) = records {
        document["payload"] = json!({"Records": records}).to_string().into();
    }
    document.to_string()
}

// C-50
#[tokio::test]
async fn what_a_mapping_gave_up_on_is_redriven_from_its_payload_and_a_pointer_is_only_a_pointer() {
    let (place, index) = place("aside-documents").await;
    for id in ["o-1", "o-2"] {
        order(&place, id).await;
    }
    let folder = "aws/lambda/0-1/shardId-7/2026/01/31";
    let payload = format!("{folder}/2026-01-31T08.30.00-a");
    let pointer = format!("{folder}/2026-01-31T08.30.00-b");
    let garbage = format!("{folder}/2026-01-31T08.30.00-c");
    let records = [record("o-1", 1), record("o-2", 1), record("o-1", 1)];
    put(
        &place,
        &payload,
        &document("shop-projector", Some(&records)),
    )
    .await;
    put(&place, &pointer, &document("shop-projector", None)).await;
    put(&place, &garbage, "garbage").await;

    let listed = place.json(&["dlq", "ls"]).await;
    let rows = listed["dlq"].as_array().unwrap().iter();
    let kinds: Vec<_> = rows.map(|row| row["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["document", "pointer", "unusable"]);
    let shown = place.sagaline(&["dlq", "show", &pointer]).await.ok();
    for said in ["only a pointer", "shardId-7", "1100 to 1300", "--repair"] {
        assert!(shown.err.contains(said), "{said}: {}", shown.err);
    }

    // Of another consumer there is nothing.
    let said = place
        .json(&["dlq", "redrive", "--all", "--who", "saga", "--yes"])
        .await;
    assert_eq!(totals(&said, DONE), [0; 4]);
    let said = place
        .sagaline(&["dlq", "redrive", "--all", "--yes", "--json"])
        .await
        .refused(4, "SL3007");
    let told = said.json();
    let told = verdicts(&told);
    assert_eq!(told.len(), 5, "{told:?}");
    assert!(told[..3].iter().all(|(place, _)| *place == payload));
    // The archive takes a row again and again, the index only what is new to it.
    assert!(
        told[..3]
            .iter()
            .all(|(_, verdict)| matches!(*verdict, "done" | "stale"))
    );
    assert!(told[3..].iter().all(|(_, verdict)| *verdict == "refused"));
    assert_eq!(lying(&place).await, [pointer.as_str(), garbage.as_str()]);
    assert_eq!(index.versions().await.len(), 2);

    // What nothing can be made of is dropped, by its reason.
    let said = place.json(&["dlq", "drop", &pointer]).await;
    assert_eq!(said["dropped"][0]["reason"], "RetryAttemptsExhausted");
    assert_eq!(lying(&place).await.len(), 2);
    place
        .json(&["dlq", "drop", &pointer, &garbage, "--yes"])
        .await;
    assert!(lying(&place).await.is_empty());
}

async fn send(place: &Place, queue: &str, body: &str) -> String {
    let sent = place
        .sqs()
        .send_message()
        .queue_url(place.output(queue))
        .message_body(body);
    sent.send().await.unwrap().message_id.unwrap()
}

// C-49, C-50
#[tokio::test]
async fn the_dead_letters_of_both_retry_queues_are_listed_redriven_and_dropped() {
    const SEARCH: &str = "SearchDeadLetterQueueUrl";
    const ARCHIVE: &str = "ArchiveDeadLetterQueueUrl";
    let (place, index) = place("aside-letters").await;
    order(&place, "o-1").await;
    let queues = [
        ("SEARCH_DEAD_LETTER_QUEUE_URL", place.output(SEARCH)),
        ("ARCHIVE_DEAD_LETTER_QUEUE_URL", place.output(ARCHIVE)),
    ];
    let run = async |args: &[&str]| place.sagaline_in(&queues, args).await;

    // Nothing in either, and what is not there.
    let said = run(&["dlq", "ls", "--json"]).await.ok().json();
    assert_eq!(said, json!({"dlq": []}));
    let said = run(&["dlq", "redrive", "--all", "--yes", "--json"]).await;
    assert_eq!(totals(&said.ok().json(), DONE), [0; 4]);
    for verb in ["show", "redrive", "drop"] {
        run(&["dlq", verb, "no-such-id"]).await.refused(3, "SL2002");
    }

    let search = |version: u64| {
        json!({"kind": "search", "order_id": "o-1", "version": version, "deleted": false})
            .to_string()
    };
    let row = sagaline_archive::Row::from_record(
        &sagaline_stream::Record::decode(&record("o-1", 1).to_string()).unwrap(),
        &sagaline_archive::Redaction::new("", None),
    );
    let row = json!({"kind": "archive", "row": row.unwrap()}).to_string();
    let fresh = send(&place, SEARCH, &search(1)).await;
    let archived = send(&place, ARCHIVE, &row).await;
    let pointer = send(&place, SEARCH, &document("shop-saga", None)).await;
    let garbage = send(&place, ARCHIVE, "garbage").await;

    let listed = run(&["dlq", "ls", "--json"]).await.ok().json();
    let mut kinds: Vec<_> = listed["dlq"].as_array().unwrap().iter().collect();
    kinds.sort_by_key(|row| row["kind"].as_str());
    let kinds: Vec<_> = kinds
        .iter()
        .map(|row| (row["kind"].as_str().unwrap(), row["id"].as_str().unwrap()))
        .collect();
    assert_eq!(kinds.len(), 4);
    assert_eq!(
        kinds[2..],
        [
            ("pointer", pointer.as_str()),
            ("unusable", garbage.as_str())
        ]
    );
    let shown = run(&["dlq", "show", &archived]).await.ok();
    assert!(shown.out.contains("\"archive\""), "{}", shown.out);

    // First only one, then all of one queue, then the rest.
    let said = run(&["dlq", "redrive", &fresh, "--json"]).await.ok().json();
    assert_eq!(
        verdicts(&said),
        [(fresh.as_str(), "write the head, which is at v1")]
    );
    let said = run(&["dlq", "redrive", &fresh, "--yes", "--json"]).await;
    assert_eq!(verdicts(&said.ok().json()), [(fresh.as_str(), "done")]);
    assert_eq!(index.versions().await["o-1"], (1, false));
    let old = send(&place, SEARCH, &search(0)).await;
    let said = run(&["dlq", "redrive", &old, "--yes", "--json"]).await;
    assert_eq!(verdicts(&said.ok().json()), [(old.as_str(), "stale")]);
    let archive = [
        "dlq", "redrive", "--all", "--who", "archive", "--yes", "--json",
    ];
    let said = run(&archive).await.refused(4, "SL3007").json();
    assert_eq!(totals(&said, DONE), [1, 0, 1, 1]);
    assert_eq!(place.waiting(place.output(SEARCH)).await, 1);
    assert_eq!(place.waiting(place.output(ARCHIVE)).await, 1);

    // What is left is seen at once by the next command: it was given back.
    let said = run(&["dlq", "drop", &pointer, &garbage, "--json"]).await;
    assert_eq!(said.ok().json()["dropped"].as_array().unwrap().len(), 2);
    run(&["dlq", "drop", &pointer, "no-such-id", "--yes"])
        .await
        .refused(3, "SL2002");
    assert_eq!(place.waiting(place.output(SEARCH)).await, 1);
    run(&["dlq", "drop", &pointer, &garbage, "--yes"])
        .await
        .ok();
    for queue in [SEARCH, ARCHIVE] {
        assert_eq!(place.waiting(place.output(queue)).await, 0);
    }
}
