//! What is named must be there, what is there must be used, and what is asked must be possible.

use super::super::model::{
    Condition, Consistency, Item, Keys, Operation, Policy, Projected, Read, Schema, Scope, Type,
    escaped,
};
use super::super::template::{Relation, can_be, pieces};
use super::{
    EMPTY_INDEX, Findings, INDEX_GET, LOCAL_INDEX_KEY, NO_MATCH, NOT_LISTED, NOT_PROJECTED,
    PARTITION_CONDITION, RETENTION, SORT_CONDITION, STRONG_INDEX_READ, TTL_TYPE, UNKNOWN_ATTRIBUTE,
    UNKNOWN_INDEX, UNKNOWN_ITEM, UNUSED_INDEX,
};

pub(super) fn check(schema: &Schema, found: &mut Findings) {
    items(schema, found);
    time_to_live(schema, found);
    indexes(schema, found);
    for (name, pattern) in &schema.patterns {
        for (at, read) in pattern.reads.iter().enumerate() {
            let place = format!("/patterns/{}/reads/{at}", escaped(name));
            self::read(schema, &place, read, found);
        }
    }
    for (name, transaction) in &schema.transactions {
        for (at, action) in transaction.actions.iter().enumerate() {
            if !schema.items.contains_key(&action.item) {
                let place = format!("/transactions/{}/actions/{at}/item", escaped(name));
                found.add(UNKNOWN_ITEM, place, no_item(&action.item));
            }
        }
    }
}

fn no_item(name: &str) -> String {
    format!("there is no item type {name}")
}

fn no_index(name: &str) -> String {
    format!("there is no index {name}")
}

fn items(schema: &Schema, found: &mut Findings) {
    for (name, item) in &schema.items {
        let place = format!("/items/{}", escaped(name));
        for index in item.indexes.keys() {
            if !schema.indexes.contains_key(index) {
                let place = format!("{place}/indexes/{}", escaped(index));
                found.add(UNKNOWN_INDEX, place, no_index(index));
            }
        }
        for (attribute, declared) in &item.attributes {
            let Some((of, copied)) = declared
                .copy_of
                .as_deref()
                .and_then(|of| of.split_once('.'))
            else {
                continue;
            };
            let place = format!("{place}/attributes/{}/copy_of", escaped(attribute));
            match schema.items.get(of) {
                None => found.add(UNKNOWN_ITEM, place, no_item(of)),
                Some(source) if !has(schema, source, copied) => {
                    found.add(
                        UNKNOWN_ATTRIBUTE,
                        place,
                        format!("{of} has no attribute {copied}"),
                    );
                }
                Some(_) => {}
            }
        }
    }
}

/// Whether an item has an attribute, its keys included.
fn has(schema: &Schema, item: &Item, attribute: &str) -> bool {
    let of_table = schema.table.partition.name == attribute
        || schema
            .table
            .sort
            .as_ref()
            .is_some_and(|sort| sort.name == attribute);
    let of_index = item.indexes.keys().any(|index| {
        schema.indexes.get(index).is_some_and(|index| {
            index.partition.name == attribute
                || index
                    .sort
                    .as_ref()
                    .is_some_and(|sort| sort.name == attribute)
        })
    });
    of_table || of_index || item.attributes.contains_key(attribute)
}

fn time_to_live(schema: &Schema, found: &mut Findings) {
    let attribute = schema.table.time_to_live.as_deref();
    let mut is_used = false;
    for (name, item) in &schema.items {
        let place = format!("/items/{}", escaped(name));
        let declared = attribute.and_then(|attribute| item.attributes.get(attribute));
        is_used |= declared.is_some();
        if let (Some(attribute), Some(declared)) = (attribute, declared)
            && declared.r#type != Type::N
        {
            found.add(
                TTL_TYPE,
                format!("{place}/attributes/{}/type", escaped(attribute)),
                format!("{attribute} of {name} is {}", declared.r#type),
            );
        }
        if item.retention.policy == Policy::Expire && declared.is_none() {
            let what = match attribute {
                Some(attribute) => format!("{name} is to expire and has no {attribute}"),
                None => format!("{name} is to expire and the table has no time_to_live"),
            };
            found.add(RETENTION, format!("{place}/retention"), what);
        }
    }
    if let Some(attribute) = attribute
        && !is_used
        && schema
            .items
            .values()
            .all(|item| item.retention.policy == Policy::Keep)
    {
        let what = format!("no item has {attribute}");
        found.add(UNKNOWN_ATTRIBUTE, "/table/time_to_live", what);
    }
}

fn indexes(schema: &Schema, found: &mut Findings) {
    for (name, index) in &schema.indexes {
        let place = format!("/indexes/{}", escaped(name));
        let listed: Vec<&Item> = schema
            .items
            .values()
            .filter(|item| item.indexes.contains_key(name))
            .collect();
        if listed.is_empty() {
            found.add(EMPTY_INDEX, &place, format!("no item is in {name}"));
        }
        let mut reads = schema.patterns.values().flat_map(|pattern| &pattern.reads);
        if !reads.any(|read| read.index.as_deref() == Some(name)) {
            found.add(UNUSED_INDEX, &place, format!("no pattern reads {name}"));
        }
        if index.scope == Scope::Local && index.partition.name != schema.table.partition.name {
            found.add(
                LOCAL_INDEX_KEY,
                format!("{place}/partition"),
                format!(
                    "{name} has the partition key {}, the table {}",
                    index.partition.name, schema.table.partition.name
                ),
            );
        }
        for (at, attribute) in index.projection.include.iter().enumerate() {
            if !listed.is_empty() && !listed.iter().any(|item| has(schema, item, attribute)) {
                found.add(
                    UNKNOWN_ATTRIBUTE,
                    format!("{place}/projection/include/{at}"),
                    format!("no item in {name} has {attribute}"),
                );
            }
        }
    }
}

fn read(schema: &Schema, place: &str, read: &Read, found: &mut Findings) {
    let Some(item) = schema.items.get(&read.item) else {
        found.add(UNKNOWN_ITEM, format!("{place}/item"), no_item(&read.item));
        return;
    };
    let mut sorted = schema.table.sort.is_some();
    let mut keys = &item.key;
    if let Some(name) = &read.index {
        let Some(index) = schema.indexes.get(name) else {
            found.add(UNKNOWN_INDEX, format!("{place}/index"), no_index(name));
            return;
        };
        let Some(listed) = item.indexes.get(name) else {
            // An index without any item has its own finding.
            if !schema
                .items
                .values()
                .any(|item| item.indexes.contains_key(name))
            {
                return;
            }
            let what = format!("{} is not in {name}", read.item);
            found.add(NOT_LISTED, format!("{place}/index"), what);
            return;
        };
        (sorted, keys) = (index.sort.is_some(), listed);
        if read.operation != Operation::Query {
            let what = format!("{name} is read by {:?}", read.operation);
            found.add(INDEX_GET, format!("{place}/operation"), what);
        }
        if index.scope == Scope::Global && read.consistency == Consistency::Strong {
            let what = format!("{name} is global and read strongly");
            found.add(STRONG_INDEX_READ, format!("{place}/consistency"), what);
        }
        projected(schema, place, (name, read), found);
    }
    for (at, attribute) in read.returns.iter().enumerate() {
        if !has(schema, item, attribute) {
            let what = format!("{} has no attribute {attribute}", read.item);
            found.add(UNKNOWN_ATTRIBUTE, format!("{place}/returns/{at}"), what);
        }
    }
    conditions(schema, place, (read, item, keys, sorted), found);
}

/// What a query of an index returns: its keys, those of the table, and what is projected.
fn projected(schema: &Schema, place: &str, (name, read): (&str, &Read), found: &mut Findings) {
    let Some(index) = schema.indexes.get(name) else {
        return;
    };
    // A local index reads what it lacks from the table; a global one cannot.
    if index.projection.r#type == Projected::All || index.scope == Scope::Local {
        return;
    }
    let (table, own) = (&schema.table, index.sort.as_ref());
    let keys = [
        Some(&table.partition),
        table.sort.as_ref(),
        Some(&index.partition),
        own,
    ];
    for (at, attribute) in read.returns.iter().enumerate() {
        let there = index.projection.include.contains(attribute)
            || keys.iter().flatten().any(|key| key.name == *attribute);
        let item = schema.items.get(&read.item);
        if !there && item.is_some_and(|item| has(schema, item, attribute)) {
            let what = format!("{name} does not have {attribute}");
            found.add(NOT_PROJECTED, format!("{place}/returns/{at}"), what);
        }
    }
}

fn conditions(
    schema: &Schema,
    place: &str,
    (read, item, keys, sorted): (&Read, &Item, &Keys, bool),
    found: &mut Findings,
) {
    let (at_partition, at_sort) = (format!("{place}/partition"), format!("{place}/sort"));
    if let Condition::Equals(template) = &read.partition {
        fits(
            schema,
            item,
            &at_partition,
            ("equals", template, &keys.partition),
            found,
        );
    } else {
        let what = format!("{} on a partition key", read.partition.name());
        found.add(PARTITION_CONDITION, at_partition, what);
    }
    match &read.sort {
        Some(_) if !sorted => {
            found.add(SORT_CONDITION, at_sort, "there is no sort key to ask for");
        }
        Some(condition) => {
            let whole = matches!(condition, Condition::Equals(_));
            if read.operation != Operation::Query && !whole {
                let what = format!(
                    "{:?} takes a whole key, not {}",
                    read.operation,
                    condition.name()
                );
                found.add(SORT_CONDITION, at_sort, what);
                return;
            }
            for (below, template) in condition.templates() {
                let expected = keys.sort.as_deref().unwrap_or_default();
                fits(schema, item, &at_sort, (&below, template, expected), found);
            }
        }
        None if sorted && read.operation != Operation::Query => {
            let what = format!(
                "{:?} takes a whole key, the sort key is missing",
                read.operation
            );
            found.add(SORT_CONDITION, place, what);
        }
        None => {}
    }
}

/// Equality must be able to meet a key of the item, a bound or a beginning to be the beginning of one.
fn fits(
    schema: &Schema,
    item: &Item,
    place: &str,
    (below, template, expected): (&str, &str, &str),
    found: &mut Findings,
) {
    let (Ok(_), Ok(_)) = (pieces(template), pieces(expected)) else {
        return;
    };
    let relation = if below == "equals" {
        Relation::Same
    } else {
        Relation::Beginning
    };
    if !can_be(
        relation,
        (template, Some(item)),
        (expected, Some(item)),
        schema,
    ) {
        let what = format!("{template} is never a key of the form {expected}");
        found.add(NO_MATCH, format!("{place}/{below}"), what);
    }
}
