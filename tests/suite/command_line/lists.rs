//! `sagaline ls`: every list from outside, page by page, and what it refuses.

use serde_json::{Value, json};

use super::create;
use crate::support::{Place, unique};

fn ids(listed: &Value) -> Vec<&str> {
    let orders = listed["orders"].as_array().unwrap().iter();
    orders
        .map(|order| order["order_id"].as_str().unwrap())
        .collect()
}

/// A list to its end, by pages of this size.
async fn all(place: &Place, args: &[&str], size: &str) -> Vec<String> {
    let (mut found, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let mut args = [args, &["--limit", size]].concat();
        if let Some(cursor) = &cursor {
            args.extend(["--cursor", cursor]);
        }
        let listed = place.json(&args).await;
        found.extend(ids(&listed).into_iter().map(str::to_owned));
        match listed["next"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return found,
        }
    }
}

async fn three(place: &Place) {
    for number in 1..=3 {
        let [id, request] = ["o", "r"].map(|what| format!("{what}-{number}"));
        let args = create(&id, "u-1", &request, "mug:2:1250");
        assert_eq!(place.json(&args).await["result"], "created");
    }
}

#[tokio::test]
async fn every_list_goes_on_behind_its_cursor_and_no_other_list_does() {
    let place = Place::fresh("lists").await;
    three(&place).await;
    let newest = ["o-3", "o-2", "o-1"];
    let oldest = ["o-1", "o-2", "o-3"];
    for size in ["1", "2", "50"] {
        for args in [
            &["ls", "--user", "u-1"][..],
            &["ls", "--status", "UNPAID"],
            &["ls", "--state", "Placed"],
            &["ls", "--product", "mug"],
        ] {
            assert_eq!(all(&place, args, size).await, newest, "{args:?} by {size}");
        }
        let args = ["ls", "--changed-since", "2026-01-01"];
        assert_eq!(all(&place, &args, size).await, oldest, "{args:?} by {size}");
    }
    assert_eq!(
        all(&place, &["ls", "--state", "Paying"], "50").await,
        [""; 0]
    );
    assert_eq!(
        all(&place, &["ls", "--user", "u-1", "--to", "2026-01-01"], "50").await,
        [""; 0]
    );
    assert_eq!(
        all(
            &place,
            &["ls", "--user", "u-1", "--from", "2026-01-01"],
            "2"
        )
        .await,
        newest
    );
    let totals = place.json(&["ls", "--product", "mug", "--totals"]).await;
    assert_eq!(totals, json!({"sku": "mug", "orders": 3, "qty": 6}));

    let page = place.json(&["ls", "--user", "u-1", "--limit", "1"]).await;
    let cursor = page["next"].as_str().unwrap();
    for args in [
        &["ls", "--user", "u-2"][..],
        &["ls", "--status", "UNPAID"],
        &["ls", "--user", "u-1", "--from", "2026-01-01"],
    ] {
        let said = place
            .sagaline(&[args, &["--cursor", cursor]].concat())
            .await;
        said.refused(2, "SL0002");
    }
    let cut = &cursor[..cursor.len() - 4];
    place
        .sagaline(&["ls", "--user", "u-1", "--cursor", cut])
        .await
        .refused(2, "SL0002");
    // As it was called before.
    let rest = place
        .json(&["ls", "--user", "u-1", "--after", cursor])
        .await;
    assert_eq!(ids(&rest), ["o-2", "o-1"]);
    let people = place
        .sagaline(&["ls", "--user", "u-1", "--limit", "2"])
        .await
        .ok();
    assert!(
        people.out.contains("25.00") && !people.out.contains("o-1"),
        "{}",
        people.out
    );
    assert!(people.err.contains("more: --cursor "), "{}", people.err);
}

#[tokio::test]
async fn what_waits_for_a_person_is_stuck_and_what_nobody_woke_is_overdue() {
    let place = Place::fresh("stuck").await;
    three(&place).await;
    assert_eq!(
        place.json(&["ls", "--stuck"]).await,
        json!({"orders": [], "next": null})
    );
    place
        .sagaline(&["park", "o-2", "--reason", "the customer called", "--yes"])
        .await
        .ok();
    let stuck = place.json(&["ls", "--stuck"]).await;
    assert_eq!(ids(&stuck), ["o-2"]);
    let attention = &stuck["orders"][0]["attention"];
    assert!(
        attention["reason"]
            .as_str()
            .unwrap()
            .contains("the customer called"),
        "{attention}"
    );
    assert_eq!(
        ids(&place.json(&["ls", "--state", "NeedsOperator"]).await),
        ["o-2"]
    );
    assert_eq!(
        ids(&place.json(&["ls", "--state", "Placed"]).await),
        ["o-3", "o-1"]
    );

    // An order without a pipeline is overdue when its wake time has passed.
    let store = place.store();
    let id = sagaline_order::OrderId::stored("o-1");
    let mut item = store.load_item(&id).await.unwrap().unwrap();
    let past = sagaline_order::Timestamp::parse("2026-01-31T08:30:00Z").unwrap();
    item.insert(
        "due_sk".to_owned(),
        sagaline_store::value::s(format!("{}#o-1", past.basic())),
    );
    item.insert(
        "wake_at".to_owned(),
        sagaline_store::value::s(past.rfc3339()),
    );
    let put = place
        .dynamodb()
        .put_item()
        .table_name(place.var("ORDERS_TABLE"));
    put.set_item(Some(item.clone())).send().await.unwrap();
    let overdue = place.json(&["ls", "--overdue"]).await;
    assert_eq!(ids(&overdue), ["o-1"]);
    assert!(overdue["orders"][0]["overdue_s"].as_i64().unwrap() > 86_400);
    // One that cannot be read is listed as such and hides no other.
    item.insert("PK".to_owned(), sagaline_store::value::s("ORDER#o-0"));
    item.insert("version".to_owned(), sagaline_store::value::s("x"));
    let put = place
        .dynamodb()
        .put_item()
        .table_name(place.var("ORDERS_TABLE"));
    put.set_item(Some(item)).send().await.unwrap();
    let overdue = place.json(&["ls", "--overdue"]).await;
    assert_eq!(ids(&overdue), ["o-0", "o-1"]);
    assert!(
        overdue["orders"][0]["error"]
            .as_str()
            .unwrap()
            .contains("version"),
        "{overdue}"
    );
}

#[tokio::test]
async fn orders_are_found_by_the_phone_under_every_key_it_was_hashed_with() {
    let place = Place::fresh("phones").await;
    let keys = |current: &str| {
        let keys = json!({"k1": "aGVsbG8=", "k2": "d29ybGQ="});
        json!({"current": current, "keys": keys}).to_string()
    };
    let folder = tempfile::tempdir().unwrap();
    for (number, current) in [(1, "k1"), (2, "k2")] {
        let secret = secret(&place, &keys(current)).await;
        let order = json!({"order_id": format!("o-{number}"), "user_id": format!("u-{number}"), "currency": "EUR",
            "lines": [{"sku": "mug", "qty": 1, "unit_minor": 100}], "phone": "+4915112345678"});
        let file = folder.path().join(format!("{number}.ndjson"));
        std::fs::write(&file, format!("{order}\n")).unwrap();
        let vars = [("HASH_KEYS_SECRET", secret.as_str())];
        place
            .sagaline_in(&vars, &["import", file.to_str().unwrap()])
            .await
            .ok();
    }
    let secret = secret(&place, &keys("k2")).await;
    let vars = [("HASH_KEYS_SECRET", secret.as_str())];
    let ls = async |args: &[&str]| {
        place
            .sagaline_in(&vars, &[&["ls", "--json"], args].concat())
            .await
    };
    let found = ls(&["--phone", "+4915112345678"]).await.ok().json();
    assert_eq!(ids(&found), ["o-2", "o-1"]);
    assert_eq!(
        ids(&ls(&["--phone", "+4915112345679"]).await.ok().json()),
        [""; 0]
    );
    // The cursor is signed with the secret: another process without it does not take it.
    let page = ls(&["--phone", "+4915112345678", "--limit", "1"])
        .await
        .ok()
        .json();
    let cursor = page["next"].as_str().unwrap();
    let rest = ls(&["--phone", "+4915112345678", "--cursor", cursor])
        .await
        .ok()
        .json();
    assert_eq!(ids(&rest), ["o-1"]);
    let page = ls(&["--product", "mug", "--limit", "1"]).await.ok().json();
    let cursor = page["next"].as_str().unwrap();
    place
        .sagaline(&["ls", "--product", "mug", "--cursor", cursor])
        .await
        .refused(2, "SL0002");
    place
        .sagaline(&["ls", "--phone", "+4915112345678"])
        .await
        .refused(2, "SL1001");
}

/// A secret of this test; its name.
async fn secret(place: &Place, text: &str) -> String {
    let name = unique("hash-keys");
    let asked = reqwest::Client::new()
        .post(place.var("AWS_ENDPOINT_URL"))
        .header("X-Amz-Target", "secretsmanager.CreateSecret")
        .header("Content-Type", "application/x-amz-json-1.1")
        .header("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/secretsmanager/aws4_request, SignedHeaders=host, Signature=0")
        .body(json!({"Name": name, "SecretString": text}).to_string());
    asked.send().await.unwrap().error_for_status().unwrap();
    name
}

#[tokio::test]
async fn a_list_that_does_not_exist_or_cannot_be_meant_is_refused_before_anyone_is_asked() {
    let place = Place::shared().await;
    for (args, code) in [
        (&["ls"][..], "SL0001"),
        (&["ls", "--user", "u-1", "--status", "UNPAID"], "SL0001"),
        (&["ls", "--state", "Confirmed"], "SL0001"),
        (&["ls", "--state", "confirmed"], "SL0001"),
        (&["ls", "--totals", "--user", "u-1"], "SL0001"),
        (&["ls", "--user", "u 1"], "SL0002"),
        (&["ls", "--user", "u-1", "--limit", "0"], "SL0001"),
        (&["ls", "--user", "u-1", "--from", "yesterday"], "SL0002"),
        (
            &[
                "ls",
                "--user",
                "u-1",
                "--from",
                "2026-02-01",
                "--to",
                "2026-01-01",
            ],
            "SL0002",
        ),
        (&["ls", "--refunds", "2026-02-30"], "SL0002"),
        (&["ls", "--refunds", "2026-02-02..2026-02-01"], "SL0002"),
        (&["ls", "--changed-since", "9000-01-01"], "SL0002"),
        (&["ls", "--phone", "015112345678"], "SL0002"),
        (&["ls", "--user", "u-1", "--cursor", "x"], "SL0002"),
    ] {
        place.sagaline(args).await.refused(2, code);
    }
    place
        .sagaline(&["ls", "--payment-id", "p-none"])
        .await
        .refused(3, "SL2001");
    assert_eq!(
        place.json(&["ls", "--refunds", "2001-02-03"]).await,
        json!({"refunds": [], "next": null})
    );
}
