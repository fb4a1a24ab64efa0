//! The drive loop of the saga: load, decide, commit, effect.
//!
//! The same loop serves the stream (one record says which order to look at), the sweeper (the index of unfinished orders says it) and operators.
//! It holds what the pure saga of `sagaline-order` must not know: that there is a table, a payment gateway and an event bus, that each of them
//! may fail, answer late or not at all, and that this process may end at any point.
//!
//! What it refuses to know: the rules of the saga, where records come from, what time it is ([`Clock`]).
//!
//! Start reading at [`Driver`] (the essay at the head of `drive.rs`), then [`Recorder`] (decide and commit), then the [`gateway`].

mod clock;

mod callback;
mod record;
mod submit;

pub mod bus;
pub mod gateway;

mod path;

mod drive;
mod records;
mod sweep;

mod metrics;

mod error;

pub use bus::{BusError, EventBridge, EventBus, Message};
pub use callback::{BadCallback, Callback, CallbackKind};
pub use clock::Clock;
pub use drive::{Driven, Driver, Rest};
pub use error::DriveError;
pub use gateway::{HttpGateway, PaymentGateway};
pub use path::Path;
pub use record::{Foreseen, Recorder};
pub use records::{Counts, Driving, Looked, OrderRecords, look};
pub use submit::{Submission, Submitted};
pub use sweep::{Sweep, SweepReport};
