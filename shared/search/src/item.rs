//! An item as the table's client gives it, in the form that stream records have: one projection serves both.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sagaline_stream::{Attribute, Image};
use std::borrow::Cow;
use std::collections::HashMap;

/// The item as an image: numbers keep their digits, binary becomes base64 text, as in a stream record.
#[must_use]
pub fn image_of(item: &HashMap<String, AttributeValue>) -> Image<'_> {
    item.iter()
        .map(|(name, value)| (name.as_str(), attribute_of(value)))
        .collect()
}

fn attribute_of(value: &AttributeValue) -> Attribute<'_> {
    match value {
        AttributeValue::S(text) => Attribute::S(text.into()),
        AttributeValue::N(digits) => Attribute::N(digits.into()),
        AttributeValue::B(blob) => Attribute::B(base64_of(blob)),
        AttributeValue::Bool(truth) => Attribute::Bool(*truth),
        AttributeValue::L(items) => Attribute::L(items.iter().map(attribute_of).collect()),
        AttributeValue::M(members) => Attribute::M(image_of(members)),
        AttributeValue::Ss(texts) => Attribute::Ss(sorted(texts.iter().map(Into::into))),
        AttributeValue::Ns(digits) => Attribute::Ns(sorted(digits.iter().map(Into::into))),
        AttributeValue::Bs(blobs) => Attribute::Bs(sorted(blobs.iter().map(base64_of))),
        // A type that DynamoDB may add one day has no place in any known field.
        AttributeValue::Null(_) | _ => Attribute::Null,
    }
}

fn base64_of(blob: &Blob) -> Cow<'_, str> {
    STANDARD.encode(blob.as_ref()).into()
}

/// A set has no order; decoded ones are sorted (F-STR-15).
fn sorted<'a>(members: impl Iterator<Item = Cow<'a, str>>) -> Vec<Cow<'a, str>> {
    let mut members: Vec<_> = members.collect();
    members.sort_unstable();
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_of_the_table_is_the_image_of_its_record() {
        let blob = |bytes: &[u8]| AttributeValue::B(Blob::new(bytes));
        let item = HashMap::from([
            ("b".to_owned(), blob(&[0xde, 0xad, 0xbe, 0xef])),
            (
                "bs".to_owned(),
                AttributeValue::Bs(vec![Blob::new([1]), Blob::new([0])]),
            ),
            (
                "l".to_owned(),
                AttributeValue::L(vec![
                    AttributeValue::Null(true),
                    AttributeValue::Bool(false),
                ]),
            ),
            (
                "m".to_owned(),
                AttributeValue::M(HashMap::from([(
                    "n".to_owned(),
                    AttributeValue::N("1E-130".to_owned()),
                )])),
            ),
            (
                "ns".to_owned(),
                AttributeValue::Ns(vec!["9".to_owned(), "10".to_owned()]),
            ),
            (
                "ss".to_owned(),
                AttributeValue::Ss(vec!["b".to_owned(), "a".to_owned()]),
            ),
            ("s".to_owned(), AttributeValue::S(String::new())),
        ]);
        let record = r#"{"b":{"B":"3q2+7w=="},"bs":{"BS":["AQ==","AA=="]},"l":{"L":[{"NULL":true},{"BOOL":false}]},"m":{"M":{"n":{"N":"1E-130"}}},
            "ns":{"NS":["9","10"]},"s":{"S":""},"ss":{"SS":["b","a"]}}"#;
        assert_eq!(image_of(&item), Image::parse(record).unwrap());
    }
}
