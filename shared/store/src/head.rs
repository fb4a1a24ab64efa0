//! The order head and its item. One function each way, and the one place that knows which index lists an order.

use aws_sdk_dynamodb::types::AttributeValue;
use sagaline_order::{Context, Order, Pending, SagaConfig, Version, pending, upcast};
use serde_json::Value;

use crate::error::StoreError;
use crate::key::{self, DUE_SHARDS, Key, STATUS_SHARDS, UPDATED_SHARDS};
use crate::size;
use crate::table::Item;
use crate::value::{as_integer, from_json, map_to_json, s};

/// The caller's own attributes: written at placement, never again. What was read of them may have changed its form.
pub(crate) const ATTRIBUTES: &str = "attributes";

/// The attributes that place a head in the indexes, and its status. Written or removed by every commit, so that a head is never listed where it
/// does not belong.
pub(crate) const PLACED_BY_STATE: [&str; 7] = [
    "status",
    "due_pk",
    "due_sk",
    "status_pk",
    "status_sk",
    "updated_pk",
    "updated_sk",
];

/// Reads a head of any released shape. Attributes that it does not know are left alone; a number may have any form (`3.0`, `3E0`).
///
/// # Errors
/// [`StoreError::Schema`] for a head of a newer shape, [`StoreError::BadItem`] for a head without a usable version, or with an attribute of another type than it must have.
pub fn read_head(item: &Item) -> Result<Order, StoreError> {
    let bad = |reason: String| StoreError::BadItem {
        what: describe(item),
        reason,
    };
    let version = item
        .get("version")
        .ok_or_else(|| bad("it has no version".to_owned()))?;
    as_integer(version)
        .and_then(|number| u64::try_from(number).ok())
        .and_then(Version::new)
        .ok_or_else(|| bad(format!("its version is {}", crate::value::to_json(version))))?;
    let mut head = map_to_json(item);
    upcast(&mut head).map_err(|source| StoreError::Schema {
        what: describe(item),
        source,
    })?;
    serde_json::from_value(Value::Object(head)).map_err(|error| bad(error.to_string()))
}

/// The head as it is written.
///
/// # Errors
/// A sentence, if it must not be written: what is unfinished without a wake time would be forgotten, and what is finished with one looked at
/// for ever.
pub(crate) fn write_head(order: &Order) -> Result<Item, String> {
    let context = Context {
        now: order.updated_at,
        config: SagaConfig::default(),
    };
    let unfinished = pending(order, &context) != Pending::Nothing;
    match (&order.wake_at, unfinished) {
        (None, true) => {
            return Err(format!(
                "order {} is unfinished and has no wake time",
                order.order_id
            ));
        }
        (Some(_), false) => {
            return Err(format!(
                "order {} is finished and has a wake time",
                order.order_id
            ));
        }
        (Some(_), true) | (None, false) => {}
    }
    let item = attributes_of(order)?;
    match size::refusal(&item) {
        Some(why) => Err(format!("order {} {why}", order.order_id)),
        None => Ok(item),
    }
}

/// Every attribute of a head, keys and index keys included. Index keys that do not apply are absent, never empty (F-GSI-2).
pub(crate) fn attributes_of(order: &Order) -> Result<Item, String> {
    let json = serde_json::to_value(order).map_err(|error| error.to_string())?;
    let AttributeValue::M(mut item) = from_json(&json) else {
        return Err("an order is no JSON object".to_owned());
    };
    let id = &order.order_id;
    let status = order.status();
    let mut put = |name: &str, value: String| item.insert(name.to_owned(), s(value));
    put("status", status.as_str().to_owned());
    if let Some(wake_at) = order.wake_at {
        put("due_pk", key::due_pk(id.shard(DUE_SHARDS)));
        put("due_sk", key::at_order(wake_at, id));
    }
    if status.is_indexed() {
        put("status_pk", key::status_pk(status, id.shard(STATUS_SHARDS)));
        put("status_sk", key::at_order(order.created_at, id));
    }
    put(
        "updated_pk",
        key::updated_pk(&order.updated_at.day(), id.shard(UPDATED_SHARDS)),
    );
    put("updated_sk", key::at_order(order.updated_at, id));
    let Key { pk, sk } = Key::head(id);
    put(key::PK, pk);
    put(key::SK, sk);
    Ok(item)
}

/// An item by its key, for messages.
pub(crate) fn describe(item: &Item) -> String {
    let text = |name: &str| {
        item.get(name)
            .and_then(|value| value.as_s().ok())
            .map_or("?", String::as_str)
    };
    format!("item {} / {}", text(key::PK), text(key::SK))
}
