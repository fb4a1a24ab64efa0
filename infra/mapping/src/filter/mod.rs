//! `FilterCriteria`: which records a function sees.
//!
//! The rules are EventBridge's pattern rules as the Lambda guide ("Control which events Lambda sends to your function")
//! admits them for mappings. A pattern is compiled once and refused if AWS would refuse it (F-ESM-14). The traps are kept:
//! numbers of DynamoDB are text, so `numeric` never matches an `N`; `exists` looks at leaves only, so
//! `{"x":[{"exists":false}]}` without a type tag matches every record (F-ESM-15).

use std::cmp::Ordering;

use serde_json::{Map, Value};

/// The longest pattern AWS takes, in characters (CreateEventSourceMapping, Filter.Pattern).
const PATTERN_LIMIT_CHARS: usize = 4_096;

/// What a pattern is applied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A DynamoDB stream record, as the function sees it.
    StreamRecord,
    /// An SQS message: only its `body` can be looked at (F-SQS-1).
    QueueMessage,
}

/// Compiled patterns, joined by OR. Without any, everything passes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filter {
    patterns: Vec<Node>,
}

impl Filter {
    /// Compiles one more pattern.
    ///
    /// # Errors
    /// A sentence for the person who wrote the pattern.
    pub fn add(&mut self, pattern: &str, subject: Subject) -> Result<(), String> {
        if pattern.chars().count() > PATTERN_LIMIT_CHARS {
            return Err(format!(
                "the pattern is longer than {PATTERN_LIMIT_CHARS} characters"
            ));
        }
        let value: Value = serde_json::from_str(pattern)
            .map_err(|error| format!("the pattern is no JSON: {error}"))?;
        let Value::Object(fields) = value else {
            return Err("the pattern is no JSON object".to_owned());
        };
        if subject == Subject::QueueMessage
            && let Some(other) = fields.keys().find(|key| *key != "body")
        {
            return Err(format!("an SQS filter looks at body only, not at {other}"));
        }
        self.patterns.push(Node::compile(&fields, "pattern")?);
        Ok(())
    }

    /// Whether everything passes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Whether the function sees this stream record.
    #[must_use]
    pub fn admits(&self, record: &Value) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.matches(record))
    }

    /// Whether the function sees the message with this body. A pattern for an object needs a body that is JSON, a pattern for
    /// plain text one that is not (Lambda guide, "Properly filtering Amazon SQS messages"; F-SQS-6).
    #[must_use]
    pub fn admits_body(&self, body: &str) -> bool {
        if self.patterns.is_empty() {
            return true;
        }
        let value = match serde_json::from_str::<Value>(body) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
            Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | Err(_) => {
                Value::String(body.to_owned())
            }
        };
        let message = Value::Object(Map::from_iter([("body".to_owned(), value)]));
        self.patterns
            .iter()
            .any(|pattern| pattern.matches(&message))
    }
}

/// One level of a pattern: all fields, and all `$or` groups, must hold.
#[derive(Debug, Clone, PartialEq)]
struct Node {
    fields: Vec<(String, Test)>,
    any_of: Vec<Vec<Node>>,
}

#[derive(Debug, Clone, PartialEq)]
enum Test {
    /// The field is an object that matches.
    Inside(Node),
    /// The field is a leaf that one of these accepts.
    Leaf(Vec<Matcher>),
}

#[derive(Debug, Clone, PartialEq)]
enum Matcher {
    Equals(Value),
    EqualsIgnoreCase(String),
    Prefix(String),
    Suffix(String),
    AnythingBut(Vec<Matcher>),
    Numeric(Vec<(Comparison, f64)>),
    Exists(bool),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Comparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Node {
    fn compile(fields: &Map<String, Value>, place: &str) -> Result<Self, String> {
        if fields.is_empty() {
            return Err(format!("{place} is an empty object"));
        }
        let mut node = Self {
            fields: Vec::new(),
            any_of: Vec::new(),
        };
        for (key, value) in fields {
            let place = format!("{place}.{key}");
            match value {
                Value::Array(branches) if key == "$or" => {
                    node.any_of.push(compile_or(branches, &place)?)
                }
                Value::Array(matchers) if !matchers.is_empty() => {
                    let matchers = matchers
                        .iter()
                        .map(|matcher| Matcher::compile(matcher, &place))
                        .collect::<Result<_, _>>()?;
                    node.fields.push((key.clone(), Test::Leaf(matchers)));
                }
                Value::Array(_) => return Err(format!("{place} is an empty list")),
                Value::Object(inner) => node
                    .fields
                    .push((key.clone(), Test::Inside(Self::compile(inner, &place)?))),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                    return Err(format!("{place} must be a list or an object"));
                }
            }
        }
        Ok(node)
    }

    fn matches(&self, value: &Value) -> bool {
        // An array in the event is looked into element by element, as EventBridge does.
        if let Value::Array(items) = value {
            return items.iter().any(|item| self.matches(item));
        }
        self.fields
            .iter()
            .all(|(key, test)| test.matches(value.get(key)))
            && self
                .any_of
                .iter()
                .all(|branches| branches.iter().any(|branch| branch.matches(value)))
    }
}

fn compile_or(branches: &[Value], place: &str) -> Result<Vec<Node>, String> {
    if branches.len() < 2 {
        return Err(format!("{place} needs a list of two or more objects"));
    }
    branches
        .iter()
        .map(|branch| match branch {
            Value::Object(fields) => Node::compile(fields, place),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Err(format!("{place} needs a list of objects")),
        })
        .collect()
}

impl Test {
    fn matches(&self, value: Option<&Value>) -> bool {
        match self {
            // An absent object still has absent leaves: `exists: false` inside it holds.
            Self::Inside(node) => node.matches(value.unwrap_or(&Value::Null)),
            Self::Leaf(matchers) => matchers.iter().any(|matcher| matcher.admits_leaf(value)),
        }
    }
}

impl Matcher {
    fn compile(value: &Value, place: &str) -> Result<Self, String> {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                Ok(Self::Equals(value.clone()))
            }
            Value::Array(_) => Err(format!("{place} holds a list inside a list")),
            Value::Object(operator) => {
                let mut entries = operator.iter();
                match (entries.next(), entries.next()) {
                    (Some((name, operand)), None) => Self::compile_operator(name, operand, place),
                    (None, _) | (Some(_), Some(_)) => {
                        Err(format!("{place} needs exactly one operator in each object"))
                    }
                }
            }
        }
    }

    fn compile_operator(name: &str, operand: &Value, place: &str) -> Result<Self, String> {
        let text = || {
            operand
                .as_str()
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
                .ok_or_else(|| format!("{place}: {name} needs a text that is not empty"))
        };
        match name {
            "prefix" => Ok(Self::Prefix(text()?)),
            "suffix" => Ok(Self::Suffix(text()?)),
            "equals-ignore-case" => Ok(Self::EqualsIgnoreCase(text()?.to_lowercase())),
            "exists" => operand
                .as_bool()
                .map(Self::Exists)
                .ok_or_else(|| format!("{place}: exists needs true or false")),
            "numeric" => compile_numeric(operand, place),
            "anything-but" => compile_anything_but(operand, place),
            other => Err(format!(
                "{place}: {other} is no operator of a mapping's filter"
            )),
        }
    }

    fn admits_leaf(&self, value: Option<&Value>) -> bool {
        match value {
            None | Some(Value::Object(_)) => *self == Self::Exists(false),
            Some(Value::Array(items)) if items.is_empty() => *self == Self::Exists(false),
            Some(Value::Array(items)) => items.iter().any(|item| self.admits_leaf(Some(item))),
            Some(leaf @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_))) => {
                self.admits(leaf)
            }
        }
    }

    fn admits(&self, leaf: &Value) -> bool {
        let text = leaf.as_str();
        match self {
            Self::Equals(Value::Number(wanted)) => leaf
                .as_f64()
                .is_some_and(|number| wanted.as_f64() == Some(number)),
            Self::Equals(wanted) => wanted == leaf,
            Self::EqualsIgnoreCase(wanted) => {
                text.is_some_and(|text| text.to_lowercase() == *wanted)
            }
            Self::Prefix(prefix) => text.is_some_and(|text| text.starts_with(prefix)),
            Self::Suffix(suffix) => text.is_some_and(|text| text.ends_with(suffix)),
            Self::AnythingBut(refused) => !refused.iter().any(|matcher| matcher.admits(leaf)),
            Self::Numeric(bounds) => leaf.as_f64().is_some_and(|number| {
                bounds
                    .iter()
                    .all(|(comparison, bound)| comparison.holds(number, *bound))
            }),
            Self::Exists(wanted) => *wanted,
        }
    }
}

impl Comparison {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "=" => Self::Equal,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            _ => return None,
        })
    }

    fn holds(self, number: f64, bound: f64) -> bool {
        let order = number.partial_cmp(&bound);
        match self {
            Self::Equal => order == Some(Ordering::Equal),
            Self::Less => order == Some(Ordering::Less),
            Self::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Self::Greater => order == Some(Ordering::Greater),
            Self::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        }
    }
}

/// `["=", 5]`, or one bound, or a lower and an upper one.
fn compile_numeric(operand: &Value, place: &str) -> Result<Matcher, String> {
    let wrong = || format!("{place}: numeric needs one or two pairs such as [\">\", 0, \"<=\", 5]");
    let items = operand.as_array().ok_or_else(wrong)?;
    if !matches!(items.len(), 2 | 4) {
        return Err(wrong());
    }
    let mut bounds = Vec::new();
    for pair in items.chunks(2) {
        let [comparison, bound] = pair else {
            return Err(wrong());
        };
        let comparison = comparison
            .as_str()
            .and_then(Comparison::parse)
            .ok_or_else(wrong)?;
        bounds.push((comparison, bound.as_f64().ok_or_else(wrong)?));
    }
    if bounds.len() == 2
        && bounds
            .iter()
            .any(|(comparison, _)| *comparison == Comparison::Equal)
    {
        return Err(wrong());
    }
    Ok(Matcher::Numeric(bounds))
}

/// A text, a number, a list of them, or one of the text operators.
fn compile_anything_but(operand: &Value, place: &str) -> Result<Matcher, String> {
    let wrong = || {
        format!(
            "{place}: anything-but needs texts, numbers, or one of prefix, suffix and equals-ignore-case"
        )
    };
    let plain = |value: &Value| match value {
        Value::String(_) | Value::Number(_) => Ok(Matcher::Equals(value.clone())),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err(wrong()),
    };
    let refused = match operand {
        Value::Array(items) if !items.is_empty() => {
            items.iter().map(plain).collect::<Result<Vec<_>, _>>()?
        }
        Value::Object(_) => match Matcher::compile(operand, place)? {
            matcher @ (Matcher::Prefix(_) | Matcher::Suffix(_) | Matcher::EqualsIgnoreCase(_)) => {
                vec![matcher]
            }
            Matcher::Equals(_)
            | Matcher::AnythingBut(_)
            | Matcher::Numeric(_)
            | Matcher::Exists(_) => return Err(wrong()),
        },
        other @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)) => vec![plain(other)?],
    };
    Ok(Matcher::AnythingBut(refused))
}

#[cfg(test)]
mod tests;
