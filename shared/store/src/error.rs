//! What can go wrong, and what to do about it. A repeat of a commit is no error.

use sagaline_order::{BadSchema, PaymentId, Sku};

use crate::read::cursor::CursorError;
use crate::table::TableError;

/// What to do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Disposition {
    /// The same again, later.
    Retry,
    /// Read again, decide again.
    Conflict,
    /// This one never succeeds: set it aside and tell its sender.
    Poison,
    /// None succeeds until someone changes the surroundings: table, permissions.
    Fatal,
}

/// Why a read failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The table did not answer.
    #[error("cannot read {what}")]
    Read {
        /// What was asked for.
        what: String,
        /// Why.
        #[source]
        source: TableError,
    },
    /// The shape of a head is not one that this program knows.
    #[error("{what} cannot be read")]
    Schema {
        /// Which item.
        what: String,
        /// Why.
        #[source]
        source: BadSchema,
    },
    /// What stands there is not what must stand there.
    #[error("{what} is not as it must be: {reason}")]
    BadItem {
        /// Which item.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A cursor was given that no page of this list ended with.
    #[error("the list {list} cannot go on behind the cursor")]
    Cursor {
        /// The list that was asked for.
        list: &'static str,
        /// What is wrong with the cursor.
        #[source]
        source: CursorError,
    },
}

impl StoreError {
    /// True for a head that a newer program wrote. It is in order, and nobody of this release can move it.
    #[must_use]
    pub fn is_newer_schema(&self) -> bool {
        matches!(
            self,
            Self::Schema {
                source: BadSchema::Newer { .. },
                ..
            }
        )
    }

    /// What to do about it.
    #[must_use]
    pub fn disposition(&self) -> Disposition {
        match self {
            Self::Read { source, .. } => source.disposition(),
            Self::Schema {
                source: BadSchema::Newer { .. },
                ..
            } => Disposition::Fatal,
            Self::Schema {
                source: BadSchema::Unusable { .. },
                ..
            }
            | Self::BadItem { .. }
            | Self::Cursor { .. } => Disposition::Poison,
        }
    }
}

/// Why an order was not written. Nothing of the commit stands in the table, except that `Unavailable` does not know.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// The request id stands for another request. Its data is not shown.
    #[error("the request id was used for something else")]
    RequestIdReused,
    /// Placement only: the order id is or was in use.
    #[error("the order id is or was in use")]
    OrderIdUsed,
    /// Someone else wrote in between, or at the same moment. Load, decide again.
    #[error("the order moved on")]
    Moved,
    /// Not enough there. The first line that is short.
    #[error("{want} of {sku} wanted, {have} there")]
    StockShort {
        /// Of which product.
        sku: Sku,
        /// What there is.
        have: i64,
        /// What the line asks for.
        want: i64,
    },
    /// Another order has this payment.
    #[error("payment {payment_id} belongs to another order")]
    PaymentIdClash {
        /// Its id.
        payment_id: PaymentId,
    },
    /// No answer, or none that says something, after all resends. Sending the same commit again is safe.
    #[error("the table did not confirm the commit")]
    Unavailable {
        /// The last failure.
        #[source]
        source: TableError,
    },
    /// It can never be written as it is.
    #[error("the commit can never be written: {reason}")]
    Poison {
        /// Why, in words for an operator.
        reason: String,
    },
    /// The table refuses all requests of this kind.
    #[error("the table refuses commits")]
    Refused {
        /// Why.
        #[source]
        source: TableError,
    },
}

impl CommitError {
    /// What to do about it. A clash or a shortage is a domain event: decide again with it.
    #[must_use]
    pub fn disposition(&self) -> Disposition {
        match self {
            Self::Unavailable { .. } => Disposition::Retry,
            Self::Moved | Self::StockShort { .. } | Self::PaymentIdClash { .. } => {
                Disposition::Conflict
            }
            Self::RequestIdReused | Self::OrderIdUsed | Self::Poison { .. } => Disposition::Poison,
            Self::Refused { .. } => Disposition::Fatal,
        }
    }

    pub(crate) fn poison(reason: impl Into<String>) -> Self {
        Self::Poison {
            reason: reason.into(),
        }
    }
}

/// Why the stock of a product was not changed by hand.
#[derive(Debug, thiserror::Error)]
pub enum StockError {
    /// It is not what the caller expected.
    #[error("the stock of {sku} is {have}, not what was expected")]
    NotAsExpected {
        /// Of which product.
        sku: Sku,
        /// What there is.
        have: i64,
    },
    /// It would fall below 0.
    #[error("the stock of {sku} is {have}, {want} cannot be taken")]
    NotEnough {
        /// Of which product.
        sku: Sku,
        /// What there is.
        have: i64,
        /// What was to be taken.
        want: i64,
    },
    /// The table did not confirm it. An addition may have been made: look before repeating it.
    #[error("the table did not confirm the stock of {sku}")]
    Write {
        /// Of which product.
        sku: Sku,
        /// Why.
        #[source]
        source: TableError,
    },
    /// The row could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl StockError {
    /// What to do about it.
    #[must_use]
    pub fn disposition(&self) -> Disposition {
        match self {
            Self::NotAsExpected { .. } | Self::NotEnough { .. } => Disposition::Conflict,
            Self::Write { source, .. } => source.disposition(),
            Self::Store(error) => error.disposition(),
        }
    }
}
