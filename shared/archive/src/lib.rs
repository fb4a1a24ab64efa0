//! The archive: every change of every order as one row, through Firehose into Parquet, and read back with Athena.
//!
//! Start reading at [`Row`]: what is kept of a change. [`ArchiveSink`] writes rows, [`ArchiveMessage`] carries those that were not taken,
//! [`Archive`] reads, and [`verify`] says whether a day is whole.
//! This crate refuses to know what an order may do, how records arrive, and what becomes of a row that was not taken.

mod text;

pub mod columns;
mod hash_keys;
mod redaction;
mod row;

mod sink;
mod target;

mod retry_message;

mod reading;
pub mod views;

mod chain;
pub mod verify;

pub use chain::{Link, link};
pub use hash_keys::{BadHashKeys, HashKeys};
pub use reading::{Answer, Archive, Progress, ReadError, ResultColumn, ResultRow, Table};
pub use redaction::Redaction;
pub use retry_message::{ArchiveMessage, BadArchiveMessage, MAX_MESSAGE_BYTES};
pub use row::{Row, UNKNOWN_DAY};
pub use sink::{
    ArchiveSink, MAX_CALL_BYTES, MAX_CALL_RECORDS, MAX_RECORD_BYTES, Patience, SinkVerdict,
};
pub use target::{AwsTarget, PutError, Target};
