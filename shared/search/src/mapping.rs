//! The mapping: every field by hand, nothing guessed.
//!
//! A guessed type is decided by the first document and silently cuts later ones (F-MAP-1), so `dynamic` is off: a field that is not named
//! here stays unsearchable. `coerce` is off too: a number that is none is refused, not rounded.

use serde_json::{Value, json};

/// The longest keyword that is searchable, in characters: each has at most four bytes, and Lucene takes terms of 32,766. Longer ones stay in
/// the document. Order ids may have up to 2,041 bytes, all others are far shorter.
const IGNORE_ABOVE: u32 = 8_191;

/// Dates as the projection writes them.
const DATE_FORMAT: &str = "strict_date_time";

/// The index's settings: what the data needs, and nothing about machines, which are the cluster's own matter.
#[must_use]
pub fn settings() -> Value {
    json!({"index": {"number_of_shards": "1"}})
}

/// The index's mapping.
#[must_use]
pub fn mapping() -> Value {
    let keyword = || json!({"type": "keyword", "ignore_above": IGNORE_ABOVE});
    let long = || json!({"type": "long", "coerce": false});
    let date = || json!({"type": "date", "format": DATE_FORMAT});
    json!({
        "dynamic": "false",
        "date_detection": false,
        "properties": {
            "order_id": keyword(),
            "user_id": keyword(),
            "status": keyword(),
            "state": keyword(),
            "total_minor": long(),
            "currency": keyword(),
            "created_at": date(),
            "updated_at": date(),
            "version": long(),
            "deleted": {"type": "boolean"},
            "lines": {
                "type": "nested",
                "properties": {
                    "sku": keyword(),
                    "name": {"type": "text"},
                    "qty": long(),
                    "unit_minor": long(),
                },
            },
            "payment_id": keyword(),
            "tracking": keyword(),
            "attributes": {"type": "flat_object"},
        },
    })
}
