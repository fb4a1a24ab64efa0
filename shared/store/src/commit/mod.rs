//! The commit: the one way an order is written, always one transaction.
//!
//! [`plan`] turns an order and a decision into actions, in a fixed order. [`reasons`] reads what a cancelled transaction says, by the place of
//! each action. This module sends, and sends the same again while the outcome is unknown: the request guard, the second action of every
//! commit, makes that safe however often and by whomever it is done.

pub(crate) mod plan;
pub(crate) mod reasons;

use backon::Retryable as _;
use sagaline_order::{Decision, NewOrder, Order, RequestId};
use sagaline_stream::guard::{PayloadHash, Seen};

use crate::error::{CommitError, StoreError};
use crate::guard::Guard;
use crate::intent::CommittedIntent;
use crate::key::Key;
use crate::store::Store;
use crate::table::{Action, Item, Table, TableError, TransactError};
use plan::Plan;
use reasons::Verdict;

/// A step of an order, decided and applied: what to write.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    /// The order as it was read.
    pub before: Order,
    /// The order one version further, from [`sagaline_order::apply`].
    pub after: Order,
    /// What was decided.
    pub decision: Decision,
    /// The id that makes it happen once.
    pub request_id: RequestId,
    /// What was asked for: `cancel`, `report`, or the kind of event.
    pub operation: &'static str,
    /// Over the caller's input, or over the event.
    pub payload_hash: PayloadHash,
}

impl Commit {
    /// What it would write, in the order in which it is sent. Nothing is.
    ///
    /// # Errors
    /// [`CommitError::Poison`] if it can never be written.
    pub fn writes(&self) -> Result<Vec<Action>, CommitError> {
        Ok(plan::step(self)?.actions)
    }
}

/// What became of a commit.
#[derive(Debug)]
pub enum Committed {
    /// It is written, by this call.
    Applied {
        /// The order as it is now.
        order: Order,
        /// The intent that this commit recorded, if it recorded one.
        intent: Option<CommittedIntent>,
    },
    /// It was written before, perhaps by a call of ours whose answer was lost. No intent comes of it: someone may have called already.
    AlreadyApplied {
        /// The order as it is now.
        head: Order,
    },
}

/// How to place an order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// Take the stock of every line in the same transaction; otherwise the saga does.
    pub reserve_now: bool,
    /// The keyed hash of the phone, as the look-up has it.
    pub phone_lookup: Option<String>,
}

/// What became of a placement.
#[derive(Debug, Clone, PartialEq)]
pub enum Placed {
    /// The order is new.
    Created {
        /// Version 1.
        order: Order,
    },
    /// The same request placed it before.
    AlreadyApplied {
        /// The order as it is now.
        head: Order,
    },
}

/// Why one sending of a commit did not settle it.
enum Unsettled {
    /// The outcome is unknown: the same again.
    Again(TableError),
    /// It is refused.
    Refused(CommitError),
}

/// What one sending settled.
enum Settled {
    Applied,
    AlreadyApplied,
}

impl<T: Table> Store<T> {
    /// Places an order.
    ///
    /// # Errors
    /// [`CommitError`]; nothing is stored then, except that `Unavailable` does not know. With `reserve_now` and too little stock: `StockShort`.
    pub async fn place(&self, new: NewOrder, placement: Placement) -> Result<Placed, CommitError> {
        let (plan, order) = plan::placement(&new, &placement)?;
        match self.settle(&plan).await? {
            Settled::Applied => Ok(Placed::Created { order }),
            // Without a head the id was used by an order that someone deleted.
            Settled::AlreadyApplied => {
                let head = self
                    .load(&order.order_id)
                    .await
                    .map_err(unread)?
                    .ok_or(CommitError::OrderIdUsed)?;
                Ok(Placed::AlreadyApplied { head })
            }
        }
    }

    /// Writes the next version of an order.
    ///
    /// While the outcome is unknown the same commit is sent again, with growing waits, as often as the store's settings allow.
    ///
    /// # Errors
    /// [`CommitError`]; nothing is written then, except that `Unavailable` does not know.
    pub async fn commit(&self, commit: Commit) -> Result<Committed, CommitError> {
        let plan = plan::step(&commit)?;
        match self.settle(&plan).await? {
            Settled::Applied => {
                let intent = CommittedIntent::fresh(&commit.before, &commit.after);
                Ok(Committed::Applied {
                    order: commit.after,
                    intent,
                })
            }
            Settled::AlreadyApplied => {
                let head = self
                    .load(&commit.before.order_id)
                    .await
                    .map_err(unread)?
                    .ok_or(CommitError::Moved)?;
                Ok(Committed::AlreadyApplied { head })
            }
        }
    }

    /// Sends until the outcome is known or the resends are used up.
    async fn settle(&self, plan: &Plan) -> Result<Settled, CommitError> {
        let settled = (|| self.send(plan))
            .retry(self.resends())
            .when(|unsettled| matches!(unsettled, Unsettled::Again(_)))
            .notify(|_, wait| tracing::debug!(request_id = %plan.guard.marker.request_id, ?wait, "commit outcome unknown, sending it again"))
            .await;
        settled.map_err(|unsettled| match unsettled {
            Unsettled::Again(source) => CommitError::Unavailable { source },
            Unsettled::Refused(error) => error,
        })
    }

    async fn send(&self, plan: &Plan) -> Result<Settled, Unsettled> {
        let reasons = match self.table().transact(plan.actions.clone()).await {
            Ok(()) => return Ok(Settled::Applied),
            Err(TransactError::Cancelled(reasons)) => reasons,
            Err(TransactError::InProgress) => {
                return Err(Unsettled::Again(TableError::Unavailable(
                    "the same transaction still runs".into(),
                )));
            }
            Err(TransactError::Table(error)) => return Err(unanswered(error)),
        };
        match reasons::judge(&reasons, plan) {
            Verdict::GuardTaken(item) => self.compare_guard(plan, item).await,
            Verdict::Unknown(source) => Err(Unsettled::Again(source)),
            Verdict::Refused(error) => Err(Unsettled::Refused(error)),
        }
    }

    /// The guard is there: is it ours?
    async fn compare_guard(&self, plan: &Plan, seen: Option<Item>) -> Result<Settled, Unsettled> {
        let wanted = &plan.guard.marker;
        let item = match seen {
            Some(item) => Some(item),
            // An endpoint that does not send the old item along.
            None => self
                .table()
                .get(Key::guard(&wanted.request_id), true)
                .await
                .map_err(unanswered)?,
        };
        let Some(item) = item else {
            // It expired in this very moment.
            return Err(Unsettled::Again(TableError::Unavailable(
                "the request guard came and went".into(),
            )));
        };
        match Guard::read(&wanted.request_id, &item) {
            Ok(guard) if wanted.against(&guard.marker) == Seen::Repeat => {
                Ok(Settled::AlreadyApplied)
            }
            // The pipeline's own ids are named by what was seen: another content means that more has been seen since.
            _ if wanted.request_id.is_internal() => Err(Unsettled::Refused(CommitError::Moved)),
            _ => Err(Unsettled::Refused(CommitError::RequestIdReused)),
        }
    }
}

fn unanswered(error: TableError) -> Unsettled {
    match error {
        TableError::Throttled(_) | TableError::Unavailable(_) => Unsettled::Again(error),
        TableError::Invalid(cause) => Unsettled::Refused(CommitError::poison(cause.to_string())),
        TableError::Refused(_) => Unsettled::Refused(CommitError::Refused { source: error }),
    }
}

/// The commit is applied, but the head cannot be read: sending it again finds the same.
fn unread(error: StoreError) -> CommitError {
    match error {
        StoreError::BadItem { .. } | StoreError::Cursor { .. } => {
            CommitError::poison(error.to_string())
        }
        // A newer program took over meanwhile: whoever reads the head hears of it by name.
        StoreError::Schema { .. } => CommitError::Moved,
        StoreError::Read { source, .. } => match unanswered(source) {
            Unsettled::Again(source) => CommitError::Unavailable { source },
            Unsettled::Refused(error) => error,
        },
    }
}
