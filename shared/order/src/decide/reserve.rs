//! The step `reserve`: stock in the table. Taken in the same commit as the payment intent, given back in the commit that ends the order.

use super::{finish_unwinding, op, pay, unwind};
use crate::{Change, Context, Decision, End, Event, Order, State, TableEffect};

pub(super) fn decide(order: &Order, event: &Event, context: &Context) -> Decision {
    match (order.state, event) {
        (State::Placed, Event::StockReserved) if order.steps.reserve.is_some() => {
            Decision::no_effect("the stock was taken at placement")
        }
        (State::Placed, Event::StockReserved) => {
            let mut changes = vec![Change::StockReserved {
                op_id: op(order, "reserve", "do"),
            }];
            changes.extend(pay::begin(order, context));
            Decision::applied("stock taken", changes).with(TableEffect::TakeStock)
        }
        (State::Placed, Event::StockShort { sku, have, want }) => {
            let reason = format!("{sku}: {want} wanted, {have} there");
            let mut changes = vec![Change::StockShort {
                op_id: op(order, "reserve", "do"),
                sku: sku.clone(),
                have: *have,
                want: *want,
            }];
            changes.extend(unwind(End::Rejected, &reason, context));
            finish_unwinding(order, Decision::applied(reason, changes))
        }
        (
            State::Paying
            | State::Confirmed
            | State::Unwinding
            | State::Cancelled
            | State::Rejected
            | State::NeedsOperator,
            _,
        ) => Decision::no_effect("the stock step is over"),
        (State::Placed, _) => Decision::no_effect("concerns another step"),
    }
}
