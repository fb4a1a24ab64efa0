//! Asks the table why nothing came back: whether the partition is there, and whether what was probably meant is.

use super::advice::{Advice, Asked, Hint, Sort, advise};
use super::shown::safe;
use crate::error::{Code, CommandError};
use sagaline_store::{Direction, Item, Query, Source, StoreError, Table};
use serde_json::{Value, json};

/// Below every sort key, and above every one of ours.
const LOWEST: &str = "\u{0}";
const HIGHEST: &str = "\u{10FFFF}\u{10FFFF}";

/// Of what was meant, so much is shown.
const FEW: usize = 4;

/// Why nothing came back.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Why {
    /// One sentence.
    pub(super) what: String,
    pub(super) hints: Vec<Hint>,
    /// What was probably meant and is there.
    pub(super) found: Vec<Asked>,
    /// What was probably meant and is not there either.
    pub(super) missing: Option<Asked>,
    in_index: bool,
    /// The lowest and the highest sort key of the partition, if it is there.
    pub(super) bounds: Option<(String, String)>,
}

impl Asked {
    /// The query that answers it.
    pub(super) fn query(&self, direction: Direction, consistent: bool, limit: u32) -> Query {
        let (from, to) = match &self.sk {
            Sort::Any => (LOWEST.to_owned(), HIGHEST.to_owned()),
            Sort::Is(text) => (text.clone(), text.clone()),
            Sort::Prefix(text) => (text.clone(), format!("{text}{HIGHEST}")),
            Sort::Between(from, to) => (from.clone(), to.clone()),
        };
        Query {
            source: match self.index {
                Some(index) => Source::Index(index),
                None => Source::Table { consistent },
            },
            partition: self.pk.clone(),
            from,
            to,
            direction,
            limit,
            start: None,
        }
    }
}

/// Why `asked` finds nothing in the table.
pub(super) async fn explain<T: Table>(table: &T, asked: &Asked) -> Result<Why, CommandError> {
    let whole = Asked {
        sk: Sort::Any,
        ..asked.clone()
    };
    let lowest = end(table, &whole, Direction::OldestFirst).await?;
    let bounds = match lowest {
        Some(lowest) => {
            let highest = end(table, &whole, Direction::NewestFirst).await?;
            Some((lowest.clone(), highest.unwrap_or(lowest)))
        }
        None => None,
    };
    let Advice { hints, tries } = advise(asked);
    let mut found = Vec::new();
    for one in &tries {
        if found.len() < FEW && end(table, one, Direction::OldestFirst).await?.is_some() {
            found.push(one.clone());
        }
    }
    let missing = tries.into_iter().next().filter(|_| found.is_empty());
    let place = asked.index.map_or_else(String::new, |index| {
        format!(" in the index {}", index.name())
    });
    let pk = &asked.pk;
    let what = match (&bounds, &asked.sk) {
        (None, _) => format!("there is no partition '{pk}'{place}"),
        (Some(_), Sort::Is(sk)) => {
            format!("the partition '{pk}' is there{place}, but has no item '{sk}'")
        }
        (Some(_), Sort::Prefix(text)) => {
            format!(
                "the partition '{pk}' is there{place}, but none of its sort keys begins with '{text}'"
            )
        }
        (Some(_), Sort::Between(from, to)) => {
            format!(
                "the partition '{pk}' is there{place}, but none of its sort keys lies between '{from}' and '{to}'"
            )
        }
        // It came into being after it was asked for.
        (Some(_), Sort::Any) => format!("the partition '{pk}' was empty{place} a moment ago"),
    };
    Ok(Why {
        what,
        hints,
        found,
        missing,
        in_index: asked.index.is_some(),
        bounds,
    })
}

/// The sort key of the first item in that direction.
async fn end<T: Table>(
    table: &T,
    asked: &Asked,
    direction: Direction,
) -> Result<Option<String>, CommandError> {
    let mut query = asked.query(direction, true, 1);
    // DynamoDB refuses an empty key, and a range that ends before it begins.
    if asked.pk.is_empty() || query.from.is_empty() || query.from > query.to {
        return Ok(None);
    }
    let sort = query.source.sort();
    loop {
        let page = table
            .query(query.clone())
            .await
            .map_err(|source| unread(&asked.pk, source))?;
        if let Some(item) = page.items.first() {
            return Ok(Some(text(item, sort).to_owned()));
        }
        if page.next.is_none() {
            return Ok(None);
        }
        query.start = page.next;
    }
}

/// The text of an attribute.
pub(super) fn text<'a>(item: &'a Item, name: &str) -> &'a str {
    item.get(name)
        .and_then(|value| value.as_s().ok())
        .map_or("", String::as_str)
}

pub(super) fn unread(what: &str, source: sagaline_store::TableError) -> CommandError {
    CommandError::of_store(&StoreError::Read {
        what: what.to_owned(),
        source,
    })
}

impl Why {
    pub(super) fn json(&self) -> Value {
        let hints: Vec<_> = self
            .hints
            .iter()
            .map(|hint| json!({"kind": hint.kind, "what": hint.what}))
            .collect();
        let found: Vec<_> = self.found.iter().map(Asked::command).collect();
        let bounds = self
            .bounds
            .as_ref()
            .map(|(lowest, highest)| json!({"lowest": lowest, "highest": highest}));
        json!({"what": self.what, "hints": hints, "meant": found, "sort_keys": bounds})
    }

    pub(super) fn into_error(self) -> CommandError {
        let mut details: Vec<String> = self.hints.iter().map(|hint| hint.what.clone()).collect();
        if let Some((lowest, highest)) = &self.bounds {
            let (lowest, highest) = (safe(lowest), safe(highest));
            details.push(if lowest == highest {
                format!("its only sort key is '{lowest}'")
            } else {
                format!("its sort keys run from '{lowest}' to '{highest}'")
            });
        }
        let advice = match (self.found.first(), &self.missing) {
            (Some(found), _) => format!("this is there: {}", found.command()),
            (None, Some(missing)) => {
                format!("what was probably meant is not there either ({}): check the id", missing.command())
            }
            (None, None) if self.hints.is_empty() && self.in_index => {
                "an index lists an order only while it applies, and follows the table a little later".to_owned()
            }
            (None, None) if self.hints.is_empty() && self.bounds.is_none() => {
                "check the id: it is compared byte by byte".to_owned()
            }
            (None, None) => "read the lines below".to_owned(),
        };
        let others = self
            .found
            .iter()
            .skip(1)
            .map(|other| format!("also there: {}", other.command()));
        details.extend(others);
        CommandError::new(Code::NoItem, self.what)
            .advise(advice)
            .with_details(details)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sagaline_order::{OrderId, Sku, Timestamp, UserId};
    use sagaline_store::value::s;
    use sagaline_store::{Action, Key};
    use sagaline_testkit::MemoryTable;

    async fn table() -> MemoryTable {
        let table = MemoryTable::new();
        let at = Timestamp::parse("2026-01-31T08:30:00Z").unwrap();
        let order = OrderId::stored("o-1");
        for key in [
            Key::head(&order),
            Key::user_order(&UserId::stored("u-1"), at, &order),
            Key::product_order(&Sku::stored("mug"), at, &order),
        ] {
            let item = Item::from([("PK".to_owned(), s(key.pk)), ("SK".to_owned(), s(key.sk))]);
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

    fn asked(pk: &str, sk: Sort) -> Asked {
        Asked {
            index: None,
            pk: pk.to_owned(),
            sk,
        }
    }

    #[tokio::test]
    async fn what_was_meant_is_looked_for_and_named() {
        let table = table().await;
        let check = async |asked: Asked, what: &str, found: &str| {
            let why = explain(&table, &asked).await.unwrap();
            assert!(why.what.contains(what), "{}", why.what);
            let error = why.into_error();
            assert_eq!(error.code(), Code::NoItem);
            assert!(error.to_string().contains(found), "{error}");
        };
        check(
            asked("order#o-1", Sort::Is("ORDER#DETAIL".to_owned())),
            "there is no partition 'order#o-1'",
            "this is there: sagaline table get 'ORDER#o-1/ORDER#DETAIL'",
        )
        .await;
        check(
            asked("USER#u-1", Sort::Prefix("USER#ORDERS#2026-01-31 09:30 +01:00".to_owned())),
            "none of its sort keys begins with",
            "this is there: sagaline table query --pk 'USER#u-1' --sk-prefix 'USER#ORDERS#20260131T0830'",
        )
        .await;
        // The right shard of four.
        let shard = OrderId::stored("o-1").shard(4);
        check(
            asked("PRODUCT#mug", Sort::Prefix("PRODUCT#ORDERS#".to_owned())),
            "there is no partition 'PRODUCT#mug'",
            &format!("query --pk 'PRODUCT#mug#{shard}' --sk-prefix 'PRODUCT#ORDERS#'"),
        )
        .await;
        check(
            asked("order#o-2", Sort::Any),
            "no partition",
            "is not there either (sagaline table query --pk 'ORDER#o-2')",
        )
        .await;
        check(
            asked("ORDER#o-2", Sort::Any),
            "no partition 'ORDER#o-2'",
            "check the id",
        )
        .await;
    }

    #[tokio::test]
    async fn a_partition_that_is_there_shows_where_its_sort_keys_lie() {
        let table = table().await;
        let asked = asked(
            "USER#u-1",
            Sort::Prefix("USER#ORDERS#20260131T09".to_owned()),
        );
        let why = explain(&table, &asked).await.unwrap();
        assert_eq!(why.hints, []);
        let error = why.into_error();
        assert_eq!(
            error.details(),
            ["its only sort key is 'USER#ORDERS#20260131T083000.000Z#o-1'"]
        );
    }

    #[tokio::test]
    async fn a_range_that_ends_before_it_begins_is_asked_of_nobody() {
        let table = table().await;
        let range = Sort::Between("b".to_owned(), "a".to_owned());
        let why = explain(&table, &asked("USER#u-1", range)).await.unwrap();
        assert_eq!(why.found, []);
    }
}
