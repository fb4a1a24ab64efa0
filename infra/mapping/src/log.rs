//! The log: one JSON line per invocation.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use uuid::Uuid;

use crate::metrics::Lines;

/// Where invocation lines go.
#[derive(Debug, Clone, Default)]
pub(crate) struct InvocationLog(Lines);

/// One invocation.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) function: &'a str,
    pub(crate) mapping: &'a str,
    /// The shard's id; streams only.
    pub(crate) shard: Option<&'a str>,
    pub(crate) request_id: Uuid,
    /// The first and last sequence number, or message id.
    pub(crate) first: Option<&'a str>,
    pub(crate) last: Option<&'a str>,
    pub(crate) count: usize,
    pub(crate) outcome: &'a str,
    pub(crate) duration: Duration,
}

impl InvocationLog {
    pub(crate) fn open(path: Option<&Path>) -> std::io::Result<Self> {
        Lines::open(path).map(Self)
    }

    pub(crate) fn write(&self, entry: &Entry<'_>) {
        self.0.write(&json!({
            "function": entry.function,
            "mapping": entry.mapping,
            "shard": entry.shard,
            "request_id": entry.request_id.to_string(),
            "first_sequence": entry.first,
            "last_sequence": entry.last,
            "count": entry.count,
            "outcome": entry.outcome,
            "duration_ms": u64::try_from(entry.duration.as_millis()).unwrap_or(u64::MAX),
        }));
    }
}
