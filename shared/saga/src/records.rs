//! One stream record: which order to look at, if any. The saga processor and the operator's tool handle records with it.
//!
//! The mapping's filter is checked again here (a filter can be changed by hand): order heads only, unfinished ones only. A removed head is
//! nothing to the saga. What the images say beyond that is not used: the decision is made on a consistent read.

use std::borrow::Cow;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};

use sagaline_order::{OrderId, Version};
use sagaline_store::{Disposition, HEAD_SK, PK, SK, Table};
use sagaline_stream::{Budget, Change, Failure, Image, Record, RecordHandler, Verdict, chain};
use tokio::time::Instant;

use crate::{Clock, DriveError, Driven, Driver, EventBus, Path, PaymentGateway, Rest};

/// What the partition key of an order begins with.
const ORDER_PREFIX: &str = "ORDER#";

/// Drives an order as far as it goes now.
pub trait Driving: Send + Sync {
    /// Ends before `until`.
    fn drive(
        &self,
        order_id: &OrderId,
        until: Instant,
    ) -> impl Future<Output = Result<Driven, DriveError>> + Send;
}

impl<T: Table, C: Clock, G: PaymentGateway, B: EventBus> Driving for Driver<T, C, G, B> {
    fn drive(
        &self,
        order_id: &OrderId,
        until: Instant,
    ) -> impl Future<Output = Result<Driven, DriveError>> + Send {
        Self::drive(self, order_id, Path::Stream, until)
    }
}

/// Handles the records of the orders table.
#[derive(Debug)]
pub struct OrderRecords<D> {
    driver: D,
    alarms: AtomicU64,
    version_unchanged: AtomicU64,
}

/// What was seen beside the records themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Commits that call for a person.
    pub alarms: u64,
    /// MODIFY records of a head whose version did not change: somebody writes heads past the commit.
    pub version_unchanged: u64,
}

impl<D> OrderRecords<D> {
    /// Over a driver.
    pub const fn new(driver: D) -> Self {
        Self {
            driver,
            alarms: AtomicU64::new(0),
            version_unchanged: AtomicU64::new(0),
        }
    }

    /// What drives.
    pub const fn driver(&self) -> &D {
        &self.driver
    }

    /// What was seen since the last call.
    pub fn take_counts(&self) -> Counts {
        Counts {
            alarms: self.alarms.swap(0, Ordering::Relaxed),
            version_unchanged: self.version_unchanged.swap(0, Ordering::Relaxed),
        }
    }
}

/// Which order a record is about, if any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Looked {
    /// An unfinished order whose version moved.
    At(OrderId),
    /// Another item, a finished order, or a removed one.
    NotOurs,
    /// A head that was written without a new version.
    Unchanged(OrderId),
}

/// Looks at a record. Pure.
///
/// # Errors
/// Poison, for a record that should name an order and does not.
pub fn look(record: &Record<'_>) -> Result<Looked, Failure> {
    let (new, old) = match record.change()? {
        Change::Remove { .. } => return Ok(Looked::NotOurs),
        Change::Insert { new } => (new, None),
        Change::Modify { new, old } => (new, old),
    };
    if key(record, SK) != Some(HEAD_SK) || new.get("due_pk").is_none() {
        return Ok(Looked::NotOurs);
    }
    let Some(order_id) = key(record, PK).and_then(|pk| pk.strip_prefix(ORDER_PREFIX)) else {
        return Err(Failure::poison("a head whose partition key names no order"));
    };
    let order_id = OrderId::stored(order_id);
    let version =
        version_of(new).ok_or_else(|| Failure::poison("a head without a usable version"))?;
    if old.and_then(version_of) == Some(version) {
        return Ok(Looked::Unchanged(order_id));
    }
    Ok(Looked::At(order_id))
}

impl<D: Driving> RecordHandler for OrderRecords<D> {
    /// All records of an order run one after another.
    fn key<'r>(&self, record: &'r Record<'_>) -> Cow<'r, str> {
        key(record, PK).map_or_else(|| Cow::Owned(record.item_key()), Cow::Borrowed)
    }

    async fn handle(&self, record: &Record<'_>, budget: &Budget) -> Result<Verdict, Failure> {
        let order_id = match look(record)? {
            Looked::At(order_id) => order_id,
            Looked::NotOurs => return Ok(Verdict::Skipped),
            Looked::Unchanged(order_id) => {
                self.version_unchanged.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(%order_id, "a head was written without a new version");
                return Ok(Verdict::Skipped);
            }
        };
        self.drive(&order_id, budget).await
    }
}

impl<D: Driving> OrderRecords<D> {
    /// Drives an order, whichever way it became known.
    ///
    /// # Errors
    /// [`Failure`], as for a record.
    pub async fn drive(&self, order_id: &OrderId, budget: &Budget) -> Result<Verdict, Failure> {
        let until = Instant::now() + budget.remaining();
        let driven = match self.driver.drive(order_id, until).await {
            Ok(driven) => driven,
            // While releases change, both run: the order waits in the table for the sweeper of the newer one.
            Err(error) if error.is_newer_schema() => {
                tracing::error!(%order_id, error = chain(&error), "left to a newer program");
                return Ok(Verdict::Deferred);
            }
            Err(error) => return Err(failure(error)),
        };
        self.alarms
            .fetch_add(u64::from(driven.alarms), Ordering::Relaxed);
        match driven.rest {
            Rest::Deferred => Ok(Verdict::Deferred),
            Rest::OutOfTime => Err(Failure::retry(
                "the invocation's time was up before the order was done",
            )),
            Rest::Absent | Rest::Finished | Rest::Until(_) if driven.commits == 0 => {
                Ok(Verdict::Stale)
            }
            Rest::Absent | Rest::Finished | Rest::Until(_) => Ok(Verdict::Done),
        }
    }
}

/// A key attribute: from the record's keys, or from its new image where a producer left the keys out.
fn key<'r>(record: &'r Record<'_>, name: &str) -> Option<&'r str> {
    record
        .keys()
        .or_else(|| record.new_image())
        .and_then(|keys| keys.s(name))
}

fn version_of(image: &Image<'_>) -> Option<Version> {
    let number = image.n_i64("version")?.ok()?;
    u64::try_from(number).ok().and_then(Version::new)
}

fn failure(error: DriveError) -> Failure {
    let disposition = match error.disposition() {
        // A conflict that outlasted its retries may be over next time.
        Disposition::Retry | Disposition::Conflict => sagaline_stream::Disposition::Retry,
        Disposition::Poison => sagaline_stream::Disposition::Poison,
        Disposition::Fatal => sagaline_stream::Disposition::Fatal,
    };
    Failure::new(disposition, "the order could not be moved").because(error)
}
