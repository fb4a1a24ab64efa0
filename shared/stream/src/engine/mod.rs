//! The engine: runs the records of a batch through a handler and answers for them.
//!
//! # How a batch goes
//!
//! 1. Each record is decoded on its own. What cannot be decoded is poison.
//! 2. Repeats are set aside: a record with the event id *and* the sequence number of an earlier one (F-STR-12). They are not run, and end
//!    as `stale` if their twin is settled, else as failed.
//! 3. Records are put into lanes by the handler's key. A lane runs one record after another, lanes run concurrently, a bounded number at a
//!    time. All of it happens inside the calling task: records are borrowed, and dropping the engine's future drops all work.
//! 4. Each result becomes an ending. Poison is parked, then acknowledged; if parking fails it is a failure like any. A failure freezes its
//!    lane, because order is kept per key and the record comes again: what is behind it is `blocked`. A panic is its record's failure.
//! 5. When the time is up, nothing more is admitted, work in flight is asked to end and then dropped, and the rest is reported.
//! 6. The response names the lowest unfinished record, or, on SQS, every failed message.
//!
//! Nothing is acknowledged that has no ending: the board starts with every record unfinished, and only an ending takes a record off.

mod board;
mod close;
mod desk;
mod lanes;
mod messages;
mod records;
mod sorted;
mod whole;

pub use messages::MessageHandler;
pub use records::RecordHandler;
pub use whole::{Answers, BatchHandler};

use crate::budget::{Budget, Limits};
use crate::parking::Parking;
use desk::Desk;
use std::borrow::Cow;

/// Runs batches for one consumer. Made once a process.
///
/// ```
/// use sagaline_stream::{
///     Batch, Budget, Engine, EpochMillis, Failure, Invocation, MemoryParking, Record, RecordHandler, Remaining, Verdict,
/// };
///
/// struct Printer;
///
/// impl RecordHandler for Printer {
///     async fn handle(&self, record: &Record<'_>, _: &Budget) -> Result<Verdict, Failure> {
///         let image = record.require_new_image()?;
///         println!("{} is now at {:?}", record.item_key(), image.n_integer("version"));
///         Ok(Verdict::Done)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let payload = br#"{"Records":[
///     {"eventID":"e1","eventName":"INSERT","dynamodb":{"SequenceNumber":"1100","Keys":{"id":{"S":"o-1"}},
///      "NewImage":{"id":{"S":"o-1"},"version":{"N":"1"}}}},
///     {"eventID":"e2","eventName":"INSERT","dynamodb":{"SequenceNumber":"1200","Keys":{"id":{"S":"o-2"}},"NewImage":{"id":{}}}}
/// ]}"#;
/// let invocation = Invocation {
///     function: "printer".into(),
///     request_id: "r-1".into(),
///     received_at: EpochMillis::new(1_764_500_000_000),
///     remaining: Remaining::Unknown,
/// };
/// let engine = Engine::new("printer", MemoryParking::default());
/// let outcome = engine.run(&Batch::parse(payload)?, &Printer, &invocation).await?;
///
/// assert_eq!((outcome.counts().done(), outcome.counts().parked()), (1, 1));
/// assert_eq!(serde_json::to_string(&outcome.response)?, r#"{"batchItemFailures":[]}"#);
/// assert_eq!(engine.parking().kept()[0].reason, "not decodable");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Engine<P> {
    consumer: Cow<'static, str>,
    parking: P,
    limits: Limits,
}

impl<P: Parking> Engine<P> {
    /// An engine with the default [`Limits`]. The consumer's name is the `who` of what it parks.
    pub fn new(consumer: impl Into<Cow<'static, str>>, parking: P) -> Self {
        Self {
            consumer: consumer.into(),
            parking,
            limits: Limits::default(),
        }
    }

    /// The same engine with other bounds.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The consumer's name.
    #[must_use]
    pub fn consumer(&self) -> &str {
        &self.consumer
    }

    fn desk<'d>(&'d self, budget: &'d Budget) -> Desk<'d, P> {
        Desk {
            consumer: &self.consumer,
            parking: &self.parking,
            budget,
        }
    }

    /// Where poison goes.
    #[must_use]
    pub const fn parking(&self) -> &P {
        &self.parking
    }
}
