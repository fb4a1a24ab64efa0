//! Sizes against an endpoint's own account: an item of exactly so many bytes by our arithmetic is charged as such, and one byte more as the next
//! unit. Ask an endpoint that reports consumed capacity; AWS does, and so do the emulators.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{
    AttributeValue, ConsumedCapacity, Put, ReturnConsumedCapacity, TransactWriteItem,
};
use sagaline_store::size::{READ_UNIT_BYTES, Units, WRITE_UNIT_BYTES, item_bytes};
use sagaline_store::value::{from_json, n, s};
use sagaline_store::{Item, PK, SK};
use serde_json::json;

use super::Names;

/// Every kind of value, and mixes of them.
fn shapes() -> Vec<(&'static str, Vec<(&'static str, AttributeValue)>)> {
    let texts = ["a", "äö"].map(str::to_owned).to_vec();
    vec![
        ("text", vec![("a", s("äö€"))]),
        ("binary", vec![("a", AttributeValue::B(Blob::new([7; 9])))]),
        (
            "flags",
            vec![
                ("a", AttributeValue::Bool(true)),
                ("b", AttributeValue::Null(true)),
            ],
        ),
        ("a small number", vec![("a", n(7))]),
        (
            "numbers",
            vec![
                ("a", n(1250)),
                ("b", n(100)),
                ("c", n(12345)),
                ("d", n("12345678901234567890123456789012345678")),
            ],
        ),
        ("a negative number", vec![("a", n(-1250))]),
        ("a fraction", vec![("a", n("10.5")), ("b", n("0.001"))]),
        ("zero", vec![("a", n(0))]),
        (
            "empty collections",
            vec![("a", from_json(&json!([]))), ("b", from_json(&json!({})))],
        ),
        (
            "lists and maps",
            vec![(
                "a",
                from_json(&json!([1, "two", {"three": [null, true, {"deep": "x"}]}])),
            )],
        ),
        (
            "sets",
            vec![
                ("a", AttributeValue::Ss(texts)),
                (
                    "b",
                    AttributeValue::Ns(vec!["1".to_owned(), "250".to_owned()]),
                ),
            ],
        ),
    ]
}

/// What an endpoint charges for an item, and what [`Units`] says. In halves of a unit: a write, one in a transaction, a strong read, an eventual
/// one (F-CAP-2, F-CAP-3, F-TX-8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The kind of item.
    pub what: &'static str,
    /// Its size by our arithmetic.
    pub bytes: usize,
    /// What the endpoint said.
    pub charged: [u64; 4],
    /// What we say.
    pub expected: [u64; 4],
}

/// Puts and reads items at the edges of the units, and says where the endpoint charges another amount.
///
/// # Panics
/// If the endpoint refuses, or does not say what it charged.
pub async fn differences(client: &Client, table: &str) -> Vec<Difference> {
    let names = Names::fresh();
    let mut differences = Vec::new();
    for (what, attributes) in shapes() {
        for bytes in [WRITE_UNIT_BYTES, READ_UNIT_BYTES] {
            for bytes in [bytes, bytes + 1] {
                let item = filled(&names.name(what), &attributes, bytes);
                let units = Units::of(bytes);
                let expected = [
                    units.write * 2,
                    units.write * 4,
                    units.strong_read * 2,
                    units.strong_read,
                ];
                let charged = [
                    put(client, table, item.clone()).await,
                    transact(client, table, item.clone()).await,
                    get(client, table, &item, true).await,
                    get(client, table, &item, false).await,
                ];
                if charged != expected {
                    differences.push(Difference {
                        what,
                        bytes,
                        charged,
                        expected,
                    });
                }
            }
        }
    }
    differences
}

/// An item of exactly so many bytes by our arithmetic.
fn filled(pk: &str, attributes: &[(&str, AttributeValue)], bytes: usize) -> Item {
    let keys = [(PK, s(pk)), (SK, s("1")), ("fill", s(""))];
    let all = keys.into_iter().chain(attributes.iter().cloned());
    let mut item: Item = all.map(|(name, value)| (name.to_owned(), value)).collect();
    let missing = bytes.checked_sub(item_bytes(&item)).expect("a small shape");
    item.insert("fill".to_owned(), s("x".repeat(missing)));
    item
}

/// Puts a new item: one that replaces a larger one would be charged as the larger (F-CAP-2).
async fn put(client: &Client, table: &str, item: Item) -> u64 {
    delete(client, table, &item).await;
    let put = client.put_item().table_name(table).set_item(Some(item));
    let put = put
        .return_consumed_capacity(ReturnConsumedCapacity::Total)
        .send()
        .await;
    halves(put.expect("a put").consumed_capacity())
}

async fn transact(client: &Client, table: &str, item: Item) -> u64 {
    delete(client, table, &item).await;
    let put = Put::builder()
        .table_name(table)
        .set_item(Some(item))
        .build();
    let put = TransactWriteItem::builder()
        .put(put.expect("a put"))
        .build();
    let request = client.transact_write_items().transact_items(put);
    let sent = request
        .return_consumed_capacity(ReturnConsumedCapacity::Total)
        .send()
        .await;
    let sent = sent.expect("a transaction");
    halves(sent.consumed_capacity().first())
}

async fn get(client: &Client, table: &str, item: &Item, consistent: bool) -> u64 {
    let get = client
        .get_item()
        .table_name(table)
        .set_key(Some(key(item)))
        .consistent_read(consistent);
    let got = get
        .return_consumed_capacity(ReturnConsumedCapacity::Total)
        .send()
        .await;
    halves(got.expect("a read").consumed_capacity())
}

async fn delete(client: &Client, table: &str, item: &Item) {
    let delete = client
        .delete_item()
        .table_name(table)
        .set_key(Some(key(item)));
    delete.send().await.expect("a delete");
}

fn key(item: &Item) -> Item {
    let part = |name: &str| (name.to_owned(), item[name].clone());
    [part(PK), part(SK)].into()
}

/// Units come as floats; all charges are whole halves.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a charge is a small number, not negative"
)]
fn halves(consumed: Option<&ConsumedCapacity>) -> u64 {
    let units = consumed.and_then(ConsumedCapacity::capacity_units);
    (units.expect("an endpoint that reports what it charges") * 2.0) as u64
}
