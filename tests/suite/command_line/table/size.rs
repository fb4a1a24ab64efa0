//! The size arithmetic against what the emulator charges.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{
    AttributeValue, ConsumedCapacity, Put, ReturnConsumedCapacity, TransactWriteItem,
};
use serde_json::{Value, json};

use crate::support::{Place, unique};

/// An item of exactly `bytes` bytes, in two indexes.
fn item(id: &str, bytes: usize) -> HashMap<String, AttributeValue> {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let mut item = HashMap::from([
        ("PK".to_owned(), text(&format!("ORDER#{id}"))),
        ("SK".to_owned(), text("SIZE")),
        ("due_pk".to_owned(), text("DUE#0")),
        ("due_sk".to_owned(), text("20000101T000000.000Z#x")),
        ("status_pk".to_owned(), text("STATUS#TEST#0")),
        ("status_sk".to_owned(), text(&"9".repeat(900))),
        ("user_id".to_owned(), text(&"u".repeat(200))),
        (
            "total_minor".to_owned(),
            AttributeValue::N("1250".to_owned()),
        ),
        ("flag".to_owned(), AttributeValue::Bool(true)),
        (
            "more".to_owned(),
            AttributeValue::L(vec![
                AttributeValue::Null(true),
                AttributeValue::M(HashMap::from([("a".to_owned(), text("ü"))])),
            ]),
        ),
        ("pad".to_owned(), text("")),
    ]);
    let missing = bytes - sagaline_store::size::item_bytes(&item);
    item.insert("pad".to_owned(), text(&"x".repeat(missing)));
    item
}

/// What the command says of an item.
async fn said(place: &Place, id: &str) -> Value {
    place
        .json(&["table", "size", &format!("ORDER#{id}/SIZE")])
        .await
}

fn of_table(capacity: Option<&ConsumedCapacity>) -> Value {
    json!(
        capacity
            .and_then(ConsumedCapacity::table)
            .and_then(|table| table.capacity_units())
    )
}

#[tokio::test]
async fn units_are_those_that_the_emulator_charges_at_every_edge() {
    let place = Place::shared().await;
    let (client, table) = (place.dynamodb(), place.var("ORDERS_TABLE"));
    let all = ReturnConsumedCapacity::Indexes;
    for bytes in [2000, 2048, 2049, 4096, 4097, 8192, 8193, 40_960] {
        let id = unique("size");
        let put = client
            .put_item()
            .table_name(table)
            .set_item(Some(item(&id, bytes)));
        let put = put
            .return_consumed_capacity(all.clone())
            .send()
            .await
            .unwrap();
        let said = said(&place, &id).await;
        assert_eq!(said["bytes"], bytes);
        let charged = put.consumed_capacity();
        let same = |told: &Value, charged: Value, what: &str| {
            assert_eq!(told.as_f64(), charged.as_f64(), "{what} of {bytes} bytes");
        };
        same(
            &said["write_units"]["standard"],
            of_table(charged),
            "a write",
        );
        // New entries in both indexes; the large one takes two units.
        let entries = charged.unwrap().global_secondary_indexes().unwrap();
        assert_eq!(said["indexes"].as_array().unwrap().len(), entries.len());
        for entry in said["indexes"].as_array().unwrap() {
            let index = entry["index"].as_str().unwrap();
            same(
                &entry["write_units"],
                json!(entries[index].capacity_units()),
                index,
            );
        }
        assert_eq!(said["indexes"][1]["write_units"], 2, "{said}");

        let again = Put::builder()
            .table_name(table)
            .set_item(Some(item(&id, bytes)))
            .build()
            .unwrap();
        let written = client
            .transact_write_items()
            .transact_items(TransactWriteItem::builder().put(again).build());
        let written = written
            .return_consumed_capacity(all.clone())
            .send()
            .await
            .unwrap();
        let total = written
            .consumed_capacity()
            .first()
            .and_then(ConsumedCapacity::capacity_units);
        same(
            &said["write_units"]["transactional"],
            json!(total),
            "a write in a transaction",
        );

        // It charges every read as one of a small item; reads are compared with the emulator of the store's tests.
        assert_eq!(
            said["read_units"]["transactional"].as_f64(),
            said["read_units"]["strong"]
                .as_f64()
                .map(|units| units * 2.0)
        );
        assert_eq!(
            said["read_units"]["eventual"].as_f64(),
            said["read_units"]["strong"]
                .as_f64()
                .map(|units| units / 2.0)
        );
        let delete = client.delete_item().table_name(table).set_key(Some(
            item(&id, bytes)
                .into_iter()
                .filter(|(name, _)| name == "PK" || name == "SK")
                .collect(),
        ));
        delete.send().await.unwrap();
    }
}

#[tokio::test]
async fn many_items_of_a_file_are_summed_and_bad_ones_are_named() {
    let place = Place::shared().await;
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let lines: Vec<_> = (1..=100)
        .map(|nth| json!({"a": {"S": "x".repeat(nth * 10 - 1)}}).to_string())
        .collect();
    let many = place
        .json(&["table", "size", &write("many.ndjson", &lines.join("\n"))])
        .await;
    assert_eq!(many["items"], 100);
    assert_eq!(
        many["bytes"],
        json!({"min": 10, "p50": 500, "p90": 900, "p99": 990, "max": 1000, "total": 50_500})
    );
    let bad = write("bad.ndjson", &format!("{}\n{{\"a\":", lines[0]));
    let refused = place
        .sagaline(&["table", "size", &bad])
        .await
        .refused(2, "SL0002");
    assert!(refused.err.contains("item 2"), "{}", refused.err);
    place
        .sagaline(&["table", "size", &write("empty", "")])
        .await
        .refused(2, "SL0002");
    place
        .sagaline(&["table", "size", "no-such-file"])
        .await
        .refused(2, "SL0003");
}
