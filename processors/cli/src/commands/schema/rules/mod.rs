//! The rules: what a JSON Schema cannot say about a table. Each has an id that stays, and says what to do.

mod keys;
mod limits;
mod usage;

use super::model::Schema;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    /// The table would not work, or not as it is described.
    Error,
    /// It works, with care.
    Warning,
}

impl Severity {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) id: &'static str,
    pub(super) severity: Severity,
    /// What is wrong, in general.
    pub(super) what: &'static str,
    /// What to do about it.
    pub(super) advice: &'static str,
}

const fn error(id: &'static str, what: &'static str, advice: &'static str) -> Rule {
    Rule {
        id,
        severity: Severity::Error,
        what,
        advice,
    }
}

const fn warning(id: &'static str, what: &'static str, advice: &'static str) -> Rule {
    Rule {
        severity: Severity::Warning,
        ..error(id, what, advice)
    }
}

macro_rules! rules {
    ($($name:ident: $make:ident($id:literal, $what:literal, $advice:literal);)*) => {
        $(pub(super) const $name: Rule = $make($id, $what, $advice);)*

        /// All rules.
        pub(super) const ALL: &[Rule] = &[$($name),*];
    };
}

rules! {
    SHAPE: error("shape", "The file is not of the shape that the JSON Schema describes.", "correct it; an editor that knows the schema shows what may stand there");
    EMPTY_TEMPLATE: error("empty-template", "A key template is empty or blank: DynamoDB refuses an empty key.", "write what the key is");
    BAD_TEMPLATE: error("bad-template", "A key template has a brace without its other, or nothing between two.", "write {name} for a part");
    UNKNOWN_PART: error("unknown-part", "A key template names what is neither a part nor an attribute of its item.", "declare it under parts, or correct the name");
    KEY_SHAPE: error("key-shape", "An item has no sort key where the table or index has one, or has one where there is none.", "give every item exactly the keys that the table and the index have");
    SAME_KEYS: error("same-keys", "Two item types have the same key templates: the second overwrites the first.", "put a word of its own into one of the keys");
    COLLIDING_KEYS: error("colliding-keys", "A key of one item type can be a key of another: one overwrites the other.", "put a word of its own into one of the keys, or end the parts with the separator");
    UNSHARDED_PARTITION: error("unsharded-partition", "A partition key takes few values and has no shard: all writes go to one partition, which takes 1,000 write units a second, and a throttled index throttles the table.", "add a part of kind shard, and read the shards together");
    TIME_OFFSET: error("time-offset", "A time in a key has an offset from UTC: its text order is not its time order.", "write UTC");
    TIME_LOCAL: error("time-local", "A time in a key is local time: an hour repeats every autumn, and two places disagree.", "write UTC");
    TIME_WIDTH: error("time-width", "A time in a key has numbers without leading zeros: 9 comes after 10.", "use two-digit forms, as MM and hh");
    TIME_ORDER: error("time-order", "A time in a key does not go from the year down in digits: its text order is not its time order.", "begin with the year, as YYYYMMDDThhmmss.SSSZ");
    NUMBER_WIDTH: error("number-width", "A number in a sort key of text has no fixed width: 9 comes after 10.", "give the part a width, and write leading zeros");
    KEY_TYPE: error("key-type", "A key attribute is not of type S, N or B, or an item declares it with another type than the key has.", "make it S, N or B, and the same everywhere");
    KEY_LENGTH: error("key-length", "A key can be longer than DynamoDB takes: 2,048 bytes of a partition key, 1,024 of a sort key.", "shorten a part, or write a hash of it");
    KEY_LENGTH_UNKNOWN: warning("key-length-unknown", "A part of a key has no known longest value, so its length cannot be checked.", "give it max_bytes");
    NAME_LENGTH: error("name-length", "The name of a table or index is not 3 to 255 of A-Z a-z 0-9 _ - . characters, or that of an attribute not 1 to 65,535 bytes (255 for a key).", "choose another name");
    RESERVED_WORD: warning("reserved-word", "The name of an attribute is a reserved word: an expression that uses it as it is, is refused.", "use a placeholder (#name) in expressions, or set placeholders to always if the code does");
    ITEM_SIZE: error("item-size", "An item can be larger than 400 KB.", "keep the large part elsewhere, as in S3, or split the item");
    DEPTH: error("depth", "An attribute can be nested deeper than 32 levels.", "flatten it, or store it as text");
    INDEX_COUNT: error("index-count", "There are more than 20 global secondary indexes, the default quota of a table.", "let one index serve several patterns, or have the quota raised");
    LOCAL_INDEX_COUNT: error("local-index-count", "There are more than 5 local secondary indexes, the most a table takes.", "use a global index");
    PROJECTED_COUNT: error("projected-count", "All indexes together include more than 100 attributes.", "project ALL, or fewer");
    ACTION_COUNT: error("action-count", "A transaction has more than 100 actions.", "split what need not be written together, or allow fewer lines");
    LOCAL_INDEX_KEY: error("local-index-key", "A local index has another partition key than the table.", "make it global, or use the table's partition key");
    UNKNOWN_INDEX: error("unknown-index", "An index is named that is not there.", "declare it under indexes, or correct the name");
    UNKNOWN_ITEM: error("unknown-item", "An item type is named that is not there.", "declare it under items, or correct the name");
    UNKNOWN_ATTRIBUTE: error("unknown-attribute", "An attribute is named that no item has.", "declare it at its item, or correct the name");
    UNUSED_INDEX: error("unused-index", "No access pattern reads an index: every write pays for it.", "drop it, or write down the pattern that needs it");
    EMPTY_INDEX: error("empty-index", "No item type is in an index.", "add it to the item that it lists, or drop it");
    NOT_LISTED: error("not-listed", "A pattern reads an item type in an index that does not list it.", "add the index to the item, or read where it is");
    STRONG_INDEX_READ: error("strong-index-read", "A pattern reads a global index strongly: DynamoDB answers ValidationException.", "make it eventual, and read the item again before acting on it");
    INDEX_GET: error("index-get", "A pattern gets an item from an index: only Query and Scan read indexes.", "use Query");
    PARTITION_CONDITION: error("partition-condition", "A pattern wants something else of a partition key than equality.", "use equals; put what varies into the sort key");
    SORT_CONDITION: error("sort-condition", "A pattern names a sort key where there is none, or gets an item without its whole key.", "use Query, or equals on the whole key");
    NO_MATCH: error("no-match", "The key that a pattern asks for cannot be a key of its item: nothing is ever found.", "use the templates of the item; times in the same format");
    NOT_PROJECTED: error("not-projected", "A pattern needs an attribute that the index does not have.", "include it in the projection, or read the item");
    TTL_TYPE: error("ttl-type", "The time-to-live attribute of an item is not a number: DynamoDB never deletes it.", "make it N, seconds since 1970");
    RETENTION: error("retention-without-ttl", "An item is to expire and has no time-to-live attribute.", "add the table's time_to_live attribute to it, or keep it");
}

/// Something that a rule found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) rule: Rule,
    /// Where: a JSON pointer (RFC 6901).
    pub(super) path: String,
    /// What, in a sentence.
    pub(super) what: String,
}

/// The findings so far.
#[derive(Debug, Default)]
pub(super) struct Findings(pub(super) Vec<Finding>);

impl Findings {
    fn add(&mut self, rule: Rule, path: impl Into<String>, what: impl Into<String>) {
        self.0.push(Finding {
            rule,
            path: path.into(),
            what: cut(&what.into()),
        });
    }
}

/// What a sentence repeats may be the whole file.
pub(super) fn cut(text: &str) -> String {
    const MOST: usize = 200;
    let length = text.chars().count();
    if length <= MOST {
        return text.to_owned();
    }
    let head: String = text.chars().take(MOST / 2).collect();
    let tail: String = text.chars().skip(length - MOST / 2).collect();
    format!("{head} ... {tail}")
}

/// Holds every rule against a table.
pub(super) fn check(schema: &Schema) -> Vec<Finding> {
    let mut found = Findings::default();
    keys::check(schema, &mut found);
    usage::check(schema, &mut found);
    limits::check(schema, &mut found);
    found.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fmt::Write as _;
    use std::path::Path;

    #[test]
    fn rules_have_an_id_each_and_stand_on_the_page_of_the_table() {
        let ids: BTreeSet<&str> = ALL.iter().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), ALL.len());
        let mut block = "| rule | what is wrong | what to do |\n|---|---|---|\n".to_owned();
        for rule in ALL {
            let (id, kind) = (rule.id, rule.severity.as_str());
            writeln!(
                block,
                "| `{id}` ({kind}) | {} | {} |",
                rule.what, rule.advice
            )
            .unwrap();
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/modelling.md");
        let page = std::fs::read_to_string(&path).unwrap();
        let begin = "<!-- generated: rules -->\n";
        let (before, rest) = page.split_once(begin).unwrap();
        let (_, after) = rest.split_once("<!-- end -->").unwrap();
        let made = format!("{before}{begin}{block}<!-- end -->{after}");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, made).unwrap();
        } else {
            assert_eq!(
                page, made,
                "docs/modelling.md differs from the rules: run with UPDATE_DOCS=1 and review the difference"
            );
        }
    }
}
