//! The port: what the store asks of a DynamoDB table. Requests are data; only an adapter turns them into expressions.
//!
//! There are two adapters: [`DynamoTable`](crate::DynamoTable), and the memory table of the test kit, which keeps the same rules. Both answer
//! to the contract suite of the test kit.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;

use aws_sdk_dynamodb::types::AttributeValue;
use sagaline_order::Version;
use sagaline_stream::guard;

use crate::Disposition;
use crate::key::{Index, Key};

/// An item, or a part of one, as DynamoDB types it.
pub type Item = HashMap<String, AttributeValue>;

/// The cause of a failure, as an adapter found it.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// What a table can do.
///
/// # Contract
/// * A condition sees the item with exactly the action's key and nothing else (F-CND-1). A comparison with an attribute that is not there is
///   false (F-CND-2).
/// * `transact` is all or nothing, and is sent once: an adapter does not send it again by itself.
/// * `write` is sent once, too: an addition must not be made twice.
/// * Old items come back with every failed condition (F-TX-5).
pub trait Table: Send + Sync {
    /// One item by its key.
    fn get(
        &self,
        key: Key,
        consistent: bool,
    ) -> impl Future<Output = Result<Option<Item>, TableError>> + Send;

    /// One `TransactWriteItems`.
    fn transact(
        &self,
        actions: Vec<Action>,
    ) -> impl Future<Output = Result<(), TransactError>> + Send;

    /// Many items by their keys, each once, at most [`BATCH_GET_ITEMS`]. What was not read comes back as keys; sending those again is the
    /// caller's part. A table without batches reads one by one.
    fn get_many(
        &self,
        keys: Vec<Key>,
        consistent: bool,
    ) -> impl Future<Output = Result<GotMany, TableError>> + Send {
        async move {
            let mut got = GotMany::default();
            for key in keys {
                got.items.extend(self.get(key, consistent).await?);
            }
            Ok(got)
        }
    }

    /// Replaces many items, each once, at most [`BATCH_WRITE_ITEMS`], without conditions and not as one. Answers those that were not written;
    /// sending them again is the caller's part. A table without batches writes one by one. Never an order.
    fn put_many(
        &self,
        items: Vec<Item>,
    ) -> impl Future<Output = Result<Vec<Item>, TableError>> + Send {
        async move {
            let mut left = Vec::new();
            for item in items {
                let put = Action::Put {
                    item: item.clone(),
                    condition: None,
                };
                match self.write(put).await {
                    Ok(_) => {}
                    Err(WriteError::Table(error)) => return Err(error),
                    Err(WriteError::Conflict | WriteError::ConditionFailed(_)) => left.push(item),
                }
            }
            Ok(left)
        }
    }

    /// One page of one partition, of the table or an index.
    fn query(&self, query: Query) -> impl Future<Output = Result<Page, TableError>> + Send;

    /// One item outside any transaction: stock, configuration. Answers the item as it is afterwards. Never an order.
    fn write(&self, action: Action) -> impl Future<Output = Result<Item, WriteError>> + Send;
}

/// The most items of a batch read (F-CAP-5; `BatchGetItem` also stops at 16 MB).
pub const BATCH_GET_ITEMS: usize = 100;
/// The most items of a batch write (F-CAP-5).
pub const BATCH_WRITE_ITEMS: usize = 25;

/// What a batch read found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GotMany {
    /// The items that are there, in any order.
    pub items: Vec<Item>,
    /// The keys that were not looked at.
    pub unprocessed: Vec<Key>,
}

/// One write.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Replaces the whole item. Its keys are inside.
    Put {
        /// The item.
        item: Item,
        /// What must hold of the item that is there.
        condition: Option<Condition>,
    },
    /// Changes attributes; creates the item if it is missing and no condition forbids it (F-CND-2).
    Update(Update),
}

/// The attributes that an update changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// Of which item.
    pub key: Key,
    /// New values.
    pub set: BTreeMap<String, AttributeValue>,
    /// Attributes to remove.
    pub remove: Vec<String>,
    /// Numbers to add to; a missing attribute counts as 0.
    pub add: BTreeMap<String, i64>,
    /// What must hold of the item that is there.
    pub condition: Option<Condition>,
}

impl Update {
    /// An update that changes nothing yet.
    #[must_use]
    pub fn of(key: Key) -> Self {
        Self {
            key,
            set: BTreeMap::new(),
            remove: Vec::new(),
            add: BTreeMap::new(),
            condition: None,
        }
    }

    /// Adds `number` to an attribute.
    #[must_use]
    pub fn add(mut self, attribute: &str, number: i64) -> Self {
        self.add.insert(attribute.to_owned(), number);
        self
    }

    /// Sets an attribute.
    #[must_use]
    pub fn set(mut self, attribute: &str, value: AttributeValue) -> Self {
        self.set.insert(attribute.to_owned(), value);
        self
    }

    /// On this condition.
    #[must_use]
    pub fn when(mut self, condition: Condition) -> Self {
        self.condition = Some(condition);
        self
    }
}

/// What must hold of the one item that an action writes.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// There is none: `attribute_not_exists(PK)`.
    NotExists,
    /// It has this version.
    VersionIs(Version),
    /// The attribute is a number, and at least this.
    AtLeast(&'static str, i64),
    /// The attribute has this value.
    Is(&'static str, AttributeValue),
    /// There is none, or the attribute has this value.
    NotExistsOr(&'static str, AttributeValue),
}

/// Where a query reads. An index cannot be read consistently (F-GSI-1), so it cannot be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The table itself.
    Table {
        /// True = sees every write that was acknowledged before.
        consistent: bool,
    },
    /// An index; follows the table a little later.
    Index(Index),
}

impl Source {
    /// The attribute that is the partition key there.
    #[must_use]
    pub fn partition(self) -> &'static str {
        match self {
            Self::Table { .. } => crate::key::PK,
            Self::Index(index) => index.partition(),
        }
    }

    /// The attribute that is the sort key there.
    #[must_use]
    pub fn sort(self) -> &'static str {
        match self {
            Self::Table { .. } => crate::key::SK,
            Self::Index(index) => index.sort(),
        }
    }
}

/// The order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Sort keys rise.
    OldestFirst,
    /// Sort keys fall.
    NewestFirst,
}

/// One page of one partition.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Where.
    pub source: Source,
    /// Which partition.
    pub partition: String,
    /// The lowest sort key, inclusive.
    pub from: String,
    /// The highest sort key, inclusive.
    pub to: String,
    /// In which order.
    pub direction: Direction,
    /// The most items to read, at least 1.
    pub limit: u32,
    /// Where the last page ended.
    pub start: Option<Item>,
}

/// What a query found. A page may be short, even empty, and still have a next one (F-CAP-5).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// The items.
    pub items: Vec<Item>,
    /// Where this page ended, if there may be more.
    pub next: Option<Item>,
}

/// Why a read or a single write failed.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// Too much load on the table or a key.
    #[error("the table is throttled")]
    Throttled(#[source] Cause),
    /// No answer, or one that says nothing of the outcome.
    #[error("the table gave no usable answer")]
    Unavailable(#[source] Cause),
    /// The request itself is wrong: it fails however often it is sent.
    #[error("the table calls the request invalid")]
    Invalid(#[source] Cause),
    /// No such table, no permission: someone must change something.
    #[error("the table refuses all requests of this kind")]
    Refused(#[source] Cause),
}

impl TableError {
    /// What to do about it.
    #[must_use]
    pub fn disposition(&self) -> Disposition {
        match self {
            Self::Throttled(_) | Self::Unavailable(_) => Disposition::Retry,
            Self::Invalid(_) => Disposition::Poison,
            Self::Refused(_) => Disposition::Fatal,
        }
    }
}

/// Why a single write failed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Its condition does not hold. The item that is there, if there is one.
    #[error("the condition does not hold")]
    ConditionFailed(Option<Item>),
    /// A transaction holds the item (F-TX-7). Nothing was written.
    #[error("a transaction holds the item")]
    Conflict,
    /// Anything else.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// Why a transaction failed.
#[derive(Debug, thiserror::Error)]
pub enum TransactError {
    /// Nothing was written. One reason per action, in the order of the actions (F-TX-3); a short list says nothing (F-TX-4).
    #[error("the transaction was cancelled")]
    Cancelled(Vec<Reason>),
    /// The same transaction still runs (F-TX-6).
    #[error("the same transaction still runs")]
    InProgress,
    /// Anything else.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// Why one action of a cancelled transaction failed, or that it did not.
pub type Reason = guard::Reason<Item>;
