//! Partitions that are shards of one list, read concurrently and merged by their sort keys.
//!
//! Every row of a list has a sort key that no other row of it has. So a place in a list is simply a sort key, whatever has been written in
//! between: what comes after it is the next row, in each shard. A shard is read in chunks, and again only when its rows are used up: a merge
//! to the end reads every row once.

use std::collections::VecDeque;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use sagaline_order::{Seconds, Timestamp};

use crate::error::StoreError;
use crate::key::split_at_time;
use crate::store::unread;
use crate::table::{Direction, Item, Query, Source, Table};

/// Shards read at the same time. The lists of our own have at most 16; the users of one phone may be more.
const CONCURRENT: usize = 32;

/// The partitions of a list.
#[derive(Debug, Clone)]
pub(crate) enum Partitions {
    /// These.
    Of(Vec<String>),
    /// So many for each UTC day of a time, the end excluded. Read day after day.
    ByDay {
        from: Timestamp,
        until: Timestamp,
        shards: u32,
        name: fn(&str, u32) -> String,
    },
}

/// What is read: which partitions, between which sort keys (inclusive), in which direction.
#[derive(Debug, Clone)]
pub(crate) struct Range {
    pub(crate) partitions: Partitions,
    pub(crate) bounds: (String, String),
    pub(crate) direction: Direction,
}

/// A row with its sort key.
pub(crate) type Keyed = (String, Item);

/// A reading of a range.
#[derive(Debug)]
pub(crate) struct Merge<'s, T> {
    table: &'s T,
    source: Source,
    range: Range,
    /// The sort key to go on behind.
    after: Option<String>,
    chunk: u32,
    shards: Vec<Shard>,
    /// The day to read next, for a range by day.
    day: Option<Timestamp>,
}

#[derive(Debug)]
struct Shard {
    query: Query,
    rows: VecDeque<Keyed>,
    done: bool,
}

impl<'s, T: Table> Merge<'s, T> {
    /// Nothing is read yet. A shard is read `chunk` rows at a time.
    pub(crate) fn new(
        table: &'s T,
        source: Source,
        mut range: Range,
        after: Option<String>,
        chunk: u32,
    ) -> Self {
        let (from, to) = &mut range.bounds;
        match (&after, range.direction) {
            (Some(last), Direction::OldestFirst) => *from = last.max(&*from).clone(),
            (Some(last), Direction::NewestFirst) => *to = last.min(&*to).clone(),
            (None, _) => {}
        }
        let mut merge = Self {
            table,
            source,
            range,
            // The row of the cursor comes along once more, for bounds are inclusive.
            chunk: chunk.max(1).saturating_add(u32::from(after.is_some())),
            after,
            shards: Vec::new(),
            day: None,
        };
        match merge.range.partitions.clone() {
            Partitions::Of(partitions) => merge.open(partitions),
            Partitions::ByDay { from, until, .. } => merge.day = merge.first_day(from, until),
        }
        merge
    }

    /// The next row.
    pub(crate) async fn next(&mut self) -> Result<Option<Keyed>, StoreError> {
        loop {
            self.fill().await?;
            if let Some(row) = self.pop() {
                return Ok(Some(row));
            }
            if !self.next_day() {
                return Ok(None);
            }
        }
    }

    /// The next rows, at most so many, and whether there may be more. Of the days behind the last row that is not known.
    pub(crate) async fn take(&mut self, most: u32) -> Result<(Vec<Keyed>, bool), StoreError> {
        let mut rows = Vec::new();
        for _ in 0..most {
            match self.next().await? {
                Some(row) => rows.push(row),
                None => return Ok((rows, false)),
            }
        }
        self.fill().await?;
        let more = self.shards.iter().any(|shard| !shard.rows.is_empty()) || self.day.is_some();
        Ok((rows, more))
    }

    fn open(&mut self, partitions: Vec<String>) {
        let (from, to) = self.range.bounds.clone();
        // DynamoDB refuses a range that ends before it begins.
        let done = from > to;
        self.shards = partitions
            .into_iter()
            .map(|partition| Shard {
                query: Query {
                    source: self.source,
                    partition,
                    from: from.clone(),
                    to: to.clone(),
                    direction: self.range.direction,
                    limit: self.chunk,
                    start: None,
                },
                rows: VecDeque::new(),
                done,
            })
            .collect();
    }

    /// Reads on in every shard that has no row left: then the next row is among the first ones.
    async fn fill(&mut self) -> Result<(), StoreError> {
        let (table, after) = (self.table, self.after.as_deref());
        let dry = self
            .shards
            .iter_mut()
            .filter(|shard| shard.rows.is_empty() && !shard.done);
        stream::iter(
            dry.map(|shard| shard.read(table, after))
                .collect::<Vec<_>>(),
        )
        .buffer_unordered(CONCURRENT)
        .try_collect::<Vec<()>>()
        .await?;
        Ok(())
    }

    fn pop(&mut self) -> Option<Keyed> {
        let direction = self.range.direction;
        let first = |shard: &&mut Shard| shard.rows.front().map(|(key, _)| key.clone());
        let heads = self
            .shards
            .iter_mut()
            .filter(|shard| !shard.rows.is_empty());
        let shard = match direction {
            Direction::OldestFirst => heads.min_by_key(first),
            Direction::NewestFirst => heads.max_by_key(first),
        };
        shard?.rows.pop_front()
    }

    /// The first day with rows that may still be wanted.
    fn first_day(&self, from: Timestamp, until: Timestamp) -> Option<Timestamp> {
        if from >= until {
            return None;
        }
        let after = self.after.as_deref();
        let after = after
            .and_then(|key| split_at_time(key, ""))
            .map(|(at, _)| at);
        let last = Timestamp::from_millis(until.as_millis() - 1)?;
        Some(match self.range.direction {
            Direction::OldestFirst => after.map_or(from, |at| at.max(from)),
            Direction::NewestFirst => after.map_or(last, |at| at.min(last)),
        })
    }

    /// Opens the shards of the next day; false if there is none.
    fn next_day(&mut self) -> bool {
        let Partitions::ByDay {
            from,
            until,
            shards,
            name,
        } = self.range.partitions
        else {
            return false;
        };
        let Some(at) = self.day.take().filter(|at| (from..until).contains(at)) else {
            return false;
        };
        let day = at.day();
        self.open((0..shards).map(|shard| name(&day, shard)).collect());
        let (midnight, next) = day_of(at);
        self.day = match self.range.direction {
            Direction::OldestFirst => next.filter(|next| *next < until),
            Direction::NewestFirst => midnight
                .filter(|midnight| *midnight > from)
                .and_then(|midnight| Timestamp::from_millis(midnight.as_millis() - 1)),
        };
        true
    }
}

impl Shard {
    /// Reads until there is a row or the end. A page may be empty and still have a next one (F-CAP-5).
    async fn read<T: Table>(&mut self, table: &T, after: Option<&str>) -> Result<(), StoreError> {
        while self.rows.is_empty() && !self.done {
            let page = table
                .query(self.query.clone())
                .await
                .map_err(|source| unread(&self.query.partition, source))?;
            let sort = self.query.source.sort();
            self.rows.extend(page.items.into_iter().filter_map(|item| {
                let key = item.get(sort).and_then(|value| value.as_s().ok());
                let key = key.cloned().unwrap_or_default();
                (after != Some(key.as_str())).then_some((key, item))
            }));
            self.done = page.next.is_none();
            self.query.start = page.next;
        }
        Ok(())
    }
}

/// When the UTC day of a time began, and when the next one does. A UTC day has 86,400 seconds. At the ends of the calendar there is none.
fn day_of(at: Timestamp) -> (Option<Timestamp>, Option<Timestamp>) {
    let midnight = Timestamp::parse(&format!("{}T00:00:00Z", at.day()));
    let next = midnight.map(|midnight| midnight.plus(Seconds(86_400)));
    (midnight, next.filter(|next| Some(*next) != midnight))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_ends_at_midnight_also_across_months() {
        let at = |text: &str| Timestamp::parse(text);
        let check = |time: &str, begins: &str, ends: &str| {
            assert_eq!(day_of(at(time).unwrap()), (at(begins), at(ends)), "{time}");
        };
        check(
            "2026-01-31T10:00:00Z",
            "2026-01-31T00:00:00Z",
            "2026-02-01T00:00:00Z",
        );
        check(
            "2024-02-28T23:59:59.999Z",
            "2024-02-28T00:00:00Z",
            "2024-02-29T00:00:00Z",
        );
        check(
            "2025-12-31T00:00:00Z",
            "2025-12-31T00:00:00Z",
            "2026-01-01T00:00:00Z",
        );
    }
}
