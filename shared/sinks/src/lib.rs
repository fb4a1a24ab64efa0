//! The two sinks as the projector, redrive and the operator's tool see them.
//!
//! [`Search`] and [`Archive`] write what they are given and say of each input what became of it ([`Written`]). They also know what a message
//! of their retry queue stands for: whatever its source, a redrive into search reads the head again and writes what it finds, so old news
//! can only move the index forward.
//!
//! What this crate refuses to know: where records and messages come from, and what becomes of an input that was not taken. Start reading at
//! [`Search`].

mod ours;
mod written;

mod archive;
mod search;
mod search_since;

mod wire;

pub use archive::Archive;
pub use ours::{Ours, ours};
pub use search::Search;
pub use search_since::{heads, verify_since};
pub use wire::{archive, search, search_client};
pub use written::Written;
