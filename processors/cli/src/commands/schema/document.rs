//! JSON as an author of it may get it wrong: a name that stands twice in one object is refused, because the first of the two would silently be
//! forgotten.

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// Reads one JSON document.
///
/// # Errors
/// What is wrong, with line and column.
pub(super) fn parse(text: &str) -> Result<Value, serde_json::Error> {
    // An editor on Windows may have put a byte order mark first; JSON has none, but what follows it is what was meant.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    serde_json::from_str(text).map(|Unique(value)| value)
}

struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueNames).map(Self)
    }
}

struct UniqueNames;

impl<'de> Visitor<'de> for UniqueNames {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        // To the JSON Schema 2.0 is an integer, so that it must be one to what reads it next.
        if let Ok(whole) = number.to_string().parse::<i64>() {
            return Ok(whole.into());
        }
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Unique(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if members.contains_key(&name) {
                return Err(A::Error::custom(format!(
                    "the name {name:?} stands twice in one object"
                )));
            }
            let Unique(value) = map.next_value()?;
            members.insert(name, value);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn name_that_stands_twice_is_named_with_its_place() {
        let error = parse("{\"a\": 1,\n \"b\": [{\"c\": 1, \"c\": 2}]}").unwrap_err();
        assert_eq!((error.line(), error.column()), (2, 19));
        assert!(error.to_string().contains("\"c\" stands twice"), "{error}");
    }

    #[test]
    fn everything_else_is_read_as_it_stands() {
        let text = r#"{"a": [1, -2.0, 2.5, true, null, "x"], "b": {}}"#;
        let expected = json!({"a": [1, -2, 2.5, true, null, "x"], "b": {}});
        assert_eq!(parse(text).unwrap(), expected);
        assert_eq!(parse(&format!("\u{feff}{text}")).unwrap(), expected);
        assert!(parse("{}x").is_err() && parse("").is_err() && parse(&"[".repeat(1000)).is_err());
    }
}
