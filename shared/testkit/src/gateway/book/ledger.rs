//! The rows of the gateway's ledger.

use std::time::Duration;

use serde::Serialize;

/// Where a payment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PaymentStatus {
    /// Charged.
    Approved,
    /// Refused.
    Declined,
    /// Not decided.
    Pending,
    /// Was pending, will never be charged.
    Voided,
}

/// One payment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Payment {
    /// The idempotency key it was made under.
    pub key: String,
    /// The gateway's name for it.
    pub payment_id: String,
    /// Whose it is.
    pub order_id: String,
    /// Where it stands.
    pub status: PaymentStatus,
    /// How much.
    pub amount_minor: i64,
    /// Of what.
    pub currency: String,
    /// How much of it was given back.
    pub refunded_minor: i64,
    /// How it was given back, or voided.
    pub refunds: Vec<Refund>,
    #[serde(skip)]
    pub(super) settles: Option<(Duration, PaymentStatus)>,
}

/// One refund, or the voiding of a pending payment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refund {
    /// The idempotency key it was made under.
    pub key: String,
    /// The gateway's name for it.
    pub refund_id: String,
    /// How much was asked for.
    pub amount_minor: i64,
}

/// What was asked on behalf of one order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Calls {
    /// `POST /payments`.
    pub payments: u32,
    /// `POST /payments/<id>/refunds`.
    pub refunds: u32,
    /// `GET /payments/by-key/<op_id>`, once the key was seen in a post.
    pub enquiries: u32,
}

/// The ledger of one order.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Account {
    /// Sum of what was charged.
    pub charged_minor: i64,
    /// Sum of what was given back.
    pub refunded_minor: i64,
    /// Its payments.
    pub payments: Vec<Payment>,
    /// What was asked.
    pub calls: Calls,
}
