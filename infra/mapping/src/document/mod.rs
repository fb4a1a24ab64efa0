//! The on-failure document of a discarded batch, and where it is put in a bucket.
//!
//! Pure: fields and layout as AWS writes them (F-OFD-1 to F-OFD-4). It does not send anything.

use serde::Serialize;
use uuid::Uuid;

use crate::clock::Millis;
use crate::shard::{Condition, Discarded, Failure, Record};

/// What a document says about the mapping it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The mapping's id.
    pub mapping_id: Uuid,
    /// The function's ARN.
    pub function_arn: String,
    /// The stream's ARN.
    pub stream_arn: String,
    /// The shard's id.
    pub shard_id: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    request_context: RequestContext<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_context: Option<ResponseContext>,
    version: &'static str,
    timestamp: String,
    #[serde(rename = "DDBStreamBatchInfo")]
    batch: BatchInfo<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RequestContext<'a> {
    request_id: String,
    function_arn: &'a str,
    condition: &'static str,
    approximate_invoke_count: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResponseContext {
    status_code: u16,
    executed_version: &'static str,
    function_error: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BatchInfo<'a> {
    shard_id: &'a str,
    start_sequence_number: &'a str,
    end_sequence_number: &'a str,
    approximate_arrival_of_first_record: Option<String>,
    approximate_arrival_of_last_record: Option<String>,
    batch_size: usize,
    stream_arn: &'a str,
}

/// The document that a queue gets: a pointer, no records (F-OFD-3).
#[must_use]
pub fn pointer(origin: &Origin, discarded: &Discarded, now: Millis) -> String {
    render(&document(origin, discarded, now, None))
}

/// The document that a bucket gets: the same plus the whole event as text (F-OFD-4).
#[must_use]
pub fn with_payload(origin: &Origin, discarded: &Discarded, now: Millis) -> String {
    let payload = crate::source::event(discarded.records.iter().map(|record| &*record.event));
    render(&document(origin, discarded, now, Some(payload)))
}

/// `aws/lambda/<mapping uuid>/<shardId>/YYYY/MM/DD/YYYY-MM-DDTHH.MM.SS-<uuid>`, without an extension (F-OFD-4).
#[must_use]
pub fn object_key(origin: &Origin, now: Millis, object_id: Uuid) -> String {
    let time = now
        .timestamp()
        .strftime("%Y/%m/%d/%Y-%m-%dT%H.%M.%S")
        .to_string();
    format!(
        "aws/lambda/{}/{}/{time}-{object_id}",
        origin.mapping_id, origin.shard_id
    )
}

fn document<'a>(
    origin: &'a Origin,
    discarded: &'a Discarded,
    now: Millis,
    payload: Option<String>,
) -> Document<'a> {
    let first = discarded.records.first();
    let last = discarded.records.last();
    let arrival = |record: Option<&std::sync::Arc<Record>>| {
        record.and_then(|record| record.arrived).map(whole_seconds)
    };
    Document {
        request_context: RequestContext {
            request_id: discarded.request_id.to_string(),
            function_arn: &origin.function_arn,
            condition: match discarded.condition {
                Condition::RetryAttemptsExhausted => "RetryAttemptsExhausted",
                Condition::RecordAgeExceeded => "RecordAgeExceeded",
            },
            approximate_invoke_count: discarded.invoke_count,
        },
        response_context: discarded.last_failure.map(|failure| ResponseContext {
            status_code: 200,
            executed_version: "$LATEST",
            function_error: match failure {
                Failure::Unhandled => Some("Unhandled"),
                Failure::Reported => None,
            },
        }),
        version: "1.0",
        timestamp: now.rfc3339(),
        batch: BatchInfo {
            shard_id: &origin.shard_id,
            start_sequence_number: first.map_or("", |record| &record.sequence),
            end_sequence_number: last.map_or("", |record| &record.sequence),
            approximate_arrival_of_first_record: arrival(first),
            approximate_arrival_of_last_record: arrival(last),
            batch_size: discarded.records.len(),
            stream_arn: &origin.stream_arn,
        },
        payload,
    }
}

/// Arrival times have whole seconds, as the stream's own (F-STR-13).
fn whole_seconds(time: Millis) -> String {
    format!("{:.0}", time.timestamp())
}

fn render(document: &Document<'_>) -> String {
    // Only texts and numbers: it cannot fail, and an empty text would be seen at once.
    serde_json::to_string(document).unwrap_or_default()
}

#[cfg(test)]
mod tests;
