//! The payment gateway, simulated: the whole contract over real HTTP, with a behaviour that each order chooses by its `payment_token`.
//!
//! [`script`] is the language of the tokens, [`book`] what the gateway remembers (no IO, time comes in as a value: tests may use it directly),
//! [`server`] puts the book on a port. Start reading at [`script::Script`].
//!
//! It knows nothing of orders beyond the text of their id, and nothing of the saga.

pub mod script;

pub mod book;

pub mod server;

pub use book::{Account, Book, Reply};
pub use script::Script;
pub use server::{GatewaySimulator, start};
