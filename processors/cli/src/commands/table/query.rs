//! `sagaline table query`: the items of a partition, of the table or an index; or why there are none.

use super::advice::{Asked, Sort};
use super::explain::{explain, text, unread};
use super::key::{bad, fits};
use super::{shown, typed};
use crate::args::Global;
use crate::error::CommandError;
use crate::output;
use crate::session::Session;
use clap::{Args, ValueEnum};
use sagaline_store::size::{self, Units};
use sagaline_store::{Direction, Index, Item, PK, SK, Table};
use serde_json::{Value, json};

/// Lists the items of one partition, in the order of their sort keys.
///
/// If there are none, it says why: no such partition, wrong case, a time that does not sort, a local time, a key of another kind, a missing
/// shard, a partition of an index. An index follows the table a little later, and shows the attributes that it projects only.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline table query --pk 'ORDER#o-1'
  sagaline table query --pk 'USER#u-1' --sk-prefix 'USER#ORDERS#202601' --reverse --limit 3 --strong
  sagaline table query --pk 'STATUS#UNPAID#0' --index by_status --between 20260124 20260131
  sagaline table query --pk 'DUE#3' --index due --json")]
pub(super) struct Query {
    /// The partition key, of the table or of the index.
    #[arg(long, value_name = "PK")]
    pk: String,
    /// Only sort keys that begin with this.
    #[arg(long, value_name = "TEXT", conflicts_with = "between")]
    sk_prefix: Option<String>,
    /// Only sort keys from the first to the second, both included.
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"])]
    between: Option<Vec<String>>,
    /// The index to ask instead of the table.
    #[arg(long, value_name = "INDEX")]
    index: Option<IndexName>,
    /// The most items to list.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// The highest sort key first.
    #[arg(long)]
    reverse: bool,
    /// See every write that was acknowledged before. Of an index that is not to be had.
    #[arg(long, conflicts_with = "index")]
    strong: bool,
    /// Where the page before ended, as it was printed.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum IndexName {
    /// Unfinished orders by wake time.
    Due,
    /// Orders in UNPAID, PROCESSING or EXCEPTION by time of placement.
    ByStatus,
    /// Orders by time of their last change.
    ByUpdated,
}

impl From<IndexName> for Index {
    fn from(name: IndexName) -> Self {
        match name {
            IndexName::Due => Self::Due,
            IndexName::ByStatus => Self::ByStatus,
            IndexName::ByUpdated => Self::ByUpdated,
        }
    }
}

/// What was found.
struct Found {
    items: Vec<Item>,
    /// Where to go on.
    next: Option<Item>,
    /// All that was read, in bytes.
    bytes: usize,
}

impl Query {
    pub(super) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let asked = self.asked()?;
        let start = self
            .cursor
            .as_deref()
            .map(|text| begin(text, &asked))
            .transpose()?;
        let session = Session::open(global).await?;
        let table = session.store.table();
        let found = self.read(table, &asked, start).await?;
        // Behind a cursor, nothing is just the end.
        if found.items.is_empty() && self.cursor.is_none() {
            let why = explain(table, &asked).await?;
            if global.json {
                output::json(&json!({"items": [], "count": 0, "next": null, "why": why.json()}));
            }
            return Err(why.into_error());
        }
        self.show(&asked, &found, global.json);
        Ok(())
    }

    fn asked(&self) -> Result<Asked, CommandError> {
        let sk = match (&self.sk_prefix, self.between.as_deref()) {
            (Some(prefix), _) => Sort::Prefix(prefix.clone()),
            (None, Some([from, to])) => {
                if from > to {
                    return Err(bad(format!(
                        "'{from}' comes after '{to}', so nothing lies between"
                    ))
                    .advise("give the lower bound first"));
                }
                Sort::Between(from.clone(), to.clone())
            }
            (None, _) => Sort::Any,
        };
        let texts = match &sk {
            Sort::Any => vec![],
            Sort::Is(text) | Sort::Prefix(text) => vec![text],
            Sort::Between(from, to) => vec![from, to],
        };
        fits("PK", &self.pk)?;
        texts.into_iter().try_for_each(|text| fits("SK", text))?;
        Ok(Asked {
            index: self.index.map(Index::from),
            pk: self.pk.clone(),
            sk,
        })
    }

    async fn read<T: Table>(
        &self,
        table: &T,
        asked: &Asked,
        start: Option<Item>,
    ) -> Result<Found, CommandError> {
        let direction = if self.reverse {
            Direction::NewestFirst
        } else {
            Direction::OldestFirst
        };
        let mut query = asked.query(direction, self.strong, self.limit);
        query.start = start;
        let mut found = Found {
            items: Vec::new(),
            next: None,
            bytes: 0,
        };
        loop {
            let read = u32::try_from(found.items.len()).unwrap_or(u32::MAX);
            query.limit = self.limit.saturating_sub(read);
            let page = table.query(query.clone()).await;
            let page = page.map_err(|source| unread(&asked.pk, source))?;
            found.bytes += page.items.iter().map(size::item_bytes).sum::<usize>();
            found.items.extend(page.items);
            found.next = page.next;
            let full = found.items.len() >= usize::try_from(self.limit).unwrap_or(usize::MAX);
            if full || found.next.is_none() {
                return Ok(found);
            }
            query.start.clone_from(&found.next);
        }
    }

    fn show(&self, asked: &Asked, found: &Found, json: bool) {
        let next = found.next.as_ref().map(|last| cursor(asked, last));
        // A query rounds the sum of what it read, not each item (F-CAP-3).
        let strong = Units::of(found.bytes).strong_read;
        let units = if self.strong {
            strong.to_string()
        } else {
            halves(strong)
        };
        if json {
            let items: Vec<Value> = found.items.iter().map(shown::json).collect();
            let units: Value = serde_json::from_str(&units).unwrap_or_default();
            output::json(
                &json!({"items": items, "count": found.items.len(), "bytes": found.bytes, "read_units": units, "next": next}),
            );
            return;
        }
        output::line(&people(asked.index, &found.items));
        eprintln!(
            "{}, {} bytes: {}",
            shown::counted(found.items.len(), "item"),
            found.bytes,
            shown::counted(units, "read unit")
        );
        if let Some(next) = next {
            eprintln!("more: --cursor {next}");
        }
    }
}

/// Half of a number of units.
pub(super) fn halves(units: u64) -> String {
    if units.is_multiple_of(2) {
        format!("{}", units / 2)
    } else {
        format!("{}.5", units / 2)
    }
}

fn people(index: Option<Index>, items: &[Item]) -> String {
    let Some(index) = index else {
        let rows = items.iter().map(|item| {
            let what = shown::kind_of(item).kind.words().to_owned();
            [shown::safe(text(item, SK)), what, shown::summary(item)]
        });
        return output::table(["sort key", "what", "attributes"], rows);
    };
    let rows = items.iter().map(|item| {
        let key = format!("{} / {}", text(item, PK), text(item, SK));
        [
            shown::safe(text(item, index.sort())),
            key,
            shown::summary(item),
        ]
    });
    output::table([index.sort(), "item", "attributes"], rows)
}

/// Where a page ended, with what was asked: a cursor of another query would silently give other items.
fn cursor(asked: &Asked, last: &Item) -> String {
    let index = asked.index.map(Index::name);
    hex::encode(json!([asked.pk, index, typed::of_item(last)]).to_string())
}

fn begin(text: &str, asked: &Asked) -> Result<Item, CommandError> {
    let none = || bad("--cursor is no cursor of `table query`").advise("give it as it was printed");
    let bytes = hex::decode(text).map_err(|_| none())?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|_| none())?;
    let (Some(pk), Some(index), Some(last)) = (value.get(0), value.get(1), value.get(2)) else {
        return Err(none());
    };
    if *pk != json!(asked.pk) || *index != json!(asked.index.map(Index::name)) {
        return Err(bad("--cursor is of another partition or index")
            .advise("give the same --pk and --index as for the page before"));
    }
    typed::read_item(&last.to_string()).map_err(|_| none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use sagaline_store::Action;
    use sagaline_store::value::{n, s};
    use sagaline_testkit::MemoryTable;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        query: Query,
    }

    fn parsed(arguments: &[&str]) -> Query {
        Line::try_parse_from(["query"].iter().chain(arguments))
            .unwrap()
            .query
    }

    async fn table(count: u32) -> MemoryTable {
        let table = MemoryTable::new();
        for nth in 0..count {
            let item = Item::from([
                ("PK".to_owned(), s("ORDER#o-1")),
                ("SK".to_owned(), s(format!("HISTORY#{:010}", nth + 1))),
                ("version".to_owned(), n(nth + 1)),
            ]);
            table
                .write(Action::Put {
                    item,
                    condition: None,
                })
                .await
                .unwrap();
        }
        table
    }

    #[tokio::test]
    async fn pages_of_one_give_every_item_once_in_both_directions() {
        let table = table(5).await;
        for reverse in [&[][..], &["--reverse"]] {
            let query = parsed(&[&["--pk", "ORDER#o-1", "--limit", "1"], reverse].concat());
            let asked = query.asked().unwrap();
            let (mut start, mut seen) = (None, Vec::new());
            loop {
                let found = query.read(&table, &asked, start).await.unwrap();
                seen.extend(found.items.iter().map(|item| text(item, SK).to_owned()));
                let Some(next) = found.next else { break };
                start = Some(begin(&cursor(&asked, &next), &asked).unwrap());
            }
            let mut expected: Vec<_> = (1..=5).map(|nth| format!("HISTORY#{nth:010}")).collect();
            if query.reverse {
                expected.reverse();
            }
            assert_eq!(seen, expected);
        }
    }

    #[tokio::test]
    async fn a_prefix_and_a_range_keep_what_lies_in_them() {
        let table = table(12).await;
        let check = async |arguments: &[&str], expected: usize| {
            let query = parsed(&[&["--pk", "ORDER#o-1"], arguments].concat());
            let found = query
                .read(&table, &query.asked().unwrap(), None)
                .await
                .unwrap();
            assert_eq!(found.items.len(), expected, "{arguments:?}");
        };
        check(&[], 12).await;
        check(&["--sk-prefix", "HISTORY#000000001"], 3).await;
        check(
            &["--between", "HISTORY#0000000002", "HISTORY#0000000004"],
            3,
        )
        .await;
        check(&["--sk-prefix", "ORDER#"], 0).await;
        check(&["--limit", "7"], 7).await;
    }

    #[test]
    fn a_cursor_of_another_query_is_refused() {
        let query = parsed(&["--pk", "ORDER#o-1"]);
        let asked = query.asked().unwrap();
        let last = Item::from([("PK".to_owned(), s("ORDER#o-1")), ("SK".to_owned(), s("x"))]);
        let cursor = cursor(&asked, &last);
        assert_eq!(begin(&cursor, &asked).unwrap(), last);
        let other = Asked {
            pk: "ORDER#o-2".to_owned(),
            ..asked.clone()
        };
        assert!(
            begin(&cursor, &other)
                .unwrap_err()
                .to_string()
                .contains("another partition")
        );
        let other = Asked {
            index: Some(Index::Due),
            ..asked.clone()
        };
        assert!(begin(&cursor, &other).is_err());
        for text in ["", "zz", "7b7d", "6e756c6c"] {
            assert!(
                begin(text, &asked)
                    .unwrap_err()
                    .to_string()
                    .contains("no cursor"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_range_the_wrong_way_round_is_refused_before_anything_is_asked() {
        let query = parsed(&["--pk", "a", "--between", "b", "a"]);
        assert!(
            query
                .asked()
                .unwrap_err()
                .to_string()
                .contains("lower bound first")
        );
        assert!(parsed(&["--pk", ""]).asked().is_err());
        assert!(parsed(&["--pk", "a", "--sk-prefix", ""]).asked().is_err());
    }
}
