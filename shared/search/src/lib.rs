//! The search index: what it holds of an order, and the versioned writer that keeps it right.
//!
//! Start reading at [`SearchInput`]: one version of one order, projected. [`SearchSink`] writes them, [`SearchMessage`] carries those that
//! were not taken. This crate refuses to know what an order may do, how records arrive, and what becomes of an input that was not taken.

mod free;
mod item;

mod document;
pub mod mapping;
mod message;

mod client;
mod pause;

mod bulk;
mod sink;

pub mod admin;
pub mod backfill;
mod query;
pub mod verify;

pub mod remap;

pub use client::{Answer, Auth, Body, ClientError, SearchClient, parse_endpoint, resolve_domain};
pub use document::{MAX_ID_BYTES, SearchInput, document_id};
pub use item::image_of;
pub use message::{BadSearchMessage, SearchMessage};
pub use query::{Page, Query, QueryError};
pub use sink::{Limits, SearchSink, SinkVerdict, bulk_bodies};
