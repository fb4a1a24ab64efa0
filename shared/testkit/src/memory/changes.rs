//! The table's changes, as DynamoDB Streams deliver them to a Lambda function.

use std::sync::Arc;

use sagaline_order::Timestamp;
use sagaline_store::size::item_bytes;
use sagaline_store::value::to_json;
use sagaline_store::{AttributeValue, HEAD_SK, Item, Key};
use serde_json::{Map, Value, json};

/// The first sequence number, of 21 digits as they come from AWS; they rise by 100.
const FIRST_SEQUENCE: u128 = 100_000_000_000_000_000_000;

/// One change of one item.
#[derive(Debug, Clone)]
pub struct Change {
    number: usize,
    key: Key,
    before: Option<Arc<Item>>,
    after: Option<Arc<Item>>,
    at: Option<Timestamp>,
}

impl Change {
    pub(super) fn new(
        number: usize,
        key: Key,
        before: Option<Arc<Item>>,
        after: Option<Arc<Item>>,
        at: Option<Timestamp>,
    ) -> Self {
        Self {
            number,
            key,
            before,
            after,
            at,
        }
    }

    /// Of which item.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// True for an order head: what the filters of the stream's consumers let through.
    #[must_use]
    pub fn is_head(&self) -> bool {
        self.key.sk == HEAD_SK
    }

    /// The item before; `None` for a new one.
    #[must_use]
    pub fn before(&self) -> Option<&Item> {
        self.before.as_deref()
    }

    /// The item after; `None` if it was deleted.
    #[must_use]
    pub fn after(&self) -> Option<&Item> {
        self.after.as_deref()
    }

    /// Rises with every change of the table.
    #[must_use]
    pub fn sequence_number(&self) -> String {
        (FIRST_SEQUENCE + u128::try_from(self.number).unwrap_or(u128::MAX >> 1) * 100).to_string()
    }

    /// The record as a Lambda function gets it.
    #[must_use]
    pub fn record(&self) -> Value {
        let name = match (&self.before, &self.after) {
            (None, _) => "INSERT",
            (Some(_), Some(_)) => "MODIFY",
            (Some(_), None) => "REMOVE",
        };
        let images = [("OldImage", &self.before), ("NewImage", &self.after)];
        let mut change = Map::new();
        if let Some(at) = self.at {
            // Whole seconds, written as a float (F-STR-13).
            let seconds = Value::from(at.as_millis().div_euclid(1000)).as_f64();
            change.insert("ApproximateCreationDateTime".to_owned(), json!(seconds));
        }
        change.insert(
            "Keys".to_owned(),
            json!({"PK": {"S": self.key.pk}, "SK": {"S": self.key.sk}}),
        );
        change.insert("SequenceNumber".to_owned(), json!(self.sequence_number()));
        let size = self.key.pk.len() + self.key.sk.len() + 4;
        let size: usize = size
            + images
                .iter()
                .filter_map(|(_, image)| image.as_deref())
                .map(item_bytes)
                .sum::<usize>();
        change.insert("SizeBytes".to_owned(), json!(size));
        change.insert("StreamViewType".to_owned(), json!("NEW_AND_OLD_IMAGES"));
        for (name, image) in images {
            if let Some(image) = image {
                change.insert(
                    name.to_owned(),
                    image
                        .iter()
                        .map(|(name, value)| (name.clone(), typed(value)))
                        .collect(),
                );
            }
        }
        json!({
            // The same on every delivery (F-STR-12).
            "eventID": format!("{:032x}", self.number),
            "eventName": name,
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": "eu-central-1",
            "dynamodb": change,
            "eventSourceARN": "arn:aws:dynamodb:eu-central-1:123456789012:table/orders/stream/2026-01-01T00:00:00.000",
        })
    }
}

/// A value in DynamoDB JSON: numbers stay text, binary is base64.
#[expect(clippy::wildcard_enum_match_arm, reason = "the SDK's enum is open")]
fn typed(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!({"S": text}),
        AttributeValue::N(text) => json!({"N": text}),
        AttributeValue::Bool(flag) => json!({"BOOL": flag}),
        AttributeValue::B(_) => json!({"B": to_json(value)}),
        AttributeValue::L(list) => json!({"L": list.iter().map(typed).collect::<Vec<_>>()}),
        AttributeValue::M(map) => {
            json!({"M": map.iter().map(|(name, value)| (name.clone(), typed(value))).collect::<Map<_, _>>()})
        }
        AttributeValue::Ss(texts) => json!({"SS": texts}),
        AttributeValue::Ns(texts) => json!({"NS": texts}),
        AttributeValue::Bs(_) => json!({"BS": to_json(value)}),
        // `Null`, and what a later service might add.
        _ => json!({"NULL": true}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryTable;
    use sagaline_store::value::{n, s};
    use sagaline_store::{PK, SK};

    fn head(total: &str) -> Item {
        let attributes = [
            (PK, s("ORDER#o-1")),
            (SK, s(HEAD_SK)),
            ("total_minor", n(total)),
        ];
        attributes
            .map(|(name, value)| (name.to_owned(), value))
            .into()
    }

    #[test]
    fn each_change_is_a_record_with_its_images_and_what_changes_nothing_is_none() {
        let table = MemoryTable::new();
        table.put(head("12345678901234567890.12")).unwrap();
        table.put(head("12345678901234567890.12")).unwrap();
        table.set_now(Timestamp::from_millis(1_764_500_000_250).unwrap());
        table.put(head("2")).unwrap();
        table.delete(&Key {
            pk: "ORDER#o-1".to_owned(),
            sk: HEAD_SK.to_owned(),
        });
        let changes = table.changes(0);
        let records: Vec<_> = changes.iter().map(Change::record).collect();
        let names: Vec<_> = records
            .iter()
            .map(|record| record["eventName"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["INSERT", "MODIFY", "REMOVE"]);
        assert!(changes.iter().all(Change::is_head));
        assert!(
            changes.is_sorted_by_key(|change| change.sequence_number().parse::<u128>().unwrap())
        );

        let [insert, modify, remove] = records.as_slice() else {
            panic!("three")
        };
        assert_eq!(
            insert["dynamodb"]["NewImage"]["total_minor"],
            json!({"N": "12345678901234567890.12"}),
            "every digit"
        );
        assert_eq!(insert["dynamodb"].get("OldImage"), None);
        assert_eq!(
            insert["dynamodb"].get("ApproximateCreationDateTime"),
            None,
            "unknown is absent"
        );
        assert_eq!(
            modify["dynamodb"]["ApproximateCreationDateTime"],
            json!(1_764_500_000.0),
            "whole seconds"
        );
        assert_eq!(
            modify["dynamodb"]["OldImage"],
            insert["dynamodb"]["NewImage"]
        );
        assert_eq!(remove["dynamodb"].get("NewImage"), None);
        assert_eq!(
            remove["dynamodb"]["Keys"],
            json!({"PK": {"S": "ORDER#o-1"}, "SK": {"S": HEAD_SK}})
        );
        assert_eq!(table.changes(2).len(), 1, "from a place on");
    }
}
