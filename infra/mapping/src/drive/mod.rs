//! The tasks that drive the pure parts: one per shard, queue and schedule.
//!
//! Everything that happens in time happens here. The tasks decide nothing about delivery: they read, call, send and store what
//! the state machines say.

pub(crate) mod queue;
pub(crate) mod schedule;
mod shard;
pub(crate) mod table;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub use shard::{ShardEnd, ShardTask};

use crate::log::{Entry, InvocationLog};
use crate::metrics::{Lines, Meter, Metric};
use crate::response::{FunctionErrorKind, Outcome};

/// Something that can be called with an event.
///
/// # Contract
/// A call that returns [`Outcome::NotInvoked`] has not reached the function. Calls may run at the same time.
pub trait Invoker: Clone + Send + Sync + 'static {
    /// Calls the function and waits for the end of it.
    fn invoke(&self, request_id: Uuid, event: Bytes) -> impl Future<Output = Invocation> + Send;
}

/// One finished call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took, without the start of a process.
    pub duration: Duration,
}

/// When a task ends. Reading stops first; running calls are left to end until they are cut.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    /// Nothing new is begun.
    pub drain: CancellationToken,
    /// Running calls are given up; they count as never made.
    pub cut: CancellationToken,
}

/// What the tasks of one mapping share.
#[derive(Debug, Clone)]
pub struct Shared {
    pub(crate) function: Arc<str>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) log: InvocationLog,
}

impl Shared {
    /// Counters and log of a mapping that writes neither file: for benches and simulations.
    #[must_use]
    pub fn quiet(function: &str, mapping: &str) -> Self {
        Self {
            function: function.into(),
            meter: Meter::new(mapping.to_owned(), Lines::default()),
            log: InvocationLog::default(),
        }
    }

    /// A counter's present value.
    #[must_use]
    pub fn count(&self, metric: Metric) -> u64 {
        self.meter.value(metric)
    }

    /// Notes a finished call in the log.
    fn note(
        &self,
        shard: Option<&str>,
        request_id: Uuid,
        ids: &[&str],
        outcome: &str,
        duration: Duration,
    ) {
        self.log.write(&Entry {
            function: &self.function,
            mapping: self.meter.mapping(),
            shard,
            request_id,
            first: ids.first().copied(),
            last: ids.last().copied(),
            count: ids.len(),
            outcome,
            duration,
        });
    }
}

/// Waits, but not beyond the end. False when the end came first.
async fn pause(wait: Duration, end: &CancellationToken) -> bool {
    tokio::time::timeout(wait, end.cancelled()).await.is_err()
}

/// The log's word for a call that failed outright.
fn failure_word(kind: FunctionErrorKind) -> &'static str {
    match kind {
        FunctionErrorKind::Error => "error",
        FunctionErrorKind::Init => "init_error",
        FunctionErrorKind::Timeout => "timeout",
        FunctionErrorKind::Crash => "crash",
        FunctionErrorKind::OutOfMemory => "out_of_memory",
        FunctionErrorKind::TooLarge => "too_large",
    }
}

/// The log's word for a call, given whether its answer asks for some or all of the batch again.
fn outcome_word(outcome: &Outcome, again: usize, count: usize) -> &'static str {
    match outcome {
        Outcome::NotInvoked(_) => "not_invoked",
        Outcome::Failed(error) => failure_word(error.kind),
        Outcome::Answered(_) if again == 0 => "success",
        Outcome::Answered(_) if again < count => "partial",
        Outcome::Answered(_) => "failure",
    }
}
