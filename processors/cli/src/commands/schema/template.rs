//! Key templates: their pieces, the most bytes that a key of them has, and whether two of them can name the same key.

use super::model::{Item, Kind, Part, Schema};
use super::time::{self, Token};
use std::collections::HashSet;

/// A piece of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Text(&'a str),
    Part(&'a str),
}

/// Why a text is no template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Malformed {
    /// Nothing, or blanks only.
    Empty,
    /// `{}`
    EmptyBraces,
    /// A brace without its other.
    Unbalanced,
}

/// Takes a template apart.
pub(super) fn pieces(template: &str) -> Result<Vec<Piece<'_>>, Malformed> {
    if template.trim().is_empty() {
        return Err(Malformed::Empty);
    }
    let mut pieces = Vec::new();
    let mut rest = template;
    while !rest.is_empty() {
        let (text, after) = rest.split_at(rest.find('{').unwrap_or(rest.len()));
        if text.contains('}') {
            return Err(Malformed::Unbalanced);
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        let Some(inside) = after.strip_prefix('{') else {
            break;
        };
        let (name, after) = inside.split_once('}').ok_or(Malformed::Unbalanced)?;
        if name.contains('{') {
            return Err(Malformed::Unbalanced);
        }
        if name.trim().is_empty() {
            return Err(Malformed::EmptyBraces);
        }
        pieces.push(Piece::Part(name));
        rest = after;
    }
    Ok(pieces)
}

/// The parts of a template that are known, by name. Of one that is malformed, none.
pub(super) fn parts<'a>(
    template: &'a str,
    schema: &'a Schema,
    item: Option<&'a Item>,
) -> Vec<(&'a str, std::borrow::Cow<'a, Part>)> {
    pieces(template)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Part(name) => Some((name, schema.part(name, item)?)),
        })
        .collect()
}

/// The most bytes of a key; the parts of unknown length if there are any.
pub(super) fn max_bytes<'a>(
    template: &'a str,
    schema: &'a Schema,
    item: Option<&'a Item>,
) -> Result<usize, Vec<&'a str>> {
    let (mut sum, mut unknown) = (0, Vec::new());
    for piece in pieces(template).unwrap_or_default() {
        match piece {
            Piece::Text(text) => sum += text.len(),
            Piece::Part(name) => match schema.part(name, item).map(|part| part_bytes(&part)) {
                Some(Some(bytes)) => sum += bytes,
                Some(None) => unknown.push(name),
                None => {}
            },
        }
    }
    if unknown.is_empty() {
        Ok(sum)
    } else {
        Err(unknown)
    }
}

fn part_bytes(part: &Part) -> Option<usize> {
    match part.kind {
        Kind::Id => part.max_bytes,
        Kind::Time => part.format.as_deref().map(time::max_bytes),
        Kind::Shard => part.shards.map(|shards| shards.to_string().len()),
        // DynamoDB keeps 38 digits.
        Kind::Number => Some(part.width.unwrap_or(38)),
        Kind::Choice => part.values.iter().map(String::len).max(),
    }
}

/// What one character of a key may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Class {
    This(char),
    Digit,
    ButSeparator,
    Any,
}

impl Class {
    fn meets(self, other: Self, separator: char) -> bool {
        let holds = |class: Self, character: char| match class {
            Self::This(this) => this == character,
            Self::Digit => character.is_ascii_digit(),
            Self::ButSeparator => character != separator,
            Self::Any => true,
        };
        match (self, other) {
            (Self::This(this), class) | (class, Self::This(this)) => holds(class, this),
            // Any two of the others share a digit, unless the separator is all that one of them lacks.
            _ => true,
        }
    }
}

/// One character, or one and more of the same class.
#[derive(Debug, Clone, Copy)]
struct Atom {
    class: Class,
    repeats: bool,
}

impl Atom {
    fn one(class: Class) -> Self {
        Self {
            class,
            repeats: false,
        }
    }

    fn many(class: Class) -> Self {
        Self {
            class,
            repeats: true,
        }
    }
}

/// Choices are spelt out up to so many alternatives; beyond, they count as any text.
const MAX_ALTERNATIVES: usize = 64;

/// The keys of a template, as sequences of atoms: one for each combination of choices. A part that is not known may be anything.
fn alternatives(template: &str, schema: &Schema, item: Option<&Item>) -> Vec<Vec<Atom>> {
    let text = |text: &str| text.chars().map(|c| Atom::one(Class::This(c))).collect();
    let mut found: Vec<Vec<Atom>> = vec![Vec::new()];
    for piece in pieces(template).unwrap_or_default() {
        let next: Vec<Vec<Atom>> = match piece {
            Piece::Text(literal) => vec![text(literal)],
            Piece::Part(name) => match schema.part(name, item) {
                Some(part)
                    if part.kind == Kind::Choice
                        && found.len().saturating_mul(part.values.len()) <= MAX_ALTERNATIVES =>
                {
                    part.values.iter().map(|value| text(value)).collect()
                }
                Some(part) => vec![atoms(&part)],
                None => vec![vec![Atom::many(Class::Any)]],
            },
        };
        found = found
            .iter()
            .flat_map(|head| next.iter().map(|tail| [head.as_slice(), tail].concat()))
            .collect();
    }
    found
}

fn atoms(part: &Part) -> Vec<Atom> {
    match part.kind {
        Kind::Id if !part.opaque => vec![Atom::many(Class::ButSeparator)],
        Kind::Id | Kind::Choice => vec![Atom::many(Class::Any)],
        Kind::Shard => vec![Atom::many(Class::Digit)],
        Kind::Number => part.width.map_or_else(
            || vec![Atom::many(Class::Digit)],
            |width| vec![Atom::one(Class::Digit); width],
        ),
        Kind::Time => time::tokens(part.format.as_deref().unwrap_or_default())
            .iter()
            .flat_map(|token| match token {
                Token::Digits(Some(width), _) => vec![Atom::one(Class::Digit); *width],
                Token::Digits(None, _) => vec![Atom::many(Class::Digit)],
                Token::Word(_) | Token::Offset => vec![Atom::many(Class::ButSeparator)],
                Token::Text(character) => vec![Atom::one(Class::This(*character))],
            })
            .collect(),
    }
}

/// What two templates have to do with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// A key of the one can be a key of the other.
    Same,
    /// A key of the one can be the beginning of a key of the other, or all of it.
    Beginning,
}

/// True if the relation can hold for some values of the parts.
pub(super) fn can_be(
    relation: Relation,
    (one, one_item): (&str, Option<&Item>),
    (other, other_item): (&str, Option<&Item>),
    schema: &Schema,
) -> bool {
    if one == other {
        return true;
    }
    if literals_part(relation, one, other) {
        return false;
    }
    let others = alternatives(other, schema, other_item);
    alternatives(one, schema, one_item).iter().any(|one| {
        others
            .iter()
            .any(|other| reaches(relation, one, other, schema.table.separator))
    })
}

/// True if the text before the first part, or behind the last, already tells two templates apart. Most are.
fn literals_part(relation: Relation, one: &str, other: &str) -> bool {
    let before = |text: &'_ str| text.split('{').next().unwrap_or_default().to_owned();
    let behind = |text: &'_ str| text.rsplit('}').next().unwrap_or_default().to_owned();
    let (a, b) = (before(one), before(other));
    if !a.starts_with(&b) && !b.starts_with(&a) {
        return true;
    }
    let (a, b) = (behind(one), behind(other));
    relation == Relation::Same && !a.ends_with(&b) && !b.ends_with(&a)
}

/// Walks both sequences at once, over every pair of places that some text leads to.
fn reaches(relation: Relation, one: &[Atom], other: &[Atom], separator: char) -> bool {
    let (mut seen, mut open) = (HashSet::new(), vec![(0, 0)]);
    while let Some(place @ (a, b)) = open.pop() {
        if a == one.len() && (b == other.len() || relation == Relation::Beginning) {
            return true;
        }
        let (Some(x), Some(y)) = (one.get(a), other.get(b)) else {
            continue;
        };
        if !seen.insert(place) || !x.class.meets(y.class, separator) {
            continue;
        }
        open.push((a + 1, b + 1));
        if x.repeats {
            open.push((a, b + 1));
        }
        if y.repeats {
            open.push((a + 1, b));
        }
        // Both stay where they are: nothing new.
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Schema {
        let id = json!({"kind": "id", "max_bytes": 10});
        serde_json::from_value(json!({
            "table": {"name": "t", "partition": {"name": "PK", "type": "S"}},
            "parts": {
                "id": id, "free": {"kind": "id", "opaque": true}, "n": {"kind": "number", "width": 3},
                "shard": {"kind": "shard", "shards": 4}, "day": {"kind": "time", "format": "YYYY-MM-DD", "zone": "UTC"},
                "status": {"kind": "choice", "values": ["NEW", "DONE"]},
            },
            "items": {}, "indexes": {}, "patterns": {},
        }))
        .unwrap()
    }

    #[test]
    fn templates_come_apart_at_their_braces() {
        assert_eq!(
            pieces("A#{id}#{n}").unwrap(),
            [
                Piece::Text("A#"),
                Piece::Part("id"),
                Piece::Text("#"),
                Piece::Part("n")
            ]
        );
        let check = |template, expected| assert_eq!(pieces(template), Err(expected), "{template}");
        check("", Malformed::Empty);
        check("  ", Malformed::Empty);
        check("A#{}", Malformed::EmptyBraces);
        check("A#{ }", Malformed::EmptyBraces);
        check("A#{id", Malformed::Unbalanced);
        check("A#id}", Malformed::Unbalanced);
        check("A#{i{d}}", Malformed::Unbalanced);
    }

    #[test]
    fn templates_meet_where_some_values_make_them_one_text() {
        let schema = schema();
        let check = |one: &str, other: &str, expected: bool| {
            let found = can_be(Relation::Same, (one, None), (other, None), &schema);
            assert_eq!(found, expected, "{one} {other}");
            let back = can_be(Relation::Same, (other, None), (one, None), &schema);
            assert_eq!(back, expected, "{other} {one}");
        };
        check("A#{id}", "A#{id}", true);
        check("A#{id}", "B#{id}", false);
        check("A#{id}", "A#DETAIL", true);
        check("A#{id}", "A#{id}#{n}", false);
        check("A#{free}", "A#{id}#{n}", true);
        check("A#{n}", "A#{shard}", true);
        check("A#{n}", "A#DETAIL", false);
        check("A#{day}", "A#{n}", false);
        check("A#{day}", "A#{id}", true);
        check("A#{status}", "A#NEW", true);
        check("A#{status}", "A#OLD", false);
        check("A#{unknown}", "A#OLD#x", true);
        check("A#", "A#{id}", false);
        check("A#{id}#X", "A#{id}#Y", false);
        check("{id}", "A", true);
    }

    #[test]
    fn beginning_of_a_key_is_found_through_its_parts() {
        let schema = schema();
        let check = |one: &str, other: &str, expected: bool| {
            let found = can_be(Relation::Beginning, (one, None), (other, None), &schema);
            assert_eq!(found, expected, "{one} {other}");
        };
        check("A#", "A#{id}", true);
        check("A#{day}", "A#{day}#{id}", true);
        check("B#", "A#{id}", false);
        check("A#{n}#", "A#{day}#{id}", false);
    }

    #[test]
    fn longest_key_is_the_sum_of_its_longest_parts() {
        let schema = schema();
        let check = |template, expected: Result<usize, Vec<&str>>| {
            assert_eq!(max_bytes(template, &schema, None), expected, "{template}");
        };
        check("A#{id}#{n}", Ok(2 + 10 + 1 + 3));
        check("{day}#{status}#{shard}", Ok(10 + 1 + 4 + 1 + 1));
        check("A#{free}", Err(vec!["free"]));
    }
}
