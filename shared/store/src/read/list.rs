//! A list: rows of one or many partitions, in the order of their sort keys; page by page, or as a stream.
//!
//! The methods of the store that list something answer with a [`Listing`]. It has read nothing yet: say how, then ask it for a page or a stream.
//! What cannot be asked for cannot be said: an index has no strong reads (F-GSI-1), and no list filters what it has read.

use futures::{Stream, TryStreamExt as _, stream};
use sagaline_order::{Seconds, Timestamp};

use super::cursor::{Asked, Cursor};
use super::merge::{Keyed, Merge, Partitions, Range};
use crate::error::StoreError;
use crate::key::Index;
use crate::store::Store;
use crate::table::{Direction, Item, Source, Table};

/// Rows of a page, if the caller does not say how many.
pub const PAGE_ROWS: u32 = 50;

/// How a list of the table itself is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consistency {
    /// Sees every write that was acknowledged before. Costs twice as much (F-CAP-3).
    Strong,
    /// May be a moment behind.
    Eventual,
}

impl From<Consistency> for Source {
    fn from(consistency: Consistency) -> Self {
        Self::Table {
            consistent: consistency == Consistency::Strong,
        }
    }
}

impl From<Index> for Source {
    fn from(index: Index) -> Self {
        Self::Index(index)
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

    /// A whole UTC day, named as in `2026-01-31`; `None` if there is no such day.
    #[must_use]
    pub fn of_day(day: &str) -> Option<Self> {
        let from = Timestamp::parse(&format!("{day}T00:00:00Z"))?;
        let until = from.plus(Seconds(86_400));
        (from.day() == day && from < until).then_some(Self::between(from, until))
    }

    /// As it stands in the arguments of a cursor.
    pub(crate) fn arguments(self) -> String {
        let text = |at: Option<Timestamp>| at.map(Timestamp::basic).unwrap_or_default();
        format!("{}..{}", text(self.from), text(self.until))
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

/// A list that is about to be read: of rows `R`, from the table itself (`S` = [`Consistency`]) or from an index (`S` = [`Index`]).
///
/// The table can be read strongly:
/// ```
/// # use sagaline_store::{Consistency, Span, Store, Table};
/// # fn of<T: Table>(store: &Store<T>, user: &sagaline_order::UserId) {
/// let _ = store.user_orders(user, Span::ALL).consistency(Consistency::Strong);
/// # }
/// ```
/// An index cannot:
/// ```compile_fail,E0599
/// # use sagaline_store::{Consistency, Store, Table};
/// # fn of<T: Table>(store: &Store<T>, now: sagaline_order::Timestamp) {
/// let _ = store.overdue(now).consistency(Consistency::Strong);
/// # }
/// ```
#[derive(Debug)]
#[must_use = "nothing is read before `page` or `stream`"]
pub struct Listing<'s, T, R, S> {
    store: &'s Store<T>,
    list: &'static str,
    arguments: String,
    range: Range,
    source: S,
    read: fn(&Item) -> Result<R, StoreError>,
    size: u32,
    after: Option<Cursor>,
}

/// What makes a list.
pub(crate) struct Listed<R, S> {
    /// Its name, in cursors and messages.
    pub(crate) list: &'static str,
    /// What a cursor of it depends on, besides name and direction.
    pub(crate) arguments: String,
    pub(crate) partitions: Partitions,
    /// Lowest and highest sort key, inclusive.
    pub(crate) bounds: (String, String),
    pub(crate) direction: Direction,
    pub(crate) source: S,
    pub(crate) read: fn(&Item) -> Result<R, StoreError>,
}

impl<T: Table> Store<T> {
    pub(crate) fn list<R, S>(&self, listed: Listed<R, S>) -> Listing<'_, T, R, S> {
        Listing {
            store: self,
            list: listed.list,
            arguments: listed.arguments,
            range: Range {
                partitions: listed.partitions,
                bounds: listed.bounds,
                direction: listed.direction,
            },
            source: listed.source,
            read: listed.read,
            size: PAGE_ROWS,
            after: None,
        }
    }
}

impl<T, R> Listing<'_, T, R, Consistency> {
    /// Strongly or eventually consistent, instead of the list's default.
    pub fn consistency(mut self, consistency: Consistency) -> Self {
        self.source = consistency;
        self
    }
}

impl<'s, T: Table, R, S: Copy + Into<Source>> Listing<'s, T, R, S> {
    /// In this order, instead of the list's default.
    pub fn direction(mut self, direction: Direction) -> Self {
        self.range.direction = direction;
        self
    }

    /// So many rows a page, at least 1; a stream reads a shard by as many. [`PAGE_ROWS`] otherwise.
    pub fn page_size(mut self, rows: u32) -> Self {
        self.size = rows.max(1);
        self
    }

    /// Behind this cursor of the same list; `None` = from its beginning.
    pub fn after(mut self, cursor: Option<&Cursor>) -> Self {
        self.after = cursor.cloned();
        self
    }

    /// One page. Every shard is asked once for a whole page and one row more, so that it shows whether there is more.
    ///
    /// # Errors
    /// [`StoreError`]; [`StoreError::Cursor`] for a cursor that is not of this list.
    pub async fn page(&self) -> Result<Rows<R>, StoreError> {
        let asked = self.asked();
        let mut merge = self.merge(&asked, self.size.saturating_add(1))?;
        let (rows, more) = merge.take(self.size).await?;
        let next = rows.last().filter(|_| more);
        let next = next.map(|(last, _)| asked.cursor(self.store.cursor_key(), last));
        let rows = rows.iter().map(|(_, item)| (self.read)(item));
        Ok(Rows {
            rows: rows.collect::<Result<_, _>>()?,
            next,
        })
    }

    /// The first rows alone, at most so many; what comes behind them is not looked for.
    pub(crate) async fn first(&self, rows: u32) -> Result<Vec<R>, StoreError> {
        let mut merge = self.merge(&self.asked(), rows)?;
        let mut found = Vec::new();
        for _ in 0..rows {
            match merge.next().await? {
                Some((_, item)) => found.push((self.read)(&item)?),
                None => break,
            }
        }
        Ok(found)
    }

    /// Every row to the end of the list, each read once. Ends with the first error.
    pub fn stream(self) -> impl Stream<Item = Result<R, StoreError>> + Send + use<'s, T, R, S>
    where
        R: Send + 's,
        S: Send + 's,
    {
        self.stream_with_cursors().map_ok(|(row, _)| row)
    }

    /// The same, each row with the cursor behind it: for a reader that may stop anywhere and go on later.
    pub fn stream_with_cursors(
        self,
    ) -> impl Stream<Item = Result<(R, Cursor), StoreError>> + Send + use<'s, T, R, S>
    where
        R: Send + 's,
        S: Send + 's,
    {
        let Self { store, read, .. } = self;
        let asked = self.asked();
        let merge = self.merge(&asked, self.size);
        stream::once(std::future::ready(merge))
            .map_ok(|merge| {
                stream::try_unfold(merge, async |mut merge| {
                    let row = merge.next().await?;
                    Ok(row.map(|row| (row, merge)))
                })
            })
            .try_flatten()
            .and_then(move |(last, item): Keyed| {
                let cursor = asked.cursor(store.cursor_key(), &last);
                std::future::ready(read(&item).map(|row| (row, cursor)))
            })
    }

    fn asked(&self) -> Asked {
        let arguments = format!("{:?} {}", self.range.direction, self.arguments);
        Asked::new(self.list, &arguments)
    }

    fn merge(&self, asked: &Asked, chunk: u32) -> Result<Merge<'s, T>, StoreError> {
        let after = self.after.as_ref();
        let after = after.map(|cursor| asked.position(self.store.cursor_key(), cursor));
        let after = after.transpose().map_err(|source| StoreError::Cursor {
            list: self.list,
            source,
        })?;
        Ok(Merge::new(
            self.store.table(),
            self.source.into(),
            self.range.clone(),
            after,
            chunk,
        ))
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

    #[test]
    fn a_day_is_a_span_and_what_is_no_day_is_none() {
        let at = |text| Timestamp::parse(text).unwrap();
        let day = Span::between(at("2024-02-29T00:00:00Z"), at("2024-03-01T00:00:00Z"));
        assert_eq!(Span::of_day("2024-02-29"), Some(day));
        for wrong in [
            "2026-02-29",
            "20260131",
            "2026-1-31",
            "",
            "2026-01-31T00:00:00Z",
        ] {
            assert_eq!(Span::of_day(wrong), None, "{wrong}");
        }
    }
}
