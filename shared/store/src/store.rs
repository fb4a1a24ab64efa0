//! The store: everything that is known of orders, over one table.

use std::time::Duration;

use backon::ExponentialBuilder;
use sagaline_order::{Order, OrderId};

use crate::error::StoreError;
use crate::head::read_head;
use crate::intent::CommittedIntent;
use crate::key::Key;
use crate::read::config::ConfigCache;
use crate::table::{Item, Table, TableError};

/// The first wait before a commit is sent again; each further one is twice as long, with a random part of up to its own length.
const FIRST_WAIT: Duration = Duration::from_millis(50);
/// The longest wait.
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// How often a commit is sent again. With the waits this spans the 5 s after which DynamoDB recovers a transaction in progress (F-TX-6).
const RESENDS: usize = 7;

/// The orders and what belongs to them, in one table.
///
/// Reads are methods by access pattern; an order is written by [`Store::place`] and [`Store::commit`] and by nothing else.
#[derive(Debug)]
pub struct Store<T> {
    table: T,
    resends: ExponentialBuilder,
    pub(crate) configs: ConfigCache,
}

impl<T: Table> Store<T> {
    /// A store over this table.
    #[must_use]
    pub fn new(table: T) -> Self {
        let resends = ExponentialBuilder::new()
            .with_jitter()
            .with_min_delay(FIRST_WAIT)
            .with_max_delay(LONGEST_WAIT)
            .with_max_times(RESENDS);
        Self {
            table,
            resends,
            configs: ConfigCache::default(),
        }
    }

    /// With other waits between the sendings of a commit whose outcome is unknown.
    #[must_use]
    pub fn with_resends(mut self, resends: ExponentialBuilder) -> Self {
        self.resends = resends;
        self
    }

    /// The table below.
    pub fn table(&self) -> &T {
        &self.table
    }

    pub(crate) fn resends(&self) -> ExponentialBuilder {
        self.resends
    }

    /// The order as it is now; strongly consistent.
    ///
    /// # Errors
    /// [`StoreError`] if the table does not answer or the head cannot be read.
    pub async fn load(&self, id: &OrderId) -> Result<Option<Order>, StoreError> {
        self.load_item(id)
            .await?
            .map(|item| read_head(&item))
            .transpose()
    }

    /// The head as it stands in the table, unread; strongly consistent.
    ///
    /// # Errors
    /// [`StoreError`] if the table does not answer.
    pub async fn load_item(&self, id: &OrderId) -> Result<Option<Item>, StoreError> {
        self.item(Key::head(id)).await
    }

    /// The order as it is now, with the intent that it still shows as requested. The gateway must be asked before that intent is acted on.
    ///
    /// # Errors
    /// [`StoreError`] if the table does not answer or the head cannot be read.
    pub async fn reread_intent(
        &self,
        id: &OrderId,
    ) -> Result<Option<(Order, Option<CommittedIntent>)>, StoreError> {
        let order = self.load(id).await?;
        Ok(order.map(|order| {
            let intent = CommittedIntent::reread(&order);
            (order, intent)
        }))
    }

    /// One item, strongly consistent.
    pub(crate) async fn item(&self, key: Key) -> Result<Option<Item>, StoreError> {
        let what = key.to_string();
        self.table
            .get(key, true)
            .await
            .map_err(|source| unread(&what, source))
    }
}

pub(crate) fn unread(what: &str, source: TableError) -> StoreError {
    StoreError::Read {
        what: what.to_owned(),
        source,
    }
}
