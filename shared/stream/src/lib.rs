//! A batch engine for DynamoDB Streams and SQS on AWS Lambda.
//!
//! An event source mapping hands a function a batch and believes its answer. What is acknowledged is gone; what is reported comes again,
//! on a stream together with everything behind it. This crate sits between: it reads each record on its own, runs a handler over them in
//! order per key, and answers so that nothing is lost and one bad record costs none of its neighbours.
//!
//! ```
//! use sagaline_stream::{Batch, Budget, Change, Engine, EpochMillis, Failure, Invocation, MemoryParking, Record};
//! use sagaline_stream::{RecordHandler, Remaining, Verdict};
//!
//! /// Copies items to a store that is down for `o-2`.
//! struct Copier;
//!
//! impl RecordHandler for Copier {
//!     async fn handle(&self, record: &Record<'_>, _budget: &Budget) -> Result<Verdict, Failure> {
//!         match record.change()? {
//!             Change::Insert { new } | Change::Modify { new, .. } => match new.s("id") {
//!                 Some("o-2") => Err(Failure::retry("the store throttles")),
//!                 Some(_) => Ok(Verdict::Done),
//!                 None => Err(Failure::poison("an item without an id")),
//!             },
//!             Change::Remove { .. } => Ok(Verdict::Skipped),
//!         }
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let payload = br#"{"Records":[
//!     {"eventID":"a","eventName":"INSERT","dynamodb":{"SequenceNumber":"1100","Keys":{"id":{"S":"o-1"}},"NewImage":{"id":{"S":"o-1"}}}},
//!     {"eventID":"b","eventName":"INSERT","dynamodb":{"SequenceNumber":"1200","Keys":{"id":{"S":"o-2"}},"NewImage":{"id":{"S":"o-2"}}}},
//!     {"eventID":"c","eventName":"INSERT","dynamodb":{"SequenceNumber":"1300","Keys":{"id":{"S":"o-3"}},"NewImage":{"id":{"S":"o-3"}}}}
//! ]}"#;
//! let invocation = Invocation {
//!     function: "copier".into(),
//!     request_id: "r-1".into(),
//!     received_at: EpochMillis::new(1_764_500_000_000),
//!     remaining: Remaining::Unknown,
//! };
//! let engine = Engine::new("copier", MemoryParking::default());
//! let outcome = engine.run(&Batch::parse(payload)?, &Copier, &invocation).await?;
//! assert_eq!(serde_json::to_string(&outcome.response)?, r#"{"batchItemFailures":[{"itemIdentifier":"1200"}]}"#);
//! assert_eq!((outcome.counts().done(), outcome.counts().failed()), (2, 1));
//! # Ok(())
//! # }
//! ```
//!
//! # A tour
//!
//! * Reading: [`Batch`] splits an event into raw records; [`Record`] is one of them decoded, or [`Undecodable`] says why not. Values are
//!   [`Image`]s of [`Attribute`]s, lossless, borrowed from the event, and written back as canonical text. [`SqsBatch`] and [`Message`] are
//!   the same for queues, [`FailureDocument`] for what a mapping gave up on.
//! * Running: [`Engine`] takes a [`RecordHandler`], a [`BatchHandler`] or a [`MessageHandler`]. Start reading there: its module says how
//!   a batch goes. A handler answers with a [`Verdict`] or a [`Failure`]; it is told the time by its [`Budget`].
//! * Ending: poison goes to [`Parking`]. The [`Outcome`] has the [`BatchResponse`] to return and the [`Report`], whose [`Counts`] always
//!   add up. When only failing the whole invocation is honest, there is an [`InvocationError`].
//!
//! * Doing things once: [`guard`] has the types for an effect and its marker in one transaction, for any table.
//!
//! # What it refuses to know
//!
//! Whose data it is: there is no item type and no table here. The clock, the network, the environment: time comes in as a value
//! ([`Invocation`]), and parking is a trait. Retrying: a failed record comes again by itself, and a handler that wants to retry within an
//! invocation asks its budget first.
//!
//! # Figures
//!
//! Of 1,000 records of 2,839 bytes with both images (`benches/batch/mod.rs`), by `cargo bench -p sagaline-stream --bench decode`, medians on a
//! shared machine of two cores that did nothing else: splitting 480,000 records/s; splitting with `serde_json`'s `RawValue`, for comparison,
//! 317,000; splitting, decoding and visiting every value of both images 135,000; the same with all of them held 123,000, and run through the
//! engine 109,000, so the engine adds 1.0 µs a record. Runs on the same machine differ by a third: compare lines of one run.
//!
//! Memory, by `cargo test -p sagaline-stream --test memory -- --nocapture`, counted by the allocator: 2.96 times the event at the peak, the
//! event itself included, with 26 allocations a record, none of them for a scalar.
//!
//! # References
//!
//! Ids such as F-STR-11 or F-RSP-3 in comments name facts of the services, each paraphrased where it is used; they are collected from the
//! AWS developer guides for DynamoDB Streams and Lambda event source mappings, and from public captures of what AWS really does.

mod json;
mod number;
mod strings;
mod time;

mod attribute;
mod canonical;
mod image;
mod typed;

mod sequence;

mod batch;
mod envelope;
mod record;

mod failure_document;
mod sqs;

mod budget;
mod parking;
mod verdict;

mod counts;
mod outcome;
mod response;

mod engine;

pub mod guard;

pub use attribute::Attribute;
pub use batch::{Batch, NotAnEvent};
pub use budget::{Budget, Invocation, Limits, Remaining};
pub use counts::{Counts, Dimensions, NAMESPACE};
pub use engine::{Answers, BatchHandler, Engine, MessageHandler, RecordHandler};
pub use failure_document::{FailureDocument, NotAFailureDocument, StreamRange};
pub use image::Image;
pub use number::{Decimal, NumberError, parse_integer};
pub use outcome::{Handled, InvocationError, Outcome, Report};
pub use parking::{MemoryParking, Parked, Parking};
pub use record::{Change, EventName, Origin, Record, Undecodable, UserIdentity, table_name};
pub use response::BatchResponse;
pub use sequence::SequenceNumber;
pub use sqs::{BadMessage, Message, SqsBatch};
pub use time::{EpochMillis, EpochSeconds};
pub use typed::DecodeError;
pub use verdict::{BoxError, Disposition, Ending, Failure, Verdict, chain, combine};
