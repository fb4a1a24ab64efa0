//! The hash over what a caller asked for.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// SHA-256 over what a caller asked for, in canonical JSON: tells a repeat from another request under the same id.
///
/// ```
/// # use sagaline_stream::guard::PayloadHash;
/// # use serde_json::json;
/// let hash = PayloadHash::of(&json!({"qty": 1, "sku": "tea"}));
/// assert_eq!(hash, PayloadHash::of(&json!({"sku": "tea", "qty": 1})));
/// assert_ne!(hash, PayloadHash::of(&json!({"sku": "tea", "qty": 2})));
/// assert_eq!(hash.as_str(), "3cf7944d1718d2a347bf797e32273793e4fe0c0693c6b06fbec1b032a3decff5");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PayloadHash(String);

impl PayloadHash {
    /// Of a JSON value. Object names are sorted by their UTF-8 bytes at every level, nothing else is touched: lists keep their order, and
    /// an absent member is not a null.
    #[must_use]
    pub fn of(payload: &Value) -> Self {
        let mut text = String::new();
        canonical(payload, &mut text);
        Self(hex::encode(Sha256::digest(text.as_bytes())))
    }

    /// As it stands in a stored marker, whatever it holds.
    #[must_use]
    pub fn stored(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Lower-case hexadecimal.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()));
            out.push('{');
            for (place, (name, inner)) in members.into_iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                canonical(inner, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (place, inner) in items.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                canonical(inner, out);
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_hash_ignores_the_order_of_names_only() {
        let of = |text: &str| PayloadHash::of(&serde_json::from_str(text).expect("JSON"));
        let a = of(r#"{"b":[1,2],"a":{"y":1,"x":null}}"#);
        assert_eq!(a, of(r#" {"a": {"x": null, "y": 1}, "b": [1, 2]} "#));
        for other in [
            r#"{"a":{"x":null,"y":1},"b":[2,1]}"#,
            r#"{"a":{"y":1},"b":[1,2]}"#,
            r#"{"a":{"x":null,"y":"1"},"b":[1,2]}"#,
            r#"{"a":{"x":null,"y":1.0},"b":[1,2]}"#,
        ] {
            assert_ne!(a, of(other), "{other}");
        }
    }

    // Stored markers are compared for thirty days: the hash of a payload must never change between releases.
    #[test]
    fn the_hash_of_a_payload_is_the_sha_256_of_its_canonical_text() {
        let payload = json!({"é": "ü\u{2028}\"", "z": {"b": [true, null, 1.5, -3], "B": ""}, "Z": 18_446_744_073_709_551_615_u64});
        let mut text = String::new();
        canonical(&payload, &mut text);
        assert_eq!(
            text,
            "{\"Z\":18446744073709551615,\"z\":{\"B\":\"\",\"b\":[true,null,1.5,-3]},\"é\":\"ü\u{2028}\\\"\"}"
        );
        assert_eq!(
            PayloadHash::of(&payload).as_str(),
            hex::encode(Sha256::digest(text.as_bytes()))
        );
        assert_eq!(
            PayloadHash::of(&json!({})).as_str(),
            "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        );
    }
}
