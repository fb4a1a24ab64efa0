//! The table as data (`infra/schema/orders.schema.json`) against the code: nothing in the one that is not in the other.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::large_futures,
    clippy::wildcard_enum_match_arm,
    reason = "the helpers of a test fail like a test; its futures run alone; the SDK's enum is open"
)]

mod common;
mod described;

use std::collections::{BTreeMap, BTreeSet};

use common::memory;
use described::{expand, item_type, one_of_each, schema};
use sagaline_order::{OrderId, PaymentId, RefundId, RequestId, Sku, Timestamp, UserId, Version};
use sagaline_store::{
    AttributeValue, DUE_SHARDS, HEAD_SK, Index, Item, Key, PK, PRODUCT_SHARDS, REFUND_SHARDS, SK,
    STATUS_SHARDS, UPDATED_SHARDS,
};
use serde_json::Value;

fn names(value: &Value) -> BTreeSet<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

/// The source files of the crate, read as text: only they know which functions there are.
fn source(file: &str) -> String {
    std::fs::read_to_string(format!("{}/src/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn every_key_builder_spells_the_templates_of_its_item_type() {
    let schema = schema();
    let order = OrderId::parse("o-1").unwrap();
    let user = UserId::parse("u-1").unwrap();
    let sku = Sku::parse("tea").unwrap();
    let at = Timestamp::parse("2026-01-31T08:30:00Z").unwrap();
    let shard = |count| order.shard(count).to_string();
    let values = BTreeMap::from([
        ("order_id", "o-1".to_owned()),
        ("user_id", "u-1".to_owned()),
        ("sku", "tea".to_owned()),
        ("request_id", "r-1".to_owned()),
        ("payment_id", "p-1".to_owned()),
        ("refund_id", "rf-1".to_owned()),
        ("phone_hash", "k1.ab".to_owned()),
        ("config_name", "saga".to_owned()),
        ("version", "0000000012".to_owned()),
        ("created", "20260131T083000.000Z".to_owned()),
        ("refunded", "20260131T083000.000Z".to_owned()),
        ("day", "2026-01-31".to_owned()),
        ("product_shard", shard(PRODUCT_SHARDS)),
        ("refund_shard", shard(REFUND_SHARDS)),
    ]);
    let built = [
        ("order_head", "head", Key::head(&order)),
        (
            "history",
            "history",
            Key::history(&order, Version::new(12).unwrap()),
        ),
        (
            "request_guard",
            "guard",
            Key::guard(&RequestId::parse("r-1").unwrap()),
        ),
        (
            "user_order",
            "user_order",
            Key::user_order(&user, at, &order),
        ),
        ("user_metrics", "metrics", Key::metrics(&user)),
        (
            "product_order",
            "product_order",
            Key::product_order(&sku, at, &order),
        ),
        ("inventory", "stock", Key::stock(&sku)),
        (
            "payment_lookup",
            "payment",
            Key::payment(&PaymentId::stored("p-1")),
        ),
        ("phone_lookup", "phone", Key::phone("k1.ab", &user)),
        (
            "refund",
            "refund",
            Key::refund(at, &order, &RefundId::stored("rf-1")),
        ),
        ("configuration", "config", Key::config("saga")),
    ];
    for (item, _, key) in &built {
        let template = |key: &str| schema["items"][item]["key"][key].as_str().unwrap();
        assert_eq!(
            (
                expand(template("partition"), &values),
                expand(template("sort"), &values)
            ),
            (key.pk.clone(), key.sk.clone()),
            "{item}"
        );
        assert_eq!(
            item_type(&schema, key),
            *item,
            "and is told apart from all others"
        );
    }
    assert_eq!(
        names(&schema["items"]),
        built.iter().map(|(item, _, _)| *item).collect(),
        "an item type without a key builder, or a builder without an item type"
    );
    let code = source("key.rs");
    let builders = code
        .split("impl Key {")
        .nth(1)
        .unwrap()
        .split("\n}\n")
        .next()
        .unwrap();
    let builders: BTreeSet<&str> = builders
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub fn "))
        .filter(|line| line.contains("-> Self"))
        .map(|line| line.split('(').next().unwrap())
        .collect();
    assert_eq!(
        builders,
        built.iter().map(|(_, builder, _)| *builder).collect(),
        "the functions of Key in src/key.rs"
    );
}

#[test]
fn shards_and_key_attributes_are_those_of_the_code() {
    let schema = schema();
    let shards: BTreeMap<&str, u64> = schema["parts"]
        .as_object()
        .unwrap()
        .iter()
        .filter_map(|(name, part)| Some((name.as_str(), part["shards"].as_u64()?)))
        .collect();
    let expected = BTreeMap::from([
        ("due_shard", u64::from(DUE_SHARDS)),
        ("status_shard", u64::from(STATUS_SHARDS)),
        ("updated_shard", u64::from(UPDATED_SHARDS)),
        ("product_shard", u64::from(PRODUCT_SHARDS)),
        ("refund_shard", u64::from(REFUND_SHARDS)),
    ]);
    assert_eq!(shards, expected);
    assert_eq!(schema["table"]["partition"]["name"], PK);
    assert_eq!(schema["table"]["sort"]["name"], SK);
    assert_eq!(schema["items"]["order_head"]["key"]["sort"], HEAD_SK);
    let listed: Vec<_> = [
        sagaline_order::Status::Unpaid,
        sagaline_order::Status::Processing,
        sagaline_order::Status::Confirmed,
        sagaline_order::Status::Shipped,
        sagaline_order::Status::Cancelled,
        sagaline_order::Status::Rejected,
        sagaline_order::Status::Exception,
    ]
    .into_iter()
    .filter(|status| status.is_indexed())
    .map(|status| status.as_str())
    .collect();
    assert_eq!(schema["parts"]["status"]["values"], Value::from(listed));
}

#[test]
fn every_index_has_the_keys_and_the_projection_of_the_code() {
    let schema = schema();
    for index in Index::ALL {
        let described = &schema["indexes"][index.name()];
        assert_eq!(
            described["partition"]["name"],
            index.partition(),
            "{index:?}"
        );
        assert_eq!(described["sort"]["name"], index.sort(), "{index:?}");
        let included = index.included();
        let kind = if included.is_empty() {
            "KEYS_ONLY"
        } else {
            "INCLUDE"
        };
        assert_eq!(described["projection"]["type"], kind, "{index:?}");
        if !included.is_empty() {
            assert_eq!(
                described["projection"]["include"],
                Value::from(included),
                "{index:?}"
            );
        }
    }
    assert_eq!(
        names(&schema["indexes"]),
        Index::ALL.map(Index::name).into()
    );
}

#[tokio::test]
async fn heads_stand_in_the_indexes_under_the_templates_of_the_schema() {
    let schema = schema();
    let (table, _) = one_of_each().await;
    let mut seen = BTreeSet::new();
    for head in table.changes(0).iter().filter_map(|change| change.after()) {
        let text = |name: &str| head.get(name).and_then(|value| value.as_s().ok()).cloned();
        if text(SK).as_deref() != Some(HEAD_SK) {
            continue;
        }
        let id = OrderId::stored(text("order_id").unwrap());
        let time = |name: &str| text(name).and_then(|at| Timestamp::parse(&at));
        let basic = |name: &str| time(name).map(Timestamp::basic).unwrap_or_default();
        let values = BTreeMap::from([
            ("order_id", id.to_string()),
            ("status", text("status").unwrap()),
            ("created", basic("created_at")),
            ("updated", basic("updated_at")),
            ("wake", basic("wake_at")),
            ("day", time("updated_at").unwrap().day()),
            ("due_shard", id.shard(DUE_SHARDS).to_string()),
            ("status_shard", id.shard(STATUS_SHARDS).to_string()),
            ("updated_shard", id.shard(UPDATED_SHARDS).to_string()),
        ]);
        for index in Index::ALL {
            let described = &schema["items"]["order_head"]["indexes"][index.name()];
            let expected = |key: &str| expand(described[key].as_str().unwrap(), &values);
            let (partition, sort) = (text(index.partition()), text(index.sort()));
            assert_eq!(partition.is_some(), sort.is_some(), "both keys or none");
            if let Some(partition) = partition {
                assert_eq!(
                    (partition, sort),
                    (expected("partition"), Some(expected("sort")))
                );
                seen.insert(index);
            }
        }
    }
    assert_eq!(seen, Index::ALL.into(), "each index was seen in use");
    assert_eq!(
        names(&schema["items"]["order_head"]["indexes"]),
        Index::ALL.map(Index::name).into()
    );
    let others = schema["items"].as_object().unwrap().iter();
    let listed = others.filter(|(name, item)| *name != "order_head" && !item["indexes"].is_null());
    assert_eq!(listed.count(), 0, "only heads are in indexes");
}

fn type_of(value: &AttributeValue) -> &'static str {
    match value {
        AttributeValue::S(_) => "S",
        AttributeValue::N(_) => "N",
        AttributeValue::L(_) => "L",
        AttributeValue::M(_) => "M",
        other => panic!("no attribute of ours is {other:?}"),
    }
}

/// The levels of lists and maps in a value.
fn depth(value: &AttributeValue) -> u64 {
    let inner = |values: &mut dyn Iterator<Item = &AttributeValue>| {
        1 + values.map(depth).max().unwrap_or(0)
    };
    match value {
        AttributeValue::L(list) => inner(&mut list.iter()),
        AttributeValue::M(map) => inner(&mut map.values()),
        _ => 0,
    }
}

#[tokio::test]
async fn every_attribute_that_is_written_is_described_and_every_described_one_is_written() {
    let schema = schema();
    let (table, whole) = one_of_each().await;
    let written: Vec<Item> = table
        .changes(0)
        .iter()
        .filter_map(|change| change.after().cloned())
        .chain([whole])
        .collect();
    let mut seen: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let keys: BTreeSet<&str> = [PK, SK]
        .into_iter()
        .chain(
            Index::ALL
                .into_iter()
                .flat_map(|index| [index.partition(), index.sort()]),
        )
        .collect();
    for item in &written {
        let text = |name: &str| item[name].as_s().unwrap().clone();
        let key = Key {
            pk: text(PK),
            sk: text(SK),
        };
        let kind = item_type(&schema, &key);
        let described = &schema["items"][kind]["attributes"];
        for (name, value) in item {
            if keys.contains(name.as_str()) {
                assert_eq!(type_of(value), "S", "{kind} {name}");
                continue;
            }
            let (known, attribute) = described
                .as_object()
                .unwrap()
                .get_key_value(name)
                .unwrap_or_else(|| panic!("{kind} has {name}, which the schema does not describe"));
            assert_eq!(type_of(value), attribute["type"], "{kind} {name}");
            if let Some(most) = attribute["depth"].as_u64() {
                assert!(
                    depth(value) <= most,
                    "{kind} {name} is {} deep",
                    depth(value)
                );
            }
            if let Some(most) = attribute["max_bytes"].as_u64() {
                let bytes = sagaline_store::size::value_bytes(value);
                assert!(bytes as u64 <= most, "{kind} {name} has {bytes} bytes");
            }
            seen.entry(kind).or_default().insert(known);
        }
        for (name, attribute) in described.as_object().unwrap() {
            let required = attribute["required"] == true;
            assert!(
                !required || item.contains_key(name),
                "{kind} without {name}"
            );
        }
    }
    for (kind, item) in schema["items"].as_object().unwrap() {
        let described = names(&item["attributes"]);
        assert_eq!(
            seen.get(kind.as_str()),
            Some(&described),
            "{kind}: written, described"
        );
    }
}

/// Public functions of the store that are no access pattern: they write, or are a part or another form of one.
const NO_PATTERNS: [&str; 17] = [
    // Writes.
    "place",
    "commit",
    "set_stock",
    "add_stock",
    "set_stocks",
    "put_config",
    "replace_config",
    // The head in another form, or many of them.
    "load_item",
    "load_items",
    "load_many",
    "reread_intent",
    // The first half of a pattern.
    "order_of_payment",
    "users_of_phone",
    // Every shard instead of one.
    "overdue",
    // The orders of a product, summed.
    "product_totals",
    // Settings as they are stored.
    "stored_config",
    "table",
];

#[test]
fn every_access_pattern_has_its_method_and_every_method_its_pattern() {
    let schema = schema();
    let mut code = source("store.rs") + &source("commit/mod.rs");
    for file in std::fs::read_dir(format!("{}/src/read", env!("CARGO_MANIFEST_DIR"))).unwrap() {
        code.push_str(&std::fs::read_to_string(file.unwrap().path()).unwrap());
    }
    let methods: BTreeSet<&str> = code
        .split("impl<T: Table> Store<T> {")
        .skip(1)
        .flat_map(|block| block.split("\n}\n").next().unwrap().lines())
        .filter_map(|line| {
            let line = line.strip_prefix("    pub ")?;
            let line = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?;
            line.split(['(', '<']).next()
        })
        .filter(|name| !NO_PATTERNS.contains(name))
        // The store is built with these.
        .filter(|name| *name != "new" && !name.starts_with("with_"))
        .collect();
    let patterns = schema["patterns"].as_object().unwrap();
    assert_eq!(
        methods,
        patterns
            .values()
            .map(|pattern| pattern["method"].as_str().unwrap())
            .collect(),
        "methods of the store that read, methods of the patterns in infra/schema/orders.schema.json"
    );
}

#[tokio::test]
async fn guards_are_kept_as_long_as_the_schema_says() {
    let days = schema()["items"]["request_guard"]["retention"]["days"]
        .as_u64()
        .unwrap();
    assert_eq!(sagaline_store::GUARD_KEPT.as_secs(), days * 86_400);
    let (table, store) = memory();
    let new = common::tea();
    common::placed(&store, new.clone()).await;
    let guard = table.item(&Key::guard(&new.request_id)).unwrap();
    assert!(guard.contains_key(schema()["table"]["time_to_live"].as_str().unwrap()));
}
