//! What can happen to an order ([`Event`]) and what is recorded of it ([`Change`]).
//!
//! An event is an input of [`decide`](crate::decide): it may come twice, late or not at all, and may have no effect. A change is an output:
//! it has been decided, carries every value that [`evolve`](crate::evolve) needs, and stands in the history for good.

use serde::{Deserialize, Serialize};

use crate::{End, NoticeKind, OpId, Order, PaymentId, RefundId, Sku, Timestamp};

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
            Self::CancelRequested { .. } => "cancel",
            Self::ShipmentSent { .. } => "ShipmentSent",
            Self::FulfilmentRefused { .. } => "FulfilmentRefused",
        }
    }
}

/// A recorded consequence, past tense. One commit records one or more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind")]
pub enum Change {
    /// The order came to be; without its payment token.
    OrderPlaced {
        /// As placed, version 1.
        order: Box<Order>,
    },
    /// The stock of every line was taken.
    StockReserved {
        /// The step's operation.
        op_id: OpId,
    },
    /// The stock did not suffice.
    StockShort {
        /// The step's operation.
        op_id: OpId,
        /// Of which product.
        sku: Sku,
        /// What there was.
        have: i64,
        /// What the line asked for.
        want: i64,
    },
    /// The stock of every line was given back.
    StockReturned,
    /// The intent to charge, before any call.
    PaymentRequested {
        /// The idempotency key of every attempt.
        op_id: OpId,
        /// From 1.
        attempt: u32,
        /// No call starts unless it ends before.
        not_after: Timestamp,
        /// When the order gives up on the payment.
        deadline_at: Timestamp,
    },
    /// The gateway has it and has not decided.
    PaymentPending {
        /// The attempt or enquiry that said so, from 1.
        attempt: u32,
        /// Its id.
        payment_id: PaymentId,
        /// When to ask.
        retry_at: Timestamp,
    },
    /// It may have happened.
    PaymentUnknown {
        /// The attempt or enquiry that said so, from 1.
        attempt: u32,
        /// What was seen.
        reason: String,
        /// When to ask.
        retry_at: Timestamp,
    },
    /// It happened.
    PaymentSucceeded {
        /// Its id.
        payment_id: PaymentId,
    },
    /// It definitely did not happen.
    PaymentFailed {
        /// Why.
        reason: String,
    },
    /// The gateway knows of no payment: nothing to undo so far. One last enquiry follows, or none when `recheck_at` is absent.
    PaymentAbsent {
        /// The enquiry that said so, from 1.
        attempt: u32,
        /// When to ask for the last time.
        recheck_at: Option<Timestamp>,
    },
    /// The intent to refund, before any call.
    RefundRequested {
        /// The idempotency key of every attempt.
        op_id: OpId,
        /// From 1.
        attempt: u32,
        /// No call starts unless it ends before.
        not_after: Timestamp,
        /// After this a person must look at it.
        deadline_at: Timestamp,
    },
    /// Refused; to be tried again.
    RefundRefused {
        /// Why.
        reason: String,
        /// When.
        retry_at: Timestamp,
    },
    /// It may have happened.
    RefundUnknown {
        /// What was seen.
        reason: String,
        /// When to ask and try again.
        retry_at: Timestamp,
    },
    /// The money is back, or the pending payment is void.
    PaymentUndone {
        /// The gateway's name for the refund, where it gave one.
        refund_id: Option<RefundId>,
    },
    /// The pivot: confirmed, to be announced.
    OrderConfirmed {
        /// The operation of the step `fulfil`.
        op_id: OpId,
        /// The sweeper publishes only after it.
        not_after: Timestamp,
    },
    /// The confirmation is on the event bus.
    ConfirmationPublished,
    /// The event bus did not take it.
    ConfirmationDelayed {
        /// What was seen.
        reason: String,
        /// When to try again.
        retry_at: Timestamp,
    },
    /// A cancellation waits for the publication.
    CancelNoted {
        /// Why it is wanted.
        reason: String,
    },
    /// Undoing began.
    UnwindStarted {
        /// The end it goes to.
        to: End,
        /// Why.
        reason: String,
        /// True for a return.
        returned: bool,
        /// When.
        at: Timestamp,
    },
    /// The end.
    OrderCancelled,
    /// The end.
    OrderRejected,
    /// The goods are on their way.
    Shipped {
        /// How to follow them.
        tracking: String,
    },
    /// A message must be sent; its id holds the version of this commit.
    NoticeRaised {
        /// Which.
        notice: NoticeKind,
    },
    /// The oldest waiting message was sent.
    NoticePublished,
    /// The event bus did not take it.
    NoticeDelayed {
        /// When to try again.
        retry_at: Timestamp,
    },
    /// A person must look at it.
    AttentionNeeded {
        /// Why.
        reason: String,
        /// When.
        at: Timestamp,
        /// When the alarm is raised again.
        alarm_at: Timestamp,
    },
    /// It still waits for one: the alarm was raised again.
    AlarmRaised {
        /// When it is raised next.
        alarm_at: Timestamp,
    },
}

impl Change {
    /// True for the changes that count against the transition budget: those of the state or of a step.
    #[must_use]
    pub fn is_transition(&self) -> bool {
        match self {
            Self::OrderPlaced { .. }
            | Self::NoticeRaised { .. }
            | Self::NoticePublished
            | Self::NoticeDelayed { .. }
            | Self::AlarmRaised { .. }
            | Self::ConfirmationDelayed { .. }
            | Self::CancelNoted { .. }
            | Self::Shipped { .. } => false,
            Self::StockReserved { .. }
            | Self::StockShort { .. }
            | Self::StockReturned
            | Self::PaymentRequested { .. }
            | Self::PaymentPending { .. }
            | Self::PaymentUnknown { .. }
            | Self::PaymentSucceeded { .. }
            | Self::PaymentFailed { .. }
            | Self::PaymentAbsent { .. }
            | Self::RefundRequested { .. }
            | Self::RefundRefused { .. }
            | Self::RefundUnknown { .. }
            | Self::PaymentUndone { .. }
            | Self::OrderConfirmed { .. }
            | Self::ConfirmationPublished
            | Self::UnwindStarted { .. }
            | Self::OrderCancelled
            | Self::OrderRejected
            | Self::AttentionNeeded { .. } => true,
        }
    }
}

/// What a commit moves in the table besides the order itself. Decided here, written by the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableEffect {
    /// Takes the stock of every line, on condition that there is enough.
    TakeStock,
    /// Gives the stock of every line back.
    ReturnStock,
    /// Writes the payment look-up, on condition that no other order has it.
    LinkPayment(PaymentId),
    /// Writes the refund row.
    RecordRefund(RefundId),
}

/// Whether an event did something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Verdict {
    /// It changes the order.
    Applied,
    /// Nothing to do: it is known already, or no longer matters. Nothing is written.
    NoEffect,
    /// Not allowed where the order stands. Nothing is written.
    Refused,
}

/// What [`decide`](crate::decide) answers: data, no action.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// Whether it does something.
    pub verdict: Verdict,
    /// Why, in words for an operator.
    pub reason: String,
    /// What to record; empty unless applied.
    pub changes: Vec<Change>,
    /// What to move in the table in the same commit.
    pub effects: Vec<TableEffect>,
}

impl Decision {
    /// The order would change.
    pub(crate) fn applied(reason: impl Into<String>, changes: Vec<Change>) -> Self {
        Self {
            verdict: Verdict::Applied,
            reason: reason.into(),
            changes,
            effects: Vec::new(),
        }
    }

    pub(crate) fn with(mut self, effect: TableEffect) -> Self {
        self.effects.push(effect);
        self
    }

    pub(crate) fn no_effect(reason: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::NoEffect,
            reason: reason.into(),
            changes: Vec::new(),
            effects: Vec::new(),
        }
    }

    pub(crate) fn refused(reason: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Refused,
            reason: reason.into(),
            changes: Vec::new(),
            effects: Vec::new(),
        }
    }
}
