//! How large an item is by DynamoDB's rules, and what no item may be. Asked before a write, so that a refusal is a sentence and not a riddle.

use aws_sdk_dynamodb::types::AttributeValue;

use crate::key::{Index, PK, SK};
use crate::table::Item;
use crate::value::Decimal;

/// The most bytes of an item, names included (DynamoDB quotas, "Item size").
pub const MAX_ITEM_BYTES: usize = 400 * 1024;
/// The most levels of lists and maps (DynamoDB quotas, "Nested attribute depth").
pub const MAX_DEPTH: usize = 32;
/// The most significant digits of a number (DynamoDB data types, "Number").
pub const MAX_DIGITS: usize = 38;
/// A read is charged for each started piece of this size (F-CAP-3).
pub const READ_UNIT_BYTES: usize = 4 * 1024;
/// A write is charged for each started piece of this size (F-CAP-2).
pub const WRITE_UNIT_BYTES: usize = 1024;
/// A list or map costs this besides its content (F-CAP-1).
const COLLECTION_BYTES: usize = 3;

/// What one item costs to read and to write, in units (F-CAP-2, F-CAP-3, F-TX-8). A missing item costs as much as the smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Units {
    /// A strongly consistent read. An eventually consistent one costs half, a transactional one double.
    pub strong_read: u64,
    /// A write. A transactional one costs double. What replaces a larger item costs as much as the larger.
    pub write: u64,
}

impl Units {
    /// Of an item of this size.
    #[must_use]
    pub fn of(bytes: usize) -> Self {
        let pieces = |size: usize| u64::try_from(bytes.div_ceil(size).max(1)).unwrap_or(u64::MAX);
        Self {
            strong_read: pieces(READ_UNIT_BYTES),
            write: pieces(WRITE_UNIT_BYTES),
        }
    }
}

/// The entry that an item makes in an index: keys of index and table, and what is projected (F-GSI-3). `None` without both index keys (F-GSI-2).
///
/// A new entry costs a write of its size, a removed one too, a changed one one, a moved one two, an unchanged one none (F-GSI-6).
#[must_use]
pub fn index_entry(item: &Item, index: Index) -> Option<Item> {
    let keys = [index.partition(), index.sort()];
    if !keys.iter().all(|key| item.contains_key(*key)) {
        return None;
    }
    let names = keys.iter().chain(&[PK, SK]).chain(index.included());
    let entry = names.filter_map(|name| item.get_key_value(*name));
    Some(
        entry
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    )
}

/// The size of an item in bytes: of every attribute its name in UTF-8 and its value (F-CAP-1).
#[must_use]
pub fn item_bytes(item: &Item) -> usize {
    item.iter()
        .map(|(name, value)| name.len() + value_bytes(value))
        .sum()
}

/// The size of one value in bytes (F-CAP-1).
#[must_use]
#[expect(clippy::wildcard_enum_match_arm, reason = "the SDK's enum is open")]
pub fn value_bytes(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(text) => number_bytes(text),
        AttributeValue::B(blob) => blob.as_ref().len(),
        AttributeValue::L(list) => {
            COLLECTION_BYTES
                + list
                    .iter()
                    .map(|value| 1 + value_bytes(value))
                    .sum::<usize>()
        }
        AttributeValue::M(map) => {
            COLLECTION_BYTES
                + map
                    .iter()
                    .map(|(name, value)| 1 + name.len() + value_bytes(value))
                    .sum::<usize>()
        }
        AttributeValue::Ss(texts) => texts.iter().map(String::len).sum(),
        AttributeValue::Ns(texts) => texts.iter().map(|text| number_bytes(text)).sum(),
        AttributeValue::Bs(blobs) => blobs.iter().map(|blob| blob.as_ref().len()).sum(),
        // `BOOL` and `NULL`.
        _ => 1,
    }
}

/// One byte for two significant digits, counted from the decimal point in both directions, one more, and one for a minus sign. F-CAP-1 says
/// "about"; the halves are what others measured at AWS's own limit of an item (dynoxide, `types.rs`, "Byte cost of a number").
fn number_bytes(text: &str) -> usize {
    Decimal::parse(text).map_or(text.len(), |number| {
        let digits = number.digits.len();
        let all = i64::try_from(digits).unwrap_or(i64::MAX);
        let before_point = (all + i64::from(number.exponent)).clamp(0, all);
        let whole = usize::try_from(before_point).unwrap_or(digits);
        whole.div_ceil(2) + (digits - whole).div_ceil(2) + 1 + usize::from(number.negative)
    })
}

/// Why DynamoDB would refuse an item whatever stands in the table: a sentence part, `None` if it would not.
#[must_use]
pub fn refusal(item: &Item) -> Option<String> {
    let bytes = item_bytes(item);
    if bytes > MAX_ITEM_BYTES {
        return Some(format!(
            "is {bytes} bytes large, an item holds at most {MAX_ITEM_BYTES}"
        ));
    }
    item.iter().find_map(|(name, value)| {
        value_refusal(value, 0).map(|why| format!("has an attribute {name} that {why}"))
    })
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "only numbers and what holds others can be refused"
)]
fn value_refusal(value: &AttributeValue, depth: usize) -> Option<String> {
    match value {
        AttributeValue::N(text) => (!is_number(text))
            .then(|| format!("holds the number {text}, beyond what DynamoDB keeps")),
        AttributeValue::L(_) | AttributeValue::M(_) if depth >= MAX_DEPTH => {
            Some(format!("is nested deeper than {MAX_DEPTH} levels"))
        }
        AttributeValue::L(list) => list
            .iter()
            .find_map(|inner| value_refusal(inner, depth + 1)),
        AttributeValue::M(map) => map
            .values()
            .find_map(|inner| value_refusal(inner, depth + 1)),
        _ => None,
    }
}

/// DynamoDB keeps 38 significant digits, from 1E-130 to 9.9..9E+125 (DynamoDB data types, "Number").
fn is_number(text: &str) -> bool {
    Decimal::parse(text).is_some_and(|number| {
        let magnitude =
            i64::from(number.exponent) + i64::try_from(number.digits.len()).unwrap_or(i64::MAX) - 1;
        number.digits.len() <= MAX_DIGITS
            && (number.digits.is_empty() || (-130..=125).contains(&magnitude))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{from_json, n, s};
    use aws_sdk_dynamodb::primitives::Blob;
    use serde_json::json;

    fn item(attributes: &[(&str, AttributeValue)]) -> Item {
        attributes
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect()
    }

    #[test]
    fn sizes_follow_the_published_arithmetic() {
        // The worked example of the DynamoDB guide: 23 bytes.
        assert_eq!(
            item_bytes(&item(&[("shirt-color", s("R")), ("shirt-size", s("M"))])),
            23
        );
        assert_eq!(value_bytes(&s("äö")), 4);
        assert_eq!(value_bytes(&AttributeValue::B(Blob::new([0; 9]))), 9);
        assert_eq!(value_bytes(&AttributeValue::Bool(true)), 1);
        assert_eq!(value_bytes(&n(1250)), 3);
        assert_eq!(value_bytes(&n(-1250)), 4);
        assert_eq!(value_bytes(&n(0)), 1);
        assert_eq!(value_bytes(&n("12.345")), 1 + 2 + 1);
        assert_eq!(value_bytes(&n("1.5")), 3);
        assert_eq!(value_bytes(&n("0.05")), 2);
        assert_eq!(value_bytes(&n("1E+20")), 2);
        assert_eq!(value_bytes(&from_json(&json!([]))), 3);
        assert_eq!(value_bytes(&from_json(&json!(["ab", "c"]))), 3 + 2 + 3);
        assert_eq!(value_bytes(&from_json(&json!({"ab": "c"}))), 3 + 1 + 3);
    }

    #[test]
    fn units_begin_anew_at_each_started_piece() {
        let check = |bytes: usize, strong_read: u64, write: u64| {
            assert_eq!(Units::of(bytes), Units { strong_read, write }, "{bytes}");
        };
        check(0, 1, 1);
        check(1024, 1, 1);
        check(1025, 1, 2);
        check(4096, 1, 4);
        check(4097, 2, 5);
        check(MAX_ITEM_BYTES, 100, 400);
    }

    #[test]
    fn an_index_entry_holds_keys_and_what_is_projected_and_no_more() {
        let head = item(&[
            (PK, s("ORDER#o-1")),
            (SK, s("ORDER#DETAIL")),
            ("updated_pk", s("DAY#2026-01-31#3")),
            ("updated_sk", s("20260131T083000.000Z#o-1")),
            ("version", n(1)),
            ("status", s("UNPAID")),
            ("due_pk", s("DUE#3")),
            ("total_minor", n(5)),
        ]);
        let entry = index_entry(&head, Index::ByUpdated).unwrap();
        let mut names: Vec<_> = entry.keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [PK, SK, "status", "updated_pk", "updated_sk", "version"]
        );
        // One of two keys is none.
        assert_eq!(index_entry(&head, Index::Due), None);
    }

    #[test]
    fn what_dynamodb_would_refuse_is_named_before_it_is_sent() {
        let check = |value: AttributeValue, expected: Option<&str>| {
            let found = refusal(&item(&[("a", value)]));
            match expected {
                Some(part) => assert!(
                    found.as_ref().is_some_and(|why| why.contains(part)),
                    "{found:?}"
                ),
                None => assert_eq!(found, None),
            }
        };
        let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        check(s("x".repeat(MAX_ITEM_BYTES - 1)), None);
        check(s("x".repeat(MAX_ITEM_BYTES)), Some("409601 bytes"));
        check(from_json(&nested(32)), None);
        check(from_json(&nested(33)), Some("deeper than 32"));
        check(n("1e300"), Some("beyond what DynamoDB keeps"));
        check(n("9.9e125"), None);
        check(n("1e-131"), Some("beyond"));
        check(n("1".repeat(39)), Some("beyond"));
    }
}
