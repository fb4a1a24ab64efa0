//! Where rows go: Firehose, and a bucket for those that are too large for it.

use aws_sdk_firehose::error::ProvideErrorMetadata as _;
use aws_sdk_firehose::primitives::Blob;
use aws_sdk_firehose::types::Record;
use aws_sdk_s3::primitives::ByteStream;
use sagaline_stream::BoxError;
use std::future::Future;
use thiserror::Error;

/// Why a call as a whole did not succeed.
#[derive(Debug, Error)]
pub enum PutError {
    /// The service refused what is in the call, all of it. A smaller call may be taken.
    #[error("the call was refused")]
    Refused(#[source] BoxError),
    /// Anything else: the rows may or may not have been taken.
    #[error("the call failed")]
    Failed(#[source] BoxError),
}

/// The two calls of the archive's writer.
///
/// # Contract
/// The caller keeps to Firehose's limits. A call may be dropped at any moment.
pub trait Target: Sync {
    /// Puts lines, each with its line feed; the answers are in their order: `None`, or why that line was not taken.
    ///
    /// # Errors
    /// [`PutError`] when there is no answer by line.
    fn put_batch(
        &self,
        lines: &[&str],
    ) -> impl Future<Output = Result<Vec<Option<String>>, PutError>> + Send;

    /// Puts a line by itself.
    ///
    /// # Errors
    /// Any: the object may or may not be there.
    fn put_object(
        &self,
        key: &str,
        line: Vec<u8>,
    ) -> impl Future<Output = Result<(), BoxError>> + Send;
}

impl<T: Target> Target for &T {
    fn put_batch(
        &self,
        lines: &[&str],
    ) -> impl Future<Output = Result<Vec<Option<String>>, PutError>> + Send {
        (**self).put_batch(lines)
    }

    fn put_object(
        &self,
        key: &str,
        line: Vec<u8>,
    ) -> impl Future<Output = Result<(), BoxError>> + Send {
        (**self).put_object(key, line)
    }
}

/// Firehose and S3.
#[derive(Debug, Clone)]
pub struct AwsTarget {
    /// The Firehose client.
    pub firehose: aws_sdk_firehose::Client,
    /// The delivery stream's name.
    pub stream: String,
    /// The S3 client.
    pub s3: aws_sdk_s3::Client,
    /// The archive bucket.
    pub bucket: String,
}

impl Target for AwsTarget {
    async fn put_batch(&self, lines: &[&str]) -> Result<Vec<Option<String>>, PutError> {
        let records = lines
            .iter()
            .map(|line| Record::builder().data(Blob::new(line.as_bytes())).build())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| PutError::Failed(error.into()))?;
        let call = self
            .firehose
            .put_record_batch()
            .delivery_stream_name(&self.stream)
            .set_records(Some(records));
        let answer = call.send().await.map_err(|error| {
            let refused = matches!(
                error.code(),
                Some("InvalidArgumentException" | "ValidationException" | "SerializationException")
            );
            if refused {
                PutError::Refused(error.into())
            } else {
                PutError::Failed(error.into())
            }
        })?;
        // A 200 says nothing of the single rows (F-FH-2, F-RS-8).
        let answers = answer.request_responses().iter().map(|one| {
            one.error_code()
                .map(|code| format!("{code}: {}", one.error_message().unwrap_or("no message")))
        });
        Ok(answers.collect())
    }

    async fn put_object(&self, key: &str, line: Vec<u8>) -> Result<(), BoxError> {
        let call = self
            .s3
            .put_object()
            .bucket(&self.bucket)
            .key(key)
            .content_type("application/x-ndjson");
        call.body(ByteStream::from(line)).send().await?;
        Ok(())
    }
}
