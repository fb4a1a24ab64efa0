//! The store: everything that is known of orders, over one table.

use std::time::Duration;

use backon::ExponentialBuilder;
use sagaline_order::{Order, OrderId};

use crate::error::StoreError;
use crate::head::read_head;
use crate::intent::CommittedIntent;
use crate::key::Key;
use crate::read::config::ConfigCache;
use crate::read::cursor::CursorKey;
use crate::table::{Item, Table, TableError};

/// The first wait before a commit is sent again; each further one is twice as long, with a random part of up to its own length.
const FIRST_WAIT: Duration = Duration::from_millis(50);
/// The longest wait.
const LONGEST_WAIT: Duration = Duration::from_secs(2);
/// How often a commit is sent again. With the waits this spans the 5 s after which DynamoDB recovers a transaction in progress (F-TX-6).
const RESENDS: usize = 7;

/// The repository: the orders and what belongs to them, in one table.
///
/// Reads are methods by access pattern; single rows are strongly consistent, of lists it can be said. An order is written by [`Store::place`] and [`Store::commit`] and by nothing else.
#[derive(Debug)]
#[doc(alias = "OrderRepository")]
pub struct Store<T> {
    table: T,
    resends: ExponentialBuilder,
    pub(crate) configs: ConfigCache,
    cursor_key: CursorKey,
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
            cursor_key: CursorKey::of_table(""),
        }
    }

    /// With the key that cursors are signed with. Without one they carry a check sum of sorts ([`CursorKey::of_table`] of no name): enough for
    /// cursors that stay inside a process. Whoever hands them out gives a key.
    #[must_use]
    pub fn with_cursor_key(mut self, key: CursorKey) -> Self {
        self.cursor_key = key;
        self
    }

    /// With other waits between the sendings of a commit whose outcome is unknown.
    #[must_use]
    pub fn with_resends(mut self, resends: ExponentialBuilder) -> Self {
        self.resends = resends;
        self
    }

    /// With a seed for the jitter of those waits, so that a simulation repeats itself.
    #[must_use]
    pub fn with_jitter_seed(mut self, seed: u64) -> Self {
        self.resends = self.resends.with_jitter_seed(seed);
        self
    }

    /// The table below.
    pub fn table(&self) -> &T {
        &self.table
    }

    pub(crate) fn cursor_key(&self) -> &CursorKey {
        &self.cursor_key
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

/// The name that the field has for it.
pub type OrderRepository<T> = Store<T>;

pub(crate) fn unread(what: &str, source: TableError) -> StoreError {
    StoreError::Read {
        what: what.to_owned(),
        source,
    }
}
