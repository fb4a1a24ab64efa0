//! The archive, and the bucket that holds the rows its retry queue only points to.

use crate::Written;
use sagaline_archive::{ArchiveMessage, ArchiveSink, Row, Target};
use sagaline_lambda::ParkBucket;
use sagaline_stream::{Budget, Failure, Verdict};

/// The archive, and the bucket for rows that no queue takes.
#[derive(Debug)]
pub struct Archive<T> {
    /// The writer.
    pub sink: ArchiveSink<T>,
    /// Where spilled rows are.
    pub bucket: ParkBucket,
}

impl<T: Target + Send> Archive<T> {
    /// The row of a message of the retry queue.
    ///
    /// # Errors
    /// Poison for a body that is no such message, or points to a row that is not there; retry when that could not be read.
    pub async fn resolve(&self, body: &str) -> Result<Row, Failure> {
        let bad = |error| Failure::poison("not a message for the archive").because(error);
        let key = match ArchiveMessage::parse(body).map_err(bad)? {
            ArchiveMessage::Row(row) => return Ok(*row),
            ArchiveMessage::Pointer { bucket, key } if bucket == self.bucket.name() => key,
            ArchiveMessage::Pointer { bucket, .. } => {
                return Err(Failure::poison(format!(
                    "it points into another bucket, {bucket}"
                )));
            }
        };
        let line = match self.bucket.get(&key).await {
            Ok(Some(line)) => line,
            Ok(None) => {
                return Err(Failure::poison(format!(
                    "the spilled row {key} is not there any more"
                )));
            }
            Err(error) => {
                return Err(Failure::retry("the spilled row could not be read").because(error));
            }
        };
        let line = String::from_utf8(line).map_err(|error| {
            Failure::poison(format!("the spilled row {key} is no text")).because(error)
        })?;
        ArchiveMessage::parse_line(&line).map_err(|error| {
            Failure::poison(format!("the spilled row {key} cannot be read")).because(error)
        })
    }

    /// Writes one row.
    ///
    /// # Errors
    /// [`Failure`] when it was not taken.
    pub async fn put(&self, row: Row, budget: &Budget) -> Result<Verdict, Failure> {
        let written = self.write(vec![row], budget).await.pop();
        written
            .unwrap_or_else(|| Written::NotNow("the sink gave no verdict".to_owned()))
            .into()
    }

    /// Writes rows; the answers are in their order.
    pub async fn write(&self, rows: Vec<Row>, budget: &Budget) -> Vec<Written> {
        use sagaline_archive::SinkVerdict;
        let verdicts = self.sink.write(rows, budget).await;
        let written = verdicts.into_iter().map(|verdict| match verdict {
            SinkVerdict::Done => Written::Done,
            SinkVerdict::Retry(reason) => Written::NotNow(reason),
        });
        written.collect()
    }
}
