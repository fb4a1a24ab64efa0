//! An item as people read it: what it is, and for each attribute its type, its value and what the value means.

use super::explain::text;
use super::kind::{Recognised, recognise};
use super::typed;
use crate::output;
use sagaline_order::Timestamp;
use sagaline_store::value::{as_integer, map_to_json, to_json};
use sagaline_store::{AttributeValue, Index, Item, PK, SK, size};
use serde_json::{Map, Value, json};

/// A value is shown to people up to so many characters; `--json` has all of it.
const WIDE: usize = 90;

/// What the item is, by its key.
pub(super) fn kind_of(item: &Item) -> Recognised {
    recognise(text(item, PK), text(item, SK))
}

/// An item for programs: what it is, its attributes as plain JSON, its size and index entries.
pub(super) fn json(item: &Item) -> Value {
    let Recognised { kind, parts } = kind_of(item);
    let parts: Map<String, Value> = parts
        .into_iter()
        .map(|(name, text)| (name.to_owned(), text.into()))
        .collect();
    json!({
        "key": {"pk": text(item, PK), "sk": text(item, SK)},
        "type": kind.name(),
        "parts": parts,
        "item": map_to_json(item),
        "bytes": size::item_bytes(item),
        "indexes": Index::ALL.into_iter().filter_map(|index| entry(item, index)).collect::<Vec<_>>(),
    })
}

fn entry(item: &Item, index: Index) -> Option<Value> {
    size::index_entry(item, index).map(|entry| {
        json!({"index": index.name(), "pk": text(&entry, index.partition()), "sk": text(&entry, index.sort()),
            "bytes": size::item_bytes(&entry)})
    })
}

/// An item for people.
pub(super) fn people(item: &Item) -> String {
    let Recognised { kind, parts } = kind_of(item);
    let mut lines = vec![format!(
        "{}  {} / {}",
        kind.words(),
        safe(text(item, PK)),
        safe(text(item, SK))
    )];
    if !parts.is_empty() {
        let parts: Vec<_> = parts
            .iter()
            .map(|(name, text)| format!("{name} {text}"))
            .collect();
        lines.push(parts.join(", "));
    }
    let rows = names(item).into_iter().filter_map(|name| {
        let value = item.get(name)?;
        Some([
            safe(name),
            typed::kind(value).to_owned(),
            clipped(&plain(value)),
            meaning(item, name, value).unwrap_or_default(),
        ])
    });
    lines.extend([
        String::new(),
        output::table(["attribute", "type", "value", "means"], rows),
        String::new(),
    ]);
    let units = size::Units::of(size::item_bytes(item));
    lines.push(format!(
        "{} bytes; a strongly consistent read costs {}, a write {}",
        size::item_bytes(item),
        counted(units.strong_read, "unit"),
        counted(units.write, "unit"),
    ));
    let entries: Vec<_> = Index::ALL
        .into_iter()
        .filter_map(|index| size::index_entry(item, index).map(|entry| (index, entry)))
        .map(|(index, entry)| format!("{} ({})", index.name(), text(&entry, index.partition())))
        .collect();
    if !entries.is_empty() {
        lines.push(format!("listed in {}", entries.join(", ")));
    }
    lines.join("\n")
}

/// What is shown first of an item in one line.
const FIRST: [&str; 12] = [
    "version",
    "status",
    "state",
    "total_minor",
    "amount_minor",
    "qty",
    "stock",
    "order_count",
    "unpaid_count",
    "reason",
    "actor",
    "at",
];

/// The attributes of an item that are no keys, in one line; of lists and maps only how many members they have.
pub(super) fn summary(item: &Item) -> String {
    let keys = Index::ALL
        .into_iter()
        .flat_map(|index| [index.partition(), index.sort()]);
    let keys: Vec<_> = keys.chain([PK, SK]).collect();
    let mut names = names(item);
    names.retain(|name| !keys.contains(name));
    names.sort_by_key(|name| {
        FIRST
            .iter()
            .position(|first| first == name)
            .unwrap_or(FIRST.len())
    });
    let shown: Vec<_> = names
        .into_iter()
        .filter_map(|name| item.get(name).map(|value| (name, value)))
        .map(|(name, value)| match meaning(item, name, value) {
            Some(meaning) => format!("{name}={} ({meaning})", plain(value)),
            None => format!("{name}={}", short(value)),
        })
        .collect();
    clipped(&shown.join("  "))
}

/// `1 unit`, `0.5 units`.
pub(super) fn counted(count: impl ToString, what: &str) -> String {
    let count = count.to_string();
    let ending = if count == "1" { "" } else { "s" };
    format!("{count} {what}{ending}")
}

/// The names of the attributes, the table's keys first.
fn names(item: &Item) -> Vec<&str> {
    let mut names: Vec<_> = item.keys().map(String::as_str).collect();
    names.sort_unstable_by_key(|name| (*name != PK, *name != SK, *name));
    names
}

fn plain(value: &AttributeValue) -> String {
    let json = to_json(value);
    json.as_str()
        .map_or_else(|| json.to_string(), str::to_owned)
}

fn short(value: &AttributeValue) -> String {
    match (value.as_l(), value.as_m()) {
        (Ok(list), _) => format!("[{}]", list.len()),
        (_, Ok(map)) => format!("{{{}}}", map.len()),
        _ => plain(value),
    }
}

/// Cut where it is too wide.
fn clipped(text: &str) -> String {
    if text.chars().count() <= WIDE {
        return safe(text);
    }
    let cut: String = text.chars().take(WIDE - 3).collect();
    format!("{}...", safe(&cut))
}

/// A stored text may hold anything: what would move the cursor or change colours is shown as an escape.
pub(super) fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    out
}

/// What a value says beside itself: an amount, a time, an order, a shard.
fn meaning(item: &Item, name: &str, value: &AttributeValue) -> Option<String> {
    if name.ends_with("_minor") {
        let minor = i64::try_from(as_integer(value)?).ok()?;
        let currency = Some(text(item, "currency")).filter(|code| !code.is_empty())?;
        return Some(output::amount(minor, currency));
    }
    if name == "expires_at" {
        let millis = as_integer(value)?.checked_mul(1000)?;
        let at = Timestamp::from_millis(i64::try_from(millis).ok()?)?;
        return Some(format!("deleted some time after {at}"));
    }
    let value = value.as_s().ok()?;
    if let Some(index) = Index::ALL
        .into_iter()
        .find(|index| index.partition() == name)
    {
        let (_, shard) = value.rsplit_once('#')?;
        return Some(format!("index {}, shard {shard}", index.name()));
    }
    if Index::ALL.into_iter().any(|index| index.sort() == name) {
        let (time, order) = value.split_once('#')?;
        return Some(format!("{}, order {order}", Timestamp::parse_basic(time)?));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use sagaline_store::value::{from_json, n, s};
    use serde_json::json;

    fn head() -> Item {
        let attributes = json!({
            "PK": "ORDER#o-1", "SK": "ORDER#DETAIL", "order_id": "o-1", "user_id": "u-1", "version": 3, "currency": "JPY", "total_minor": 2500,
            "created_at": "2026-01-31T08:30:00.000Z", "due_pk": "DUE#7", "due_sk": "20260131T090000.000Z#o-1", "status": "UNPAID",
            "lines": [{"sku": "mug", "name": "Blue mug with a name that does not end before the table does, and then some", "qty": 2}],
            "note": "a\tb\u{1b}[2J",
        });
        attributes
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.clone(), from_json(value)))
            .collect()
    }

    #[test]
    fn people_read_types_amounts_times_and_shards() {
        insta::assert_snapshot!(people(&head()));
    }

    #[test]
    fn an_unknown_item_is_shown_all_the_same() {
        let item = Item::from([
            ("PK".to_owned(), s("CUSTOMER#1")),
            ("SK".to_owned(), s("x")),
            ("expires_at".to_owned(), n(1_769_848_200)),
            ("total_minor".to_owned(), n(5)),
        ]);
        insta::assert_snapshot!(people(&item));
        assert_eq!(json(&item)["type"], "unknown");
    }

    #[test]
    fn programs_get_parts_size_and_index_entries() {
        let json = json(&head());
        assert_eq!(json["parts"], json!({"order": "o-1"}));
        assert_eq!(json["item"]["total_minor"], 2500);
        assert_eq!(json["indexes"][0]["index"], "due");
        assert_eq!(json["indexes"].as_array().unwrap().len(), 1);
    }
}
