//! A table as its file describes it. The shape was checked against the JSON Schema before, so that reading it only fails where the two disagree.

use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug, Deserialize)]
pub(super) struct Schema {
    pub(super) table: TableOf,
    pub(super) parts: BTreeMap<String, Part>,
    pub(super) items: BTreeMap<String, Item>,
    pub(super) indexes: BTreeMap<String, Index>,
    pub(super) patterns: BTreeMap<String, Pattern>,
    #[serde(default)]
    pub(super) transactions: BTreeMap<String, Transaction>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TableOf {
    pub(super) name: String,
    pub(super) partition: KeyAttribute,
    pub(super) sort: Option<KeyAttribute>,
    #[serde(default = "hash")]
    pub(super) separator: char,
    pub(super) time_to_live: Option<String>,
    #[serde(default)]
    pub(super) placeholders: Placeholders,
}

fn hash() -> char {
    '#'
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Placeholders {
    Always,
    #[default]
    WhereNeeded,
}

#[derive(Debug, Deserialize)]
pub(super) struct KeyAttribute {
    pub(super) name: String,
    pub(super) r#type: Type,
}

/// DynamoDB's types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Type {
    S,
    N,
    B,
    Bool,
    Null,
    L,
    M,
    Ss,
    Ns,
    Bs,
}

impl Type {
    /// What an attribute of a key may be (DynamoDB, "Naming rules and data types": keys are scalars of string, number or binary).
    pub(super) fn is_key(self) -> bool {
        matches!(self, Self::S | Self::N | Self::B)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_uppercase())
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Part {
    pub(super) kind: Kind,
    pub(super) max_bytes: Option<usize>,
    #[serde(default)]
    pub(super) opaque: bool,
    pub(super) format: Option<String>,
    pub(super) zone: Option<Zone>,
    pub(super) width: Option<usize>,
    pub(super) shards: Option<usize>,
    #[serde(default)]
    pub(super) values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Id,
    Time,
    Shard,
    Number,
    Choice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Zone {
    #[serde(rename = "UTC")]
    Utc,
    #[serde(rename = "offset")]
    Offset,
    #[serde(rename = "local")]
    Local,
}

#[derive(Debug, Deserialize)]
pub(super) struct Item {
    pub(super) key: Keys,
    #[serde(default)]
    pub(super) indexes: BTreeMap<String, Keys>,
    pub(super) attributes: BTreeMap<String, Attribute>,
    pub(super) retention: Retention,
}

#[derive(Debug, Deserialize)]
pub(super) struct Keys {
    pub(super) partition: String,
    pub(super) sort: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Attribute {
    pub(super) r#type: Type,
    pub(super) max_bytes: Option<usize>,
    pub(super) depth: Option<usize>,
    pub(super) copy_of: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Retention {
    pub(super) policy: Policy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Policy {
    Keep,
    Expire,
}

#[derive(Debug, Deserialize)]
pub(super) struct Index {
    pub(super) scope: Scope,
    pub(super) partition: KeyAttribute,
    pub(super) sort: Option<KeyAttribute>,
    pub(super) projection: Projection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Scope {
    Global,
    Local,
}

#[derive(Debug, Deserialize)]
pub(super) struct Projection {
    pub(super) r#type: Projected,
    #[serde(default)]
    pub(super) include: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum Projected {
    KeysOnly,
    Include,
    All,
}

#[derive(Debug, Deserialize)]
pub(super) struct Pattern {
    pub(super) reads: Vec<Read>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Read {
    pub(super) operation: Operation,
    pub(super) item: String,
    pub(super) index: Option<String>,
    pub(super) partition: Condition,
    pub(super) sort: Option<Condition>,
    pub(super) consistency: Consistency,
    #[serde(default)]
    pub(super) returns: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Operation {
    GetItem,
    BatchGetItem,
    Query,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Consistency {
    Strong,
    Eventual,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Condition {
    Equals(String),
    BeginsWith(String),
    Between(Vec<String>),
    AtMost(String),
    AtLeast(String),
}

impl Condition {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Equals(_) => "equals",
            Self::BeginsWith(_) => "begins_with",
            Self::Between(_) => "between",
            Self::AtMost(_) => "at_most",
            Self::AtLeast(_) => "at_least",
        }
    }

    /// Its templates, each with its place below the condition.
    pub(super) fn templates(&self) -> Vec<(String, &str)> {
        match self {
            Self::Equals(one) | Self::BeginsWith(one) | Self::AtMost(one) | Self::AtLeast(one) => {
                vec![(self.name().to_owned(), one)]
            }
            Self::Between(two) => two
                .iter()
                .enumerate()
                .map(|(at, one)| (format!("between/{at}"), one.as_str()))
                .collect(),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Transaction {
    pub(super) actions: Vec<Action>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Action {
    pub(super) item: String,
    #[serde(default = "once")]
    pub(super) times: usize,
}

fn once() -> usize {
    1
}

impl Schema {
    /// What a name in braces stands for: a part, else an attribute of the item that has such keys.
    pub(super) fn part(&self, name: &str, item: Option<&Item>) -> Option<Cow<'_, Part>> {
        if let Some(part) = self.parts.get(name) {
            return Some(Cow::Borrowed(part));
        }
        let attribute = item?.attributes.get(name)?;
        Some(Cow::Owned(Part {
            kind: if attribute.r#type == Type::N {
                Kind::Number
            } else {
                Kind::Id
            },
            max_bytes: attribute.max_bytes,
            opaque: false,
            format: None,
            zone: None,
            width: None,
            shards: None,
            values: Vec::new(),
        }))
    }

    /// The key attributes of the table and its indexes, each with its place.
    pub(super) fn key_attributes(&self) -> Vec<(String, &KeyAttribute)> {
        let of = |place: String, partition, sort: Option<_>| {
            let sort = sort.map(|sort| (format!("{place}/sort"), sort));
            std::iter::once((format!("{place}/partition"), partition)).chain(sort)
        };
        of(
            "/table".to_owned(),
            &self.table.partition,
            self.table.sort.as_ref(),
        )
        .chain(self.indexes.iter().flat_map(|(name, index)| {
            of(
                format!("/indexes/{}", escaped(name)),
                &index.partition,
                index.sort.as_ref(),
            )
        }))
        .collect()
    }

    /// Every key template of an item, each with its place and the table or index that it is a key of.
    pub(super) fn keys_of<'a>(
        &'a self,
        name: &str,
        item: &'a Item,
    ) -> Vec<(String, Option<&'a str>, &'a Keys)> {
        let place = format!("/items/{}", escaped(name));
        std::iter::once((format!("{place}/key"), None, &item.key))
            .chain(item.indexes.iter().map(|(index, keys)| {
                (
                    format!("{place}/indexes/{}", escaped(index)),
                    Some(index.as_str()),
                    keys,
                )
            }))
            .collect()
    }
}

/// A name as a step of a JSON pointer (RFC 6901).
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
