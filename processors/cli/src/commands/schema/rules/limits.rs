//! DynamoDB's limits on names, items, indexes and transactions, and its reserved words.

use super::super::model::{Placeholders, Projected, Schema, Scope, Type, escaped};
use super::{
    ACTION_COUNT, DEPTH, Findings, INDEX_COUNT, ITEM_SIZE, LOCAL_INDEX_COUNT, NAME_LENGTH,
    PROJECTED_COUNT, RESERVED_WORD,
};
use sagaline_store::size::{MAX_DEPTH, MAX_ITEM_BYTES};
use std::collections::{BTreeMap, BTreeSet};

/// The names of tables and indexes (DynamoDB, "Naming rules and data types").
const NAME_CHARACTERS: std::ops::RangeInclusive<usize> = 3..=255;
/// The longest name of a key attribute (the same page).
const MAX_KEY_NAME_BYTES: usize = 255;
/// The longest name of any other attribute: 64 KB less one (the same page).
const MAX_ATTRIBUTE_NAME_BYTES: usize = 65_535;
/// Global secondary indexes of a table (DynamoDB quotas; can be raised).
const MAX_GLOBAL_INDEXES: usize = 20;
/// Local secondary indexes of a table (DynamoDB quotas).
const MAX_LOCAL_INDEXES: usize = 5;
/// Attributes that all indexes of a table include, the same one counted each time (DynamoDB quotas).
const MAX_PROJECTED: usize = 100;
/// Actions of a transaction (DynamoDB quotas, "Transactions").
const MAX_ACTIONS: usize = 100;
/// A number has at most 38 digits, two a byte, one byte more and one for the sign.
const MAX_NUMBER_BYTES: usize = 21;

/// The reserved words (DynamoDB developer guide, "Reserved words in DynamoDB"; 573 of them, not case-sensitive).
const RESERVED_WORDS: &str = include_str!("../reserved_words.txt");

pub(super) fn check(schema: &Schema, found: &mut Findings) {
    names(schema, found);
    items(schema, found);
    indexes(schema, found);
    for (name, transaction) in &schema.transactions {
        let actions = transaction
            .actions
            .iter()
            .fold(0_usize, |sum, action| sum.saturating_add(action.times));
        if actions > MAX_ACTIONS {
            let what =
                format!("{name} has up to {actions} actions, at most {MAX_ACTIONS} are taken");
            found.add(
                ACTION_COUNT,
                format!("/transactions/{}", escaped(name)),
                what,
            );
        }
    }
}

fn names(schema: &Schema, found: &mut Findings) {
    let tables = std::iter::once(("/table/name".to_owned(), schema.table.name.as_str()));
    let indexes = schema
        .indexes
        .keys()
        .map(|name| (format!("/indexes/{}", escaped(name)), name.as_str()));
    for (place, name) in tables.chain(indexes) {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let characters = name.chars().count();
        if !NAME_CHARACTERS.contains(&characters) || !name.chars().all(allowed) {
            let what = format!("{name:?} has {characters} characters, or one that is not allowed");
            found.add(NAME_LENGTH, place, what);
        }
    }
    // By name: where it stands first, and whether it is a key somewhere.
    let mut attributes: BTreeMap<&str, (String, bool)> = BTreeMap::new();
    for (place, key) in schema.key_attributes() {
        attributes
            .entry(&key.name)
            .or_insert((format!("{place}/name"), true));
    }
    for (item, declared) in &schema.items {
        for name in declared.attributes.keys() {
            let place = format!("/items/{}/attributes/{}", escaped(item), escaped(name));
            attributes.entry(name).or_insert((place, false));
        }
    }
    let reserved: BTreeSet<&str> = RESERVED_WORDS.split_whitespace().collect();
    for (name, (place, is_key)) in attributes {
        let most = if is_key {
            MAX_KEY_NAME_BYTES
        } else {
            MAX_ATTRIBUTE_NAME_BYTES
        };
        if !(1..=most).contains(&name.len()) {
            let what = format!("a name of {} bytes, 1 to {most} are taken", name.len());
            found.add(NAME_LENGTH, &place, what);
        }
        if schema.table.placeholders == Placeholders::WhereNeeded
            && reserved.contains(name.to_ascii_uppercase().as_str())
        {
            found.add(RESERVED_WORD, place, format!("{name} is a reserved word"));
        }
    }
}

fn items(schema: &Schema, found: &mut Findings) {
    for (name, item) in &schema.items {
        let place = format!("/items/{}", escaped(name));
        let bytes = item
            .attributes
            .iter()
            .fold(0_usize, |sum, (name, attribute)| {
                let value = match attribute.r#type {
                    Type::N => MAX_NUMBER_BYTES,
                    Type::Bool | Type::Null => 1,
                    Type::S | Type::B | Type::L | Type::M | Type::Ss | Type::Ns | Type::Bs => {
                        attribute.max_bytes.unwrap_or(0)
                    }
                };
                sum.saturating_add(name.len()).saturating_add(value)
            });
        if bytes > MAX_ITEM_BYTES {
            let what = format!("{name} can have {bytes} bytes, at most {MAX_ITEM_BYTES} are taken");
            found.add(ITEM_SIZE, &place, what);
        }
        for (attribute, declared) in &item.attributes {
            if let Some(depth) = declared.depth.filter(|depth| *depth > MAX_DEPTH) {
                found.add(
                    DEPTH,
                    format!("{place}/attributes/{}/depth", escaped(attribute)),
                    format!("{attribute} has up to {depth} levels, at most {MAX_DEPTH} are taken"),
                );
            }
        }
    }
}

fn indexes(schema: &Schema, found: &mut Findings) {
    let count = |scope| {
        let of = |index: &&super::super::model::Index| index.scope == scope;
        schema.indexes.values().filter(of).count()
    };
    let (global, local) = (count(Scope::Global), count(Scope::Local));
    if global > MAX_GLOBAL_INDEXES {
        let what = format!("{global} global indexes, at most {MAX_GLOBAL_INDEXES} are taken");
        found.add(INDEX_COUNT, "/indexes", what);
    }
    if local > MAX_LOCAL_INDEXES {
        let what = format!("{local} local indexes, at most {MAX_LOCAL_INDEXES} are taken");
        found.add(LOCAL_INDEX_COUNT, "/indexes", what);
    }
    let included: usize = schema
        .indexes
        .values()
        .filter(|index| index.projection.r#type == Projected::Include)
        .map(|index| index.projection.include.len())
        .sum();
    if included > MAX_PROJECTED {
        let what = format!("{included} attributes are included, at most {MAX_PROJECTED} are taken");
        found.add(PROJECTED_COUNT, "/indexes", what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_words_are_the_573_of_the_page_each_once() {
        let words: Vec<&str> = RESERVED_WORDS.split_whitespace().collect();
        assert_eq!(words.len(), 573);
        assert!(words.windows(2).all(|pair| pair[0] < pair[1]), "sorted");
        for word in ["ABORT", "NAME", "STATUS", "TTL", "ZONE"] {
            assert!(words.contains(&word), "{word}");
        }
    }
}
