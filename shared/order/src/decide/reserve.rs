//! The step `reserve`: stock in the table. Taken in the same commit as the payment intent, given back in the commit that ends the order.

use super::{finish_unwinding, op, pay, unwind};
use crate::{Change, Context, Decision, End, Order, Sku, State, TableEffect};

/// What is short.
pub(super) struct Shortage<'e> {
    pub(super) sku: &'e Sku,
    pub(super) have: i64,
    pub(super) want: i64,
}

/// The stock is taken in this very commit, with the first payment intent.
pub(super) fn reserved(order: &Order, context: &Context) -> Decision {
    if let Some(over) = over(order) {
        return over;
    }
    let mut changes = vec![Change::StockReserved {
        op_id: op(order, "reserve", "do"),
    }];
    changes.extend(pay::begin(order, context));
    Decision::applied("stock taken", changes).with(TableEffect::TakeStock)
}

pub(super) fn short(order: &Order, shortage: Shortage<'_>, context: &Context) -> Decision {
    if let Some(over) = over(order) {
        return over;
    }
    let Shortage { sku, have, want } = shortage;
    let reason = format!("{sku}: {want} wanted, {have} there");
    let mut changes = vec![Change::StockShort {
        op_id: op(order, "reserve", "do"),
        sku: sku.clone(),
        have,
        want,
    }];
    changes.extend(unwind(End::Rejected, &reason, context));
    finish_unwinding(order, Decision::applied(reason, changes))
}

/// Why the step is over, if it is.
fn over(order: &Order) -> Option<Decision> {
    match order.state {
        State::Placed if order.steps.reserve.is_some() => {
            Some(Decision::no_effect("the stock was taken at placement"))
        }
        State::Placed => None,
        State::Paying
        | State::Confirmed
        | State::Unwinding
        | State::Cancelled
        | State::Rejected
        | State::NeedsOperator => Some(Decision::no_effect("the stock step is over")),
    }
}
