//! Key templates: well formed, apart from each other, spread over partitions, in an order that is the order of time.

use super::super::model::{Item, Keys, Kind, Part, Schema, Type, Zone, escaped};
use super::super::template::{self, Malformed, Piece, Relation, can_be, pieces};
use super::super::time;
use super::{
    BAD_TEMPLATE, COLLIDING_KEYS, EMPTY_TEMPLATE, Findings, KEY_LENGTH, KEY_LENGTH_UNKNOWN,
    KEY_SHAPE, KEY_TYPE, NUMBER_WIDTH, SAME_KEYS, TIME_LOCAL, TIME_OFFSET, TIME_ORDER, TIME_WIDTH,
    UNKNOWN_PART, UNSHARDED_PARTITION,
};
use std::collections::BTreeSet;

/// The longest partition key (DynamoDB quotas, "Partition key length").
const MAX_PARTITION_BYTES: usize = 2048;
/// The longest sort key (DynamoDB quotas, "Sort key length").
const MAX_SORT_BYTES: usize = 1024;

pub(super) fn check(schema: &Schema, found: &mut Findings) {
    key_attributes(schema, found);
    for (name, item) in &schema.items {
        for (place, index, keys) in schema.keys_of(name, item) {
            shape(schema, &place, index, keys, found);
            let (partition, sort) = types(schema, index);
            one(
                schema,
                item,
                (&format!("{place}/partition"), &keys.partition),
                (partition, MAX_PARTITION_BYTES),
                found,
            );
            if let Some(template) = &keys.sort {
                let place = format!("{place}/sort");
                let limits = (sort, MAX_SORT_BYTES);
                one(schema, item, (&place, template), limits, found);
            }
            spread(schema, item, &place, index, keys, found);
        }
    }
    patterns(schema, found);
    times(schema, found);
    apart(schema, found);
}

/// Keys are scalars, and have one type wherever they are declared.
fn key_attributes(schema: &Schema, found: &mut Findings) {
    for (place, key) in schema.key_attributes() {
        if !key.r#type.is_key() {
            let what = format!("{} is {}", key.name, key.r#type);
            found.add(KEY_TYPE, format!("{place}/type"), what);
        }
        for (name, item) in &schema.items {
            if let Some(attribute) = item.attributes.get(&key.name)
                && attribute.r#type != key.r#type
                && key.r#type.is_key()
            {
                let path = format!(
                    "/items/{}/attributes/{}/type",
                    escaped(name),
                    escaped(&key.name)
                );
                let what = format!(
                    "{} is {} here and {} as a key at {place}",
                    key.name, attribute.r#type, key.r#type
                );
                found.add(KEY_TYPE, path, what);
            }
        }
    }
}

/// The types of partition and sort key of the table or an index.
fn types(schema: &Schema, index: Option<&str>) -> (Type, Type) {
    let (partition, sort) = match index.and_then(|index| schema.indexes.get(index)) {
        Some(index) => (&index.partition, index.sort.as_ref()),
        None => (&schema.table.partition, schema.table.sort.as_ref()),
    };
    (partition.r#type, sort.map_or(Type::S, |sort| sort.r#type))
}

/// Every item has exactly the keys that the table or index has. An index that is not there is another rule's.
fn shape(schema: &Schema, place: &str, index: Option<&str>, keys: &Keys, found: &mut Findings) {
    let wants = match index {
        None => schema.table.sort.is_some(),
        Some(index) => match schema.indexes.get(index) {
            Some(index) => index.sort.is_some(),
            None => return,
        },
    };
    let whose = index.map_or_else(|| "the table".to_owned(), |index| format!("index {index}"));
    match (wants, keys.sort.is_some()) {
        (true, false) => found.add(
            KEY_SHAPE,
            place,
            format!("{whose} has a sort key, this item gives none"),
        ),
        (false, true) => found.add(
            KEY_SHAPE,
            place,
            format!("{whose} has no sort key, this item gives one"),
        ),
        (true, true) | (false, false) => {}
    }
}

/// One template: well formed, of known parts, short enough, and numbers that sort.
fn one(
    schema: &Schema,
    item: &Item,
    (place, template): (&str, &str),
    (kind, max_bytes): (Type, usize),
    found: &mut Findings,
) {
    if !well_formed(schema, Some(item), (place, template), found) {
        return;
    }
    if kind == Type::N {
        // A number is no text: it has no length, and sorts as a number.
        return;
    }
    match template::max_bytes(template, schema, Some(item)) {
        Ok(bytes) if bytes > max_bytes => found.add(
            KEY_LENGTH,
            place,
            format!("{template} can have {bytes} bytes, at most {max_bytes} are taken"),
        ),
        Ok(_) => {}
        Err(unknown) => found.add(
            KEY_LENGTH_UNKNOWN,
            place,
            format!("{template}: {} can be of any length", unknown.join(", ")),
        ),
    }
    if place.ends_with("/sort") {
        for (name, part) in template::parts(template, schema, Some(item)) {
            if part.kind == Kind::Number && part.width.is_none() {
                let what = format!("{template} holds the number {name} without a width");
                found.add(NUMBER_WIDTH, place, what);
            }
        }
    }
}

/// True if a template can be used further.
fn well_formed(
    schema: &Schema,
    item: Option<&Item>,
    (place, template): (&str, &str),
    found: &mut Findings,
) -> bool {
    match pieces(template) {
        Err(Malformed::Empty) => found.add(EMPTY_TEMPLATE, place, "the template is empty"),
        Err(Malformed::EmptyBraces) => found.add(
            BAD_TEMPLATE,
            place,
            format!("{template} has braces with nothing between them"),
        ),
        Err(Malformed::Unbalanced) => found.add(
            BAD_TEMPLATE,
            place,
            format!("{template} has a brace without its other"),
        ),
        Ok(pieces) => {
            let unknown: BTreeSet<&str> = pieces
                .into_iter()
                .filter_map(|piece| match piece {
                    Piece::Part(name) if schema.part(name, item).is_none() => Some(name),
                    Piece::Part(_) | Piece::Text(_) => None,
                })
                .collect();
            for name in &unknown {
                let what = format!("{template} names {name}, which is no part and no attribute");
                found.add(UNKNOWN_PART, place, what);
            }
            return unknown.is_empty();
        }
    }
    false
}

/// A partition key of few values must have shards. A partition of the table that can only hold few items needs none.
fn spread(
    schema: &Schema,
    item: &Item,
    place: &str,
    index: Option<&str>,
    keys: &Keys,
    found: &mut Findings,
) {
    let spreads = |part: &Part| matches!(part.kind, Kind::Id | Kind::Number | Kind::Shard);
    let grows = |part: &Part| !matches!(part.kind, Kind::Choice | Kind::Shard);
    let Ok(pieces) = pieces(&keys.partition) else {
        return;
    };
    let unknown = pieces
        .iter()
        .any(|piece| matches!(piece, Piece::Part(name) if schema.part(name, Some(item)).is_none()));
    let any = |template: &str, is: &dyn Fn(&Part) -> bool| {
        template::parts(template, schema, Some(item))
            .iter()
            .any(|(_, part)| is(part))
    };
    let filled = index.is_some()
        || any(&keys.partition, &grows)
        || keys.sort.as_deref().is_some_and(|sort| any(sort, &grows));
    if filled && !unknown && !any(&keys.partition, &spreads) {
        found.add(
            UNSHARDED_PARTITION,
            format!("{place}/partition"),
            format!("{} takes few values and has no shard", keys.partition),
        );
    }
}

/// The templates of patterns: well formed only. That they fit their item is another rule's.
fn patterns(schema: &Schema, found: &mut Findings) {
    for (name, pattern) in &schema.patterns {
        for (at, read) in pattern.reads.iter().enumerate() {
            let item = schema.items.get(&read.item);
            let sort = read.sort.as_ref().map(|sort| ("sort", sort));
            for (key, condition) in std::iter::once(("partition", &read.partition)).chain(sort) {
                for (below, template) in condition.templates() {
                    let place = format!("/patterns/{}/reads/{at}/{key}/{below}", escaped(name));
                    well_formed(schema, item, (&place, template), found);
                }
            }
        }
    }
}

/// Every time that stands in a key. In a partition key its order does not matter, but whose clock it tells does.
fn times(schema: &Schema, found: &mut Findings) {
    let (mut used, mut sorted) = (BTreeSet::new(), BTreeSet::new());
    for (name, item) in &schema.items {
        for (_, _, keys) in schema.keys_of(name, item) {
            let sort = keys.sort.as_deref().map(|sort| (sort, true));
            for (template, sorts) in std::iter::once((keys.partition.as_str(), false)).chain(sort) {
                for piece in pieces(template).unwrap_or_default() {
                    if let Piece::Part(part) = piece {
                        used.insert(part);
                        if sorts {
                            sorted.insert(part);
                        }
                    }
                }
            }
        }
    }
    for (name, part) in &schema.parts {
        let (Kind::Time, Some(format)) = (part.kind, &part.format) else {
            continue;
        };
        if !used.contains(name.as_str()) {
            continue;
        }
        let place = format!("/parts/{}", escaped(name));
        let at_format = format!("{place}/format");
        if time::has_offset(format) || part.zone == Some(Zone::Offset) {
            let what = format!("{name} is written with an offset from UTC ({format})");
            found.add(TIME_OFFSET, &at_format, what);
        } else if part.zone == Some(Zone::Local) {
            let what = format!("{name} is written in local time");
            found.add(TIME_LOCAL, format!("{place}/zone"), what);
        }
        if sorted.contains(name.as_str()) {
            if time::is_out_of_order(format) {
                let what = format!("{name} is written as {format}, which does not sort by time");
                found.add(TIME_ORDER, &at_format, what);
            } else if time::varies(format) {
                let what = format!("{name} is written as {format}, which has no fixed width");
                found.add(TIME_WIDTH, &at_format, what);
            }
        }
    }
}

/// No two item types share a key.
fn apart(schema: &Schema, found: &mut Findings) {
    let items: Vec<_> = schema.items.iter().collect();
    for (at, (name, item)) in items.iter().enumerate() {
        for (other_name, other) in items.iter().skip(at + 1) {
            let place = format!("/items/{}/key", escaped(other_name));
            let same = |a: &Keys, b: &Keys| a.partition == b.partition && a.sort == b.sort;
            let well = |keys: &Keys| {
                let sort = keys.sort.as_deref();
                pieces(&keys.partition).is_ok() && sort.is_none_or(|sort| pieces(sort).is_ok())
            };
            if !well(&item.key) || !well(&other.key) {
                continue;
            }
            if same(&item.key, &other.key) {
                let what = format!("{other_name} has the keys of {name}");
                found.add(SAME_KEYS, place, what);
                continue;
            }
            let meet = |a: &str, b: &str| {
                can_be(Relation::Same, (a, Some(item)), (b, Some(other)), schema)
            };
            let sorts = match (&item.key.sort, &other.key.sort) {
                (Some(a), Some(b)) => meet(a, b),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            if sorts && meet(&item.key.partition, &other.key.partition) {
                let what = format!(
                    "a key of {other_name} ({}) can be a key of {name} ({})",
                    shown(&other.key),
                    shown(&item.key)
                );
                found.add(COLLIDING_KEYS, place, what);
            }
        }
    }
}

fn shown(keys: &Keys) -> String {
    keys.sort.as_ref().map_or_else(
        || keys.partition.clone(),
        |sort| format!("{} / {sort}", keys.partition),
    )
}
