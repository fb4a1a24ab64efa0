//! `sagaline table size`: how large items are by DynamoDB's rules, and what they cost.

mod many;

use super::explain::text;
use super::get::item;
use super::query::halves;
use super::{key, shown, typed};
use crate::args::Global;
use crate::error::{Code, CommandError};
use crate::output;
use crate::session::Session;
use clap::Args;
use many::Many;
use sagaline_store::size::{self as rules, MAX_ITEM_BYTES, Units};
use sagaline_store::{Index, Item, PK, SK};
use serde_json::{Value, json, value::RawValue};
use std::io::{self, BufReader, Read};
use std::path::Path;

/// Of the attributes, so many of the largest are shown to people.
const LARGEST: usize = 5;

/// Says how large items are to the byte, what reads and writes of them cost, and what they add to the indexes.
///
/// Of a file: one item, or one a line, in DynamoDB JSON or plain JSON; `-` is standard input. Several are summed up, with percentiles.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline table size 'ORDER#o-1'
  sagaline table raw 'ORDER#o-1' | sagaline table size -
  sagaline table size items.ndjson --json")]
pub(super) struct Size {
    /// A file of items, `-`, or the KEY of an item of the table.
    #[arg(value_name = "FILE|KEY")]
    what: String,
}

impl Size {
    pub(super) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let path = Path::new(&self.what);
        if self.what == "-" {
            return self.of_items(io::stdin().lock(), global.json);
        }
        if path.is_file() {
            let file = std::fs::File::open(path).map_err(|error| self.unreadable(&error))?;
            return self.of_items(BufReader::new(file), global.json);
        }
        if !self.what.contains('#') {
            return Err(CommandError::new(
                Code::UnreadableFile,
                format!("{} is no file, and no key of an item", self.what),
            )
            .advise("check the path, or write a key as ORDER#ID"));
        }
        let key = key::parse(&self.what)?;
        let session = Session::open(global).await?;
        let item = item(session.store.table(), &key, global).await?;
        tell(&item, global.json);
        Ok(())
    }

    fn unreadable(&self, error: &io::Error) -> CommandError {
        CommandError::new(Code::UnreadableFile, format!("{}: {error}", self.what))
    }

    /// One item in full; of several, the sum. Read one at a time: a file may be larger than memory.
    fn of_items(&self, input: impl Read, json: bool) -> Result<(), CommandError> {
        let values = serde_json::Deserializer::from_reader(input).into_iter::<Box<RawValue>>();
        let mut only: Option<Item> = None;
        let mut many = Many::default();
        for (nth, value) in (1_u64..).zip(values) {
            let at = |error: CommandError| {
                CommandError::new(
                    Code::BadInput,
                    format!("{}: item {nth}: {}", self.what, error.what()),
                )
                .advise("one JSON object an item, in DynamoDB JSON or plain JSON")
            };
            let value = value.map_err(|error| {
                if error.is_io() {
                    return self.unreadable(&io::Error::from(error));
                }
                at(CommandError::new(Code::BadInput, error.to_string()))
            })?;
            let item = typed::read_item(value.get()).map_err(at)?;
            many.add(&item);
            only = (nth == 1).then_some(item);
        }
        match (only, many.count()) {
            (Some(item), _) => tell(&item, json),
            (None, 0) => {
                return Err(CommandError::new(
                    Code::BadInput,
                    format!("{} holds no item", self.what),
                )
                .advise("one JSON object an item, in DynamoDB JSON or plain JSON"));
            }
            (None, _) if json => output::json(&many.json()),
            (None, _) => output::line(&many.people()),
        }
        Ok(())
    }
}

fn tell(item: &Item, json: bool) {
    if json {
        output::json(&of_one(item));
    } else {
        output::line(&people(item));
    }
}

/// The entries of an item: index, bytes, write units of a new one.
fn entries(item: &Item) -> Vec<(Index, usize, u64)> {
    Index::ALL
        .into_iter()
        .filter_map(|index| {
            let bytes = rules::item_bytes(&rules::index_entry(item, index)?);
            Some((index, bytes, Units::of(bytes).write))
        })
        .collect()
}

/// Bytes of each attribute with its name, the largest first.
fn attributes(item: &Item) -> Vec<(&str, usize)> {
    let mut all: Vec<_> = item
        .iter()
        .map(|(name, value)| (name.as_str(), name.len() + rules::value_bytes(value)))
        .collect();
    all.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    all
}

fn of_one(item: &Item) -> Value {
    let bytes = rules::item_bytes(item);
    let units = Units::of(bytes);
    let half: Value = serde_json::from_str(&halves(units.strong_read)).unwrap_or_default();
    let indexes: Vec<_> = entries(item)
        .into_iter()
        .map(|(index, bytes, write)| json!({"index": index.name(), "bytes": bytes, "write_units": write}))
        .collect();
    let attributes: Vec<_> = attributes(item)
        .into_iter()
        .map(|(name, bytes)| json!({"attribute": name, "bytes": bytes}))
        .collect();
    json!({
        "key": {"pk": text(item, PK), "sk": text(item, SK)},
        "type": shown::kind_of(item).kind.name(),
        "bytes": bytes,
        "limit_bytes": MAX_ITEM_BYTES,
        "refused": rules::refusal(item),
        "read_units": {"strong": units.strong_read, "eventual": half, "transactional": units.strong_read * 2},
        "write_units": {"standard": units.write, "transactional": units.write * 2},
        "indexes": indexes,
        "attributes": attributes,
    })
}

fn people(item: &Item) -> String {
    let bytes = rules::item_bytes(item);
    let units = Units::of(bytes);
    let key = match (text(item, PK), text(item, SK)) {
        ("", "") => "an item without PK and SK".to_owned(),
        (pk, sk) => format!(
            "{}  {} / {}",
            shown::kind_of(item).kind.words(),
            shown::safe(pk),
            shown::safe(sk)
        ),
    };
    let mut lines = vec![
        key,
        format!("{bytes} bytes of the {MAX_ITEM_BYTES} that an item may have"),
    ];
    if let Some(why) = rules::refusal(item) {
        lines.push(format!("DynamoDB refuses it: it {why}"));
    }
    let row = |what: &str, units: String| [what.to_owned(), units];
    lines.extend([
        String::new(),
        output::table(
            ["operation", "units"],
            [
                row("read, strongly consistent", units.strong_read.to_string()),
                row("read, eventually consistent", halves(units.strong_read)),
                row(
                    "read, in a transaction",
                    (units.strong_read * 2).to_string(),
                ),
                row("write", units.write.to_string()),
                row("write, in a transaction", (units.write * 2).to_string()),
            ],
        ),
        String::new(),
    ]);
    let entries = entries(item);
    if entries.is_empty() {
        lines.push("it is in no index".to_owned());
    } else {
        let rows = entries.into_iter().map(|(index, bytes, write)| {
            let moved = (write * 2).to_string();
            [
                index.name().to_owned(),
                bytes.to_string(),
                write.to_string(),
                moved,
            ]
        });
        lines.push(output::table(
            [
                "index",
                "bytes of the entry",
                "units to make, change or remove it",
                "to move it",
            ],
            rows,
        ));
    }
    let rows = attributes(item)
        .into_iter()
        .take(LARGEST)
        .map(|(name, bytes)| [shown::safe(name), bytes.to_string()]);
    lines.extend([
        String::new(),
        output::table(["largest attributes", "bytes"], rows),
    ]);
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sagaline_store::value::from_json;
    use serde_json::json;

    fn head() -> Item {
        let attributes = json!({"PK": "ORDER#o-1", "SK": "ORDER#DETAIL", "version": 3, "total_minor": 2500, "note": "x".repeat(5000),
            "due_pk": "DUE#7", "due_sk": "20260131T090000.000Z#o-1"});
        let attributes = attributes.as_object().unwrap();
        attributes
            .iter()
            .map(|(name, value)| (name.clone(), from_json(value)))
            .collect()
    }

    #[test]
    fn people_read_bytes_units_and_index_entries() {
        insta::assert_snapshot!(people(&head()));
    }

    #[test]
    fn programs_read_the_same() {
        let json = of_one(&head());
        let expected_bytes = 2 + 9 + 2 + 12 + 7 + 2 + 11 + 2 + 4 + 5000 + 6 + 5 + 6 + 24;
        assert_eq!(json["bytes"], expected_bytes);
        assert_eq!(
            json["read_units"],
            json!({"strong": 2, "eventual": 1, "transactional": 4})
        );
        assert_eq!(
            json["write_units"],
            json!({"standard": 5, "transactional": 10})
        );
        assert_eq!(
            json["indexes"],
            json!([{"index": "due", "bytes": 2 + 9 + 2 + 12 + 6 + 5 + 6 + 24, "write_units": 1}])
        );
        assert_eq!(
            json["attributes"][0],
            json!({"attribute": "note", "bytes": 5004})
        );
    }
}
