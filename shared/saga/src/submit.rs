//! Events from outside: what customers and operators want, what gateway and fulfilment report. The same decisions and the same commit as for
//! everything else, under an id that the sender chose.

use sagaline_order::{Event, Order, OrderId, PayloadHash, RequestId, Verdict};
use sagaline_store::Table;

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
}

impl<T: Table, C: Clock> Recorder<T, C> {
    /// Takes an event from outside. `None` = there is no such order.
    ///
    /// A repeat is recognised by its request id where it would be written, and where it would be refused; a repeat that changes nothing is
    /// answered as [`Submitted::NoEffect`] without a further look.
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
        let recorded = self
            .record(
                head,
                submission.event.clone(),
                &Origin::Submitted(&submission),
            )
            .await?;
        Ok(match recorded {
            Recorded::Written { order, reason, .. } => Some(Submitted::Applied { order, reason }),
            Recorded::Known { head } => Some(Submitted::AlreadyApplied { order: head }),
            Recorded::Nothing {
                head,
                verdict: Verdict::Refused,
                reason,
            } => {
                if self.was_applied(&head, &submission).await? {
                    return Ok(Some(Submitted::AlreadyApplied { order: head }));
                }
                Some(Submitted::Refused {
                    order: head,
                    reason,
                })
            }
            Recorded::Nothing {
                head,
                verdict: Verdict::NoEffect | Verdict::Applied,
                reason,
            } => Some(Submitted::NoEffect {
                order: head,
                reason,
            }),
            Recorded::Overtaken { head: Some(head) } => Some(Submitted::NoEffect {
                order: head,
                reason: "the order moved on meanwhile".to_owned(),
            }),
            Recorded::Overtaken { head: None } => None,
        })
    }

    /// True if the request was written before: by then the order may stand where the same request is refused.
    async fn was_applied(&self, head: &Order, submission: &Submission) -> Result<bool, DriveError> {
        let order_id = &head.order_id;
        let guard = self.store().guard(&submission.request_id).await;
        let guard = guard.map_err(|source| DriveError::Read {
            order_id: order_id.clone(),
            source,
        })?;
        Ok(guard.is_some_and(|guard| {
            guard.order_id == *order_id && guard.payload_hash == submission.payload_hash
        }))
    }
}
