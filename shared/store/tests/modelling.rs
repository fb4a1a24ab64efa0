//! The tables in `docs/modelling.md` are made from the description of the table and from what the code writes. When this test fails, they are
//! written anew (`UPDATE_DOCS=1 cargo test -p sagaline-store --test modelling`) and reviewed.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::large_futures,
    reason = "the helpers of a test fail like a test; its futures run alone"
)]

mod common;
mod described;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use described::{ORDER, full_input, item_type, life, one_of_each, schema, with_phone};
use sagaline_store::size::{Units, index_entry, item_bytes};
use sagaline_store::{Index, Item, Key, PK, SK, Store};
use sagaline_testkit::MemoryTable;
use sagaline_testkit::contract::orders::new_order;
use sagaline_testkit::memory::Change;
use serde_json::Value;

/// The rows of a page in the figures.
const PAGE: usize = 25;
/// What one partition, so also one item or one key of an index, takes in a second (F-CAP-4: DynamoDB developer guide, "Partition throughput").
const PARTITION_WRITES: u64 = 1_000;

/// What one commit wrote.
struct Cost {
    name: &'static str,
    kinds: BTreeMap<String, usize>,
    actions: usize,
    bytes: usize,
    table: u64,
    indexes: u64,
}

/// A transaction charges each item twice (F-TX-8), by the larger of before and after (F-CAP-2). The entries of indexes follow it (F-TX-2) and are
/// charged once, by F-GSI-6.
fn cost(schema: &Value, name: &'static str, changes: &[Change]) -> Cost {
    let mut cost = Cost {
        name,
        kinds: BTreeMap::new(),
        actions: changes.len(),
        bytes: 0,
        table: 0,
        indexes: 0,
    };
    for change in changes {
        let after = change.after().unwrap();
        let bytes = [change.before(), Some(after)]
            .into_iter()
            .flatten()
            .map(item_bytes)
            .max()
            .unwrap();
        *cost
            .kinds
            .entry(item_type(schema, change.key()).to_owned())
            .or_default() += 1;
        cost.bytes += item_bytes(after);
        cost.table += 2 * Units::of(bytes).write;
        cost.indexes += Index::ALL
            .into_iter()
            .map(|index| index_writes(change, index))
            .sum::<u64>();
    }
    cost
}

fn index_writes(change: &Change, index: Index) -> u64 {
    let entry = |item: Option<&Item>| item.and_then(|item| index_entry(item, index));
    let units = |entry: &Item| Units::of(item_bytes(entry)).write;
    match (entry(change.before()), entry(change.after())) {
        (None, None) => 0,
        (Some(one), None) | (None, Some(one)) => units(&one),
        (Some(before), Some(after)) if before == after => 0,
        (Some(before), Some(after)) => {
            let keys = [index.partition(), index.sort()];
            if keys.iter().all(|key| before[*key] == after[*key]) {
                units(&before).max(units(&after))
            } else {
                units(&before) + units(&after)
            }
        }
    }
}

/// The commits of an order's life, its money given back at last, and the placement that takes the stock at once.
async fn costs(lines: usize) -> Vec<Cost> {
    let schema = schema();
    let (table, begun) = life(lines).await;
    let changes = table.changes(0);
    let ends = begun
        .iter()
        .skip(1)
        .map(|(_, at)| *at)
        .chain([changes.len()]);
    let mut costs: Vec<Cost> = begun
        .iter()
        .zip(ends)
        .map(|((name, from), to)| cost(&schema, name, &changes[*from..to]))
        .collect();
    let table = MemoryTable::new();
    let store = Store::new(table.clone());
    let new = new_order(&full_input(ORDER, lines));
    for line in &new.order.lines {
        store.set_stock(&line.sku, 100, None).await.unwrap();
    }
    let (from, before) = (table.changes(0).len(), table.calls().actions);
    store.place(new, with_phone(true)).await.unwrap();
    assert_eq!(
        table.calls().actions - before,
        table.changes(from).len(),
        "every action changes something"
    );
    costs.insert(1, cost(&schema, "place_with_stock", &table.changes(from)));
    costs
}

// F-TX-1: at most 100 actions.
#[tokio::test]
async fn transactions_of_the_largest_order_have_the_actions_that_the_schema_says() {
    let schema = schema();
    let transactions = schema["transactions"].as_object().unwrap();
    let costs = costs(40).await;
    for cost in &costs {
        let mut expected: BTreeMap<String, usize> = BTreeMap::new();
        for action in transactions[cost.name]["actions"].as_array().unwrap() {
            let times = action["times"].as_u64().unwrap_or(1);
            *expected
                .entry(action["item"].as_str().unwrap().to_owned())
                .or_default() += usize::try_from(times).unwrap();
        }
        assert_eq!(cost.kinds, expected, "{}", cost.name);
        assert!(
            cost.actions <= 100,
            "{} has {} actions",
            cost.name,
            cost.actions
        );
    }
    let done: BTreeSet<&str> = costs.iter().map(|cost| cost.name).collect();
    assert_eq!(done, transactions.keys().map(String::as_str).collect());
    let of = |name: &str| costs.iter().find(|cost| cost.name == name).unwrap().actions;
    assert_eq!(
        (of("place"), of("place_with_stock"), of("undo")),
        (46, 86, 45)
    );
}

/// The largest item of each type in the life of an order of two lines.
async fn largest() -> BTreeMap<String, Item> {
    let schema = schema();
    let (table, _) = one_of_each().await;
    let mut largest: BTreeMap<String, Item> = BTreeMap::new();
    for item in table.changes(0).iter().filter_map(Change::after) {
        let text = |name: &str| item[name].as_s().unwrap().clone();
        let key = Key {
            pk: text(PK),
            sk: text(SK),
        };
        // The order that holds every attribute at once is no order of this world.
        if text(PK) == "ORDER#o-2" {
            continue;
        }
        let known = largest
            .entry(item_type(&schema, &key).to_owned())
            .or_default();
        if item_bytes(item) > item_bytes(known) {
            *known = item.clone();
        }
    }
    largest
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap()
}

fn code(template: &str) -> String {
    format!("`{template}`")
}

fn items_table(schema: &Value, largest: &BTreeMap<String, Item>) -> String {
    let mut out =
        "| item | partition | sort | what it is | bytes | kept |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for (name, item) in schema["items"].as_object().unwrap() {
        let retention = &item["retention"];
        let kept = match retention["days"].as_u64() {
            Some(days) => format!("{days} days: {}", text(retention, "why")),
            None => text(retention, "why").to_owned(),
        };
        writeln!(
            out,
            "| `{name}` | {} | {} | {} | {} | {kept} |",
            code(text(&item["key"], "partition")),
            code(text(&item["key"], "sort")),
            text(item, "description"),
            item_bytes(&largest[name])
        )
        .unwrap();
    }
    out
}

/// The patterns that read an index.
fn readers<'s>(schema: &'s Value, index: &str) -> Vec<&'s str> {
    let patterns = schema["patterns"].as_object().unwrap().iter();
    patterns
        .filter(|(_, pattern)| {
            pattern["reads"]
                .as_array()
                .unwrap()
                .iter()
                .any(|read| read["index"] == index)
        })
        .map(|(name, _)| name.as_str())
        .collect()
}

fn indexes_table(schema: &Value, head: &Item) -> String {
    let mut out = "| index | keys | holds | besides the keys | bytes of an entry | read by |\n|---|---|---|---|---|---|\n".to_owned();
    for index in Index::ALL {
        let (name, keys) = (
            index.name(),
            &schema["items"]["order_head"]["indexes"][index.name()],
        );
        let when = keys["when"].as_str().unwrap_or("always");
        let included = match index.included() {
            [] => "nothing".to_owned(),
            names => names
                .iter()
                .map(|name| code(name))
                .collect::<Vec<_>>()
                .join(", "),
        };
        let entry = index_entry(head, index)
            .map_or_else(|| "-".to_owned(), |entry| item_bytes(&entry).to_string());
        writeln!(
            out,
            "| `{name}` | {} / {} | heads, {when} | {included} | {entry} | {} |",
            code(text(keys, "partition")),
            code(text(keys, "sort")),
            readers(schema, name)
                .iter()
                .map(|name| code(name))
                .collect::<Vec<_>>()
                .join(", ")
        )
        .unwrap();
    }
    out
}

/// Read units in halves: an eventually consistent read costs half (F-CAP-3).
fn halves(halves: u64) -> String {
    let half = if halves % 2 == 1 { ".5" } else { "" };
    format!("{}{half}", halves / 2)
}

/// How many requests a read is: one for each shard. A day counts once.
fn requests(schema: &Value, read: &Value) -> u64 {
    let partition = text(&read["partition"], "equals");
    let shards = |name: &str| schema["parts"][name]["shards"].as_u64().unwrap_or(1);
    partition
        .split('{')
        .skip(1)
        .filter_map(|rest| rest.split('}').next())
        .map(shards)
        .product()
}

fn shown_condition(read: &Value) -> String {
    let sort = read["sort"].as_object().unwrap().iter().next().unwrap();
    let template = |value: &Value| code(value.as_str().unwrap());
    let sort = match (sort.0.as_str(), sort.1) {
        ("equals", value) => format!("= {}", template(value)),
        ("begins_with", value) => format!("begins with {}", template(value)),
        ("between", value) => format!("{} to {}", template(&value[0]), template(&value[1])),
        ("at_most", value) => format!("up to {}", template(value)),
        (_, value) => format!("from {}", template(value)),
    };
    format!("{}, {sort}", code(text(&read["partition"], "equals")))
}

fn patterns_table(schema: &Value, largest: &BTreeMap<String, Item>) -> String {
    let mut out = format!(
        "| pattern | method | requests | keys | consistency | RCU, nothing there | RCU, {PAGE} rows |\n|---|---|---|---|---|---|---|\n"
    );
    for pattern in schema["patterns"].as_object().unwrap().values() {
        for (at, read) in pattern["reads"].as_array().unwrap().iter().enumerate() {
            let strong = read["consistency"] == "strong";
            let factor = if strong { 2 } else { 1 };
            let (count, operation) = (requests(schema, read), text(read, "operation"));
            let item = &largest[text(read, "item")];
            let entry = read["index"].as_str().map(|name| {
                Index::ALL
                    .into_iter()
                    .find(|index| index.name() == name)
                    .unwrap()
            });
            let row = match entry {
                Some(index) => item_bytes(&index_entry(item, index).unwrap()),
                None => item_bytes(item),
            };
            let (place, many) = match (operation, read["index"].as_str()) {
                ("Query", index) => (
                    index.map_or_else(|| "table".to_owned(), |index| format!("index `{index}`")),
                    // Each shard is asked for a page and one row; at most all of them have as many.
                    count * factor * Units::of(row * (PAGE + 1)).strong_read,
                ),
                _ => ("table".to_owned(), factor * Units::of(row).strong_read),
            };
            let (first, method) = if at == 0 {
                (text(pattern, "description"), code(text(pattern, "method")))
            } else {
                ("... then", String::new())
            };
            writeln!(
                out,
                "| {first} | {method} | {count} {operation}, {place} | {} | {} | {} | {} |",
                shown_condition(read),
                text(read, "consistency"),
                halves(count * factor),
                halves(many)
            )
            .unwrap();
        }
    }
    out
}

fn copies_table(schema: &Value) -> String {
    let mut out = "| copy | of | rewritten by |\n|---|---|---|\n".to_owned();
    for (name, item) in schema["items"].as_object().unwrap() {
        let copies: Vec<_> = item["attributes"]
            .as_object()
            .unwrap()
            .iter()
            .filter_map(|(attribute, declared)| Some((attribute, declared["copy_of"].as_str()?)))
            .collect();
        let Some(first) = copies.first() else {
            continue;
        };
        let by = item["rewritten"]
            .as_str()
            .unwrap_or("nobody: it names what does not change");
        let list = |side: &dyn Fn(&(&String, &str)) -> String| {
            let mut texts: Vec<String> = copies.iter().map(side).collect();
            texts.dedup();
            texts.join(", ")
        };
        let from = first.1.split('.').next().unwrap();
        writeln!(
            out,
            "| `{name}`: {} | `{from}`: {} | {by} |",
            list(&|(attribute, _)| code(attribute)),
            list(&|(_, of)| code(of.split('.').nth(1).unwrap()))
        )
        .unwrap();
    }
    out
}

fn costs_table(schema: &Value, small: &[Cost], large: &[Cost]) -> String {
    let mut out = "| commit | actions, 2 lines | WCU, table | WCU, indexes | actions, 40 lines | bytes | WCU, table | WCU, indexes |\n|---|---|---|---|---|---|---|---|\n".to_owned();
    for (small, large) in small.iter().zip(large) {
        let what = text(&schema["transactions"][small.name], "description");
        writeln!(
            out,
            "| `{}`: {what} | {} | {} | {} | {} | {} | {} | {} |",
            small.name,
            small.actions,
            small.table,
            small.indexes,
            large.actions,
            large.bytes,
            large.table,
            large.indexes
        )
        .unwrap();
    }
    let happy = ["place", "take_stock", "confirm", "publish"];
    let sum = |costs: &[Cost], of: fn(&Cost) -> u64| -> u64 {
        costs
            .iter()
            .filter(|cost| happy.contains(&cost.name))
            .map(of)
            .sum()
    };
    writeln!(
        out,
        "| a happy order: {} | | {} | {} | | | {} | {} |",
        happy.map(code).join(", "),
        sum(small, |cost| cost.table),
        sum(small, |cost| cost.indexes),
        sum(large, |cost| cost.table),
        sum(large, |cost| cost.indexes)
    )
    .unwrap();
    out
}

/// How often a second one key can be written, by what one write of it costs.
fn hot_keys_table(schema: &Value, largest: &BTreeMap<String, Item>) -> String {
    let write = |kind: &str| 2 * Units::of(item_bytes(&largest[kind])).write;
    let shards = |part: &str| schema["parts"][part]["shards"].as_u64().unwrap();
    let each = |units: u64, keys: u64| keys * PARTITION_WRITES / units;
    let rows = [
        (
            "one order's head",
            1,
            write("order_head"),
            "commits of that order; it takes a handful in its life",
        ),
        (
            "the stock of one product",
            1,
            write("inventory"),
            "reservations of that product: the tightest key of the table",
        ),
        (
            "the counters of one user",
            1,
            write("user_metrics"),
            "placements of that user",
        ),
        (
            "a product's list",
            shards("product_shard"),
            write("product_order"),
            "placements with that product, over its shards",
        ),
        (
            "a day's refunds",
            shards("refund_shard"),
            write("refund"),
            "refunds, over their shards",
        ),
        (
            "`by_status`, one status",
            shards("status_shard"),
            1,
            "orders that enter or leave it, over its shards",
        ),
        (
            "`due`",
            shards("due_shard"),
            2,
            "commits that move a wake time, over its shards",
        ),
        (
            "`by_updated`, today",
            shards("updated_shard"),
            2,
            "commits of any order, over its shards: the ceiling of the whole pipeline",
        ),
    ];
    let mut out = "| key | partitions | WCU of one write | at most a second | what |\n|---|---|---|---|---|\n".to_owned();
    for (key, partitions, units, what) in rows {
        writeln!(
            out,
            "| {key} | {partitions} | {units} | {} | {what} |",
            each(units, partitions)
        )
        .unwrap();
    }
    out
}

#[tokio::test]
async fn tables_of_the_page_are_those_of_schema_and_code() {
    let schema = schema();
    let largest = largest().await;
    let (small, large) = (costs(2).await, costs(40).await);
    let (table, _) = life(2).await;
    let listed = table.changes(0);
    // A head that is in every index.
    let head = listed
        .iter()
        .filter_map(Change::after)
        .find(|item| {
            Index::ALL
                .into_iter()
                .all(|index| index_entry(item, index).is_some())
        })
        .unwrap();
    let mut rows = largest.clone();
    rows.insert("order_head".to_owned(), head.clone());
    let blocks = [
        ("items", items_table(&schema, &largest)),
        ("indexes", indexes_table(&schema, head)),
        ("patterns", patterns_table(&schema, &rows)),
        ("copies", copies_table(&schema)),
        ("costs", costs_table(&schema, &small, &large)),
        ("hot keys", hot_keys_table(&schema, &largest)),
    ];
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/modelling.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mut made = page.clone();
    for (name, block) in blocks {
        let begin = format!("<!-- generated: {name} -->\n");
        let (before, rest) = made
            .split_once(&begin)
            .unwrap_or_else(|| panic!("the page has no {name}"));
        let (_, after) = rest.split_once("<!-- end -->").unwrap();
        made = format!("{before}{begin}{block}<!-- end -->{after}");
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &made).unwrap();
    } else {
        assert_eq!(
            page, made,
            "docs/modelling.md differs from schema and code: run with UPDATE_DOCS=1 and review the difference"
        );
    }
}
