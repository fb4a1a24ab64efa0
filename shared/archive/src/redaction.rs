//! Personal data stay out of the archive: named head attributes are replaced in both images by a keyed hash of their value. So a change
//! stays provable (equal values have equal hashes), and the value is not there to be read.

use crate::hash_keys::HashKeys;
use crate::text::write_text;
use sagaline_stream::{Attribute, Image};
use std::collections::BTreeSet;

/// Hidden whatever the configuration says: what pays is nobody's to read later.
const ALWAYS: &str = "payment_token";

/// Which top-level attributes of a head are hidden in its images, and how.
#[derive(Debug, Clone)]
pub struct Redaction {
    attributes: BTreeSet<String>,
    keys: Option<HashKeys>,
}

impl Redaction {
    /// From the configuration's list, such as `shipping,phone_masked`. Without keys a hidden value carries no hash.
    #[must_use]
    pub fn new(list: &str, keys: Option<HashKeys>) -> Self {
        let named = list
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty());
        Self {
            attributes: named.chain([ALWAYS]).map(str::to_owned).collect(),
            keys,
        }
    }

    /// The image as canonical DynamoDB JSON with the hidden attributes replaced by `{"S":"redacted:<key id>:<hash>"}`, the hash over the
    /// canonical text of the typed value, or by `{"S":"redacted"}` without a key.
    #[must_use]
    pub fn encode(&self, image: &Image<'_>) -> String {
        let mut out = String::with_capacity(2048);
        out.push('{');
        for (place, (name, value)) in image.iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            write_text(name, &mut out);
            out.push(':');
            if self.attributes.contains(name) {
                out.push_str("{\"S\":");
                write_text(&self.stand_in(value), &mut out);
                out.push('}');
            } else {
                value.write_canonical(&mut out);
            }
        }
        out.push('}');
        out
    }

    fn stand_in(&self, value: &Attribute<'_>) -> String {
        match &self.keys {
            Some(keys) => format!(
                "redacted:{}:{}",
                keys.current(),
                keys.hash(value.to_canonical().as_bytes())
            ),
            None => "redacted".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> HashKeys {
        HashKeys::parse(r#"{"current":"k1","keys":{"k1":"SmVmZQ=="}}"#).unwrap()
    }

    fn encode(redaction: &Redaction, image: &str) -> String {
        redaction.encode(&Image::parse(image).unwrap())
    }

    #[test]
    fn every_named_attribute_and_the_token_are_hidden_at_the_top_level_only() {
        let image = r#"{"note":{"S":"x"},"payment_token":{"S":"tok_1"},"phone_masked":{"S":"+49*"},"shipping":{"M":{"b":{"S":"2"},"a":{"S":"1"}}},"z":{"M":{"shipping":{"S":"kept"}}}}"#;
        let shown = encode(&Redaction::new(" shipping , phone_masked,", None), image);
        let expected = r#"{"note":{"S":"x"},"payment_token":{"S":"redacted"},"phone_masked":{"S":"redacted"},"shipping":{"S":"redacted"},"z":{"M":{"shipping":{"S":"kept"}}}}"#;
        assert_eq!(shown, expected);

        let hashed = keys().hash(br#"{"M":{"a":{"S":"1"},"b":{"S":"2"}}}"#);
        let shown = encode(&Redaction::new("shipping", Some(keys())), image);
        assert!(
            shown.contains(&format!(r#""shipping":{{"S":"redacted:k1:{hashed}"}}"#)),
            "{shown}"
        );
        assert!(!shown.contains("tok_1"));
        assert!(shown.contains("+49*"));
    }

    #[test]
    fn equal_values_have_equal_stand_ins_however_they_were_written() {
        let redaction = Redaction::new("shipping", Some(keys()));
        let one = encode(
            &redaction,
            r#"{"shipping":{"M":{"a":{"SS":["x","y"]},"b":{"N":"1"}}}}"#,
        );
        let other = encode(
            &redaction,
            r#" {"shipping": {"M": {"b": {"N": 1}, "a": {"SS": ["y", "x"]}}}} "#,
        );
        assert_eq!(one, other);
        assert_ne!(
            one,
            encode(
                &redaction,
                r#"{"shipping":{"M":{"a":{"SS":["x"]},"b":{"N":"1"}}}}"#
            )
        );
    }

    #[test]
    fn without_anything_hidden_the_text_is_the_image_canonically() {
        let image = Image::parse(
            "{\"\":{\"NULL\":true},\"é\\u2028\":{\"B\":\"3q2+7w==\"},\"A\":{\"BS\":[\"b\",\"a\"]}}",
        )
        .unwrap();
        assert_eq!(
            Redaction::new("", None).encode(&image),
            image.to_canonical()
        );
    }
}
