//! DynamoDB JSON: typed, lossless, every digit as it is stored.

use crate::error::{Code, CommandError};
use aws_sdk_dynamodb::primitives::Blob;
use sagaline_store::{AttributeValue, Item};
use sagaline_stream::{Attribute, Image};
use serde_json::{Map, Value, json};

/// The DynamoDB type of a value.
#[expect(clippy::wildcard_enum_match_arm, reason = "the SDK's enum is open")]
pub(super) fn kind(value: &AttributeValue) -> &'static str {
    match value {
        AttributeValue::S(_) => "S",
        AttributeValue::N(_) => "N",
        AttributeValue::B(_) => "B",
        AttributeValue::Bool(_) => "BOOL",
        AttributeValue::L(_) => "L",
        AttributeValue::M(_) => "M",
        AttributeValue::Ss(_) => "SS",
        AttributeValue::Ns(_) => "NS",
        AttributeValue::Bs(_) => "BS",
        AttributeValue::Null(_) => "NULL",
        _ => "?",
    }
}

/// An item as DynamoDB JSON.
pub(super) fn of_item(item: &Item) -> Value {
    let members = item
        .iter()
        .map(|(name, value)| (name.clone(), of_value(value)));
    Value::Object(members.collect::<Map<_, _>>())
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the SDK's enum is open")]
fn of_value(value: &AttributeValue) -> Value {
    let inside = match value {
        AttributeValue::L(list) => list.iter().map(of_value).collect(),
        AttributeValue::M(map) => of_item(map),
        AttributeValue::N(digits) => Value::from(digits.as_str()),
        AttributeValue::Ns(all) => all
            .iter()
            .map(|digits| Value::from(digits.as_str()))
            .collect(),
        AttributeValue::Null(_) => Value::from(true),
        // Text, booleans, binary and their sets look the same in both.
        other => sagaline_store::value::to_json(other),
    };
    json!({kind(value): inside})
}

/// An item from DynamoDB JSON, or from plain JSON where it is that: an object whose members are no typed values.
pub(super) fn read_item(text: &str) -> Result<Item, CommandError> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| CommandError::new(Code::BadInput, format!("no JSON: {error}")))?;
    let Value::Object(members) = &value else {
        return Err(CommandError::new(
            Code::BadInput,
            "an item is a JSON object",
        ));
    };
    // As AWS tools print it: {"Item": {...}}.
    if let (1, Some(inner @ Value::Object(_))) = (members.len(), members.get("Item")) {
        return read_item(&inner.to_string());
    }
    if members.is_empty() {
        return Err(CommandError::new(
            Code::BadInput,
            "an item without attributes is none",
        ));
    }
    if !members.values().all(is_typed) {
        return Ok(members
            .iter()
            .map(|(name, value)| (name.clone(), sagaline_store::value::from_json(value)))
            .collect());
    }
    let image = Image::parse(text)
        .map_err(|error| CommandError::new(Code::BadInput, format!("no DynamoDB JSON: {error}")))?;
    of_image(&image)
}

/// `{"S": ..}` and its like.
fn is_typed(value: &Value) -> bool {
    const TYPES: [&str; 10] = ["S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"];
    value.as_object().is_some_and(|members| {
        members.len() == 1 && members.keys().all(|name| TYPES.contains(&name.as_str()))
    })
}

fn of_image(image: &Image<'_>) -> Result<Item, CommandError> {
    image
        .iter()
        .map(|(name, value)| Ok((name.to_owned(), of_attribute(value)?)))
        .collect()
}

fn of_attribute(attribute: &Attribute<'_>) -> Result<AttributeValue, CommandError> {
    let texts =
        |all: &[std::borrow::Cow<'_, str>]| all.iter().map(|text| text.to_string()).collect();
    Ok(match attribute {
        Attribute::S(text) => AttributeValue::S(text.to_string()),
        Attribute::N(digits) => AttributeValue::N(digits.to_string()),
        Attribute::Bool(flag) => AttributeValue::Bool(*flag),
        Attribute::Null => AttributeValue::Null(true),
        Attribute::B(text) => AttributeValue::B(binary(text)?),
        Attribute::L(list) => {
            AttributeValue::L(list.iter().map(of_attribute).collect::<Result<_, _>>()?)
        }
        Attribute::M(map) => AttributeValue::M(of_image(map)?),
        Attribute::Ss(all) => AttributeValue::Ss(texts(all)),
        Attribute::Ns(all) => AttributeValue::Ns(texts(all)),
        Attribute::Bs(all) => AttributeValue::Bs(
            all.iter()
                .map(|text| binary(text))
                .collect::<Result<_, _>>()?,
        ),
    })
}

fn binary(text: &str) -> Result<Blob, CommandError> {
    let bytes = Attribute::B(text.into()).bytes();
    bytes
        .map(Blob::new)
        .ok_or_else(|| CommandError::new(Code::BadInput, "a binary value is no base64 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dynamodb_json_comes_back_as_it_went() {
        let text = r#"{"PK":{"S":"a"},"n":{"N":"12345678901234567890.120"},"b":{"B":"3q2+7w=="},"t":{"BOOL":true},"z":{"NULL":true},"l":{"L":[{"N":"1"},{"M":{"x":{"S":""}}}]},"ns":{"NS":["1","2.50"]},"ss":{"SS":["a","b"]},"bs":{"BS":["3q2+7w=="]}}"#;
        let item = read_item(text).unwrap();
        let expected: Value = serde_json::from_str(text).unwrap();
        assert_eq!(of_item(&item), expected);
        let wrapped = read_item(&format!("{{\"Item\":{text}}}")).unwrap();
        assert_eq!(wrapped, item);
    }

    #[test]
    fn plain_json_is_typed_as_the_store_types_it() {
        let item = read_item(r#"{"PK":"ORDER#o-1","version":3,"lines":[{"S":"x"}]}"#).unwrap();
        assert_eq!(
            item.get("version"),
            Some(&AttributeValue::N("3".to_owned()))
        );
        assert!(matches!(item.get("lines"), Some(AttributeValue::L(_))));
    }

    #[test]
    fn what_is_no_item_is_refused_in_words() {
        let check = |text: &str, part: &str| {
            let error = read_item(text).unwrap_err();
            assert!(error.to_string().contains(part), "{text}: {error}");
        };
        check("", "no JSON");
        check("[1]", "an item is a JSON object");
        check("{}", "without attributes");
        check(r#"{"a":{"S":5}}"#, "no DynamoDB JSON");
        check(r#"{"a":{"B":"*"}}"#, "no base64");
    }
}
