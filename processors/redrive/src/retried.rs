//! What each retry queue holds, and the sink that takes it: a message is resolved to what must be written now, and then written.

use sagaline_archive::{Row, Target};
use sagaline_search::SearchInput;
use sagaline_sinks::{Archive, Search, Written};
use sagaline_store::Table;
use sagaline_stream::{Budget, Failure};
use std::future::Future;

/// A retry queue's content and its sink.
pub(crate) trait Retried: Sync {
    /// What the sink takes.
    type Input: Send;

    /// What must be written for a message now; `None` when it is old news.
    ///
    /// # Errors
    /// Poison for a message that can never be written, retry when it cannot be told now.
    fn resolve(
        &self,
        body: &str,
    ) -> impl Future<Output = Result<Option<Self::Input>, Failure>> + Send;

    /// Writes inputs; the answers are in their order.
    fn write(
        &self,
        inputs: Vec<Self::Input>,
        budget: &Budget,
    ) -> impl Future<Output = Vec<Written>> + Send;

    /// Whether the sink works at all, as far as can be told without writing. Asked when a single message fails and nothing else was
    /// written that would show it.
    fn is_up(&self) -> impl Future<Output = bool> + Send;
}

impl<T: Table> Retried for Search<T> {
    type Input = SearchInput;

    async fn resolve(&self, body: &str) -> Result<Option<SearchInput>, Failure> {
        Self::resolve(self, body).await
    }

    async fn write(&self, inputs: Vec<SearchInput>, budget: &Budget) -> Vec<Written> {
        Self::write(self, inputs, budget).await
    }

    async fn is_up(&self) -> bool {
        Self::is_up(self).await
    }
}

impl<T: Target + Send> Retried for Archive<T> {
    type Input = Row;

    async fn resolve(&self, body: &str) -> Result<Option<Row>, Failure> {
        Self::resolve(self, body).await.map(Some)
    }

    async fn write(&self, inputs: Vec<Row>, budget: &Budget) -> Vec<Written> {
        Self::write(self, inputs, budget).await
    }

    /// Firehose has nothing to ask without writing. A row that it does not take alone counts as the row's own failure.
    async fn is_up(&self) -> bool {
        true
    }
}
