//! Events from outside: what customers and operators want, what gateway and fulfilment report. The same decisions and the same commit as for
//! everything else, under an id that the sender chose.

use sagaline_order::{Event, Order, OrderId, RequestId, Verdict, Version};
use sagaline_store::{CommitError, PayloadHash, Table};

use crate::record::{Origin, Recorded};
use crate::{Clock, DriveError, Recorder};

/// An event from outside, under an id that makes it happen once.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// What happened, or is wanted.
    pub event: Event,
    /// The caller's id.
    pub request_id: RequestId,
    /// Over the caller's input.
    pub payload_hash: PayloadHash,
    /// What is asked for: `cancel`, `report`. Kept with the id.
    pub operation: &'static str,
    /// Who: `customer`, `gateway`, `fulfilment`, `operator:<name>`.
    pub actor: String,
    /// The version that the sender decided on: on another one nothing is done. `None` = whichever it is.
    pub expected: Option<Version>,
}

/// What became of a submission.
#[derive(Debug, Clone, PartialEq)]
pub enum Submitted {
    /// It is written, by this call.
    Applied {
        /// The order as it is now.
        order: Order,
        /// What it did, in words.
        reason: String,
    },
    /// The same request was written before.
    AlreadyApplied {
        /// The order as it is now.
        order: Order,
    },
    /// It changes nothing; nothing is written.
    NoEffect {
        /// The order as it is.
        order: Order,
        /// Why, in words.
        reason: String,
    },
    /// It is not allowed where the order stands; nothing is written.
    Refused {
        /// The order as it is.
        order: Order,
        /// Why, in words.
        reason: String,
    },
    /// The order is not, or no longer, at the version that was expected; nothing is written.
    Moved {
        /// The order as it is.
        order: Order,
    },
}

impl<T: Table, C: Clock> Recorder<T, C> {
    /// Takes an event from outside. `None` = there is no such order.
    ///
    /// A repeat is recognised by its request id, also where the order stands by now where the same event would do nothing or be refused.
    ///
    /// # Errors
    /// [`DriveError`]; `RequestIdReused` if the id stands for another request.
    pub async fn submit(
        &self,
        order_id: &OrderId,
        submission: Submission,
    ) -> Result<Option<Submitted>, DriveError> {
        let Some(head) = self.load(order_id).await? else {
            return Ok(None);
        };
        let event = submission.event.clone();
        let recorded = self
            .record(head, event, &Origin::Submitted(&submission))
            .await?;
        let unwritten = match recorded {
            Recorded::Written { order, reason, .. } => {
                return Ok(Some(Submitted::Applied { order, reason }));
            }
            Recorded::Known { head } => {
                return Ok(Some(Submitted::AlreadyApplied { order: head }));
            }
            Recorded::Overtaken { head: None } => return Ok(None),
            Recorded::Overtaken { head: Some(order) } => Submitted::Moved { order },
            Recorded::Nothing {
                head,
                verdict: Verdict::Refused,
                reason,
            } => Submitted::Refused {
                order: head,
                reason,
            },
            Recorded::Nothing {
                head,
                verdict: Verdict::NoEffect | Verdict::Applied,
                reason,
            } => Submitted::NoEffect {
                order: head,
                reason,
            },
        };
        self.unless_known(order_id, &submission, unwritten)
            .await
            .map(Some)
    }

    /// What was not written now may have been before, under this very id; or the id stands for something else.
    async fn unless_known(
        &self,
        order_id: &OrderId,
        submission: &Submission,
        unwritten: Submitted,
    ) -> Result<Submitted, DriveError> {
        let guard = self.store().guard(&submission.request_id).await;
        let guard = guard.map_err(|source| DriveError::Read {
            order_id: order_id.clone(),
            source,
        })?;
        let Some(guard) = guard else {
            return Ok(unwritten);
        };
        let (claim, payload_hash) = (&guard.marker.what, &guard.marker.payload_hash);
        let same = claim.order_id == *order_id
            && claim.operation == submission.operation
            && *payload_hash == submission.payload_hash;
        if same {
            return Ok(Submitted::AlreadyApplied {
                order: unwritten.into_order(),
            });
        }
        if submission.request_id.is_internal() {
            return Ok(unwritten);
        }
        Err(DriveError::Commit {
            order_id: order_id.clone(),
            source: CommitError::RequestIdReused,
        })
    }
}

impl Submitted {
    /// The order as it is now.
    #[must_use]
    pub fn into_order(self) -> Order {
        match self {
            Self::Applied { order, .. }
            | Self::AlreadyApplied { order }
            | Self::NoEffect { order, .. }
            | Self::Refused { order, .. }
            | Self::Moved { order } => order,
        }
    }
}
