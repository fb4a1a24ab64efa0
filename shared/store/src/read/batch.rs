//! Many items at once. What a batch left undone is sent again, with growing waits, as often as the store's settings allow.
//!
//! A batch is no transaction: its items are not of one moment (F-TX-2), and a write that fails half way leaves the first half written. So
//! orders are read in batches and never written in one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use backon::Retryable as _;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use sagaline_order::{Order, OrderId, Sku};

use super::list::Consistency;
use crate::error::{StockError, StoreError};
use crate::head::read_head;
use crate::key::{Key, PK};
use crate::row;
use crate::store::{Store, unread};
use crate::table::{BATCH_GET_ITEMS, BATCH_WRITE_ITEMS, Item, Table, TableError};
use crate::value::n;

/// Batches on their way at the same time.
const CONCURRENT: usize = 4;

/// Why a batch is not done yet.
enum Undone {
    /// Throttled, lost, or done in part: the rest again.
    Again(TableError),
    /// Never.
    Failed(TableError),
}

impl Undone {
    fn of(error: TableError) -> Self {
        match error {
            TableError::Throttled(_) | TableError::Unavailable(_) => Self::Again(error),
            TableError::Invalid(_) | TableError::Refused(_) => Self::Failed(error),
        }
    }

    fn rest(left: usize) -> Self {
        Self::Again(TableError::Throttled(
            format!("{left} items of a batch were not processed").into(),
        ))
    }

    fn into_inner(self) -> TableError {
        match self {
            Self::Again(error) | Self::Failed(error) => error,
        }
    }
}

impl<T: Table> Store<T> {
    /// The orders of these ids, in the order of the ids; `None` where there is none. An id may come twice.
    ///
    /// # Errors
    /// [`StoreError`] if the table does not answer all of it, or a head cannot be read.
    pub async fn load_many(
        &self,
        ids: &[OrderId],
        consistency: Consistency,
    ) -> Result<Vec<Option<Order>>, StoreError> {
        let items = self.load_items(ids, consistency).await?;
        let read = |item: Option<Item>| item.as_ref().map(read_head).transpose();
        items.into_iter().map(read).collect()
    }

    /// The same, unread.
    ///
    /// # Errors
    /// [`StoreError`] if the table does not answer all of it.
    pub async fn load_items(
        &self,
        ids: &[OrderId],
        consistency: Consistency,
    ) -> Result<Vec<Option<Item>>, StoreError> {
        // A key that comes twice would make the whole batch invalid.
        let keys: BTreeSet<Key> = ids.iter().map(Key::head).collect();
        let batches = chunks(keys.into_iter().collect(), BATCH_GET_ITEMS);
        let found: Vec<Vec<Item>> = stream::iter(batches)
            .map(|keys| self.get_batch(keys, consistency))
            .buffer_unordered(CONCURRENT)
            .try_collect()
            .await?;
        let by_pk: HashMap<String, Item> = found
            .into_iter()
            .flatten()
            .filter_map(|item| Some((item.get(PK)?.as_s().ok()?.clone(), item)))
            .collect();
        Ok(ids
            .iter()
            .map(|id| by_pk.get(&Key::head(id).pk).cloned())
            .collect())
    }

    async fn get_batch(
        &self,
        keys: Vec<Key>,
        consistency: Consistency,
    ) -> Result<Vec<Item>, StoreError> {
        let what = format!("a batch of {} items", keys.len());
        let state = Mutex::new((keys, Vec::new()));
        let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
        let consistent = consistency == Consistency::Strong;
        (async || {
            let keys = lock().0.clone();
            let got = self.table().get_many(keys, consistent).await;
            let got = got.map_err(Undone::of)?;
            let mut state = lock();
            state.1.extend(got.items);
            state.0 = got.unprocessed;
            match state.0.len() {
                0 => Ok(()),
                left => Err(Undone::rest(left)),
            }
        })
        .retry(self.resends())
        .when(|undone| matches!(undone, Undone::Again(_)))
        .await
        .map_err(|undone| unread(&what, undone.into_inner()))?;
        Ok(state.into_inner().unwrap_or_else(PoisonError::into_inner).1)
    }

    /// Sets the stock of many products, whatever it was: to fill a shop, not to correct one. The last one counts if a product comes twice.
    ///
    /// # Errors
    /// [`StockError`]; some may be set then. Setting them again is safe.
    pub async fn set_stocks(&self, stocks: &[(Sku, u32)]) -> Result<(), StockError> {
        let stocks: BTreeMap<&Sku, u32> = stocks.iter().map(|(sku, n)| (sku, *n)).collect();
        let stocks = stocks.into_iter().map(|(sku, n)| (sku.clone(), n));
        let batches = chunks(stocks.collect(), BATCH_WRITE_ITEMS);
        stream::iter(batches)
            .map(|batch| self.set_batch(batch))
            .buffer_unordered(CONCURRENT)
            .try_collect::<Vec<()>>()
            .await?;
        Ok(())
    }

    async fn set_batch(&self, stocks: Vec<(Sku, u32)>) -> Result<(), StockError> {
        let item = |(sku, stock): &(Sku, u32)| row::item(&Key::stock(sku), [("stock", n(stock))]);
        let written = self.put_batch(stocks.iter().map(item).collect()).await;
        written.map_err(|(left, source)| {
            let first = stocks
                .iter()
                .find(|stock| left.first() == Some(&item(stock)));
            match first {
                Some((sku, _)) => StockError::Write {
                    sku: sku.clone(),
                    source,
                },
                None => StockError::Store(unread("a batch of stocks", source)),
            }
        })
    }

    /// What could not be written comes back with the error.
    async fn put_batch(&self, items: Vec<Item>) -> Result<(), (Vec<Item>, TableError)> {
        let state = Mutex::new(items);
        let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
        let written = (async || {
            let items = lock().clone();
            let left = self.table().put_many(items).await.map_err(Undone::of)?;
            let mut state = lock();
            *state = left;
            match state.len() {
                0 => Ok(()),
                left => Err(Undone::rest(left)),
            }
        })
        .retry(self.resends())
        .when(|undone| matches!(undone, Undone::Again(_)))
        .await;
        let left = state.into_inner().unwrap_or_else(PoisonError::into_inner);
        written.map_err(|undone| (left, undone.into_inner()))
    }
}

fn chunks<I>(all: Vec<I>, size: usize) -> Vec<Vec<I>> {
    let mut rest = all.into_iter().peekable();
    let mut chunks = Vec::new();
    while rest.peek().is_some() {
        chunks.push(rest.by_ref().take(size).collect());
    }
    chunks
}
