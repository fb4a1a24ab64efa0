//! What an operator's script does to heads past the one commit function.

use sagaline_order::{Order, OrderId};
use sagaline_store::{AttributeValue, Item};
use serde_json::json;

use crate::support::{Pipeline, SOON, until};

// C-03, C-07, C-11, C-31
#[tokio::test]
async fn heads_that_a_script_removes_replaces_or_spoils_are_shown_as_they_are_and_block_nobody() {
    let mut pipeline = Pipeline::start("script").await;
    pipeline.shelve("tea", 10).await;
    for id in ["o-gone", "o-replaced"] {
        pipeline.place_order(id, "tea:1:100", "tok_visa").await;
    }
    pipeline.at_rest().await;

    let (table, client) = (
        pipeline.place.var("ORDERS_TABLE").to_owned(),
        pipeline.place.dynamodb(),
    );
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let number = |digits: &str| AttributeValue::N(digits.to_owned());
    let head = async |id: &str| {
        pipeline
            .store
            .load_item(&OrderId::stored(id))
            .await
            .unwrap()
            .unwrap()
    };
    let put = async |item: Item| {
        client
            .put_item()
            .table_name(&table)
            .set_item(Some(item))
            .send()
            .await
            .unwrap();
    };
    for id in ["o-gone", "o-replaced"] {
        let item = head(id).await;
        let delete = client
            .delete_item()
            .table_name(&table)
            .key("PK", item["PK"].clone());
        if id == "o-replaced" {
            delete.key("SK", item["SK"].clone()).send().await.unwrap();
            let mut item = item;
            item.insert("version".to_owned(), number("9"));
            put(item).await;
        } else {
            delete.key("SK", item["SK"].clone()).send().await.unwrap();
        }
    }
    let bare = |id: &str| {
        let key = [
            ("PK", format!("ORDER#{id}")),
            ("SK", "ORDER#DETAIL".to_owned()),
        ];
        let mut item: Item = key
            .into_iter()
            .map(|(name, key)| (name.to_owned(), text(&key)))
            .collect();
        item.insert("due_pk".to_owned(), text("DUE#1"));
        item
    };
    let mut spoilt = bare("o-spoilt");
    spoilt.insert("version".to_owned(), text("three"));
    put(spoilt).await;
    let mut rich = bare("o-rich");
    rich.remove("due_pk");
    rich.insert("version".to_owned(), number("1"));
    rich.insert("total_minor".to_owned(), number("18446744073709551617"));
    put(rich).await;
    pipeline
        .place_order("o-after", "tea:1:100", "tok_visa")
        .await;
    pipeline
        .until("o-after", "announced", Order::is_published)
        .await;
    pipeline.at_rest().await;

    let seen = pipeline.index.versions().await;
    let expected = [
        ("o-after", (4, false)),
        ("o-gone", (5, true)),
        ("o-replaced", (9, false)),
    ];
    assert_eq!(
        seen,
        expected.map(|(id, seen)| (id.to_owned(), seen)).into()
    );
    assert_eq!(
        pipeline.index.found(&json!({"sort": ["order_id"]})).await,
        ["o-after", "o-replaced"]
    );
    let select = "SELECT order_id, version, event_name, new_image IS NULL AS gone FROM order_changes WHERE order_id IN ('o-gone', 'o-replaced') AND version > 4 ORDER BY order_id, version";
    let row = |row: [&str; 4]| row.map(|text| Some(text.to_owned())).to_vec();
    let expected = [
        row(["o-gone", "5", "REMOVE", "true"]),
        row(["o-replaced", "5", "REMOVE", "true"]),
        row(["o-replaced", "9", "INSERT", "false"]),
    ];
    until("the archive has what the script did", SOON, async || {
        let table = pipeline.place.archive().query(select, |_| {}).await;
        (table.unwrap().rows == expected).then_some(())
    })
    .await;
    let digits = r#"{"N":"18446744073709551617"}"#;
    until(
        "the archive has every digit of the amount",
        SOON,
        async || {
            let rich = pipeline.place.archive().changes("o-rich").await.unwrap();
            let mut texts = rich.rows.iter().flatten().flatten();
            texts.any(|text| text.contains(digits)).then_some(())
        },
    )
    .await;
    let parked = pipeline
        .place
        .objects(pipeline.place.var("PARK_BUCKET"))
        .await;
    let parts = parked.iter().filter_map(|key| key.strip_prefix("parked/"));
    let mut who: Vec<_> = parts.map(|key| key.split('/').next().unwrap()).collect();
    who.sort_unstable();
    assert_eq!(who, ["projector", "saga", "search"], "{parked:?}");
    let ledger = pipeline.gateway.ledger();
    assert!(
        ledger
            .values()
            .all(|account| account.calls.payments == 1 && account.calls.refunds == 0),
        "no step ran again"
    );
    pipeline.stop().await;
}
