//! The table itself: keys, indexes, stream, time to live, backups, protection.

use super::super::facts::Facts;
use super::super::template::{Expected, text};
use super::{Check, DEPLOY, Verdict};
use aws_sdk_dynamodb::types::{
    GlobalSecondaryIndexDescription, KeySchemaElement, Projection, TableDescription,
};
use serde_json::Value;

const AREA: &str = "table";

pub(super) fn checks(expected: &Expected, facts: &Facts) -> Vec<Check> {
    let wanted = &expected.table;
    let mut checks = match &facts.table {
        Ok(table) => described(wanted, table),
        Err(why) => vec![Check::unknown(AREA, "description", why)],
    };
    let attribute = wanted
        .pointer("/TimeToLiveSpecification/AttributeName")
        .and_then(Value::as_str)
        .unwrap_or_default();
    checks.push(match &facts.time_to_live {
        Ok(found) => Check::compared(
            AREA,
            "time to live",
            found.as_deref().unwrap_or("off"),
            attribute,
            &format!("turn it on for {attribute}: request guards are never removed without it, and the table grows"),
        ),
        Err(why) => Check::unknown(AREA, "time to live", why),
    });
    checks.push(match &facts.recovery {
        Ok(true) => Check::new(AREA, "point-in-time recovery", Verdict::Ok, "on"),
        Ok(false) => Check::new(AREA, "point-in-time recovery", Verdict::Fail, "off")
            .wanted("on")
            .todo("turn it on: an accident cannot be undone without it"),
        Err(why) => Check::unknown(AREA, "point-in-time recovery", why),
    });
    checks
}

fn described(wanted: &Value, table: &TableDescription) -> Vec<Check> {
    let view_type = wanted
        .pointer("/StreamSpecification/StreamViewType")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let stream = table
        .stream_specification()
        .filter(|stream| stream.stream_enabled());
    let found = stream
        .and_then(|stream| stream.stream_view_type())
        .map_or("off", |view| view.as_str());
    let mut checks = vec![
        Check::compared(
            AREA,
            "keys",
            &keys(table.key_schema()),
            &wanted_keys(wanted),
            "keys cannot be changed: make a new table and copy the items",
        ),
        Check::compared(
            AREA,
            "stream view type",
            found,
            view_type,
            "a view type cannot be changed: disable the stream, enable it with the right one, then make the mappings anew for its new ARN, and run `sagaline search verify --all`",
        ),
    ];
    let protected = table.deletion_protection_enabled().unwrap_or_default();
    checks.push(if protected {
        Check::new(AREA, "deletion protection", Verdict::Ok, "on")
    } else {
        Check::new(AREA, "deletion protection", Verdict::Warn, "off")
            .wanted("on")
            .todo("set the parameter DeletionProtection of the stack to true, unless the table is a throw-away")
    });
    let billing = table
        .billing_mode_summary()
        .and_then(|mode| mode.billing_mode())
        .map_or("PROVISIONED", |mode| mode.as_str());
    let check = Check::compared(
        AREA,
        "billing",
        billing,
        text(wanted, "BillingMode"),
        DEPLOY,
    );
    // It works, only otherwise.
    let verdict = if check.verdict == Verdict::Ok {
        Verdict::Ok
    } else {
        Verdict::Warn
    };
    checks.push(Check { verdict, ..check });
    checks.extend(indexes(wanted, table));
    checks
}

fn indexes(wanted: &Value, table: &TableDescription) -> Vec<Check> {
    let found = table.global_secondary_indexes();
    let none = Vec::new();
    let all = wanted
        .get("GlobalSecondaryIndexes")
        .and_then(Value::as_array)
        .unwrap_or(&none);
    let mut checks: Vec<Check> = all
        .iter()
        .map(|index| {
            let name = text(index, "IndexName");
            let area = format!("index {name}");
            let Some(there) = found.iter().find(|one| one.index_name() == Some(name)) else {
                return Check::new(&area, "definition", Verdict::Fail, "it is not there")
                    .wanted(wanted_index(index))
                    .todo(format!("{DEPLOY}: what it lists cannot be found until then"));
            };
            if let Some(status) = there.index_status().filter(|status| status.as_str() != "ACTIVE") {
                return Check::new(&area, "definition", Verdict::Warn, status.as_str()).todo("wait until it is ACTIVE");
            }
            Check::compared(
                &area,
                "definition",
                &found_index(there),
                &wanted_index(index),
                "an index cannot be changed: delete it and deploy the template again; what it lists cannot be found meanwhile",
            )
        })
        .collect();
    let more = found
        .iter()
        .filter_map(GlobalSecondaryIndexDescription::index_name);
    let more = more.filter(|name| !all.iter().any(|index| text(index, "IndexName") == *name));
    checks.extend(more.map(|name| {
        Check::new(&format!("index {name}"), "definition", Verdict::Warn, "the template has no such index")
            .todo("every write pays for it, and a hot key of it throttles the table: delete it if nobody needs it")
    }));
    checks
}

/// `PK, SK`.
fn keys(schema: &[KeySchemaElement]) -> String {
    let part = |kind: &str| {
        schema
            .iter()
            .find(|key| key.key_type().as_str() == kind)
            .map(KeySchemaElement::attribute_name)
    };
    [part("HASH"), part("RANGE")]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
}

fn wanted_keys(wanted: &Value) -> String {
    let schema = wanted.get("KeySchema").and_then(Value::as_array);
    let schema = schema.map(Vec::as_slice).unwrap_or_default();
    let part = |kind: &str| {
        schema
            .iter()
            .find(|key| text(key, "KeyType") == kind)
            .map(|key| text(key, "AttributeName"))
    };
    [part("HASH"), part("RANGE")]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
}

fn found_index(index: &GlobalSecondaryIndexDescription) -> String {
    let projection = index.projection();
    let kind = projection
        .and_then(Projection::projection_type)
        .map_or("?", |kind| kind.as_str());
    let included = projection
        .map(Projection::non_key_attributes)
        .unwrap_or_default();
    shown_index(
        &keys(index.key_schema()),
        kind,
        included.iter().map(String::as_str).collect(),
    )
}

fn wanted_index(index: &Value) -> String {
    let included = index
        .pointer("/Projection/NonKeyAttributes")
        .and_then(Value::as_array);
    let included = included.map(Vec::as_slice).unwrap_or_default();
    let kind = index
        .pointer("/Projection/ProjectionType")
        .and_then(Value::as_str)
        .unwrap_or("?");
    shown_index(
        &wanted_keys(index),
        kind,
        included.iter().filter_map(Value::as_str).collect(),
    )
}

/// The order of what is projected means nothing.
fn shown_index(keys: &str, projection: &str, mut included: Vec<&str>) -> String {
    included.sort_unstable();
    if included.is_empty() {
        format!("{keys}, {projection}")
    } else {
        format!("{keys}, {projection} {}", included.join(", "))
    }
}
