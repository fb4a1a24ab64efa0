//! How large an item is by DynamoDB's rules, and what no item may be. Asked before a write, so that a refusal is a sentence and not a riddle.

use aws_sdk_dynamodb::types::AttributeValue;

use crate::table::Item;
use crate::value::Decimal;

/// The most bytes of an item, names included (DynamoDB quotas, "Item size").
pub const MAX_ITEM_BYTES: usize = 400 * 1024;
/// The most levels of lists and maps (DynamoDB quotas, "Nested attribute depth").
pub const MAX_DEPTH: usize = 32;
/// The most significant digits of a number (DynamoDB data types, "Number").
pub const MAX_DIGITS: usize = 38;
/// A list or map costs this besides its content (F-CAP-1).
const COLLECTION_BYTES: usize = 3;

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

/// One byte for two significant digits, one more, and one for a sign (F-CAP-1: about).
fn number_bytes(text: &str) -> usize {
    Decimal::parse(text).map_or(text.len(), |number| {
        number.digits.len().div_ceil(2) + 1 + usize::from(number.negative)
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
        assert_eq!(value_bytes(&from_json(&json!([]))), 3);
        assert_eq!(value_bytes(&from_json(&json!(["ab", "c"]))), 3 + 2 + 3);
        assert_eq!(value_bytes(&from_json(&json!({"ab": "c"}))), 3 + 1 + 3);
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
