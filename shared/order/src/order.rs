//! The order as it stands: the head item, saga included. Everything the saga still has to do is derived from it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    Currency, Minor, OpId, OrderId, PaymentId, Quantity, RefundId, Sku, Timestamp, UserId, Version,
};

/// The shape of the head that this code writes; see [`upcast`](crate::upcast).
pub const SCHEMA: u32 = 1;

/// Where an order stands in its saga.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum State {
    /// Written down; nothing has been done for it yet.
    Placed,
    /// Stock is taken, the payment is under way.
    Paying,
    /// The pivot is passed: paid, and announced or about to be.
    Confirmed,
    /// What succeeded, or may have, is being undone.
    Unwinding,
    /// Ended by its customer or a deadline; undone.
    Cancelled,
    /// Ended by short stock or a declined payment; undone.
    Rejected,
    /// Waits for a person.
    NeedsOperator,
}

impl State {
    /// All states, in the order of the matrix.
    pub const ALL: [Self; 7] = [
        Self::Placed,
        Self::Paying,
        Self::Confirmed,
        Self::Unwinding,
        Self::Cancelled,
        Self::Rejected,
        Self::NeedsOperator,
    ];
}

/// What the customer sees of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Status {
    /// Placed or Paying.
    Unpaid,
    /// Unwinding.
    Processing,
    /// Confirmed, not yet on its way.
    Confirmed,
    /// Confirmed and on its way.
    Shipped,
    /// Cancelled.
    Cancelled,
    /// Rejected.
    Rejected,
    /// A person looks at it.
    Exception,
}

impl Status {
    /// The stored text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unpaid => "UNPAID",
            Self::Processing => "PROCESSING",
            Self::Confirmed => "CONFIRMED",
            Self::Shipped => "SHIPPED",
            Self::Cancelled => "CANCELLED",
            Self::Rejected => "REJECTED",
            Self::Exception => "EXCEPTION",
        }
    }

    /// From the stored text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [
            Self::Unpaid,
            Self::Processing,
            Self::Confirmed,
            Self::Shipped,
            Self::Cancelled,
            Self::Rejected,
            Self::Exception,
        ]
        .into_iter()
        .find(|status| status.as_str() == text)
    }

    /// True for the statuses that the sparse index `by_status` lists.
    #[must_use]
    pub fn is_indexed(self) -> bool {
        matches!(self, Self::Unpaid | Self::Processing | Self::Exception)
    }
}

/// One line of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// What is bought.
    pub sku: Sku,
    /// Its name as the customer saw it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How many.
    pub qty: Quantity,
    /// The price of one, in minor units, as agreed at placement. Never looked up again.
    pub unit_minor: Minor,
}

/// Where the goods go. Personal data: never indexed, hidden in the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shipping {
    /// Of the person.
    pub name: String,
    /// Street and number.
    pub street: String,
    /// City.
    pub city: String,
    /// State, province or the like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Postal code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postal_code: Option<String>,
    /// Country.
    pub country: String,
}

/// How a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StepStatus {
    /// The intent is committed; the call may be under way until `not_after`.
    Requested,
    /// The gateway took it and has not decided.
    Pending,
    /// The call was cut or late: it may have happened.
    Unknown,
    /// It happened.
    Succeeded,
    /// It definitely did not happen.
    Failed,
}

/// The undoing of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    /// The undo's own idempotency key.
    pub op_id: OpId,
    /// How it stands. `Failed` = refused, to be tried again until `undo_attempts` are used up.
    pub status: StepStatus,
    /// Attempts begun.
    pub attempt: u32,
    /// Definite refusals among them; these alone count to `undo_attempts`.
    pub refusals: u32,
    /// No call of this attempt starts unless it ends before.
    pub not_after: Timestamp,
    /// When the next attempt may begin; `None` while one is under way or it is settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// After this a person must look at it.
    pub deadline_at: Timestamp,
    /// Why the last attempt did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// The gateway's name for the refund.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refund_id: Option<RefundId>,
}

/// One step of the saga as recorded on the head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The idempotency key of every attempt.
    pub op_id: OpId,
    /// How it stands.
    pub status: StepStatus,
    /// Attempts begun.
    pub attempt: u32,
    /// No call of this attempt starts unless it ends before. The sweeper touches the step only after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_after: Option<Timestamp>,
    /// When the next enquiry or attempt may begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// `pay`: when the order gives up on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_at: Option<Timestamp>,
    /// `pay`: one last enquiry about a payment that was not found, before the order counts as finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck_at: Option<Timestamp>,
    /// Why the last attempt did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Present once its undoing began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Undo>,
    /// True once it is undone, or settled that there is nothing to undo.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
}

/// The steps begun so far, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steps {
    /// Stock in the table; taken and given back inside the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Step>,
    /// The payment at the gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pay: Option<Step>,
    /// The publication of `OrderConfirmed`; retried forward, never undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fulfil: Option<Step>,
}

/// How an unwinding order will end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum End {
    /// By the customer or a deadline.
    Cancelled,
    /// By stock or payment.
    Rejected,
}

/// Why and to what end an order is unwound. Stays on the head afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unwind {
    /// The end it goes to.
    pub to: End,
    /// Why.
    pub reason: String,
    /// Since when.
    pub since: Timestamp,
    /// True for a return: the order was confirmed and announced before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub returned: bool,
}

/// A message to the event bus that is still to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// What it says.
    pub kind: NoticeKind,
    /// The version of the commit that caused it; with the order id it is the message's id.
    pub version: Version,
    /// Failed sends so far.
    pub attempt: u32,
    /// When to try again; `None` = at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
}

/// The messages besides `OrderConfirmed`, which is the step `fulfil`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NoticeKind {
    /// On the end `Cancelled`; for a return before its refund.
    OrderCancelled,
    /// On entry of `NeedsOperator`, and hourly.
    OrderNeedsAttention,
}

/// Why a person must look at the order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attention {
    /// Why.
    pub reason: String,
    /// Since when.
    pub since: Timestamp,
    /// When the alarm is raised again.
    pub alarm_at: Timestamp,
    /// Where the order stood before.
    pub from: State,
}

/// The cause of the head's present version, so that an archive row explains itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastEvent {
    /// The request id of the commit.
    pub id: String,
    /// The kind of event.
    pub kind: String,
    /// Who: `customer`, `saga`, `sweeper`, `gateway`, `fulfilment`, `operator:<name>`.
    pub actor: String,
    /// Why, in words.
    pub reason: String,
    /// When.
    pub at: Timestamp,
}

/// An order: one item in the table, one version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Its id.
    pub order_id: OrderId,
    /// Whose it is.
    pub user_id: UserId,
    /// 1 at placement, +1 per commit.
    pub version: Version,
    /// The shape of the stored head.
    pub schema: u32,
    /// Where the saga stands.
    pub state: State,
    /// What is bought.
    pub lines: Vec<Line>,
    /// The currency of every amount.
    pub currency: Currency,
    /// Sum of quantity times unit price, agreed at placement.
    pub total_minor: Minor,
    /// Of the placement.
    pub created_at: Timestamp,
    /// Of the last commit.
    pub updated_at: Timestamp,
    /// Where the goods go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping: Option<Shipping>,
    /// The phone with all but the last digits hidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone_masked: Option<String>,
    /// Opaque to us, for the payment gateway only. Never indexed or archived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment_token: Option<String>,
    /// The caller's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, serde_json::Value>,
    /// Of the payment that was approved or is pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment_id: Option<PaymentId>,
    /// Set once shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracking: Option<String>,
    /// The version of the pivot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_version: Option<Version>,
    /// The steps begun so far.
    #[serde(default)]
    pub steps: Steps,
    /// Present once unwinding began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unwind: Option<Unwind>,
    /// A cancellation that waits for the publication of the confirmation: its reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_noted: Option<String>,
    /// Messages still to be sent, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
    /// Present while a person must look at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention: Option<Attention>,
    /// When the sweeper looks at it next; present exactly while it is unfinished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_at: Option<Timestamp>,
    /// Commits that changed the state or a step since an operator last stepped in.
    #[serde(default)]
    pub transitions: u32,
    /// The cause of this version.
    pub last_event: LastEvent,
}

impl Order {
    /// What the customer sees.
    #[must_use]
    pub fn status(&self) -> Status {
        match self.state {
            State::Placed | State::Paying => Status::Unpaid,
            State::Unwinding => Status::Processing,
            State::Confirmed if self.tracking.is_some() => Status::Shipped,
            State::Confirmed => Status::Confirmed,
            State::Cancelled => Status::Cancelled,
            State::Rejected => Status::Rejected,
            State::NeedsOperator => Status::Exception,
        }
    }

    /// True once the confirmation is on the event bus.
    #[must_use]
    pub fn is_published(&self) -> bool {
        self.steps
            .fulfil
            .as_ref()
            .is_some_and(|step| step.status == StepStatus::Succeeded)
    }
}
