//! The rules of DynamoDB that the memory table keeps: pure functions over items and requests.

use std::collections::BTreeSet;

use sagaline_store::size::{MAX_ITEM_BYTES, item_bytes, refusal};
use sagaline_store::value::{as_integer, n, same};
use sagaline_store::{
    Action, AttributeValue, Condition, Index, Item, Key, PK, Query, SK, Source, TableError, Update,
};

/// The most actions of a transaction (F-TX-1).
const MAX_ACTIONS: usize = 100;
/// The most bytes of all items of a transaction (F-TX-1).
const MAX_TRANSACTION_BYTES: usize = 4 * 1024 * 1024;
/// The most bytes of a partition key (DynamoDB quotas).
const MAX_PK_BYTES: usize = 2048;
/// The most bytes of a sort key (DynamoDB quotas).
const MAX_SK_BYTES: usize = 1024;

/// A rule that a request breaks.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) reason: String,
}

impl Broken {
    fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }

    pub(super) fn into_table_error(self) -> TableError {
        TableError::Invalid(format!("ValidationException: {}", self.reason).into())
    }
}

/// What is checked before anything is looked at.
pub(super) fn transaction(actions: &[Action]) -> Result<(), Broken> {
    if actions.is_empty() || actions.len() > MAX_ACTIONS {
        return Err(Broken::new(format!(
            "a transaction has 1 to {MAX_ACTIONS} actions, not {}",
            actions.len()
        )));
    }
    let mut seen = BTreeSet::new();
    let mut bytes = 0;
    for action in actions {
        let key_of = key_of(action)?;
        key(&key_of)?;
        if !seen.insert(key_of) {
            return Err(Broken::new(
                "Transaction request cannot include multiple operations on one item",
            ));
        }
        bytes += match action {
            Action::Put { item, .. } => item_bytes(item),
            Action::Update(update) => update
                .set
                .iter()
                .map(|(name, value)| name.len() + sagaline_store::size::value_bytes(value))
                .sum(),
        };
    }
    if bytes > MAX_TRANSACTION_BYTES {
        return Err(Broken::new(format!(
            "a transaction has at most {MAX_TRANSACTION_BYTES} bytes, not {bytes}"
        )));
    }
    Ok(())
}

/// What is checked of the keys of a batch.
pub(super) fn batch(keys: &[Key], most: usize) -> Result<(), Broken> {
    if keys.is_empty() || keys.len() > most {
        return Err(Broken::new(format!(
            "a batch has 1 to {most} items, not {}",
            keys.len()
        )));
    }
    if keys.iter().collect::<BTreeSet<_>>().len() < keys.len() {
        return Err(Broken::new(
            "Provided list of item keys contains duplicates",
        ));
    }
    keys.iter().try_for_each(key)
}

/// A key is text, not empty, and not too long.
pub(super) fn key(key: &Key) -> Result<(), Broken> {
    let check = |name: &str, text: &str, most: usize| {
        if (1..=most).contains(&text.len()) {
            Ok(())
        } else {
            Err(Broken::new(format!(
                "{name} must be 1 to {most} bytes, is {}",
                text.len()
            )))
        }
    };
    check(PK, &key.pk, MAX_PK_BYTES)?;
    check(SK, &key.sk, MAX_SK_BYTES)
}

/// The key of the item that an action writes.
pub(super) fn key_of(action: &Action) -> Result<Key, Broken> {
    match action {
        Action::Update(update) => Ok(update.key.clone()),
        Action::Put { item, .. } => key_of_item(item),
    }
}

fn key_of_item(item: &Item) -> Result<Key, Broken> {
    let text = |name: &str| match item.get(name) {
        Some(AttributeValue::S(text)) => Ok(text.clone()),
        _ => Err(Broken::new(format!(
            "the key attribute {name} must be text"
        ))),
    };
    Ok(Key {
        pk: text(PK)?,
        sk: text(SK)?,
    })
}

/// True if the action's condition holds for the item with exactly its key (F-CND-1).
pub(super) fn holds(action: &Action, there: Option<&Item>) -> bool {
    let (Action::Put { condition, .. } | Action::Update(Update { condition, .. })) = action;
    // A comparison with a missing attribute is false (F-CND-2).
    let is = |name: &str, value: &AttributeValue| {
        there
            .and_then(|item| item.get(name))
            .is_some_and(|found| same(found, value))
    };
    match condition {
        None => true,
        Some(Condition::NotExists) => there.is_none(),
        Some(Condition::VersionIs(version)) => is("version", &n(version)),
        Some(Condition::AtLeast(name, least)) => there
            .and_then(|item| item.get(*name))
            .and_then(as_integer)
            .is_some_and(|found| found >= i128::from(*least)),
        Some(Condition::Is(name, value)) => is(name, value),
        Some(Condition::NotExistsOr(name, value)) => there.is_none() || is(name, value),
    }
}

/// The item that a put leaves.
pub(super) fn put(item: &Item) -> Result<(Key, Item), Broken> {
    let written = key_of_item(item)?;
    key(&written)?;
    storable(item)?;
    Ok((written, item.clone()))
}

/// The item that an update leaves: a new one if there was none (F-CND-2).
pub(super) fn update(update: &Update, there: Option<&Item>) -> Result<(Key, Item), Broken> {
    let fresh = || {
        [(PK, &update.key.pk), (SK, &update.key.sk)]
            .map(|(name, text)| (name.to_owned(), AttributeValue::S(text.clone())))
    };
    let mut item = there.cloned().unwrap_or_else(|| Item::from(fresh()));
    let touched = update
        .set
        .keys()
        .chain(&update.remove)
        .chain(update.add.keys());
    let mut seen = BTreeSet::new();
    for name in touched {
        if name == PK || name == SK {
            return Err(Broken::new(format!(
                "cannot update attribute {name}: it is part of the key"
            )));
        }
        if !seen.insert(name) {
            return Err(Broken::new(format!(
                "two parts of the update change {name}"
            )));
        }
    }
    item.extend(
        update
            .set
            .iter()
            .map(|(name, value)| (name.clone(), value.clone())),
    );
    for name in &update.remove {
        item.remove(name);
    }
    for (name, number) in &update.add {
        let sum = match item.get(name) {
            None => Some(i128::from(*number)),
            Some(found) => {
                as_integer(found).and_then(|found| found.checked_add(i128::from(*number)))
            }
        };
        let sum = sum.ok_or_else(|| {
            Broken::new(format!(
                "an operand in the update expression has an incorrect data type: {name}"
            ))
        })?;
        item.insert(name.clone(), n(sum));
    }
    storable(&item)?;
    Ok((update.key.clone(), item))
}

/// Size, depth and numbers; and a key of an index, if it is there, is text and not empty (F-GSI-2).
fn storable(item: &Item) -> Result<(), Broken> {
    if let Some(why) = refusal(item) {
        return Err(Broken::new(format!(
            "the item {why} (at most {MAX_ITEM_BYTES} bytes)"
        )));
    }
    for index in Index::ALL {
        for (attribute, most) in [
            (index.partition(), MAX_PK_BYTES),
            (index.sort(), MAX_SK_BYTES),
        ] {
            match item.get(attribute) {
                None => {}
                Some(AttributeValue::S(text)) if (1..=most).contains(&text.len()) => {}
                Some(other) => {
                    let name = index.name();
                    return Err(Broken::new(format!(
                        "index {name}: the key attribute {attribute} must be text of 1 to {most} bytes, is {other:?}"
                    )));
                }
            }
        }
    }
    Ok(())
}

/// What is checked of a query.
pub(super) fn query(query: &Query) -> Result<(), Broken> {
    if query.limit == 0 {
        return Err(Broken::new("the limit must be at least 1"));
    }
    if [&query.partition, &query.from, &query.to]
        .into_iter()
        .any(String::is_empty)
    {
        return Err(Broken::new("the value of a key must not be empty"));
    }
    if query.from > query.to {
        return Err(Broken::new(
            "the BETWEEN operator requires upper bound to be greater than or equal to lower bound",
        ));
    }
    Ok(())
}

/// What a query returns of an item: from an index only what it projects (F-GSI-3).
pub(super) fn projected(item: &Item, source: Source) -> Item {
    match source {
        Source::Table { .. } => item.clone(),
        Source::Index(index) => part(
            item,
            &[&[PK, SK, index.partition(), index.sort()], index.included()].concat(),
        ),
    }
}

/// The key with which the next page begins.
pub(super) fn start_key(item: &Item, source: Source) -> Item {
    match source {
        Source::Table { .. } => part(item, &[PK, SK]),
        Source::Index(index) => part(item, &[PK, SK, index.partition(), index.sort()]),
    }
}

fn part(item: &Item, names: &[&str]) -> Item {
    names
        .iter()
        .filter_map(|name| item.get_key_value(*name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
