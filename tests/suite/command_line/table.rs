//! `sagaline table`: items, queries, sizes, files of orders and settings, on the real table.

mod doctor;
mod export;
mod size;

use serde_json::{Value, json};

use super::create;
use crate::support::{Place, unique};

/// An order of its own: its id, its user's and its product's.
pub(super) async fn order(place: &Place) -> (String, String, String) {
    let (id, user, sku) = (unique("o"), unique("u"), unique("mug"));
    let line = format!("{sku}:2:1250");
    place.json(&create(&id, &user, &unique("r"), &line)).await;
    (id, user, sku)
}

#[tokio::test]
async fn items_are_shown_with_what_they_are() {
    let place = Place::shared().await;
    let (id, user, sku) = order(&place).await;
    let head = place.json(&["table", "get", &format!("ORDER#{id}")]).await;
    assert_eq!(
        (&head["type"], &head["parts"]),
        (&json!("order_head"), &json!({"order": id}))
    );
    assert_eq!(head["item"]["total_minor"], 2500);
    assert_eq!(
        head["indexes"].as_array().unwrap().len(),
        3,
        "due, by_status and by_updated"
    );
    let shown = place
        .sagaline(&["table", "get", &format!("ORDER#{id}")])
        .await
        .ok()
        .out;
    for part in [
        "order head",
        "25.00 EUR",
        "index by_status, shard",
        "listed in due",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    for (key, kind) in [
        (format!("ORDER#{id}/HISTORY#0000000001"), "history"),
        (format!("USER#{user}"), "user_metrics"),
    ] {
        assert_eq!(place.json(&["table", "get", &key]).await["type"], kind);
    }
    place.json(&["stock", "set", &sku, "5"]).await;
    assert_eq!(
        place
            .json(&["table", "get", &format!("PRODUCT#{sku}")])
            .await["type"],
        "inventory"
    );
    // Exactly as stored, and readable again.
    let raw = place.json(&["table", "raw", &format!("ORDER#{id}")]).await;
    assert_eq!(raw["total_minor"], json!({"N": "2500"}));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), raw.to_string()).unwrap();
    let of_file = place
        .json(&["table", "size", file.path().to_str().unwrap()])
        .await;
    assert_eq!(of_file["bytes"], head["bytes"]);
    assert_eq!(
        of_file,
        place.json(&["table", "size", &format!("ORDER#{id}")]).await
    );
}

#[tokio::test]
async fn partitions_are_listed_page_by_page_from_table_and_index() {
    let place = Place::shared().await;
    let (id, user, _) = order(&place).await;
    place
        .json(&["cancel", &id, "--reason", "changed my mind"])
        .await;
    let pk = format!("ORDER#{id}");
    let all = place
        .json(&["table", "query", "--pk", &pk, "--strong"])
        .await;
    let keys = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap().iter();
        items
            .map(|item| item["key"]["sk"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(
        all["count"].as_u64().unwrap() >= 3,
        "two versions and the head: {all}"
    );
    let (mut seen, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let mut arguments = vec!["table", "query", "--pk", &pk, "--strong", "--limit", "1"];
        if let Some(cursor) = &cursor {
            arguments.extend(["--cursor", cursor]);
        }
        let page = place.json(&arguments).await;
        seen.extend(keys(&page));
        let Some(next) = page["next"].as_str() else {
            break;
        };
        cursor = Some(next.to_owned());
    }
    assert_eq!(seen, keys(&all), "page size 1");
    let prefix = place
        .json(&[
            "table",
            "query",
            "--pk",
            &pk,
            "--sk-prefix",
            "HISTORY#",
            "--reverse",
        ])
        .await;
    let oldest = prefix["items"].as_array().unwrap().last().unwrap();
    assert_eq!(oldest["parts"]["version"], "1");
    let users = place
        .json(&[
            "table",
            "query",
            "--pk",
            &format!("USER#{user}"),
            "--between",
            "USER#ORDERS#2000",
            "USER#ORDERS#9999",
        ])
        .await;
    assert_eq!(users["items"][0]["parts"]["order"], json!(id));
    // The order's own shard of the day's list.
    let head = place.json(&["table", "get", &pk]).await;
    let day = head["item"]["updated_pk"].as_str().unwrap();
    let listed = place
        .json(&[
            "table",
            "query",
            "--pk",
            day,
            "--index",
            "by_updated",
            "--limit",
            "1000",
        ])
        .await;
    assert!(
        listed.to_string().contains(&format!("\"{pk}\"")),
        "{listed}"
    );
    let arguments = ["table", "query", "--pk", &pk, "--index", "due", "--strong"];
    place.sagaline(&arguments).await.refused(2, "SL0001");
}

/// One wrong input: what is asked, the kinds of the hints, and what must stand in what was meant.
async fn wrong(place: &Place, asked: &[&str], kinds: &[&str], meant: &str) {
    let arguments = [&["table"], asked].concat();
    let said = place
        .sagaline(&[&arguments[..], &["--json"]].concat())
        .await;
    let said = said.refused(3, "SL2003");
    let why = &said.json()["why"];
    let found: Vec<_> = why["hints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hint| hint["kind"].as_str().unwrap())
        .collect();
    assert_eq!(found, kinds, "{asked:?}: {why:#}");
    assert!(
        why["meant"].to_string().contains(meant),
        "{asked:?}: {why:#}"
    );
    let people = place.sagaline(&arguments).await.refused(3, "SL2003");
    if !meant.is_empty() {
        assert!(
            people.err.contains("this is there: sagaline table "),
            "{}",
            people.err
        );
    }
}

#[tokio::test]
async fn each_wrong_key_gets_the_right_hint_and_what_was_meant() {
    let place = Place::shared().await;
    let (id, user, sku) = order(&place).await;
    let head = place.json(&["table", "get", &format!("ORDER#{id}")]).await;
    let created = head["item"]["created_at"].as_str().unwrap();
    let (pk, user_pk) = (format!("ORDER#{id}"), format!("USER#{user}"));

    // Wrong case.
    wrong(&place, &["get", &format!("order#{id}")], &["case"], &pk).await;
    wrong(
        &place,
        &[
            "query",
            "--pk",
            &format!("user#{user}"),
            "--sk-prefix",
            "user#orders#",
        ],
        &["case"],
        &user_pk,
    )
    .await;
    // Spaces and dashes in a time: the very time of the order, as attributes have it.
    let dashed = format!("USER#ORDERS#{created}#{id}");
    wrong(
        &place,
        &["get", "--pk", &user_pk, "--sk", &dashed],
        &["time_form"],
        "table get",
    )
    .await;
    let spaced = format!("USER#ORDERS#{} {}", &created[..10], &created[11..16]);
    wrong(
        &place,
        &["query", "--pk", &user_pk, "--sk-prefix", &spaced],
        &["time_form"],
        "--sk-prefix",
    )
    .await;
    // A local time, with its offset.
    let at = sagaline_order::Timestamp::parse(created).unwrap();
    let local = at
        .plus(sagaline_order::Seconds(7200))
        .rfc3339()
        .replace('Z', "+02:00");
    let local = format!("USER#ORDERS#{local}#{id}");
    wrong(
        &place,
        &["get", "--pk", &user_pk, "--sk", &local],
        &["local_time"],
        "table get",
    )
    .await;
    // What is no partition key: a sort key, an attribute, a bare id, an index's partition.
    wrong(
        &place,
        &["query", "--pk", "HISTORY#0000000001"],
        &["not_the_partition_key"],
        "",
    )
    .await;
    wrong(
        &place,
        &["query", "--pk", "status = UNPAID"],
        &["not_the_partition_key"],
        "--index by_status",
    )
    .await;
    wrong(
        &place,
        &["query", "--pk", &id],
        &["not_the_partition_key"],
        &pk,
    )
    .await;
    let due = head["item"]["due_pk"].as_str().unwrap();
    wrong(
        &place,
        &["query", "--pk", due],
        &["wrong_index"],
        "--index due",
    )
    .await;
    wrong(
        &place,
        &["get", "--pk", "ORDER#DETAIL", "--sk", &pk],
        &["not_the_partition_key"],
        &pk,
    )
    .await;
    // A missing shard.
    let orders = [
        "query",
        "--pk",
        &format!("PRODUCT#{sku}"),
        "--sk-prefix",
        "PRODUCT#ORDERS#",
    ];
    wrong(
        &place,
        &orders,
        &["missing_shard"],
        &format!("PRODUCT#{sku}#"),
    )
    .await;
    // Nothing is wrong with the key: there is no such order.
    wrong(
        &place,
        &["get", &format!("ORDER#{}", unique("none"))],
        &[],
        "",
    )
    .await;
}

#[tokio::test]
async fn partiql_selects_and_warns_before_it_scans() {
    let place = Place::shared().await;
    let (id, ..) = order(&place).await;
    let table = place.var("ORDERS_TABLE");
    let one = format!(
        "SELECT order_id, total_minor FROM \"{table}\" WHERE PK = 'ORDER#{id}' AND SK = 'ORDER#DETAIL'"
    );
    let found = place.json(&["table", "partiql", &one]).await;
    assert_eq!(
        found["items"],
        json!([{"order_id": id, "total_minor": 2500}])
    );
    assert!(
        found["read_units"].is_number() && found["bytes"].as_u64() > Some(0),
        "{found}"
    );
    let scan = format!("SELECT PK FROM \"{table}\" WHERE total_minor > 1");
    let refused = place
        .sagaline(&["table", "partiql", &scan])
        .await
        .refused(2, "SL0002");
    assert!(
        refused.err.contains("would scan") && refused.err.contains("--yes"),
        "{}",
        refused.err
    );
    let said = place
        .sagaline(&["table", "partiql", &scan, "--yes", "--limit", "1", "--json"])
        .await
        .ok();
    assert!(said.err.contains("warning: this scans"), "{}", said.err);
    assert_eq!(said.json()["count"], 1);
    let write = format!(
        "UPDATE \"{table}\" SET status = 'CONFIRMED' WHERE PK = 'ORDER#{id}' AND SK = 'ORDER#DETAIL'"
    );
    let refused = place
        .sagaline(&["table", "partiql", &write, "--yes"])
        .await
        .refused(2, "SL0002");
    assert!(refused.err.contains("request guard"), "{}", refused.err);
    let index =
        format!("SELECT PK FROM \"{table}\".\"by_status\" WHERE status_pk = 'STATUS#UNPAID#0'");
    place
        .sagaline(&["table", "partiql", &index, "--strong"])
        .await
        .refused(2, "SL0002");
    place.sagaline(&["table", "partiql", &index]).await.ok();
}
