//! The index, and the table that its redrive reads again.

use crate::Written;
use sagaline_order::{OrderId, Timestamp};
use sagaline_search::{Query, SearchClient, SearchInput, SearchMessage, SearchSink};
use sagaline_store::{Disposition, Store, Table};
use sagaline_stream::{Budget, Failure, Verdict};

/// The index, and the table that says what is in it, and under which aliases it is written.
#[derive(Debug)]
pub struct Search<T> {
    /// The writer.
    pub sink: SearchSink,
    /// The server.
    pub client: SearchClient,
    /// The table.
    pub store: Store<T>,
    /// The alias that is read.
    pub read_alias: String,
    /// The alias that is written unless the configuration names others.
    pub write_alias: String,
}

impl<T: Table> Search<T> {
    /// What must be written for a message of the retry queue; `None` when it is old news.
    ///
    /// # Errors
    /// Poison for a body that is no such message, and as [`Search::present`].
    pub async fn resolve(&self, body: &str) -> Result<Option<SearchInput>, Failure> {
        let message = SearchMessage::parse(body)
            .map_err(|error| Failure::poison("not a message for search").because(error))?;
        self.present(&message).await
    }

    /// What must be written of an order now: a message holds no document, the head is read again. `None` when it is old news.
    ///
    /// # Errors
    /// Poison for an order that cannot be asked for or is no head, retry when the head could not be read.
    pub async fn present(&self, message: &SearchMessage) -> Result<Option<SearchInput>, Failure> {
        let head = self
            .store
            .load_item(&OrderId::stored(&message.order_id))
            .await
            .map_err(|error| match error.disposition() {
                Disposition::Poison => {
                    Failure::poison("the head cannot be asked for").because(error)
                }
                Disposition::Retry | Disposition::Conflict | Disposition::Fatal => {
                    Failure::retry("the head could not be read").because(error)
                }
            })?;
        message.resolve(head.as_ref())
    }

    /// Writes inputs; the answers are in their order.
    pub async fn write(&self, inputs: Vec<SearchInput>, budget: &Budget) -> Vec<Written> {
        use sagaline_search::SinkVerdict;
        self.follow_configuration(budget).await;
        let verdicts = self.sink.write(inputs, budget).await;
        let written = verdicts.into_iter().map(|verdict| match verdict {
            SinkVerdict::Done => Written::Done,
            SinkVerdict::Stale => Written::Stale,
            SinkVerdict::Refused(reason) => Written::Refused(reason),
            SinkVerdict::Retry(reason) => Written::NotNow(reason),
            SinkVerdict::Behind(place) => Written::Behind(place),
        });
        written.collect()
    }

    /// Brings one order up to date in the index: reads its head again and writes what it finds. Old news is stale, never applied.
    ///
    /// # Errors
    /// [`Failure`]: as [`Search::present`], and poison when the index refuses the head.
    pub async fn refresh(
        &self,
        message: &SearchMessage,
        budget: &Budget,
    ) -> Result<Verdict, Failure> {
        let Some(input) = self.present(message).await? else {
            return Ok(Verdict::Stale);
        };
        // Boxed: the write holds a request with all its retries.
        let written = Box::pin(self.write(vec![input], budget)).await.pop();
        written
            .unwrap_or_else(|| Written::NotNow("the sink gave no verdict".to_owned()))
            .into()
    }

    /// Whether the index works at all, as far as can be told without writing.
    pub async fn is_up(&self) -> bool {
        // A search of no hits at all: a POST, like everything else that the functions may do there.
        match Query::parse("") {
            Ok(anything) => anything
                .run(&self.client, &self.read_alias, 0, None)
                .await
                .is_ok(),
            Err(_) => false,
        }
    }

    /// Follows a remap: its second target is written from the next batch on, once the cached configuration has aged.
    async fn follow_configuration(&self, budget: &Budget) {
        let Some(now) = Timestamp::from_millis(budget.now().as_millis()) else {
            return;
        };
        if let Ok(targets) = budget.within(self.store.search_targets(now)).await {
            self.sink
                .set_targets(targets.unwrap_or_else(|| vec![self.write_alias.clone()]));
        }
    }
}
