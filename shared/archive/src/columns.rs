//! The columns of the Glue tables, beside the row that fills them.
//!
//! The template declares them, Firehose converts by them, Athena reads by them: tests hold all of them to this list.

/// The columns in the files, with their Glue types, in the order of [`Row`](crate::Row)'s fields.
pub const COLUMNS: [(&str, &str); 16] = [
    ("event_id", "string"),
    ("event_name", "string"),
    ("order_id", "string"),
    ("version", "bigint"),
    ("event_time", "string"),
    ("status", "string"),
    ("state", "string"),
    ("cause_kind", "string"),
    ("cause_actor", "string"),
    ("cause_reason", "string"),
    ("total_minor", "bigint"),
    ("currency", "string"),
    ("new_image", "string"),
    ("old_image", "string"),
    ("sequence_number", "string"),
    ("ttl_expired", "boolean"),
];

/// The partition: in the path of a file, not in it, and the last field of a row, for Firehose to read the path from.
pub const PARTITION: (&str, &str) = ("dt", "string");
