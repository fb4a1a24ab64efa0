//! Why an order could not be moved.

use sagaline_order::OrderId;
use sagaline_store::{CommitError, Disposition, StoreError};

/// Why an order could not be moved. What was committed before stays; the order's wake time brings it back.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The order could not be read.
    #[error("order {order_id} cannot be read")]
    Read {
        /// Which order.
        order_id: OrderId,
        /// Why.
        #[source]
        source: StoreError,
    },
    /// A commit was not taken.
    #[error("a commit of order {order_id} was not taken")]
    Commit {
        /// Which order.
        order_id: OrderId,
        /// Why.
        #[source]
        source: CommitError,
    },
    /// What is due has no effect, and the order cannot even be handed to a person.
    #[error("order {order_id} cannot go on: {reason}")]
    NoWayOn {
        /// Which order.
        order_id: OrderId,
        /// Why.
        reason: String,
    },
}

impl DriveError {
    /// True for an order that a newer program wrote. It is not lost: its wake time brings it to the next sweep of that program.
    #[must_use]
    pub fn is_newer_schema(&self) -> bool {
        match self {
            Self::Read { source, .. } => source.is_newer_schema(),
            Self::Commit { .. } | Self::NoWayOn { .. } => false,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn disposition(&self) -> Disposition {
        match self {
            Self::Read { source, .. } => source.disposition(),
            Self::Commit { source, .. } => source.disposition(),
            Self::NoWayOn { .. } => Disposition::Poison,
        }
    }
}
