//! What the processors share: configuration, AWS clients, telemetry, retry, the park bucket, the retry queues, and the glue to Lambda.
//!
//! A processor's `main` is one call of [`start`]: its closure reads the environment ([`config`]), builds the clients once ([`Aws`]), and
//! returns the [`Handler`] that answers every invocation. Whatever is wrong at start ends the process with one line that names it.
//!
//! What this crate refuses to know: orders, sinks, the saga. It moves bytes, time and configuration.
//!
//! Start reading at [`start`].

mod runtime;

pub mod config;

mod clients;
mod clock;
pub mod telemetry;

mod retry;

mod bucket;
mod dead_letters;
mod queue;

pub use bucket::{BucketError, Listed, ParkBucket};
pub use clients::{Aws, SecretError, TableError};
pub use clock::{now, now_millis};
pub use dead_letters::{DeadLetterError, DeadLetters, Taken};
pub use queue::{
    MAX_BATCH_BYTES, MAX_BATCH_ENTRIES, QueueError, Refused, RetryQueue, SendBatch, Sqs,
};
pub use retry::RetryPolicy;
pub use runtime::{BoxError, Handler, one_line, start};
