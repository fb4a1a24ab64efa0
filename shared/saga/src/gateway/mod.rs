//! The payment gateway: what can be asked of it, and how the saga asks.
//!
//! [`PaymentGateway`] is the port: three calls, each answered with something definite or with a doubt. [`answer`] turns an HTTP answer into
//! that, a pure function. [`attempt`] holds the rules of one attempt, the same for every gateway: a fresh first attempt posts, everything
//! else asks first; no call starts that might outlast its intent. [`HttpGateway`] is the wire.
//!
//! It knows nothing of states and of what follows from an outcome: that is `decide`'s.

use std::future::Future;
use std::time::Duration;

use sagaline_order::{OpId, PaymentId, RefundId};
use sagaline_store::CommittedIntent;

pub mod answer;

pub mod attempt;

mod breaker;
mod http;

pub use http::HttpGateway;

/// A payment gateway.
///
/// # Contract
/// Both posts carry the intent's `op_id` as idempotency key: the same key does one thing, however often it is sent, and gives the same answer.
/// A call ends within its time-out; when it is dropped, it may still take effect. Nothing is retried that could charge twice.
pub trait PaymentGateway: Send + Sync {
    /// Charges the payment of a committed intent.
    fn charge(
        &self,
        intent: CommittedIntent,
        timeout: Duration,
    ) -> impl Future<Output = Charge> + Send;

    /// Gives the payment of a committed intent back, or voids it.
    fn refund(
        &self,
        intent: CommittedIntent,
        timeout: Duration,
    ) -> impl Future<Output = Refund> + Send;

    /// Asks for the payment made under a key. No effect, so no intent.
    fn find(&self, payment: OpId, timeout: Duration) -> impl Future<Output = Enquiry> + Send;

    /// False while the gateway has failed so often in a row that asking it again only costs time.
    fn is_available(&self) -> bool {
        true
    }
}

/// The outcome of a charge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Charge {
    /// Charged.
    Approved(PaymentId),
    /// Taken, not decided.
    Pending(PaymentId),
    /// Definitely not charged, and why.
    Declined(String),
    /// Nobody knows, and what was seen.
    Unknown(String),
}

/// The outcome of a refund.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refund {
    /// Given back, or voided.
    Succeeded(RefundId),
    /// Definitely not given back, and why.
    Refused(String),
    /// Nobody knows, and what was seen.
    Unknown(String),
}

/// The answer to an enquiry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Enquiry {
    /// There is a payment.
    Found(FoundPayment),
    /// There is definitely none.
    NotFound,
    /// Nobody knows, and what was seen.
    Unknown(String),
}

/// A payment as the gateway knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPayment {
    /// Its id.
    pub payment_id: PaymentId,
    /// Where it stands.
    pub status: PaymentStatus,
    /// How much of it was given back, in minor units.
    pub refunded_minor: i64,
    /// The refund, where the gateway names it.
    pub refund_id: Option<RefundId>,
}

/// Where a payment stands at the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
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
