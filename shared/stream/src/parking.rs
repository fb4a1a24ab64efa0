//! Where records go that will never work: put aside with their exact text, then acknowledged, so that they block nothing and nothing is
//! lost. The place itself (a bucket, as a rule) belongs to the caller.

use crate::budget::Budget;
use crate::record::Origin;
use crate::sequence::SequenceNumber;
use crate::verdict::{BoxError, Failure, chain};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

/// A record put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    /// The consumer or sink that gave up on it.
    pub who: String,
    /// Why, in one line.
    pub reason: String,
    /// The reason with all its causes.
    pub error: String,
    /// The function that ran.
    pub function: String,
    /// Its request id.
    pub request_id: String,
    /// The stream (or queue) it came from.
    pub stream_arn: Option<String>,
    /// Its sequence number, as received.
    pub sequence_number: Option<SequenceNumber>,
    /// Its event id, or message id.
    pub event_id: Option<String>,
    /// When it was parked: RFC 3339, UTC, milliseconds.
    pub parked_at: String,
    /// Its exact text.
    pub record: String,
}

impl Parked {
    /// Writes the object for a record that `who` gives up on.
    #[must_use]
    pub fn new(who: &str, failure: &Failure, origin: Origin<'_>, budget: &Budget) -> Self {
        Self::because(who, failure.reason(), &chain(failure), origin, budget)
    }

    pub(crate) fn because(
        who: &str,
        reason: &str,
        error: &str,
        origin: Origin<'_>,
        budget: &Budget,
    ) -> Self {
        Self {
            who: who.to_owned(),
            reason: reason.to_owned(),
            error: error.to_owned(),
            function: budget.function().to_owned(),
            request_id: budget.request_id().to_owned(),
            stream_arn: origin.source_arn.map(str::to_owned),
            sequence_number: origin.sequence.cloned(),
            event_id: origin.event_id.map(str::to_owned),
            parked_at: budget.now().to_string(),
            record: origin.raw.to_owned(),
        }
    }

    /// The key of the object in a bucket: `parked/<who>/<yyyy>/<mm>/<dd>/<sequence or none>-<event id or hash>.json`, the day in UTC,
    /// the hash the first 16 hexadecimal digits of the record's SHA-256. The same record parked again on that day has the same key.
    ///
    /// Ids come from outside. One that is not made of letters, digits, `-`, `_` and `.` alone does not enter the key.
    #[must_use]
    pub fn key(&self) -> String {
        let harmless = |text: &&str| {
            (1..=128).contains(&text.len())
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        };
        let sequence = self
            .sequence_number
            .as_ref()
            .map(SequenceNumber::as_str)
            .filter(harmless)
            .unwrap_or("none");
        let hash = || {
            hex::encode(Sha256::digest(self.record.as_bytes()))
                .chars()
                .take(16)
                .collect::<String>()
        };
        let id = self
            .event_id
            .as_deref()
            .filter(harmless)
            .map_or_else(hash, str::to_owned);
        let day = self
            .parked_at
            .get(..10)
            .unwrap_or_default()
            .replace('-', "/");
        format!("parked/{}/{day}/{sequence}-{id}.json", self.who)
    }
}

/// A place for parked records.
///
/// # Contract
/// `Ok` means that the record is kept for good. Parking the same record again is no error.
pub trait Parking: Sync {
    /// Keeps the record.
    ///
    /// # Errors
    /// Any: the record then counts as failed and comes again.
    fn park(&self, parked: &Parked) -> impl Future<Output = Result<(), BoxError>> + Send;
}

impl<P: Parking> Parking for &P {
    fn park(&self, parked: &Parked) -> impl Future<Output = Result<(), BoxError>> + Send {
        (**self).park(parked)
    }
}

impl<P: Parking + Send> Parking for Arc<P> {
    fn park(&self, parked: &Parked) -> impl Future<Output = Result<(), BoxError>> + Send {
        (**self).park(parked)
    }
}

/// Parks in memory: for tests, and for dry runs that only show what would be parked.
#[derive(Debug, Default)]
pub struct MemoryParking {
    kept: Mutex<Vec<Parked>>,
}

impl MemoryParking {
    /// What was parked, in order.
    #[must_use]
    pub fn kept(&self) -> Vec<Parked> {
        self.kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Parking for MemoryParking {
    async fn park(&self, parked: &Parked) -> Result<(), BoxError> {
        self.kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(parked.clone());
        Ok(())
    }
}
