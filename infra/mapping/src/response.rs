//! What the end of a call means for its batch, separately for streams and queues.
//!
//! The two verdict functions are the table of F-RSP-1 to F-RSP-12: pure, and total over every body a function can send. They do
//! not know what is done about a verdict.

use std::collections::HashMap;

use bytes::Bytes;
use serde_json::Value;

/// How a call ended, as the host saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The function answered, with this body.
    Answered(Bytes),
    /// The function failed.
    Failed(FunctionError),
    /// The call never reached the function.
    NotInvoked(String),
}

/// How a function failed. All of these are `Unhandled` to a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionError {
    /// The kind, for the log.
    pub kind: FunctionErrorKind,
    /// What is known about it.
    pub message: String,
}

/// The kinds of function errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionErrorKind {
    /// The function reported an error of its own.
    Error,
    /// The function did not start.
    Init,
    /// The time was up; the process was killed.
    Timeout,
    /// The process ended in the middle.
    Crash,
    /// The process used more memory than it has; it was killed.
    OutOfMemory,
    /// The answer is larger than 6 MB.
    TooLarge,
}

/// What a stream mapping makes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The batch is finished.
    Done,
    /// The answer names records of the batch; the lowest stands at this place.
    FailedFrom(usize),
    /// The answer asks for the whole batch again, mostly by being malformed.
    FailedWhole,
    /// The function failed.
    Unhandled,
    /// The call never reached the function.
    NotInvoked,
}

/// What a queue mapping makes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueVerdict {
    /// All messages are deleted.
    Done,
    /// These places come again, in ascending order; the others are deleted.
    Again(Vec<usize>),
    /// All messages come again.
    Whole,
    /// The call never reached the function: the batch is kept under its receipt (F-SQS-5).
    NotInvoked,
}

/// The verdict for a stream batch whose records have these sequence numbers, in stream order.
///
/// `reports` is whether `ReportBatchItemFailures` is set; without it a body is never looked at (F-RSP-12).
#[must_use]
pub fn stream_verdict(outcome: &Outcome, reports: bool, sequences: &[&str]) -> Verdict {
    let body = match outcome {
        Outcome::NotInvoked(_) => return Verdict::NotInvoked,
        Outcome::Failed(_) => return Verdict::Unhandled,
        Outcome::Answered(_) if !reports => return Verdict::Done,
        Outcome::Answered(body) => body,
    };
    match named(body, sequences, Dialect::Stream) {
        Named::Nothing => Verdict::Done,
        // The records stand in stream order, so the lowest place is the lowest sequence number (F-RSP-11, F-ESM-7).
        Named::Places(places) => places
            .into_iter()
            .min()
            .map_or(Verdict::Done, Verdict::FailedFrom),
        Named::Malformed => Verdict::FailedWhole,
    }
}

/// The verdict for a queue batch whose messages have these ids.
#[must_use]
pub fn queue_verdict(outcome: &Outcome, reports: bool, message_ids: &[&str]) -> QueueVerdict {
    let body = match outcome {
        Outcome::NotInvoked(_) => return QueueVerdict::NotInvoked,
        Outcome::Failed(_) => return QueueVerdict::Whole,
        Outcome::Answered(_) if !reports => return QueueVerdict::Done,
        Outcome::Answered(body) => body,
    };
    match named(body, message_ids, Dialect::Queue) {
        Named::Nothing => QueueVerdict::Done,
        Named::Places(mut places) => {
            places.sort_unstable();
            places.dedup();
            QueueVerdict::Again(places)
        }
        Named::Malformed => QueueVerdict::Whole,
    }
}

/// Where AWS's two mappings read a body differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Stream,
    Queue,
}

enum Named {
    Nothing,
    Places(Vec<usize>),
    Malformed,
}

fn named(body: &[u8], ids: &[&str], dialect: Dialect) -> Named {
    let fields = match serde_json::from_slice(body) {
        Ok(Value::Null) => return Named::Nothing,
        Ok(Value::Object(fields)) => fields,
        // Seen on streams (F-RSP-1). For queues nobody looked: the safe side is to deliver again.
        Ok(Value::Array(items)) if items.is_empty() && dialect == Dialect::Stream => {
            return Named::Nothing;
        }
        Ok(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) | Err(_) => {
            return Named::Malformed;
        }
    };
    // A key in another case is another key: the list is not seen, and the records are lost (F-RSP-2).
    let items = match fields.get("batchItemFailures") {
        None | Some(Value::Null) => return Named::Nothing,
        Some(Value::Array(items)) => items,
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
            return Named::Malformed;
        }
    };
    let places: HashMap<&str, usize> = ids
        .iter()
        .enumerate()
        .map(|(place, id)| (*id, place))
        .collect();
    let mut found = Vec::new();
    for item in items {
        match item {
            // An element `{}` was acknowledged by a queue in one capture, against the documentation (F-RSP-7). For streams
            // nobody looked.
            Value::Object(fields) if fields.is_empty() && dialect == Dialect::Queue => {}
            Value::Object(fields) => match fields
                .get("itemIdentifier")
                .and_then(Value::as_str)
                .and_then(|id| places.get(id))
            {
                Some(place) => found.push(*place),
                // Empty, null, a number, another key name, or not of this batch (F-RSP-3 to F-RSP-6, F-RSP-9).
                None => return Named::Malformed,
            },
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => return Named::Malformed,
        }
    }
    if found.is_empty() {
        Named::Nothing
    } else {
        Named::Places(found)
    }
}
