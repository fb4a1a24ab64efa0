//! DynamoDB Streams: the streams of a table, the shards of a stream, the records of a shard.

use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodbstreams::operation::get_records::GetRecordsError;
use aws_sdk_dynamodbstreams::operation::get_shard_iterator::GetShardIteratorError;
use aws_sdk_dynamodbstreams::types::ShardIteratorType;

use super::{Page, Read, ReadError, ShardReader, record};
use crate::aws_error::short;
use crate::clock::Millis;
use crate::filter::Filter;

/// The streams of one table.
#[derive(Debug, Clone)]
pub(crate) struct TableStreams {
    pub(crate) client: Client,
    pub(crate) table: String,
}

/// One shard as `DescribeStream` tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShardInfo {
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    /// It has an ending sequence number: nothing is written to it any more.
    pub(crate) closed: bool,
}

impl TableStreams {
    /// The ARN of the table's newest stream. The label in an ARN is its time of creation, so the greatest is the newest
    /// (F-STR-7); the table itself is not asked, which spares a permission and a client.
    pub(crate) async fn newest(&self) -> Result<Option<String>, ReadError> {
        let mut newest: Option<(String, String)> = None;
        let mut start = None;
        loop {
            let page = self
                .client
                .list_streams()
                .table_name(&self.table)
                .set_exclusive_start_stream_arn(start)
                .send()
                .await
                .map_err(|error| later(&error))?;
            for stream in page.streams() {
                if let (Some(label), Some(arn)) = (stream.stream_label(), stream.stream_arn()) {
                    let candidate = (label.to_owned(), arn.to_owned());
                    newest = newest.max(Some(candidate));
                }
            }
            start = page.last_evaluated_stream_arn().map(str::to_owned);
            if start.is_none() {
                return Ok(newest.map(|(_, arn)| arn));
            }
        }
    }

    /// All shards of a stream that can still be read.
    pub(crate) async fn shards(&self, stream_arn: &str) -> Result<Vec<ShardInfo>, ReadError> {
        let mut shards = Vec::new();
        let mut start = None;
        loop {
            let answer = self
                .client
                .describe_stream()
                .stream_arn(stream_arn)
                .set_exclusive_start_shard_id(start)
                .send()
                .await;
            let page = answer.map_err(|error| {
                if error
                    .as_service_error()
                    .is_some_and(|service| service.is_resource_not_found_exception())
                {
                    gone(&error)
                } else {
                    later(&error)
                }
            })?;
            let Some(description) = page.stream_description() else {
                return Ok(shards);
            };
            for shard in description.shards() {
                if let Some(id) = shard.shard_id() {
                    let closed = shard
                        .sequence_number_range()
                        .is_some_and(|range| range.ending_sequence_number().is_some());
                    shards.push(ShardInfo {
                        id: id.to_owned(),
                        parent: shard.parent_shard_id().map(str::to_owned),
                        closed,
                    });
                }
            }
            start = description.last_evaluated_shard_id().map(str::to_owned);
            if start.is_none() {
                return Ok(shards);
            }
        }
    }
}

/// Where reading begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Position {
    /// The oldest record there is.
    TrimHorizon,
    /// Only what is written from now on, which is this time.
    Latest(Millis),
    /// Only what was written since; for a mapping that began with `LATEST` and has no checkpoint yet. Arrival times have whole
    /// seconds, so records of that second come too: nothing is skipped.
    Since(Millis),
    /// What follows this record.
    After(String),
}

/// Reads one shard through the Streams API.
///
/// An expired iterator (they live 15 minutes, F-STR-17) is replaced by one after the last record read. Where data was trimmed,
/// reading goes on at the oldest record there is, and the loss is logged (F-STR-5).
#[derive(Debug)]
pub(crate) struct StreamShard {
    pub(crate) client: Client,
    pub(crate) stream_arn: String,
    pub(crate) shard_id: String,
    pub(crate) position: Position,
    pub(crate) filter: Filter,
    iterator: Option<String>,
    /// Records before this time are passed over; set while a `Since` position is looked for.
    looking_for: Option<Millis>,
}

impl StreamShard {
    pub(crate) fn new(
        client: Client,
        stream_arn: String,
        shard_id: String,
        position: Position,
        filter: Filter,
    ) -> Self {
        Self {
            client,
            stream_arn,
            shard_id,
            position,
            filter,
            iterator: None,
            looking_for: None,
        }
    }

    async fn fresh_iterator(&mut self) -> Result<String, ReadError> {
        let request = self
            .client
            .get_shard_iterator()
            .stream_arn(&self.stream_arn)
            .shard_id(&self.shard_id);
        let request = match &self.position {
            Position::TrimHorizon | Position::Since(_) => {
                request.shard_iterator_type(ShardIteratorType::TrimHorizon)
            }
            Position::Latest(_) => request.shard_iterator_type(ShardIteratorType::Latest),
            Position::After(sequence) => request
                .shard_iterator_type(ShardIteratorType::AfterSequenceNumber)
                .sequence_number(sequence),
        };
        match request.send().await {
            Ok(answer) => {
                let iterator = answer
                    .shard_iterator()
                    .map(str::to_owned)
                    .ok_or_else(|| ReadError::Later("GetShardIterator gave none".to_owned()))?;
                match self.position {
                    // A second `LATEST` iterator would skip what was written in between.
                    Position::Latest(start) => self.position = Position::Since(start),
                    Position::Since(start) => self.looking_for = Some(start),
                    Position::TrimHorizon | Position::After(_) => {}
                }
                Ok(iterator)
            }
            Err(error) => match error.as_service_error() {
                Some(GetShardIteratorError::TrimmedDataAccessException(_)) => {
                    self.restart_at_horizon();
                    Err(ReadError::Later(
                        "records were trimmed before they were read".to_owned(),
                    ))
                }
                Some(GetShardIteratorError::ResourceNotFoundException(_)) => Err(gone(&error)),
                Some(_) | None => Err(later(&error)),
            },
        }
    }

    fn restart_at_horizon(&mut self) {
        tracing::warn!(stream = %self.stream_arn, shard = %self.shard_id, position = ?self.position, "records were trimmed before they were read; going on at the oldest one left");
        self.position = Position::TrimHorizon;
        self.looking_for = None;
        self.iterator = None;
    }

    /// Whether a record lies before the start of a mapping that began with `LATEST`.
    fn is_too_early(&self, record: &aws_sdk_dynamodbstreams::types::Record) -> bool {
        let Some(start) = self.looking_for else {
            return false;
        };
        let written = record
            .dynamodb()
            .and_then(|change| change.approximate_creation_date_time())
            .map(|time| time.secs());
        written.is_some_and(|seconds| u64::try_from(seconds).unwrap_or(0) < start.0 / 1_000)
    }
}

impl ShardReader for StreamShard {
    async fn read(&mut self) -> Result<Page, ReadError> {
        let iterator = match self.iterator.clone() {
            Some(iterator) => iterator,
            None => self.fresh_iterator().await?,
        };
        self.iterator = Some(iterator.clone());
        let answer = match self
            .client
            .get_records()
            .shard_iterator(iterator)
            .send()
            .await
        {
            Ok(answer) => answer,
            Err(error) => {
                match error.as_service_error() {
                    Some(GetRecordsError::ExpiredIteratorException(_)) => self.iterator = None,
                    Some(GetRecordsError::TrimmedDataAccessException(_)) => {
                        self.restart_at_horizon()
                    }
                    Some(GetRecordsError::ResourceNotFoundException(_)) => {
                        return Err(gone(&error));
                    }
                    Some(_) | None => {}
                }
                return Err(later(&error));
            }
        };
        let mut records: Vec<Read> = Vec::with_capacity(answer.records().len());
        for api_record in answer.records() {
            if !self.is_too_early(api_record) {
                records.extend(record::read(api_record, &self.stream_arn, &self.filter));
            }
        }
        if let Some(last) = answer
            .records()
            .last()
            .and_then(|last| last.dynamodb())
            .and_then(|change| change.sequence_number())
        {
            self.position = Position::After(last.to_owned());
        }
        self.iterator = answer.next_shard_iterator().map(str::to_owned);
        Ok(Page {
            records,
            end: self.iterator.is_none(),
        })
    }
}

fn later<E: std::error::Error + ProvideErrorMetadata + 'static>(error: &SdkError<E>) -> ReadError {
    ReadError::Later(short(error))
}

fn gone<E: std::error::Error + ProvideErrorMetadata + 'static>(error: &SdkError<E>) -> ReadError {
    ReadError::Gone(short(error))
}
