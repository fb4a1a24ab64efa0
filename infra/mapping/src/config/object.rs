//! A JSON object that is taken apart key by key, so that what is left over can be refused by name.
//!
//! A derived deserialiser would name the key of an unknown field, but neither its place nor the key of a wrong type.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::ConfigError;

/// The keys of one object that have not been read yet.
pub(super) struct Object {
    path: String,
    fields: Map<String, Value>,
}

impl Object {
    pub(super) fn parse(text: &str) -> Result<Self, ConfigError> {
        let json = |error: serde_json::Error| ConfigError::Json(error.to_string());
        let raw: Box<RawValue> = serde_json::from_str(text).map_err(json)?;
        refuse_repeated_keys(&raw).map_err(json)?;
        match serde_json::from_str(raw.get()).map_err(json)? {
            Value::Object(fields) => Ok(Self {
                path: String::new(),
                fields,
            }),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Err(ConfigError::Json("the document is no object".to_owned())),
        }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.fields.keys().cloned().collect()
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.fields.contains_key(key)
    }

    /// Takes a key out. JSON null counts as absent, as in an AWS template.
    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        self.fields.remove(key).filter(|value| !value.is_null())
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>, ConfigError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(key, "a text", &other)),
        }
    }

    pub(super) fn required_text(&mut self, key: &str) -> Result<String, ConfigError> {
        self.text(key)?.ok_or_else(|| self.missing(key))
    }

    pub(super) fn boolean(&mut self, key: &str) -> Result<Option<bool>, ConfigError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(self.wrong(key, "true or false", &other)),
        }
    }

    /// A whole number from `low` to `high`.
    pub(super) fn integer(
        &mut self,
        key: &str,
        low: u64,
        high: u64,
    ) -> Result<Option<u64>, ConfigError> {
        match self.signed(key)? {
            None => Ok(None),
            Some(number) => match u64::try_from(number) {
                Ok(number) if (low..=high).contains(&number) => Ok(Some(number)),
                Ok(_) | Err(_) => {
                    Err(self.invalid(key, format!("{number} is outside {low} to {high}")))
                }
            },
        }
    }

    /// A whole number where AWS writes -1 for "no limit": `Some(None)`.
    pub(super) fn limit(
        &mut self,
        key: &str,
        low: u64,
        high: u64,
    ) -> Result<Option<Option<u64>>, ConfigError> {
        match self.signed(key)? {
            None => Ok(None),
            Some(-1) => Ok(Some(None)),
            Some(number) => match u64::try_from(number) {
                Ok(number) if (low..=high).contains(&number) => Ok(Some(Some(number))),
                Ok(_) | Err(_) => Err(self.invalid(
                    key,
                    format!("{number} is neither -1 nor within {low} to {high}"),
                )),
            },
        }
    }

    fn signed(&mut self, key: &str) -> Result<Option<i64>, ConfigError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Number(number)) => number
                .as_i64()
                .map(Some)
                .ok_or_else(|| self.invalid(key, format!("{number} is no whole number in range"))),
            Some(other) => Err(self.wrong(key, "a whole number", &other)),
        }
    }

    pub(super) fn object(&mut self, key: &str) -> Result<Option<Self>, ConfigError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Object(fields)) => Ok(Some(Self {
                path: self.path_of(key),
                fields,
            })),
            Some(other) => Err(self.wrong(key, "an object", &other)),
        }
    }

    pub(super) fn required_object(&mut self, key: &str) -> Result<Self, ConfigError> {
        self.object(key)?.ok_or_else(|| self.missing(key))
    }

    pub(super) fn list(&mut self, key: &str) -> Result<Option<Vec<Value>>, ConfigError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(other) => Err(self.wrong(key, "a list", &other)),
        }
    }

    pub(super) fn objects(&mut self, key: &str) -> Result<Option<Vec<Self>>, ConfigError> {
        let Some(items) = self.list(key)? else {
            return Ok(None);
        };
        let mut objects = Vec::new();
        for (at, item) in items.into_iter().enumerate() {
            let path = format!("{}[{at}]", self.path_of(key));
            match item {
                Value::Object(fields) => objects.push(Self { path, fields }),
                other @ (Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::String(_)
                | Value::Array(_)) => {
                    return Err(ConfigError::Invalid {
                        key: path,
                        reason: format!("an object is expected, not {}", kind(&other)),
                    });
                }
            }
        }
        Ok(Some(objects))
    }

    pub(super) fn required_objects(&mut self, key: &str) -> Result<Vec<Self>, ConfigError> {
        self.objects(key)?.ok_or_else(|| self.missing(key))
    }

    /// An object whose values are all texts.
    pub(super) fn into_texts(mut self) -> Result<BTreeMap<String, String>, ConfigError> {
        let mut texts = BTreeMap::new();
        for name in self.names() {
            let text = self.required_text(&name)?;
            texts.insert(name, text);
        }
        Ok(texts)
    }

    /// Refuses what nobody asked for.
    pub(super) fn finish(self) -> Result<(), ConfigError> {
        match self.fields.keys().next() {
            None => Ok(()),
            Some(key) => Err(ConfigError::Unknown {
                key: self.path_of(key),
            }),
        }
    }

    pub(super) fn missing(&self, key: &str) -> ConfigError {
        ConfigError::Missing {
            key: self.path_of(key),
        }
    }

    pub(super) fn invalid(&self, key: &str, reason: String) -> ConfigError {
        ConfigError::Invalid {
            key: self.path_of(key),
            reason,
        }
    }

    pub(super) fn unsupported(&self, key: &str, reason: &str) -> ConfigError {
        ConfigError::Unsupported {
            key: self.path_of(key),
            reason: reason.to_owned(),
        }
    }

    fn wrong(&self, key: &str, wanted: &str, found: &Value) -> ConfigError {
        self.invalid(key, format!("{wanted} is expected, not {}", kind(found)))
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Refuses a repeated key at any depth: the last one would win silently, and the first would be a setting ignored.
///
/// Works on raw text, not on values, so that it does not depend on how `serde_json` represents numbers.
fn refuse_repeated_keys(raw: &RawValue) -> Result<(), serde_json::Error> {
    let text = raw.get();
    if text.starts_with('{') {
        let Entries(entries) = serde_json::from_str(text)?;
        entries
            .iter()
            .try_for_each(|entry| refuse_repeated_keys(entry))
    } else if text.starts_with('[') {
        let items: Vec<Box<RawValue>> = serde_json::from_str(text)?;
        items.iter().try_for_each(|item| refuse_repeated_keys(item))
    } else {
        Ok(())
    }
}

/// The values of an object whose keys are all different.
struct Entries(Vec<Box<RawValue>>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Entries, A::Error> {
        let mut seen = BTreeSet::new();
        let mut values = Vec::new();
        while let Some((key, value)) = entries.next_entry::<String, Box<RawValue>>()? {
            if seen.contains(&key) {
                return Err(A::Error::custom(format!("the key {key} stands twice")));
            }
            seen.insert(key);
            values.push(value);
        }
        Ok(Entries(values))
    }
}
