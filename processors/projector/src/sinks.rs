//! The two sinks as the projector sees them: what a record is to each, how it is written, and what to ask redrive for when it was not.

use sagaline_archive::{ArchiveMessage, MAX_MESSAGE_BYTES, Redaction, Row, Target};
use sagaline_lambda::BoxError;
use sagaline_search::SearchInput;
use sagaline_sinks::{Search, Written};
use sagaline_store::Table;
use sagaline_stream::{Budget, Failure, Record};
use std::future::Future;

/// One of the places that every change goes to.
pub(crate) trait Sink: Sync {
    /// What it takes.
    type Input: Send;

    /// The name of the sink, as the `who` of what is parked for it.
    const WHO: &'static str;

    /// What a record is to this sink. Pure.
    ///
    /// # Errors
    /// Poison, for a record that it can make nothing of.
    fn project(&self, record: &Record<'_>) -> Result<Self::Input, Failure>;

    /// Writes inputs; the answers are in their order.
    fn write(
        &self,
        inputs: Vec<Self::Input>,
        budget: &Budget,
    ) -> impl Future<Output = Vec<Written>> + Send;

    /// The body of the message by which redrive takes up a record that was not written.
    ///
    /// # Errors
    /// When what the message points to could not be kept.
    fn message(
        &self,
        record: &Record<'_>,
        budget: &Budget,
    ) -> impl Future<Output = Result<String, BoxError>> + Send;
}

impl<T: Table> Sink for Search<T> {
    type Input = SearchInput;

    const WHO: &'static str = "search";

    fn project(&self, record: &Record<'_>) -> Result<SearchInput, Failure> {
        SearchInput::from_record(record)
    }

    async fn write(&self, inputs: Vec<SearchInput>, budget: &Budget) -> Vec<Written> {
        Self::write(self, inputs, budget).await
    }

    async fn message(&self, record: &Record<'_>, _: &Budget) -> Result<String, BoxError> {
        Ok(SearchInput::from_record(record)?.message().to_body())
    }
}

/// The archive, and what is hidden in its rows.
#[derive(Debug)]
pub(crate) struct Archive<T> {
    pub(crate) to: sagaline_sinks::Archive<T>,
    pub(crate) redaction: Redaction,
}

impl<T: Target + Send> Sink for Archive<T> {
    type Input = Row;

    const WHO: &'static str = "archive";

    fn project(&self, record: &Record<'_>) -> Result<Row, Failure> {
        Row::from_record(record, &self.redaction)
    }

    async fn write(&self, inputs: Vec<Row>, budget: &Budget) -> Vec<Written> {
        self.to.write(inputs, budget).await
    }

    async fn message(&self, record: &Record<'_>, budget: &Budget) -> Result<String, BoxError> {
        let row = self.project(record)?;
        let key = row.spill_key(&utc_day(budget));
        let line = row.to_line();
        let body = ArchiveMessage::Row(Box::new(row)).to_body();
        if body.len() <= MAX_MESSAGE_BYTES {
            return Ok(body);
        }
        self.to.bucket.put(&key, line.into_bytes()).await?;
        Ok(ArchiveMessage::Pointer {
            bucket: self.to.bucket.name().to_owned(),
            key,
        }
        .to_body())
    }
}

/// The UTC day as in keys: `2026-01-31`, the first ten characters of RFC 3339.
fn utc_day(budget: &Budget) -> String {
    budget.now().to_string().chars().take(10).collect()
}
