//! What is decided about an event: a verdict, its reason, what to record, and what to move in the table.

use serde::{Deserialize, Serialize};

use crate::{Change, PaymentId, RefundId};

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
