//! What can happen to an order.
//!
//! An event is an input of [`decide`](crate::decide): it may come twice, late or not at all, and may have no effect. A [`Change`](crate::Change) is an output:
//! it has been decided, carries every value that [`evolve`](crate::evolve) needs, and stands in the history for good.

use serde::{Deserialize, Serialize};

use crate::{PaymentId, RefundId, Sku};

/// Something that happened, or whose time has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub enum Event {
    /// The stock of every line is taken by this very commit.
    StockReserved,
    /// A line asks for more than there is.
    StockShort {
        /// Of which product.
        sku: Sku,
        /// What there is.
        have: i64,
        /// What the line asks for.
        want: i64,
    },
    /// A further attempt to pay may begin.
    PaymentDue,
    /// The gateway charged the payment.
    PaymentApproved {
        /// Its id.
        payment_id: PaymentId,
    },
    /// The gateway took the payment and has not decided.
    PaymentPending {
        /// Its id.
        payment_id: PaymentId,
    },
    /// The gateway definitely refused.
    PaymentDeclined {
        /// Why, or what it answered.
        reason: String,
    },
    /// The call was cut, late or answered with something that says nothing.
    PaymentUnknown {
        /// What was seen.
        reason: String,
    },
    /// An enquiry was answered: there is no such payment.
    PaymentNotFound,
    /// An enquiry or report says that the payment was voided or fully refunded.
    PaymentRefunded,
    /// The payment belongs to another order.
    PaymentIdClash {
        /// Its id.
        payment_id: PaymentId,
    },
    /// A refund may begin or be tried again.
    RefundDue,
    /// The gateway gave the money back.
    RefundSucceeded {
        /// The gateway's name for it.
        refund_id: RefundId,
    },
    /// The gateway definitely refused to.
    RefundRefused {
        /// Why.
        reason: String,
    },
    /// The refund may have happened.
    RefundUnknown {
        /// What was seen.
        reason: String,
    },
    /// Everything else is undone: give the stock back and end.
    UnwindDue,
    /// `OrderConfirmed` is on the event bus.
    ConfirmationPublished,
    /// The event bus did not take it.
    ConfirmationDelayed {
        /// What was seen.
        reason: String,
    },
    /// The oldest waiting notice is on the event bus.
    NoticePublished,
    /// The event bus did not take it.
    NoticeDelayed {
        /// What was seen.
        reason: String,
    },
    /// The order's time to pay, or an undo's time, is over.
    DeadlinePassed,
    /// An hour has passed and the order still waits for a person.
    AttentionDue,
    /// The store refused a commit for good: our bug, or an order too large.
    CommitPoisoned {
        /// What it said.
        reason: String,
    },
    /// An operator: whatever waits for a later attempt or enquiry is to be done now.
    Nudged,
    /// An operator: the step that the order stands in is tried again at once.
    StepRetried,
    /// An operator: a stuck undo is tried again, with its refusals and its deadline counted anew.
    UndoRetried,
    /// An operator: the payment was undone outside.
    UndoMarked {
        /// What shows it.
        evidence: String,
    },
    /// An operator takes the order out of the saga's hands.
    Parked {
        /// Why.
        reason: String,
    },
    /// An operator gives the order back to the saga.
    Unparked,
    /// An operator ends an order that cannot be undone. What it leaves behind is for people to settle.
    Abandoned {
        /// Why, and what was agreed.
        comment: String,
    },
    /// The customer, or an operator for them, wants it cancelled.
    CancelRequested {
        /// Why.
        reason: String,
    },
    /// The goods are on their way.
    ShipmentSent {
        /// How to follow them.
        tracking: String,
    },
    /// Fulfilment cannot deliver.
    FulfilmentRefused {
        /// Why.
        reason: String,
    },
}

impl Event {
    /// The name, as in the matrix, in request ids and in `last_event`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::StockReserved => "StockReserved",
            Self::StockShort { .. } => "StockShort",
            Self::PaymentDue => "PaymentDue",
            Self::PaymentApproved { .. } => "PaymentApproved",
            Self::PaymentPending { .. } => "PaymentPending",
            Self::PaymentDeclined { .. } => "PaymentDeclined",
            Self::PaymentUnknown { .. } => "PaymentUnknown",
            Self::PaymentNotFound => "PaymentNotFound",
            Self::PaymentRefunded => "PaymentRefunded",
            Self::PaymentIdClash { .. } => "PaymentIdClash",
            Self::RefundDue => "RefundDue",
            Self::RefundSucceeded { .. } => "RefundSucceeded",
            Self::RefundRefused { .. } => "RefundRefused",
            Self::RefundUnknown { .. } => "RefundUnknown",
            Self::UnwindDue => "UnwindDue",
            Self::ConfirmationPublished => "ConfirmationPublished",
            Self::ConfirmationDelayed { .. } => "ConfirmationDelayed",
            Self::NoticePublished => "NoticePublished",
            Self::NoticeDelayed { .. } => "NoticeDelayed",
            Self::DeadlinePassed => "deadline",
            Self::AttentionDue => "AttentionDue",
            Self::CommitPoisoned { .. } => "CommitPoisoned",
            Self::Nudged => "nudge",
            Self::StepRetried => "retry-step",
            Self::UndoRetried => "retry-undo",
            Self::UndoMarked { .. } => "mark-undone",
            Self::Parked { .. } => "park",
            Self::Unparked => "unpark",
            Self::Abandoned { .. } => "abandon",
            Self::CancelRequested { .. } => "cancel",
            Self::ShipmentSent { .. } => "ShipmentSent",
            Self::FulfilmentRefused { .. } => "FulfilmentRefused",
        }
    }

    /// True for what only an operator does. It resets the count of transitions.
    #[must_use]
    pub fn is_operators(&self) -> bool {
        matches!(
            self,
            Self::Nudged
                | Self::StepRetried
                | Self::UndoRetried
                | Self::UndoMarked { .. }
                | Self::Parked { .. }
                | Self::Unparked
                | Self::Abandoned { .. }
        )
    }
}
