//! A listener on the event bus: a rule that sends every message of ours to a queue.

use aws_sdk_eventbridge::types::Target;
use aws_sdk_sqs::types::QueueAttributeName;
use sagaline_testkit::invariants::Message;
use serde_json::Value;

use super::place::Place;

/// What comes out of the bus of a deployment.
#[derive(Debug)]
pub(crate) struct Bus {
    queue_url: String,
    heard: Vec<Message>,
}

impl Bus {
    /// Listens from now on.
    pub(crate) async fn of(place: &Place) -> Self {
        let sqs = place.sqs();
        let name = format!("{}-listener", place.deployment.name);
        let queue = sqs.create_queue().queue_name(&name).send().await.unwrap();
        let queue_url = queue.queue_url().unwrap().to_owned();
        let arn = QueueAttributeName::QueueArn;
        let asked = sqs.get_queue_attributes().queue_url(&queue_url);
        let answer = asked.attribute_names(arn.clone()).send().await.unwrap();
        let arn = &answer.attributes().unwrap()[&arn];

        let events = aws_sdk_eventbridge::Client::new(&place.sdk);
        let bus = place.var("EVENT_BUS");
        let rule = events.put_rule().name(&name).event_bus_name(bus);
        let rule = rule.event_pattern(r#"{"source":["sagaline"]}"#);
        rule.send().await.unwrap();
        let target = Target::builder().id(&name).arn(arn).build().unwrap();
        let targets = events.put_targets().rule(&name).event_bus_name(bus);
        targets.targets(target).send().await.unwrap();
        Self {
            queue_url,
            heard: Vec::new(),
        }
    }

    /// Everything so far, repeats included.
    pub(crate) async fn heard(&mut self, place: &Place) -> Vec<Message> {
        let sqs = place.sqs();
        loop {
            let asked = sqs.receive_message().queue_url(&self.queue_url);
            let received = asked.max_number_of_messages(10).send().await.unwrap();
            if received.messages().is_empty() {
                return self.heard.clone();
            }
            for message in received.messages() {
                let event: Value = serde_json::from_str(message.body().unwrap()).unwrap();
                self.heard.push(Message {
                    kind: event["detail-type"].as_str().unwrap().to_owned(),
                    id: event["detail"]["id"].as_str().unwrap().to_owned(),
                });
                let handle = message.receipt_handle().unwrap();
                let done = sqs.delete_message().queue_url(&self.queue_url);
                done.receipt_handle(handle).send().await.unwrap();
            }
        }
    }
}
