//! The batch that is measured: 1,000 records of about 2.9 KB, both images, as the orders of this pipeline make them.

use sagaline_stream::{Attribute, Image};

/// Records of the batch.
pub(crate) const RECORDS: u64 = 1_000;

fn image(order: u64, version: u64) -> String {
    let lines: Vec<String> = (0..3)
        .map(|line| {
            format!(
                r#"{{"M":{{"sku":{{"S":"SKU-{order}-{line}"}},"name":{{"S":"A thing of some name, number {line}"}},"qty":{{"N":"{}"}},"unit_minor":{{"N":"1{line}99"}}}}}}"#,
                line + 1
            )
        })
        .collect();
    format!(
        r#"{{"PK":{{"S":"ORDER#order-{order:08}"}},"SK":{{"S":"ORDER#DETAIL"}},"order_id":{{"S":"order-{order:08}"}},"user_id":{{"S":"user-{}"}},"version":{{"N":"{version}"}},"schema":{{"N":"1"}},"status":{{"S":"UNPAID"}},"state":{{"S":"Paying"}},"lines":{{"L":[{}]}},"currency":{{"S":"EUR"}},"total_minor":{{"N":"9594"}},"created_at":{{"S":"2026-01-31T08:30:00.000Z"}},"updated_at":{{"S":"2026-01-31T08:30:01.250Z"}},"shipping":{{"M":{{"name":{{"S":"Zoë \"Z\" Müller"}},"street":{{"S":"Lange Straße 12"}},"city":{{"S":"Köln"}},"postal_code":{{"S":"50667"}},"country":{{"S":"DE"}}}}}},"phone_masked":{{"S":"+49*****42"}},"steps":{{"M":{{"reserve":{{"M":{{"state":{{"S":"Succeeded"}},"attempt":{{"N":"1"}}}}}}}}}},"wake_at":{{"S":"2026-01-31T09:00:00.000Z"}},"due_pk":{{"S":"DUE#7"}},"due_sk":{{"S":"20260131T090000.000Z#order-{order:08}"}},"updated_pk":{{"S":"DAY#2026-01-31#7"}},"transitions":{{"N":"2"}}}}"#,
        order % 97,
        lines.join(",")
    )
}

/// The event.
pub(crate) fn payload() -> Vec<u8> {
    let records: Vec<String> = (0..RECORDS)
        .map(|n| {
            format!(
                r#"{{"eventID":"{n:032x}","eventName":"MODIFY","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"eu-west-1","dynamodb":{{"ApproximateCreationDateTime":1.7645E9,"Keys":{{"PK":{{"S":"ORDER#order-{n:08}"}},"SK":{{"S":"ORDER#DETAIL"}}}},"NewImage":{},"OldImage":{},"SequenceNumber":"{:021}","SizeBytes":2100,"StreamViewType":"NEW_AND_OLD_IMAGES"}},"eventSourceARN":"arn:aws:dynamodb:eu-west-1:123456789012:table/orders/stream/2026-01-31T08:30:00.000"}}"#,
                image(n, 3),
                image(n, 2),
                100_000_000_000_000_000_u64 + n
            )
        })
        .collect();
    format!(r#"{{"Records":[{}]}}"#, records.join(",")).into_bytes()
}

/// Touches every value: the sum of all text lengths.
pub(crate) fn visit(image: &Image<'_>) -> usize {
    fn value(attribute: &Attribute<'_>) -> usize {
        match attribute {
            Attribute::S(text) | Attribute::N(text) | Attribute::B(text) => text.len(),
            Attribute::Bool(_) | Attribute::Null => 1,
            Attribute::L(items) => items.iter().map(value).sum(),
            Attribute::M(members) => visit(members),
            Attribute::Ss(members) | Attribute::Ns(members) | Attribute::Bs(members) => {
                members.iter().map(|text| text.len()).sum()
            }
        }
    }
    image
        .iter()
        .map(|(name, attribute)| name.len() + value(attribute))
        .sum()
}
