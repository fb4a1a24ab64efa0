//! Lists: rows of one or many partitions, in the order of their sort keys, page by page.
//!
//! Every list is sorted by a text that no other row of it has, so a cursor is simply the sort key of the last row: the next page is what comes
//! after it, in each partition, whatever has been written in between. Partitions that are shards of one list are read concurrently and merged.
//! A page of `n` rows from `s` shards reads at most `s * (n + 2)` rows.

use futures::future::try_join_all;
use sagaline_order::Timestamp;

use crate::error::StoreError;
use crate::store::{Store, unread};
use crate::table::{Direction, Item, Query, Source, Table};

/// Where a page ended. Hand it back to get the next one of the same list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(String);

impl Cursor {
    /// From the text of a cursor that was given out before.
    #[must_use]
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// As text, to be given out.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows<T> {
    /// The rows, in order.
    pub rows: Vec<T>,
    /// Where to go on; `None` at the end. A page with a next one may still be the last with rows.
    pub next: Option<Cursor>,
}

impl<T> Rows<T> {
    pub(crate) fn read(
        page: Rows<Item>,
        read: impl Fn(&Item) -> Result<T, StoreError>,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            rows: page.rows.iter().map(read).collect::<Result<_, _>>()?,
            next: page.next,
        })
    }
}

/// A range of time, the end excluded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// From here on; `None` = from the beginning.
    pub from: Option<Timestamp>,
    /// Up to here, exclusive; `None` = without end.
    pub until: Option<Timestamp>,
}

impl Span {
    /// All of time.
    pub const ALL: Self = Self {
        from: None,
        until: None,
    };

    /// From `from` to `until`, exclusive.
    #[must_use]
    pub fn between(from: Timestamp, until: Timestamp) -> Self {
        Self {
            from: Some(from),
            until: Some(until),
        }
    }

    /// The lowest and the highest sort key `<prefix><time>#...` of the range. The key of a row at `until` itself is longer than the bound, so
    /// it is beyond it. Times begin with a digit; `:` is what follows the digits.
    pub(crate) fn bounds(self, prefix: &str) -> (String, String) {
        let bound = |at: Option<Timestamp>, open: &str| {
            at.map_or_else(
                || format!("{prefix}{open}"),
                |at| format!("{prefix}{}", at.basic()),
            )
        };
        (bound(self.from, "0"), bound(self.until, ":"))
    }
}

/// Which rows, before any paging.
#[derive(Debug, Clone)]
pub(crate) struct List {
    pub(crate) source: Source,
    /// The shards of the list; a list that has none is one partition.
    pub(crate) partitions: Vec<String>,
    /// Lowest and highest sort key, inclusive.
    pub(crate) bounds: (String, String),
    pub(crate) direction: Direction,
}

/// How much of a list, and from where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paging<'a> {
    pub(crate) cursor: Option<&'a Cursor>,
    pub(crate) size: u32,
}

impl<T: Table> Store<T> {
    /// One page of a list.
    pub(crate) async fn page(
        &self,
        list: &List,
        paging: Paging<'_>,
    ) -> Result<Rows<Item>, StoreError> {
        let size = paging.size.max(1);
        let shards = list
            .partitions
            .iter()
            .map(|partition| self.shard(list, partition, paging.cursor, size));
        let mut rows: Vec<(String, Item)> =
            try_join_all(shards).await?.into_iter().flatten().collect();
        rows.sort_by(|a, b| match list.direction {
            Direction::OldestFirst => a.0.cmp(&b.0),
            Direction::NewestFirst => b.0.cmp(&a.0),
        });
        let keep = usize::try_from(size).unwrap_or(usize::MAX);
        let more = rows.len() > keep;
        rows.truncate(keep);
        let next = rows
            .last()
            .filter(|_| more)
            .map(|(key, _)| Cursor(key.clone()));
        Ok(Rows {
            rows: rows.into_iter().map(|(_, item)| item).collect(),
            next,
        })
    }

    /// The first rows of one shard after the cursor: one more than asked for, so that it shows whether there is more.
    async fn shard(
        &self,
        list: &List,
        partition: &str,
        cursor: Option<&Cursor>,
        size: u32,
    ) -> Result<Vec<(String, Item)>, StoreError> {
        let (mut from, mut to) = list.bounds.clone();
        match (cursor, list.direction) {
            (Some(Cursor(last)), Direction::OldestFirst) => from = from.max(last.clone()),
            (Some(Cursor(last)), Direction::NewestFirst) => to = to.min(last.clone()),
            (None, _) => {}
        }
        // DynamoDB refuses a range that ends before it begins.
        if from > to {
            return Ok(Vec::new());
        }
        let wanted = usize::try_from(size)
            .unwrap_or(usize::MAX)
            .saturating_add(1);
        // The row of the cursor may come along once more: bounds are inclusive.
        let limit = size.saturating_add(1 + u32::from(cursor.is_some()));
        let mut query = Query {
            source: list.source,
            partition: partition.to_owned(),
            from,
            to,
            direction: list.direction,
            limit,
            start: None,
        };
        let mut rows = Vec::new();
        loop {
            let page = self
                .table()
                .query(query.clone())
                .await
                .map_err(|source| unread(partition, source))?;
            for item in page.items {
                let key = item
                    .get(list.source.sort())
                    .and_then(|value| value.as_s().ok())
                    .cloned()
                    .unwrap_or_default();
                if cursor.is_none_or(|Cursor(last)| *last != key) {
                    rows.push((key, item));
                }
            }
            if rows.len() >= wanted || page.next.is_none() {
                rows.truncate(wanted);
                return Ok(rows);
            }
            query.start = page.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_includes_its_beginning_and_excludes_its_end() {
        let at = |text| Timestamp::parse(text).unwrap();
        let (first, last) = (
            at("2026-01-31T08:30:00.000Z"),
            at("2026-01-31T08:31:00.000Z"),
        );
        let (from, to) = Span::between(first, last).bounds("P#");
        let inside = |at: Timestamp| {
            (from.as_str()..=to.as_str()).contains(&format!("P#{}#o-1", at.basic()).as_str())
        };
        assert!(inside(first));
        assert!(inside(at("2026-01-31T08:30:59.999Z")));
        assert!(!inside(last));
        assert!(!inside(at("2026-01-31T08:29:59.999Z")));
        let (from, to) = Span::ALL.bounds("");
        assert!((from.as_str()..=to.as_str()).contains(&"99991231T235959.999Z#~"));
    }
}
