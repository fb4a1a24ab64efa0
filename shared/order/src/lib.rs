//! The order: ids, money, events, and the pure decisions of the saga.
//!
//! # Theory of operation
//!
//! An order is one value, [`Order`]: the head item of the table. What happens to it is an [`Event`]. [`decide`] answers an event with a
//! [`Decision`]: what to record ([`Change`]), what to move in the table in the same commit ([`TableEffect`]), and why. [`apply`] folds the
//! changes into the next version with [`evolve`]. [`pending`] derives from the order alone what is still to be done for it: the head is the
//! outbox, there is no other list of work that could disagree with it.
//!
//! Three rules carry everything else:
//!
//! * **Intent before effect.** `PaymentRequested` and `RefundRequested` are committed before any call to the gateway, with the idempotency key
//!   that every attempt shares and a time `not_after` which no call may outlast. Until then the attempt has one owner; after it the next owner asks
//!   the gateway first. So a stalled process can do no harm, and no lock has to run out.
//! * **Three outcomes.** A call succeeded, definitely failed, or its outcome is unknown. Unknown is never guessed: it is asked about.
//! * **Undo is computed.** Unwinding undoes, in reverse, what succeeded or may have: the payment first, then the stock, which comes back in the
//!   commit that ends the order. A payment that turns up later is undone later; the state stays what it was.
//!
//! What this crate refuses to know: clocks, randomness, IO, logging, table layout. Time and settings come in as [`Context`].
//!
//! Start reading at [`decide`], then one step file: `decide/pay.rs`.

mod time;

mod ids;
mod money;

mod order;
mod schema;

mod change;
mod config;
mod decision;
mod event;

mod decide;
mod evolve;

mod input;
mod requests;

pub use change::Change;
pub use config::{Context, SagaConfig};
pub use decide::decide;
pub use decide::pending::{Command, Pending, pending};
pub use decision::{Decision, TableEffect, Verdict};
pub use event::Event;
pub use evolve::{Cause, apply, evolve};
pub use ids::{
    BadId, NAMESPACE, OpId, OrderId, PaymentId, RefundId, RequestId, Sku, UserId, Version,
    derived_uuid,
};
pub use input::{
    BadInput, LineInput, MAX_ATTRIBUTE_BYTES, MAX_ATTRIBUTES, MAX_LINES, MAX_PAYMENT_TOKEN,
    NewOrder, OrderInput,
};
pub use money::{Currency, Minor, Quantity};
pub use order::{
    Attention, End, LastEvent, Line, Notice, NoticeKind, Order, SCHEMA, Shipping, State, Status,
    Step, StepStatus, Steps, Undo, Unwind,
};
pub use requests::request_id;
pub use schema::{BadSchema, upcast};
pub use time::{Seconds, Timestamp};
