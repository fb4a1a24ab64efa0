//! The document that Lambda sends when a stream's mapping gives up on records.
//!
//! An SQS or SNS destination gets a pointer only: which shard, from where to where (F-OFD-3). An S3 destination gets the same with the
//! whole event as text (F-OFD-4), which can be run again through the engine.

use crate::batch::{Batch, NotAnEvent, split_text};
use crate::sequence::SequenceNumber;
use serde::Deserialize;
use thiserror::Error;

/// A decoded on-failure document.
///
/// ```
/// # use sagaline_stream::FailureDocument;
/// let document = FailureDocument::parse(br#"{
///     "requestContext": {"requestId": "r", "functionArn": "arn:f", "condition": "RetryAttemptsExhausted", "approximateInvokeCount": 4},
///     "version": "1.0", "timestamp": "2026-11-30T10:00:00.000Z",
///     "DDBStreamBatchInfo": {"shardId": "shardId-1", "startSequenceNumber": "1100", "endSequenceNumber": "1200", "batchSize": 2,
///         "streamArn": "arn:aws:dynamodb:eu-west-1:123456789012:table/orders/stream/x"},
///     "payload": "{\"Records\":[{\"eventID\":\"e1\"}]}"
/// }"#)?;
/// assert_eq!(document.range.shard_id, "shardId-1");
/// let batch = document.batch().expect("the S3 form")?;
/// assert_eq!(batch.raw(), [r#"{"eventID":"e1"}"#]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureDocument {
    /// Why the mapping gave up: `RetryAttemptsExhausted` or `RecordAgeExceeded` (F-OFD-2).
    pub condition: String,
    /// The request id of the last call.
    pub request_id: Option<String>,
    /// The function.
    pub function_arn: Option<String>,
    /// Calls with the last batch only (F-OFD-2).
    pub invoke_count: Option<u64>,
    /// `Unhandled` after an error, absent after a partial response (F-OFD-2).
    pub function_error: Option<String>,
    /// When it was written, as received.
    pub timestamp: Option<String>,
    /// Which records of the stream.
    pub range: StreamRange,
    payload: Option<String>,
}

/// A range of a shard, both ends included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamRange {
    /// The stream.
    pub stream_arn: String,
    /// The shard.
    pub shard_id: String,
    /// The first record.
    pub start: SequenceNumber,
    /// The last record.
    pub end: SequenceNumber,
    /// The number of records, which can be more than one even with bisect on (F-OFD-5).
    pub batch_size: Option<u64>,
    /// When the first record came, as received.
    pub first_arrival: Option<String>,
    /// When the last record came, as received.
    pub last_arrival: Option<String>,
}

/// Why something is no on-failure document that can be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NotAFailureDocument {
    /// Not JSON, or not of the documented fields.
    #[error("not an on-failure document of a stream mapping")]
    Malformed(#[source] serde_json::Error),
    /// The form of a tumbling window, which names neither records nor a range (F-TRC-12).
    #[error(
        "an on-failure document of a tumbling window (`timeWindowInfo`): it names no records, so there is nothing to redrive"
    )]
    TimeWindow,
    /// No batch information, or another source's.
    #[error(
        "an on-failure document without a DynamoDB stream's batch information (`DDBStreamBatchInfo`)"
    )]
    NoStream,
    /// The batch information has no range.
    #[error("an on-failure document whose `DDBStreamBatchInfo` has no {missing}")]
    NoRange {
        /// The field that is missing.
        missing: &'static str,
    },
}

impl FailureDocument {
    /// Decodes either form.
    ///
    /// # Errors
    /// [`NotAFailureDocument`], each in one line.
    pub fn parse(document: &[u8]) -> Result<Self, NotAFailureDocument> {
        let wire: Wire =
            serde_json::from_slice(document).map_err(NotAFailureDocument::Malformed)?;
        if wire.time_window_info.is_some() {
            return Err(NotAFailureDocument::TimeWindow);
        }
        let info = wire.batch_info.ok_or(NotAFailureDocument::NoStream)?;
        let missing = |missing| NotAFailureDocument::NoRange { missing };
        let context = wire.request_context;
        Ok(Self {
            condition: context.condition,
            request_id: context.request_id,
            function_arn: context.function_arn,
            invoke_count: context.approximate_invoke_count,
            function_error: wire
                .response_context
                .and_then(|response| response.function_error),
            timestamp: wire.timestamp,
            range: StreamRange {
                stream_arn: info.stream_arn.ok_or_else(|| missing("streamArn"))?,
                shard_id: info.shard_id.ok_or_else(|| missing("shardId"))?,
                start: info
                    .start_sequence_number
                    .ok_or_else(|| missing("startSequenceNumber"))?,
                end: info
                    .end_sequence_number
                    .ok_or_else(|| missing("endSequenceNumber"))?,
                batch_size: info.batch_size,
                first_arrival: info.approximate_arrival_of_first_record,
                last_arrival: info.approximate_arrival_of_last_record,
            },
            payload: wire.payload,
        })
    }

    /// Whether this is the form without records: they must be read back from the stream within its 24 hours (F-OFD-3).
    #[must_use]
    pub const fn is_pointer(&self) -> bool {
        self.payload.is_none()
    }

    /// The event itself, if the document has it. Its records go through the engine like any.
    #[must_use]
    pub fn batch(&self) -> Option<Result<Batch<'_>, NotAnEvent>> {
        self.payload
            .as_deref()
            .map(|payload| split_text(payload, false).map(Batch::of_raw))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    request_context: RequestContext,
    response_context: Option<ResponseContext>,
    timestamp: Option<String>,
    #[serde(rename = "DDBStreamBatchInfo")]
    batch_info: Option<BatchInfo>,
    time_window_info: Option<serde::de::IgnoredAny>,
    payload: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestContext {
    condition: String,
    request_id: Option<String>,
    function_arn: Option<String>,
    approximate_invoke_count: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResponseContext {
    function_error: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BatchInfo {
    stream_arn: Option<String>,
    shard_id: Option<String>,
    start_sequence_number: Option<SequenceNumber>,
    end_sequence_number: Option<SequenceNumber>,
    batch_size: Option<u64>,
    approximate_arrival_of_first_record: Option<String>,
    approximate_arrival_of_last_record: Option<String>,
}
