//! Where records come from: streams, queues, the clock.
//!
//! A source reads and renders events as AWS does. It never decides what is delivered, retried or given up.

pub(crate) mod lineage;
pub(crate) mod message;
pub(crate) mod queue;
pub(crate) mod record;
pub(crate) mod schedule;
pub(crate) mod streams;

use std::future::Future;

use crate::shard::Record;

/// What one read of a shard gave.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// The records in stream order.
    pub records: Vec<Read>,
    /// The shard is closed and was read to its end.
    pub end: bool,
}

/// One record that was read.
#[derive(Debug, Clone, PartialEq)]
pub enum Read {
    /// The function shall see it.
    Admitted(Record),
    /// The filter drops it: only its sequence number matters.
    Dropped(std::sync::Arc<str>),
}

/// Why a read of a shard gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It may work later: throttled, not reachable, not permitted (F-ESM-17).
    #[error("{0}")]
    Later(String),
    /// The stream or shard does not exist any more; nothing of it can ever be read.
    #[error("the shard is gone: {0}")]
    Gone(String),
}

/// One shard, read from a position on.
///
/// # Contract
/// Records come in stream order, each at least once. An empty page that is not the end means: nothing now.
pub trait ShardReader: Send + 'static {
    /// Reads the next page.
    fn read(&mut self) -> impl Future<Output = Result<Page, ReadError>> + Send;
}

/// `{"Records":[...]}` of events that are JSON objects already.
pub fn event<'a>(records: impl Iterator<Item = &'a str>) -> String {
    let mut event = String::from("{\"Records\":[");
    for (at, record) in records.enumerate() {
        if at > 0 {
            event.push(',');
        }
        event.push_str(record);
    }
    event.push_str("]}");
    event
}
