//! A committed intent: the permission to call the payment gateway once.
//!
//! It cannot be made outside this crate. It comes from a commit of this very process, or from a consistent read that still shows the operation
//! as requested; never from a commit that turned out to be applied already. So no call can come before its intent.

use sagaline_order::{
    Currency, Minor, OpId, Order, OrderId, PaymentId, State, StepStatus, Timestamp,
};

/// Which call is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IntentKind {
    /// Charge the payment.
    Charge,
    /// Refund it, or void it while it is pending.
    Refund,
}

/// An intent that stands in the table. Used up by the call: it can be neither copied nor made.
pub struct CommittedIntent {
    order_id: OrderId,
    kind: IntentKind,
    op_id: OpId,
    payment_op_id: OpId,
    attempt: u32,
    not_after: Timestamp,
    fresh: bool,
    amount: Minor,
    currency: Currency,
    payment_token: Option<String>,
    payment_id: Option<PaymentId>,
}

impl CommittedIntent {
    /// Of which order.
    #[must_use]
    pub fn order_id(&self) -> &OrderId {
        &self.order_id
    }

    /// Which call.
    #[must_use]
    pub fn kind(&self) -> IntentKind {
        self.kind
    }

    /// The idempotency key of every attempt.
    #[must_use]
    pub fn op_id(&self) -> OpId {
        self.op_id
    }

    /// The idempotency key of the payment itself, by which the gateway is asked; for a charge the same as [`Self::op_id`].
    #[must_use]
    pub fn payment_op_id(&self) -> OpId {
        self.payment_op_id
    }

    /// The number of this attempt, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// No call may start unless its time-out ends before.
    #[must_use]
    pub fn not_after(&self) -> Timestamp {
        self.not_after
    }

    /// True if this process committed it just now; false if it was read, so that someone else may have called already.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// True unless it is certain that nobody has called before: then the gateway must be asked, and called only on a definite "not found".
    #[must_use]
    pub fn asks_first(&self) -> bool {
        !self.fresh || self.attempt > 1
    }

    /// How much, in minor units: the order's total.
    #[must_use]
    pub fn amount(&self) -> Minor {
        self.amount
    }

    /// In which currency.
    #[must_use]
    pub fn currency(&self) -> Currency {
        self.currency
    }

    /// Opaque, for a charge.
    #[must_use]
    pub fn payment_token(&self) -> Option<&str> {
        self.payment_token.as_deref()
    }

    /// What is refunded; always there for a refund.
    #[must_use]
    pub fn payment_id(&self) -> Option<&PaymentId> {
        self.payment_id.as_ref()
    }

    /// The intent that `after` holds and `before` did not.
    pub(crate) fn fresh(before: &Order, after: &Order) -> Option<Self> {
        let intent = Self::requested(after, true)?;
        let known = Self::requested(before, true)
            .is_some_and(|old| (old.kind, old.attempt) == (intent.kind, intent.attempt));
        (!known).then_some(intent)
    }

    /// The intent that an order, just read consistently, still shows as requested.
    pub(crate) fn reread(order: &Order) -> Option<Self> {
        Self::requested(order, false)
    }

    /// Only what the state still wants done: an order that is being undone charges nothing, whatever its step says, and one that waits for a
    /// person does nothing.
    fn requested(order: &Order, fresh: bool) -> Option<Self> {
        let pay = order.steps.pay.as_ref()?;
        let (kind, op_id, attempt, not_after) = match (order.state, &pay.undo) {
            (State::Paying, _) if pay.status == StepStatus::Requested => {
                (IntentKind::Charge, pay.op_id, pay.attempt, pay.not_after?)
            }
            (State::Unwinding | State::Cancelled | State::Rejected, Some(undo))
                if undo.status == StepStatus::Requested && !pay.undone =>
            {
                (IntentKind::Refund, undo.op_id, undo.attempt, undo.not_after)
            }
            (
                State::Placed
                | State::Paying
                | State::Confirmed
                | State::Unwinding
                | State::Cancelled
                | State::Rejected
                | State::NeedsOperator,
                _,
            ) => return None,
        };
        Some(Self {
            order_id: order.order_id.clone(),
            kind,
            op_id,
            payment_op_id: pay.op_id,
            attempt,
            not_after,
            fresh,
            amount: order.total_minor,
            currency: order.currency,
            payment_token: order
                .payment_token
                .clone()
                .filter(|_| kind == IntentKind::Charge),
            payment_id: order.payment_id.clone(),
        })
    }
}

impl std::fmt::Debug for CommittedIntent {
    /// Without the payment token, which no log may hold.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommittedIntent")
            .field("order_id", &self.order_id)
            .field("kind", &self.kind)
            .field("op_id", &self.op_id)
            .field("attempt", &self.attempt)
            .field("not_after", &self.not_after)
            .field("fresh", &self.fresh)
            .finish_non_exhaustive()
    }
}
