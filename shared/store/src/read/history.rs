//! The history of an order: one row a version, oldest first.

use sagaline_order::{OrderId, Timestamp, Version};
use serde_json::Value;

use super::list::{Consistency, Listed, Listing};
use super::merge::Partitions;
use crate::error::StoreError;
use crate::key::{HISTORY_PREFIX, order_pk};
use crate::row::Row;
use crate::store::Store;
use crate::table::{Direction, Item, Table};
use crate::value::to_json;

/// What happened in one version of an order.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryRow {
    /// The version it made.
    pub version: Version,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: String,
    /// Why, in words.
    pub reason: String,
    /// The verdict of the decision.
    pub verdict: String,
    /// The recorded changes, as JSON: also those that this program does not know. One that it knows is a [`sagaline_order::Change`].
    pub events: Vec<Value>,
}

impl<T: Table> Store<T> {
    /// The history of an order, oldest first; strongly consistent unless asked otherwise.
    pub fn history(&self, order: &OrderId) -> Listing<'_, T, HistoryRow, Consistency> {
        self.list(Listed {
            list: "history",
            arguments: order.to_string(),
            partitions: Partitions::Of(vec![order_pk(order)]),
            bounds: (format!("{HISTORY_PREFIX}0"), format!("{HISTORY_PREFIX}:")),
            direction: Direction::OldestFirst,
            source: Consistency::Strong,
            read,
        })
    }
}

fn read(item: &Item) -> Result<HistoryRow, StoreError> {
    let row = Row(item);
    let at = row.text("at")?;
    let events = item
        .get("events")
        .and_then(|events| events.as_l().ok())
        .ok_or_else(|| row.bad("it has no list events"))?;
    Ok(HistoryRow {
        version: row.version("version")?,
        at: Timestamp::parse(at).ok_or_else(|| row.bad(format!("its time is {at}")))?,
        actor: row.text("actor")?.to_owned(),
        reason: row.text("reason")?.to_owned(),
        verdict: row.text("verdict")?.to_owned(),
        events: events.iter().map(to_json).collect(),
    })
}
