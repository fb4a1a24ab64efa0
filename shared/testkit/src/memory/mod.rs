//! A table in memory that keeps DynamoDB's rules: conditions, transactions with a reason for each action, sparse indexes, pages, a stream of
//! changes. Faults can be scripted. It answers to the same contract suite as the real adapter ([`crate::contract`]).
//!
//! What it does not model: eventual consistency (an index follows at once), capacity, and conflicts between transactions that overlap in time
//! (they are serialised; script [`Fault::Conflict`] instead). Numbers stand as they were written, which DynamoDB does not do: so a test can put
//! a `3.0` that real streams and other endpoints send.
//!
//! Every call yields once, so that concurrent work on one thread interleaves between its reads and writes.

mod changes;
mod faults;
mod rules;
mod state;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sagaline_order::Timestamp;
use sagaline_store::{
    Action, GotMany, Item, Key, Page, Query, Table, TableError, TransactError, WriteError,
};
use tokio::sync::watch;

pub use changes::Change;
pub use faults::{Call, Fault};

use faults::Moment;
use rules::Broken;
use state::State;

/// How often the table was called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Calls {
    /// Single reads.
    pub get: usize,
    /// Transactions.
    pub transact: usize,
    /// Pages read.
    pub query: usize,
    /// Single writes.
    pub write: usize,
    /// Batch reads.
    pub get_many: usize,
    /// Batch writes.
    pub put_many: usize,
    /// Actions of all transactions.
    pub actions: usize,
}

/// A table in memory. Clones share the one table.
#[derive(Debug, Clone)]
pub struct MemoryTable {
    state: Arc<Mutex<State>>,
    crashes: watch::Sender<u64>,
}

impl Default for MemoryTable {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryTable {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: Arc::default(),
            crashes: watch::Sender::new(0),
        }
    }

    /// From now on no page holds more items than this, whatever a query asks for.
    pub fn limit_pages(&self, items: u32) {
        self.lock().page_size = Some(items.max(1));
    }

    /// From now on a batch does no more than this many of its items, and gives the others back (F-CAP-5).
    pub fn limit_batches(&self, items: usize) {
        self.lock().batch_size = Some(items);
    }

    /// The time that the changes from now on carry in the stream. Before the first call they carry none.
    pub fn set_now(&self, now: Timestamp) {
        self.lock().now = Some(now);
    }

    /// How often it was called so far; looking is not counted.
    #[must_use]
    pub fn calls(&self) -> Calls {
        self.lock().calls
    }

    /// One item, without a call.
    #[must_use]
    pub fn item(&self, key: &Key) -> Option<Item> {
        self.lock().items.get(key).map(|item| Item::clone(item))
    }

    /// Every item, in key order, without a call.
    #[must_use]
    pub fn items(&self) -> Vec<Arc<Item>> {
        self.lock().items.values().cloned().collect()
    }

    /// Puts an item as an operator's script might, without a call; whatever it holds besides its keys.
    ///
    /// # Errors
    /// A sentence, if DynamoDB would refuse the item.
    pub fn put(&self, item: Item) -> Result<(), String> {
        let mut state = self.lock();
        let written = rules::put(&item).map_err(|broken| broken.reason)?;
        state.store(written.0, Some(written.1));
        Ok(())
    }

    /// Deletes an item as an operator's script might, without a call.
    pub fn delete(&self, key: &Key) {
        self.lock().store(key.clone(), None);
    }

    /// The changes of the table in the order they were made, from the `from`th on (0 = all): what its stream would deliver.
    #[must_use]
    pub fn changes(&self, from: usize) -> Vec<Change> {
        self.lock().changes.iter().skip(from).cloned().collect()
    }

    /// Lets the `nth` call of this kind from now on fail (1 = the next).
    pub fn fail(&self, call: Call, nth: usize, fault: Fault) {
        let mut state = self.lock();
        let at = state.count(call) + nth;
        state.faults.script(call, at, fault);
    }

    /// Lets every call of this kind fail that has no fault of its own; `None` ends it.
    pub fn fail_all(&self, call: Call, fault: Option<Fault>) {
        self.lock().faults.standing(call, fault);
    }

    /// Runs `work` until it is done, or until a crash scripted with [`Fault::CrashBefore`] or [`Fault::CrashAfter`] stops it: then `None`.
    /// A call that crashes never answers, so nothing after it happens.
    pub async fn until_crash<F: Future>(&self, work: F) -> Option<F::Output> {
        let mut crashes = self.crashes.subscribe();
        tokio::select! {
            biased;
            done = work => Some(done),
            _ = crashes.changed() => None,
        }
    }

    /// A transaction without a call, a count or a fault: for parts that bring their own.
    pub(crate) fn transact_now(&self, actions: &[Action]) -> Result<(), TransactError> {
        self.lock().transact(actions)
    }

    /// A page, in the same way.
    pub(crate) fn query_now(&self, query: &Query) -> Result<Page, TableError> {
        self.lock().query(query)
    }

    /// A single write, in the same way.
    pub(crate) fn write_now(&self, action: &Action) -> Result<Item, WriteError> {
        self.lock().write(action)
    }

    /// A table of its own with the same items; its stream begins here.
    pub(crate) fn fork(&self) -> Self {
        Self {
            state: Arc::new(Mutex::new(self.lock().fork())),
            crashes: watch::Sender::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call and finds the fault that is scripted for it.
    async fn enter(&self, call: Call) -> Option<Fault> {
        tokio::task::yield_now().await;
        let mut state = self.lock();
        let number = state.count(call) + 1;
        match call {
            Call::Get => state.calls.get = number,
            Call::Transact => state.calls.transact = number,
            Call::Query => state.calls.query = number,
            Call::Write => state.calls.write = number,
            Call::GetMany => state.calls.get_many = number,
            Call::PutMany => state.calls.put_many = number,
        }
        state.faults.take(call, number)
    }

    async fn crash<R>(&self) -> R {
        self.crashes.send_modify(|count| *count += 1);
        std::future::pending().await
    }

    /// One call with its fault: refuses before the work, or loses the answer after it.
    async fn with_fault<R, E>(
        &self,
        fault: Option<Fault>,
        work: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E>
    where
        E: From<TableError>,
    {
        match fault.as_ref().map(Fault::moment) {
            None => work(),
            Some(Moment::Before(why)) => Err(why.into()),
            Some(Moment::After(why)) => {
                work()?;
                Err(why.into())
            }
            Some(Moment::CrashBefore) => self.crash().await,
            Some(Moment::CrashAfter) => {
                // Done or refused, nobody hears of it.
                let _unheard = work();
                self.crash().await
            }
        }
    }
}

impl Table for MemoryTable {
    async fn get(&self, key: Key, _consistent: bool) -> Result<Option<Item>, TableError> {
        let fault = self.enter(Call::Get).await;
        self.with_fault(fault, || {
            rules::key(&key).map_err(Broken::into_table_error)?;
            Ok(self.item(&key))
        })
        .await
    }

    async fn transact(&self, actions: Vec<Action>) -> Result<(), TransactError> {
        let fault = self.enter(Call::Transact).await;
        if let Some(refusal) = fault
            .as_ref()
            .and_then(|fault| fault.refusal(actions.len()))
        {
            return Err(refusal);
        }
        self.with_fault(fault, || self.lock().transact(&actions))
            .await
    }

    async fn get_many(&self, keys: Vec<Key>, _consistent: bool) -> Result<GotMany, TableError> {
        let fault = self.enter(Call::GetMany).await;
        self.with_fault(fault, || self.lock().get_many(keys)).await
    }

    async fn put_many(&self, items: Vec<Item>) -> Result<Vec<Item>, TableError> {
        let fault = self.enter(Call::PutMany).await;
        self.with_fault(fault, || self.lock().put_many(items)).await
    }

    async fn query(&self, query: Query) -> Result<Page, TableError> {
        let fault = self.enter(Call::Query).await;
        self.with_fault(fault, || self.lock().query(&query)).await
    }

    async fn write(&self, action: Action) -> Result<Item, WriteError> {
        let fault = self.enter(Call::Write).await;
        if matches!(fault, Some(Fault::Conflict)) {
            return Err(WriteError::Conflict);
        }
        self.with_fault(fault, || self.lock().write(&action)).await
    }
}
