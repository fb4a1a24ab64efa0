//! The caller's own attributes, as the index's `flat_object` takes them: any keys, every value as text or nested text.
//!
//! Numbers are written as text: their digits stay as they are, and no first document decides a type (F-MAP-1). Binary is its base64 text.

use sagaline_stream::{Attribute, Image};
use serde::ser::{Serialize, SerializeSeq as _, Serializer};

/// A flat object's term is `<path>=<value>`, and its doc value has the field's name before it once more. Lucene refuses either above 32,766
/// bytes, and the document with it (tried with 2.19.6, where 32,755 is the most). This leaves room for what another version may add.
const MAX_TERM_BYTES: usize = 32_000;

/// The field's name, which begins every path.
const FIELD: &str = "attributes";

/// A map of free attributes; serializes as the JSON object of the document. Values too long to be a term are clipped, and keys too long to
/// begin one left out.
#[derive(Debug)]
pub(crate) struct Free<'r>(&'r Image<'r>);

impl<'r> Free<'r> {
    pub(crate) fn new(attributes: &'r Image<'r>) -> Self {
        Self(attributes)
    }
}

impl Serialize for Free<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        members(self.0, FIELD.len(), serializer)
    }
}

/// A value and how many bytes its path has.
struct Node<'r> {
    value: &'r Attribute<'r>,
    path: usize,
}

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let room = MAX_TERM_BYTES.saturating_sub(self.path + 1);
        match self.value {
            Attribute::S(text) | Attribute::N(text) | Attribute::B(text) => {
                serializer.serialize_str(clip(text, room))
            }
            Attribute::Bool(truth) => serializer.serialize_bool(*truth),
            Attribute::Null => serializer.serialize_none(),
            Attribute::M(map) => members(map, self.path, serializer),
            Attribute::L(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for value in items {
                    list.serialize_element(&Node {
                        value,
                        path: self.path,
                    })?;
                }
                list.end()
            }
            Attribute::Ss(texts) | Attribute::Ns(texts) | Attribute::Bs(texts) => {
                serializer.collect_seq(texts.iter().map(|text| clip(text, room)))
            }
        }
    }
}

fn members<S: Serializer>(map: &Image<'_>, path: usize, serializer: S) -> Result<S::Ok, S::Error> {
    let nodes = map.iter().map(|(name, value)| {
        (
            name,
            Node {
                value,
                path: path + 1 + name.len(),
            },
        )
    });
    serializer.collect_map(nodes.filter(|(_, node)| node.path < MAX_TERM_BYTES))
}

/// The longest beginning of `text` that has at most so many bytes.
fn clip(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(image: &str) -> String {
        serde_json::to_string(&Free::new(&Image::parse(image).unwrap())).unwrap()
    }

    // C-30, C-37, C-38
    #[test]
    fn every_type_has_a_text_and_no_number_loses_a_digit() {
        let image = r#"{"b":{"B":"3q2+7w=="},"bs":{"BS":["AQ==","AA=="]},"n":{"N":"12345678901234567890123456789012345678"},"ns":{"NS":["-0.1"]},
            "ratio":{"N":"10"},"note":{"S":"2026/02/03"},"yes":{"BOOL":true},"nil":{"NULL":true},"l":{"L":[{"N":"1"},{"M":{"":{"S":""}}}]}}"#;
        let expected = r#"{"b":"3q2+7w==","bs":["AA==","AQ=="],"l":["1",{"":""}],"n":"12345678901234567890123456789012345678","nil":null,"note":"2026/02/03","ns":["-0.1"],"ratio":"10","yes":true}"#;
        assert_eq!(written(image), expected);
    }

    #[test]
    fn a_value_too_long_for_a_term_is_clipped_between_characters_and_a_key_too_long_left_out() {
        let (long, key) = ("é".repeat(20_000), "k".repeat(40_000));
        let text = written(&format!(
            r#"{{"a":{{"S":"{long}"}},"m":{{"M":{{"{key}":{{"S":"x"}},"b":{{"SS":["{long}"]}}}}}}}}"#
        ));
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        let a = read["a"].as_str().unwrap();
        assert_eq!(
            "attributes.a=".len() + a.len(),
            MAX_TERM_BYTES - 1,
            "the last character has two bytes"
        );
        let b = read["m"]["b"][0].as_str().unwrap();
        assert_eq!("attributes.m.b=".len() + b.len(), MAX_TERM_BYTES - 1);
        assert_eq!(read["m"].as_object().unwrap().len(), 1);
    }
}
