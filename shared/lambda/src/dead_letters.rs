//! Reading a queue by hand: what a dead-letter queue holds, taken for a while, then removed or given back.

use crate::runtime::BoxError;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::MessageSystemAttributeName;

/// Messages a call (Amazon SQS API Reference, ReceiveMessage).
const MESSAGES_PER_CALL: i32 = 10;

/// A message that is taken: others do not see it until its time is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The message's id.
    pub id: String,
    /// Its body.
    pub body: String,
    /// When it was first sent, in milliseconds since 1970.
    pub sent_at_ms: Option<i64>,
    /// By which this taking of it is removed or given back.
    receipt: String,
}

/// A call to the queue did not succeed.
#[derive(Debug, thiserror::Error)]
#[error("the queue {url} could not be {what}")]
pub struct DeadLetterError {
    /// The queue.
    pub url: String,
    /// The code of the queue's refusal, as in `QueueDoesNotExist`; `None` when it did not answer.
    pub code: Option<String>,
    what: &'static str,
    #[source]
    source: BoxError,
}

/// A queue that is read by hand.
#[derive(Debug, Clone)]
pub struct DeadLetters {
    client: Client,
    url: String,
}

impl DeadLetters {
    /// The queue at that URL.
    #[must_use]
    pub fn new(client: Client, url: impl Into<String>) -> Self {
        Self {
            client,
            url: url.into(),
        }
    }

    /// The queue's URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Takes a few messages for so many seconds. None at all does not prove that the queue is empty: short polling asks some of its servers
    /// only (Amazon SQS Developer Guide), which is why this waits a second.
    ///
    /// # Errors
    /// [`DeadLetterError`] after the SDK's own retries.
    pub async fn take(&self, seconds: u16) -> Result<Vec<Taken>, DeadLetterError> {
        let answer = self
            .client
            .receive_message()
            .queue_url(&self.url)
            .max_number_of_messages(MESSAGES_PER_CALL)
            .visibility_timeout(i32::from(seconds))
            .wait_time_seconds(1)
            .message_system_attribute_names(MessageSystemAttributeName::SentTimestamp)
            .send()
            .await
            .map_err(|error| self.failed("read", error))?;
        let taken = answer.messages.unwrap_or_default().into_iter();
        Ok(taken
            .filter_map(|message| {
                let sent = message.attributes.as_ref().and_then(|attributes| {
                    attributes
                        .get(&MessageSystemAttributeName::SentTimestamp)?
                        .parse()
                        .ok()
                });
                Some(Taken {
                    id: message.message_id?,
                    body: message.body.unwrap_or_default(),
                    sent_at_ms: sent,
                    receipt: message.receipt_handle?,
                })
            })
            .collect())
    }

    /// Removes a message for good.
    ///
    /// # Errors
    /// [`DeadLetterError`]: it may come again.
    pub async fn remove(&self, taken: &Taken) -> Result<(), DeadLetterError> {
        let call = self
            .client
            .delete_message()
            .queue_url(&self.url)
            .receipt_handle(&taken.receipt);
        match call.send().await {
            Ok(_) => Ok(()),
            Err(error) => Err(self.failed("told to remove a message", error)),
        }
    }

    /// Gives a message back, so that others see it again at once.
    ///
    /// # Errors
    /// [`DeadLetterError`]: it comes back by itself when its time is up.
    pub async fn give_back(&self, taken: &Taken) -> Result<(), DeadLetterError> {
        let call = self
            .client
            .change_message_visibility()
            .queue_url(&self.url)
            .receipt_handle(&taken.receipt)
            .visibility_timeout(0);
        match call.send().await {
            Ok(_) => Ok(()),
            Err(error) => Err(self.failed("given a message back", error)),
        }
    }

    fn failed<E>(&self, what: &'static str, error: SdkError<E>) -> DeadLetterError
    where
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        let refused = error.as_service_error();
        let code = refused.and_then(|refused| refused.code().map(str::to_owned));
        DeadLetterError {
            url: self.url.clone(),
            code,
            what,
            source: error.into(),
        }
    }
}
