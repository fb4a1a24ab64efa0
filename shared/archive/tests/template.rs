//! The template's tables and delivery stream against the rows that are sent.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may panic like the test itself"
)]

use sagaline_archive::columns::{COLUMNS, PARTITION};
use std::path::Path;

fn template() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../infra/template.yaml");
    std::fs::read_to_string(path).unwrap()
}

/// The lines of a resource, without its name.
fn resource<'t>(template: &'t str, name: &str) -> Vec<&'t str> {
    let mut lines = template
        .lines()
        .skip_while(|line| *line != format!("  {name}:"))
        .skip(1)
        .peekable();
    assert!(lines.peek().is_some(), "the template has no {name}");
    lines
        .take_while(|line| line.is_empty() || line.starts_with("   "))
        .collect()
}

/// `- { Name: order_id, Type: string }`.
fn columns(resource: &[&str]) -> Vec<(String, String)> {
    let column = |line: &&str| {
        let inside = line.trim().strip_prefix("- { Name: ")?.strip_suffix(" }")?;
        let (name, kind) = inside.split_once(", Type: ")?;
        Some((name.to_owned(), kind.to_owned()))
    };
    resource.iter().filter_map(column).collect()
}

// C-45
#[test]
fn every_table_of_the_archive_has_the_columns_of_a_row() {
    let template = template();
    let own = |columns: &[(&str, &str)]| {
        columns
            .iter()
            .map(|(name, kind)| ((*name).to_owned(), (*kind).to_owned()))
            .collect::<Vec<_>>()
    };
    assert_eq!(columns(&resource(&template, "ChangesTable")), own(&COLUMNS));
    assert_eq!(
        columns(&resource(&template, "UndatedChangesTable")),
        own(&COLUMNS)
    );
    let with_day: Vec<_> = COLUMNS.into_iter().chain([PARTITION]).collect();
    assert_eq!(
        columns(&resource(&template, "OversizeTable")),
        own(&with_day),
        "its day is in the file, not in the path"
    );
}

// C-46
#[test]
fn rows_go_by_the_day_of_their_event_and_failed_output_stays_outside_of_the_table() {
    let template = template();
    let stream = resource(&template, "ArchiveStream");
    let value = |name: &str| {
        let line = stream
            .iter()
            .find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or_else(|| panic!("the delivery stream has no {name}"))
    };
    assert_eq!(value("Prefix"), "changes/dt=!{partitionKeyFromQuery:dt}/");
    let errors = value("ErrorOutputPrefix");
    assert!(
        errors.contains("!{firehose:error-output-type}")
            && !errors.starts_with("changes/")
            && !errors.starts_with("oversize/")
    );
    let table = resource(&template, "ChangesTable").join("\n");
    assert!(table.contains("Location: !Sub \"s3://${ArchiveBucket}/changes/\""));
    assert!(table.contains("PartitionKeys: [{ Name: dt, Type: string }]"));
}
