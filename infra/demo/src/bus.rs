//! A listener on the event bus: a rule that sends every message of ours to a queue, which is read and kept.

use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use aws_config::SdkConfig;
use aws_sdk_eventbridge::types::Target;
use aws_sdk_sqs::types::QueueAttributeName;
use sagaline_testkit::invariants::Message;
use serde_json::Value;

const RULE: &str = "demo-listener";

/// What came out of the bus so far.
#[derive(Debug)]
pub(crate) struct BusListener {
    sqs: aws_sdk_sqs::Client,
    queue_url: String,
    heard: Mutex<Vec<Message>>,
}

impl BusListener {
    /// Listens from now on.
    pub(crate) async fn start(sdk: &SdkConfig, bus: &str) -> Result<Self> {
        let sqs = aws_sdk_sqs::Client::new(sdk);
        let queue = sqs
            .create_queue()
            .queue_name("sagaline-demo-listener")
            .send()
            .await
            .context("cannot create the listener's queue")?;
        let queue_url = queue.queue_url().context("a queue has a URL")?.to_owned();
        let attributes = sqs
            .get_queue_attributes()
            .queue_url(&queue_url)
            .attribute_names(QueueAttributeName::QueueArn)
            .send()
            .await;
        let attributes = attributes.context("cannot read the listener's queue")?;
        let arn = attributes
            .attributes()
            .and_then(|all| all.get(&QueueAttributeName::QueueArn))
            .context("a queue has an ARN")?;
        let events = aws_sdk_eventbridge::Client::new(sdk);
        let pattern = r#"{"source":["sagaline"]}"#;
        events
            .put_rule()
            .name(RULE)
            .event_bus_name(bus)
            .event_pattern(pattern)
            .send()
            .await
            .context("cannot put the listener's rule")?;
        let target = Target::builder()
            .id(RULE)
            .arn(arn)
            .build()
            .context("a target has an id and an ARN")?;
        events
            .put_targets()
            .rule(RULE)
            .event_bus_name(bus)
            .targets(target)
            .send()
            .await
            .context("cannot put the listener's target")?;
        Ok(Self {
            sqs,
            queue_url,
            heard: Mutex::default(),
        })
    }

    /// Takes what waits in the queue.
    pub(crate) async fn listen(&self) -> Result<()> {
        loop {
            let received = self
                .sqs
                .receive_message()
                .queue_url(&self.queue_url)
                .max_number_of_messages(10)
                .send()
                .await;
            let received = received.context("cannot read the listener's queue")?;
            let messages = received.messages();
            if messages.is_empty() {
                return Ok(());
            }
            for message in messages {
                let heard = message.body().and_then(parse).with_context(|| {
                    format!("the bus delivered something else: {:?}", message.body())
                })?;
                self.heard
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(heard);
                let handle = message.receipt_handle().unwrap_or_default();
                self.sqs
                    .delete_message()
                    .queue_url(&self.queue_url)
                    .receipt_handle(handle)
                    .send()
                    .await
                    .context("cannot empty the listener's queue")?;
            }
        }
    }

    /// Everything so far, repeats included.
    pub(crate) fn heard(&self) -> Vec<Message> {
        self.heard
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

fn parse(body: &str) -> Option<Message> {
    let event: Value = serde_json::from_str(body).ok()?;
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    Some(Message {
        kind: text(event.get("detail-type"))?,
        id: text(event.pointer("/detail/id"))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_is_read_from_the_event() {
        let body = r#"{"source":"sagaline","detail-type":"OrderConfirmed","detail":{"id":"o-1#3","order_id":"o-1"}}"#;
        assert_eq!(
            parse(body),
            Some(Message {
                kind: "OrderConfirmed".to_owned(),
                id: "o-1#3".to_owned()
            })
        );
        assert_eq!(parse("{}"), None);
    }
}
