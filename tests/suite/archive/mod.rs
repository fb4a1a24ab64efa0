//! The archive over real parts: rows in through Firehose, files in the bucket, answers out of Athena.
//!
//! All tests share one archive; each has orders of its own, and days of its own where a view counts by day.

mod files;
mod rows;
mod sql;

use std::collections::BTreeSet;
use std::time::Duration;

use sagaline_archive::{ArchiveSink, AwsTarget, Redaction, Row, SinkVerdict, Table};
use sagaline_stream::Record;
use serde_json::{Value, json};

use crate::support::{Place, SOON, budget, until};

/// A stream record of a head, in DynamoDB JSON.
pub(super) struct Change<'a> {
    pub(super) order: &'a str,
    pub(super) version: u64,
    pub(super) event: &'a str,
    /// Of the record; `None` = the record does not say.
    pub(super) at: Option<i64>,
    /// Attributes besides key and version.
    pub(super) head: Value,
}

impl Change<'_> {
    fn record(&self) -> String {
        let mut image = json!({
            "PK": {"S": format!("ORDER#{}", self.order)}, "SK": {"S": "ORDER#DETAIL"},
            "version": {"N": self.version.to_string()},
        });
        image
            .as_object_mut()
            .unwrap()
            .extend(self.head.as_object().unwrap().clone());
        let side = if self.event == "REMOVE" {
            "OldImage"
        } else {
            "NewImage"
        };
        let mut record = json!({
            "eventID": format!("{}-{}", self.order, self.version), "eventName": self.event,
            "dynamodb": {"SequenceNumber": format!("{:021}", self.version), side: image},
        });
        if let Some(at) = self.at {
            record["dynamodb"]["ApproximateCreationDateTime"] = at.into();
        }
        record.to_string()
    }

    pub(super) fn row(&self, redaction: &Redaction) -> Row {
        Row::from_record(&Record::decode(&self.record()).unwrap(), redaction).unwrap()
    }
}

pub(super) fn plain() -> Redaction {
    Redaction::new("", None)
}

/// Writes rows as the projector does, and waits until all of them are shown: Firehose gathers before it delivers.
pub(super) async fn write(place: &Place, rows: Vec<Row>) {
    let orders: BTreeSet<_> = rows
        .iter()
        .map(|row| format!("'{}'", row.order_id))
        .collect();
    let versions: BTreeSet<_> = rows
        .iter()
        .map(|row| (row.order_id.clone(), row.version))
        .collect();
    let target = AwsTarget {
        firehose: aws_sdk_firehose::Client::new(&place.sdk),
        stream: place.var("ARCHIVE_STREAM").to_owned(),
        s3: place.s3(),
        bucket: place.var("ARCHIVE_BUCKET").to_owned(),
    };
    let expected = vec![SinkVerdict::Done; rows.len()];
    let written = ArchiveSink::new(target)
        .write(rows, &budget(Duration::from_secs(60)))
        .await;
    assert_eq!(written, expected);
    let orders = Vec::from_iter(orders).join(", ");
    let select = format!("SELECT version FROM order_changes WHERE order_id IN ({orders})");
    until("all rows are shown", SOON, async || {
        (query(place, &select).await.rows.len() >= versions.len()).then_some(())
    })
    .await;
}

pub(super) async fn query(place: &Place, select: &str) -> Table {
    place.archive().query(select, |_| {}).await.unwrap()
}

/// The rows of an answer as JSON objects of texts and nulls.
pub(super) fn objects(table: &Table) -> Vec<Value> {
    let object = |row: &Vec<Option<String>>| {
        let members = table
            .columns
            .iter()
            .cloned()
            .zip(row.iter().cloned().map(Value::from));
        Value::Object(members.collect())
    };
    table.rows.iter().map(object).collect()
}

/// A row as Athena answers it: every value as text.
pub(super) fn answered(row: &Row) -> Value {
    let object = serde_json::to_value(row).unwrap();
    let members = object.as_object().unwrap().iter().map(|(name, value)| {
        let value = match value {
            Value::Null | Value::String(_) => value.clone(),
            plain @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                plain.to_string().into()
            }
        };
        (name.clone(), value)
    });
    Value::Object(members.collect())
}
