//! What is recorded of an order: the consequences of an event.

use serde::{Deserialize, Serialize};

use crate::{End, NoticeKind, OpId, Order, PaymentId, RefundId, Sku, State, Timestamp};

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
    /// The saga has the order again. Deadlines and refusals of an open undo count anew.
    AttentionCleared {
        /// The state it goes back to.
        to: State,
        /// When.
        at: Timestamp,
        /// The new deadline of an open undo.
        deadline_at: Timestamp,
    },
    /// Whatever waited for a later attempt may begin now.
    Nudged {
        /// Now.
        at: Timestamp,
    },
    /// Ended by an operator, with whatever was left. An order that had ended keeps its end.
    OrderAbandoned {
        /// Why, and what was agreed.
        comment: String,
        /// When.
        at: Timestamp,
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
            | Self::Nudged { .. }
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
            | Self::ConfirmationDelayed { .. }
            | Self::UnwindStarted { .. }
            | Self::OrderCancelled
            | Self::OrderRejected
            | Self::AttentionNeeded { .. }
            | Self::AttentionCleared { .. }
            | Self::OrderAbandoned { .. } => true,
        }
    }
}
