//! The items of the memory table, their index entries and their changes; every request on them in one piece.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use sagaline_order::Timestamp;
use sagaline_store::{
    Action, BATCH_GET_ITEMS, BATCH_WRITE_ITEMS, Direction, GotMany, Index, Item, Key, PK, Page,
    Query, Reason, ReasonCode, SK, Source, TableError, TransactError, WriteError,
};

use super::Calls;
use super::changes::Change;
use super::faults::{Call, Faults};
use super::rules::{self, Broken};

/// Where an item stands in an index: partition, sort key, and its own key, for sort keys need not be unique there (F-GSI-3).
type Entry = (String, String, Key);

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) items: BTreeMap<Key, Arc<Item>>,
    indexes: BTreeMap<Index, BTreeSet<Entry>>,
    pub(super) changes: Vec<Change>,
    pub(super) calls: Calls,
    pub(super) faults: Faults,
    pub(super) now: Option<Timestamp>,
    pub(super) page_size: Option<u32>,
    pub(super) batch_size: Option<usize>,
}

impl State {
    pub(super) fn count(&self, call: Call) -> usize {
        match call {
            Call::Get => self.calls.get,
            Call::Transact => self.calls.transact,
            Call::Query => self.calls.query,
            Call::Write => self.calls.write,
            Call::GetMany => self.calls.get_many,
            Call::PutMany => self.calls.put_many,
        }
    }

    /// The same items and indexes, nothing of what happened to them.
    pub(super) fn fork(&self) -> Self {
        Self {
            items: self.items.clone(),
            indexes: self.indexes.clone(),
            now: self.now,
            page_size: self.page_size,
            ..Self::default()
        }
    }

    pub(super) fn transact(&mut self, actions: &[Action]) -> Result<(), TransactError> {
        rules::transaction(actions).map_err(Broken::into_table_error)?;
        self.calls.actions += actions.len();
        let outcomes: Vec<_> = actions.iter().map(|action| self.outcome(action)).collect();
        if outcomes.iter().any(Result::is_err) {
            let reasons = outcomes.into_iter().map(|outcome| {
                outcome
                    .err()
                    .unwrap_or_else(|| Reason::of(ReasonCode::None))
            });
            return Err(TransactError::Cancelled(reasons.collect()));
        }
        for (key, item) in outcomes.into_iter().flatten() {
            self.store(key, Some(item));
        }
        Ok(())
    }

    pub(super) fn write(&mut self, action: &Action) -> Result<Item, WriteError> {
        rules::key(&rules::key_of(action).map_err(Broken::into_table_error)?)
            .map_err(Broken::into_table_error)?;
        match self.outcome(action) {
            Ok((key, item)) => {
                self.store(key, Some(item.clone()));
                Ok(item)
            }
            Err(Reason {
                code: ReasonCode::ConditionalCheckFailed,
                item,
            }) => Err(WriteError::ConditionFailed(item)),
            Err(Reason { code, .. }) => Err(WriteError::Table(TableError::Invalid(
                format!("{code:?}").into(),
            ))),
        }
    }

    pub(super) fn get_many(&self, keys: Vec<Key>) -> Result<GotMany, TableError> {
        rules::batch(&keys, BATCH_GET_ITEMS).map_err(Broken::into_table_error)?;
        let mut rest = keys.into_iter();
        let done = rest.by_ref().take(self.batch_size.unwrap_or(usize::MAX));
        let items = done
            .filter_map(|key| self.items.get(&key))
            .map(|item| Item::clone(item))
            .collect();
        Ok(GotMany {
            items,
            unprocessed: rest.collect(),
        })
    }

    pub(super) fn put_many(&mut self, items: Vec<Item>) -> Result<Vec<Item>, TableError> {
        let puts = items.iter().map(rules::put);
        let puts = puts.collect::<Result<Vec<_>, _>>();
        let puts = puts.map_err(Broken::into_table_error)?;
        let keys: Vec<Key> = puts.iter().map(|(key, _)| key.clone()).collect();
        rules::batch(&keys, BATCH_WRITE_ITEMS).map_err(Broken::into_table_error)?;
        let most = self.batch_size.unwrap_or(usize::MAX);
        for (key, item) in puts.into_iter().take(most) {
            self.store(key, Some(item));
        }
        Ok(items.into_iter().skip(most).collect())
    }

    /// The item after an action, or the reason against it. Sees the one item with exactly its key (F-CND-1).
    fn outcome(&self, action: &Action) -> Result<(Key, Item), Reason> {
        let invalid = |broken: Broken| Reason::of(ReasonCode::Invalid(broken.reason));
        let key = rules::key_of(action).map_err(invalid)?;
        let there = self.items.get(&key).map(Arc::as_ref);
        if !rules::holds(action, there) {
            return Err(Reason {
                code: ReasonCode::ConditionalCheckFailed,
                item: there.cloned(),
            });
        }
        match action {
            Action::Put { item, .. } => rules::put(item),
            Action::Update(update) => rules::update(update, there),
        }
        .map_err(invalid)
    }

    /// Replaces an item, its index entries, and writes the stream. What changes nothing leaves no record there (F-STR-4).
    pub(super) fn store(&mut self, key: Key, after: Option<Item>) {
        let after = after.map(Arc::new);
        let before = match &after {
            Some(item) => self.items.insert(key.clone(), Arc::clone(item)),
            None => self.items.remove(&key),
        };
        if before == after {
            return;
        }
        for index in Index::ALL {
            let entries = self.indexes.entry(index).or_default();
            if let Some(entry) = before.as_deref().and_then(|item| entry(index, item, &key)) {
                entries.remove(&entry);
            }
            if let Some(entry) = after.as_deref().and_then(|item| entry(index, item, &key)) {
                entries.insert(entry);
            }
        }
        let number = self.changes.len();
        self.changes
            .push(Change::new(number, key, before, after, self.now));
    }

    pub(super) fn query(&self, query: &Query) -> Result<Page, TableError> {
        rules::query(query).map_err(Broken::into_table_error)?;
        let limit = usize::try_from(
            self.page_size
                .map_or(query.limit, |most| most.min(query.limit)),
        )
        .unwrap_or(usize::MAX);
        let keys: Vec<Key> = match query.source {
            Source::Table { .. } => {
                let at = |sk: &str| Key {
                    pk: query.partition.clone(),
                    sk: sk.to_owned(),
                };
                let started = start(query, |key, _| key);
                let range = self
                    .items
                    .range(bounds(query, at(&query.from), at(&query.to), started))
                    .map(|(key, _)| key.clone());
                in_order(range, query.direction).take(limit).collect()
            }
            Source::Index(index) => {
                let at = |sk: &str, key: &str| {
                    (
                        query.partition.clone(),
                        sk.to_owned(),
                        Key {
                            pk: key.to_owned(),
                            sk: String::new(),
                        },
                    )
                };
                let started = start(query, |key, sk| (query.partition.clone(), sk, key));
                let bounds = bounds(
                    query,
                    at(&query.from, ""),
                    at(&query.to, "\u{10FFFF}"),
                    started,
                );
                let range = self
                    .indexes
                    .get(&index)
                    .into_iter()
                    .flat_map(|entries| entries.range(bounds.clone()))
                    .map(|(_, _, key)| key.clone());
                in_order(range, query.direction).take(limit).collect()
            }
        };
        let items: Vec<Item> = keys
            .iter()
            .filter_map(|key| self.items.get(key))
            .map(|item| rules::projected(item, query.source))
            .collect();
        // DynamoDB stops at the limit without looking whether there is more.
        let full = items.len() == limit;
        let next = items
            .last()
            .filter(|_| full)
            .map(|item| rules::start_key(item, query.source));
        Ok(Page { items, next })
    }
}

fn entry(index: Index, item: &Item, key: &Key) -> Option<Entry> {
    let text = |name: &str| item.get(name)?.as_s().ok().cloned();
    Some((text(index.partition())?, text(index.sort())?, key.clone()))
}

/// Where the last page ended: the item's key and its sort key in the source.
fn start<P>(query: &Query, place: impl FnOnce(Key, String) -> P) -> Option<P> {
    let item = query.start.as_ref()?;
    let text = |name: &str| item.get(name).and_then(|value| value.as_s().ok()).cloned();
    Some(place(
        Key {
            pk: text(PK)?,
            sk: text(SK)?,
        },
        text(query.source.sort())?,
    ))
}

fn bounds<P>(query: &Query, from: P, to: P, start: Option<P>) -> (Bound<P>, Bound<P>) {
    match (start, query.direction) {
        (None, _) => (Bound::Included(from), Bound::Included(to)),
        (Some(last), Direction::OldestFirst) => (Bound::Excluded(last), Bound::Included(to)),
        (Some(last), Direction::NewestFirst) => (Bound::Included(from), Bound::Excluded(last)),
    }
}

fn in_order<T: 'static>(
    range: impl DoubleEndedIterator<Item = T>,
    direction: Direction,
) -> impl Iterator<Item = T> {
    let (mut forward, mut backward) = (None, None);
    match direction {
        Direction::OldestFirst => forward = Some(range),
        Direction::NewestFirst => backward = Some(range.rev()),
    }
    forward
        .into_iter()
        .flatten()
        .chain(backward.into_iter().flatten())
}
