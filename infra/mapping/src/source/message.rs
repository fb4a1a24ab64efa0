//! An SQS message, rendered as a function sees it (Lambda guide, "Using Lambda with Amazon SQS").

use aws_sdk_sqs::types::{Message, MessageAttributeValue};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// Renders a message of the queue with this ARN.
pub(crate) fn render(message: &Message, queue_arn: &str) -> Value {
    let attributes: Map<String, Value> = message
        .attributes()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.as_str().to_owned(), value.as_str().into()))
        .collect();
    let message_attributes: Map<String, Value> = message
        .message_attributes()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), attribute(value)))
        .collect();
    let mut event = json!({
        "messageId": message.message_id(),
        "receiptHandle": message.receipt_handle(),
        "body": message.body().unwrap_or_default(),
        "attributes": attributes,
        "messageAttributes": message_attributes,
        "md5OfBody": message.md5_of_body(),
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": queue_arn.split(':').nth(3),
    });
    if let (Some(digest), Some(fields)) =
        (message.md5_of_message_attributes(), event.as_object_mut())
    {
        fields.insert("md5OfMessageAttributes".to_owned(), digest.into());
    }
    event
}

fn attribute(value: &MessageAttributeValue) -> Value {
    let mut fields = Map::from_iter([
        ("stringListValues".to_owned(), json!([])),
        ("binaryListValues".to_owned(), json!([])),
        ("dataType".to_owned(), value.data_type().into()),
    ]);
    if let Some(text) = value.string_value() {
        fields.insert("stringValue".to_owned(), text.into());
    }
    if let Some(blob) = value.binary_value() {
        fields.insert("binaryValue".to_owned(), STANDARD.encode(blob).into());
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_sqs::types::MessageSystemAttributeName;

    #[test]
    fn a_message_is_rendered_as_the_function_event_has_it() {
        let message = Message::builder()
            .message_id("m-1")
            .receipt_handle("r-1")
            .body("hello")
            .md5_of_body("5d41402abc4b2a76b9719d911017c592")
            .attributes(MessageSystemAttributeName::ApproximateReceiveCount, "1")
            .message_attributes(
                "kind",
                MessageAttributeValue::builder()
                    .data_type("String")
                    .string_value("x")
                    .build()
                    .unwrap(),
            )
            .build();
        assert_eq!(
            render(&message, "arn:aws:sqs:eu-west-1:000000000000:orders"),
            json!({
                "messageId": "m-1", "receiptHandle": "r-1", "body": "hello", "attributes": {"ApproximateReceiveCount": "1"},
                "messageAttributes": {"kind": {"stringValue": "x", "stringListValues": [], "binaryListValues": [], "dataType": "String"}},
                "md5OfBody": "5d41402abc4b2a76b9719d911017c592", "eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:eu-west-1:000000000000:orders", "awsRegion": "eu-west-1",
            })
        );
    }
}
