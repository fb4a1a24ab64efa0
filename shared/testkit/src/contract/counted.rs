//! A table that notes every request: what an access pattern costs in round trips can be asserted instead of believed.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sagaline_store::{
    Action, GotMany, Item, Key, Page, Query, Source, Table, TableError, TransactError, WriteError,
};

/// One request. Shown as people name it: `GetItem (strong)`, `Query by_status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// `GetItem`.
    Get {
        /// Strongly consistent.
        strong: bool,
    },
    /// `BatchGetItem` of so many keys.
    GetMany {
        /// Strongly consistent.
        strong: bool,
        /// How many.
        keys: usize,
    },
    /// `Query`.
    Query(Source),
    /// `TransactWriteItems` of so many actions.
    Transact(usize),
    /// `PutItem` or `UpdateItem`.
    Write,
    /// `BatchWriteItem` of so many items.
    PutMany(usize),
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let read = |strong: bool| if strong { "strong" } else { "eventual" };
        match self {
            Self::Get { strong } => write!(f, "GetItem ({})", read(*strong)),
            Self::GetMany { strong, .. } => write!(f, "BatchGetItem ({})", read(*strong)),
            Self::Query(Source::Table { consistent }) => write!(f, "Query ({})", read(*consistent)),
            Self::Query(Source::Index(index)) => write!(f, "Query of `{}`", index.name()),
            Self::Transact(_) => f.write_str("TransactWriteItems"),
            Self::Write => f.write_str("UpdateItem"),
            Self::PutMany(_) => f.write_str("BatchWriteItem"),
        }
    }
}

/// What was sent.
#[derive(Debug, Default)]
pub struct Sent {
    /// The requests, in the order in which they were sent.
    pub requests: Vec<Request>,
    /// How many round trips were waited for: requests that are under way together count once.
    pub round_trips: usize,
    under_way: usize,
}

/// A table around another one.
#[derive(Debug, Clone)]
pub struct Counted<T> {
    inner: T,
    sent: Arc<Mutex<Sent>>,
}

/// A request under way.
struct UnderWay<'t>(&'t Mutex<Sent>);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sent.under_way = sent.under_way.saturating_sub(1);
    }
}

impl<T> Counted<T> {
    /// Around this table; nothing is noted yet.
    #[must_use]
    pub fn new(inner: T) -> Self {
        Self {
            inner,
            sent: Arc::default(),
        }
    }

    /// The table inside.
    #[must_use]
    pub fn inner(&self) -> &T {
        &self.inner
    }

    /// What was sent since the last look.
    #[must_use]
    pub fn take(&self) -> Sent {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Sent> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, request: Request) -> UnderWay<'_> {
        let mut sent = self.lock();
        sent.requests.push(request);
        sent.round_trips += usize::from(sent.under_way == 0);
        sent.under_way += 1;
        UnderWay(&self.sent)
    }
}

impl<T: Table> Table for Counted<T> {
    async fn get(&self, key: Key, consistent: bool) -> Result<Option<Item>, TableError> {
        let _under_way = self.note(Request::Get { strong: consistent });
        self.inner.get(key, consistent).await
    }

    async fn get_many(&self, keys: Vec<Key>, consistent: bool) -> Result<GotMany, TableError> {
        let _under_way = self.note(Request::GetMany {
            strong: consistent,
            keys: keys.len(),
        });
        self.inner.get_many(keys, consistent).await
    }

    async fn put_many(&self, items: Vec<Item>) -> Result<Vec<Item>, TableError> {
        let _under_way = self.note(Request::PutMany(items.len()));
        self.inner.put_many(items).await
    }

    async fn transact(&self, actions: Vec<Action>) -> Result<(), TransactError> {
        let _under_way = self.note(Request::Transact(actions.len()));
        self.inner.transact(actions).await
    }

    async fn query(&self, query: Query) -> Result<Page, TableError> {
        let _under_way = self.note(Request::Query(query.source));
        self.inner.query(query).await
    }

    async fn write(&self, action: Action) -> Result<Item, WriteError> {
        let _under_way = self.note(Request::Write);
        self.inner.write(action).await
    }
}
