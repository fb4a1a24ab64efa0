//! The columns of the archive against the description of the table, `infra/schema/orders.schema.json`.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test's helpers may panic like the test itself"
)]

use sagaline_archive::columns::COLUMNS;
use serde_json::Value;
use std::collections::BTreeMap;

/// What a row says besides the head: of the record, and of the head's `last_event` and images.
const OF_THE_CHANGE: [&str; 10] = [
    "event_id",
    "event_name",
    "event_time",
    "cause_kind",
    "cause_actor",
    "cause_reason",
    "new_image",
    "old_image",
    "sequence_number",
    "ttl_expired",
];

fn head() -> Value {
    let schema = include_str!("../../../infra/schema/orders.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    schema["items"]["order_head"]["attributes"].clone()
}

#[test]
fn every_column_that_is_an_attribute_of_the_head_is_described_there_and_the_other_way_round() {
    let head = head();
    let described: BTreeMap<&str, &str> = head
        .as_object()
        .unwrap()
        .iter()
        .filter_map(|(name, attribute)| Some((name.as_str(), attribute["column"].as_str()?)))
        .collect();
    let columns: BTreeMap<&str, &str> = COLUMNS
        .into_iter()
        .filter(|(name, _)| !OF_THE_CHANGE.contains(name))
        .collect();
    assert_eq!(columns, described);
    for (name, kind) in columns {
        let expected = if head[name]["type"] == "N" {
            "bigint"
        } else {
            "string"
        };
        assert_eq!(kind, expected, "{name} is {}", head[name]["type"]);
    }
    for name in OF_THE_CHANGE {
        assert!(
            COLUMNS.iter().any(|(column, _)| *column == name),
            "{name} is no column"
        );
    }
}

#[test]
fn what_the_template_hides_by_default_is_there_to_be_hidden() {
    let template = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../infra/template.yaml"
    ))
    .unwrap();
    let redact = template.split("  ArchiveRedact:\n").nth(1).unwrap();
    let default = redact
        .lines()
        .find_map(|line| line.trim().strip_prefix("Default: "))
        .unwrap();
    let head = head();
    for name in default.split(',').chain(["payment_token"]) {
        assert!(head[name].is_object(), "a head has no {name}");
    }
}
