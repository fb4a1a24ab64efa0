//! A record of the Streams API, rendered as a function sees it.
//!
//! Field names and forms are those of the event in the Lambda guide ("Using AWS Lambda with Amazon DynamoDB"): the images keep
//! their type tags, numbers stay text, binary is base64 (F-STR-14, F-STR-15), an absent image is an absent key (F-STR-8).

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use aws_sdk_dynamodbstreams::types::{AttributeValue, Record as ApiRecord, StreamRecord};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::Read;
use crate::clock::Millis;
use crate::filter::Filter;
use crate::shard::Record;

/// Renders a record and applies the filter to it. `None` for a record without a sequence number, which the API never sends.
pub(crate) fn read(record: &ApiRecord, stream_arn: &str, filter: &Filter) -> Option<Read> {
    let sequence: std::sync::Arc<str> = record.dynamodb()?.sequence_number()?.into();
    let event = render(record, stream_arn);
    if !filter.admits(&event) {
        return Some(Read::Dropped(sequence));
    }
    let arrived = record
        .dynamodb()
        .and_then(StreamRecord::approximate_creation_date_time)
        .and_then(|time| time.to_millis().ok())
        .and_then(|ms| u64::try_from(ms).ok());
    let mut hasher = DefaultHasher::new();
    event
        .pointer("/dynamodb/Keys")
        .map(Value::to_string)
        .hash(&mut hasher);
    Some(Read::Admitted(Record {
        sequence,
        key: hasher.finish(),
        arrived: arrived.map(Millis),
        event: event.to_string().into(),
    }))
}

fn render(record: &ApiRecord, stream_arn: &str) -> Value {
    let mut fields = Map::new();
    let mut text = |key: &str, value: Option<&str>| {
        if let Some(value) = value {
            fields.insert(key.to_owned(), value.into());
        }
    };
    text("eventID", record.event_id());
    text("eventName", record.event_name().map(|name| name.as_str()));
    text("eventVersion", record.event_version());
    text("eventSource", record.event_source());
    text("awsRegion", record.aws_region());
    text("eventSourceARN", Some(stream_arn));
    if let Some(identity) = record.user_identity() {
        fields.insert(
            "userIdentity".to_owned(),
            json!({ "principalId": identity.principal_id(), "type": identity.r#type() }),
        );
    }
    if let Some(change) = record.dynamodb() {
        fields.insert("dynamodb".to_owned(), render_change(change));
    }
    Value::Object(fields)
}

fn render_change(change: &StreamRecord) -> Value {
    let mut fields = Map::new();
    if let Some(time) = change.approximate_creation_date_time() {
        // Whole seconds in practice; a fraction is kept if there is one (F-STR-13).
        let seconds = if time.subsec_nanos() == 0 {
            time.secs().into()
        } else {
            time.as_secs_f64().into()
        };
        fields.insert("ApproximateCreationDateTime".to_owned(), seconds);
    }
    for (key, image) in [
        ("Keys", change.keys()),
        ("NewImage", change.new_image()),
        ("OldImage", change.old_image()),
    ] {
        if let Some(image) = image {
            fields.insert(key.to_owned(), render_map(image));
        }
    }
    if let Some(sequence) = change.sequence_number() {
        fields.insert("SequenceNumber".to_owned(), sequence.into());
    }
    if let Some(size) = change.size_bytes() {
        fields.insert("SizeBytes".to_owned(), size.into());
    }
    if let Some(view) = change.stream_view_type() {
        fields.insert("StreamViewType".to_owned(), view.as_str().into());
    }
    Value::Object(fields)
}

fn render_map(map: &HashMap<String, AttributeValue>) -> Value {
    Value::Object(
        map.iter()
            .map(|(name, value)| (name.clone(), render_value(value)))
            .collect(),
    )
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the SDK's own catch-all variant is private"
)]
fn render_value(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!({ "S": text }),
        AttributeValue::N(number) => json!({ "N": number }),
        AttributeValue::B(blob) => json!({ "B": STANDARD.encode(blob) }),
        AttributeValue::Bool(flag) => json!({ "BOOL": flag }),
        AttributeValue::Null(flag) => json!({ "NULL": flag }),
        AttributeValue::Ss(texts) => json!({ "SS": texts }),
        AttributeValue::Ns(numbers) => json!({ "NS": numbers }),
        AttributeValue::Bs(blobs) => {
            json!({ "BS": blobs.iter().map(|blob| STANDARD.encode(blob)).collect::<Vec<_>>() })
        }
        AttributeValue::L(items) => {
            json!({ "L": items.iter().map(render_value).collect::<Vec<_>>() })
        }
        AttributeValue::M(map) => json!({ "M": render_map(map) }),
        // A type that DynamoDB may add one day: the tag is lost, the attribute is not.
        _ => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodbstreams::primitives::{Blob, DateTime};
    use aws_sdk_dynamodbstreams::types::{Identity, OperationType, StreamViewType};

    fn record() -> ApiRecord {
        let change = StreamRecord::builder()
            .approximate_creation_date_time(DateTime::from_secs(1_764_500_000))
            .keys("PK", AttributeValue::S("ORDER#o-1".into()))
            .new_image(
                "n",
                AttributeValue::N("12345678901234567890123456789012345678".into()),
            )
            .new_image("b", AttributeValue::B(Blob::new([222, 173])))
            .new_image(
                "l",
                AttributeValue::L(vec![
                    AttributeValue::Null(true),
                    AttributeValue::Bool(false),
                ]),
            )
            .new_image(
                "m",
                AttributeValue::M(HashMap::from([(
                    "ss".into(),
                    AttributeValue::Ss(vec!["x".into()]),
                )])),
            )
            .sequence_number("100000000000000000001")
            .size_bytes(59)
            .stream_view_type(StreamViewType::NewAndOldImages)
            .build();
        ApiRecord::builder()
            .event_id("e1")
            .event_name(OperationType::Insert)
            .event_version("1.1")
            .event_source("aws:dynamodb")
            .aws_region("eu-west-1")
            .dynamodb(change)
            .build()
    }

    #[test]
    fn a_record_is_rendered_as_the_function_event_has_it() {
        let Some(Read::Admitted(read)) = read(&record(), "arn:stream", &Filter::default()) else {
            panic!("admitted")
        };
        let wanted = json!({
            "eventID": "e1", "eventName": "INSERT", "eventVersion": "1.1", "eventSource": "aws:dynamodb", "awsRegion": "eu-west-1", "eventSourceARN": "arn:stream",
            "dynamodb": {
                "ApproximateCreationDateTime": 1_764_500_000, "Keys": {"PK": {"S": "ORDER#o-1"}}, "SequenceNumber": "100000000000000000001", "SizeBytes": 59, "StreamViewType": "NEW_AND_OLD_IMAGES",
                "NewImage": {"n": {"N": "12345678901234567890123456789012345678"}, "b": {"B": "3q0="}, "l": {"L": [{"NULL": true}, {"BOOL": false}]}, "m": {"M": {"ss": {"SS": ["x"]}}}},
            },
        });
        assert_eq!(serde_json::from_str::<Value>(&read.event).unwrap(), wanted);
        assert_eq!(
            (read.arrived, &*read.sequence),
            (Some(Millis(1_764_500_000_000)), "100000000000000000001")
        );
    }

    #[test]
    fn a_time_to_live_delete_keeps_its_identity() {
        let mut record = record();
        record.user_identity = Some(
            Identity::builder()
                .principal_id("dynamodb.amazonaws.com")
                .r#type("Service")
                .build(),
        );
        assert_eq!(
            render(&record, "a")["userIdentity"],
            json!({"principalId": "dynamodb.amazonaws.com", "type": "Service"})
        );
    }

    #[test]
    fn equal_keys_share_a_lane_whatever_else_differs() {
        let mut other = record();
        other.event_id = Some("e2".into());
        let key = |record: &ApiRecord| match read(record, "a", &Filter::default()) {
            Some(Read::Admitted(record)) => record.key,
            None | Some(Read::Dropped(_)) => panic!("admitted"),
        };
        assert_eq!(key(&record()), key(&other));
    }
}
