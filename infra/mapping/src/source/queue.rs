//! A standard SQS queue: receiving, deleting, and what is left in it.

use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::{
    DeleteMessageBatchRequestEntry, MessageSystemAttributeName, QueueAttributeName,
};

use super::message::render;
use crate::aws_error::short;

/// The most messages of one ReceiveMessage or DeleteMessageBatch call (SQS quotas).
pub(crate) const MOST_PER_CALL: usize = 10;

/// One queue.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    client: Client,
    url: String,
    pub(crate) arn: String,
    /// How long a received message is hidden.
    pub(crate) visibility: Duration,
}

/// A received message.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) id: String,
    pub(crate) receipt: String,
    pub(crate) body: String,
    /// The message as the function sees it.
    pub(crate) event: String,
}

impl Queue {
    #[cfg(test)]
    pub(crate) fn at(client: Client, url: &str, arn: &str, visibility: Duration) -> Self {
        Self {
            client,
            url: url.to_owned(),
            arn: arn.to_owned(),
            visibility,
        }
    }

    /// Asks for the queue's ARN and time-out.
    ///
    /// # Errors
    /// What SQS said.
    pub(crate) async fn open(client: Client, url: &str) -> Result<Self, String> {
        let wanted = [
            QueueAttributeName::QueueArn,
            QueueAttributeName::VisibilityTimeout,
        ];
        let answer = client
            .get_queue_attributes()
            .queue_url(url)
            .set_attribute_names(Some(wanted.to_vec()))
            .send()
            .await;
        let answer = answer.map_err(|error| short(&error))?;
        let attribute = |name: QueueAttributeName| {
            answer
                .attributes()
                .and_then(|attributes| attributes.get(&name))
                .cloned()
        };
        let arn = attribute(QueueAttributeName::QueueArn).ok_or("the queue has no ARN")?;
        let visibility = attribute(QueueAttributeName::VisibilityTimeout)
            .and_then(|text| text.parse().ok())
            .map_or(Duration::from_secs(30), Duration::from_secs);
        Ok(Self {
            client,
            url: url.to_owned(),
            arn,
            visibility,
        })
    }

    /// Receives up to `most` messages (at most 10), waiting for the first one.
    pub(crate) async fn receive(&self, most: usize, wait_s: i32) -> Result<Vec<Received>, String> {
        let most = i32::try_from(most.clamp(1, MOST_PER_CALL)).unwrap_or(1);
        let request = self
            .client
            .receive_message()
            .queue_url(&self.url)
            .max_number_of_messages(most)
            .wait_time_seconds(wait_s);
        let request = request
            .message_system_attribute_names(MessageSystemAttributeName::All)
            .message_attribute_names("All");
        let answer = request.send().await.map_err(|error| short(&error))?;
        let received = answer.messages().iter().filter_map(|message| {
            let (id, receipt) = (
                message.message_id()?.to_owned(),
                message.receipt_handle()?.to_owned(),
            );
            Some(Received {
                id,
                receipt,
                body: message.body().unwrap_or_default().to_owned(),
                event: render(message, &self.arn).to_string(),
            })
        });
        Ok(received.collect())
    }

    /// Deletes messages; gives the number that are gone. What could not be deleted comes again.
    pub(crate) async fn delete(&self, messages: &[&Received]) -> usize {
        let mut deleted = 0;
        for chunk in messages.chunks(MOST_PER_CALL) {
            let entries = chunk.iter().enumerate().filter_map(|(at, message)| {
                DeleteMessageBatchRequestEntry::builder()
                    .id(at.to_string())
                    .receipt_handle(&message.receipt)
                    .build()
                    .ok()
            });
            match self
                .client
                .delete_message_batch()
                .queue_url(&self.url)
                .set_entries(Some(entries.collect()))
                .send()
                .await
            {
                Ok(answer) => {
                    deleted += answer.successful().len();
                    for failed in answer.failed() {
                        tracing::warn!(queue = %self.url, code = failed.code(), "a message could not be deleted; it comes again");
                    }
                }
                Err(error) => {
                    tracing::warn!(queue = %self.url, error = %short(&error), "messages could not be deleted; they come again")
                }
            }
        }
        deleted
    }

    /// Whether no message is visible or in flight.
    pub(crate) async fn is_drained(&self) -> Result<bool, String> {
        let wanted = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
        ];
        let answer = self
            .client
            .get_queue_attributes()
            .queue_url(&self.url)
            .set_attribute_names(Some(wanted.to_vec()))
            .send()
            .await;
        let answer = answer.map_err(|error| short(&error))?;
        Ok(wanted.iter().all(|name| {
            answer
                .attributes()
                .and_then(|attributes| attributes.get(name))
                .is_some_and(|count| count == "0")
        }))
    }
}
