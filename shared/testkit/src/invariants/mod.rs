//! The invariants of the pipeline, checked on a snapshot of everything that can be seen from outside.
//!
//! [`World`] is the snapshot: whoever runs the pipeline collects it, from real parts (the demo) or from memory (the simulator). [`check`] is
//! pure: the same world gives the same answer, with a sentence for each invariant that says what was counted, or which orders break it.
//! It refuses to know where the snapshot came from, and it trusts nothing the pipeline says about itself without a second witness: commits are
//! held against guards and history, intents against the gateway's own ledger, versions against index and archive.
//!
//! Start reading at [`World`]; one file for the table, one for the saga, one for the sinks.

mod saga;
mod sinks;
mod table;

use std::collections::BTreeMap;

use sagaline_order::{Change, Context, Currency, Order, OrderId, Pending, Sku, Version, pending};
use serde::Serialize;

/// Everything that can be seen of a pipeline at one moment. The checks of money and stock mean something once it is at rest.
#[derive(Debug, Clone)]
pub struct World {
    /// The present and the settings, to tell a finished order from an unfinished one.
    pub context: Context,
    /// Every order head.
    pub heads: Vec<Head>,
    /// Every history row.
    pub history: Vec<Commit>,
    /// Every request guard.
    pub guards: Vec<Guard>,
    /// What the shelves held before the first order.
    pub initial_stock: BTreeMap<Sku, i64>,
    /// What they hold now.
    pub stock: BTreeMap<Sku, i64>,
    /// The gateway's ledger: a row for each payment it took or refused.
    pub payments: Vec<Payment>,
    /// The gateway's ledger: a row for each refund it made.
    pub refunds: Vec<Refund>,
    /// The messages that came out of the event bus, repeats included. `None` = nobody listened.
    pub messages: Option<Vec<Message>>,
    /// The documents of the search index, tombstones included.
    pub documents: Vec<Document>,
    /// (order, version) of each archived row, repeats included, rows of a REMOVE left out.
    pub archived: Vec<(OrderId, Version)>,
    /// The same of the view that shows each version once.
    pub view: Vec<(OrderId, Version)>,
    /// What the mappings read and where it went.
    pub feeds: Vec<Feed>,
    /// Records in the documents that the mappings left in the failure bucket.
    pub given_up_records: u64,
    /// Records that the consumers parked, counted in the bucket.
    pub parked_records: u64,
}

/// An order head as it is stored.
#[derive(Debug, Clone)]
pub struct Head {
    /// The order.
    pub order: Order,
    /// True if it has `due_pk`, that is, stands in the sparse index of unfinished orders.
    pub in_due_index: bool,
}

/// One history row.
#[derive(Debug, Clone)]
pub struct Commit {
    /// Of which order.
    pub order_id: OrderId,
    /// The version it made.
    pub version: Version,
    /// What it recorded.
    pub changes: Vec<Change>,
}

/// One request guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// The request.
    pub request_id: String,
    /// The order it was for.
    pub order_id: OrderId,
    /// The version it made.
    pub result_version: Version,
}

/// One payment in the gateway's ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// The idempotency key it came under.
    pub key: String,
    /// The order it was for.
    pub order_id: OrderId,
    /// The gateway's name for it.
    pub payment_id: String,
    /// What was asked for.
    pub amount_minor: i64,
    /// In which currency.
    pub currency: Currency,
    /// What was really taken: 0 while pending, and when declined or voided.
    pub charged_minor: i64,
    /// What was given back of it.
    pub refunded_minor: i64,
}

/// One refund, or voiding, in the gateway's ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refund {
    /// The idempotency key it came under.
    pub key: String,
    /// Of which payment.
    pub payment_id: String,
}

/// One message from the event bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its kind, e.g. `OrderConfirmed`.
    pub kind: String,
    /// Its id: `<order_id>#<version>`.
    pub id: String,
}

/// One document of the search index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Of which order.
    pub order_id: OrderId,
    /// The version it shows.
    pub version: Version,
    /// True for a tombstone.
    pub deleted: bool,
    /// The highest version that was ever seen in its place. A snapshot that was not watched has the present one.
    pub highest_seen: Version,
}

/// One mapping at rest: what it read, and where every record of it went. What was neither filtered nor given up was acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feed {
    /// E.g. `sagaline-saga/sagaline-orders`.
    pub name: String,
    /// Records read.
    pub read: u64,
    /// Records that match no filter.
    pub filtered: u64,
    /// Records that the mapping gave up on.
    pub given_up: u64,
    /// What the function says it did, where its metrics were collected.
    pub outcomes: Option<Outcomes>,
}

/// The sums of a consumer's batch metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// `RecordsIn`.
    pub records_in: u64,
    /// `RecordsDone`.
    pub done: u64,
    /// `RecordsStale`.
    pub stale: u64,
    /// `RecordsSkipped`.
    pub skipped: u64,
    /// `RecordsParked`.
    pub parked: u64,
    /// `RecordsDeferred`.
    pub deferred: u64,
    /// `RecordsFailed`.
    pub failed: u64,
}

/// The answer for one invariant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// 1 to 9.
    pub number: u8,
    /// The invariant in a few words.
    pub name: &'static str,
    /// Whether it holds.
    pub ok: bool,
    /// What was counted, or what breaks it.
    pub detail: String,
}

/// Checks every invariant, in their order.
#[must_use]
pub fn check(world: &World) -> Vec<Check> {
    vec![
        table::one_effect_per_request(world),
        table::no_gap_in_versions(world),
        table::unfinished_orders_wake(world),
        saga::no_effect_without_intent(world),
        saga::undone_in_reverse_each_once(world),
        saga::money_and_stock_add_up(world),
        sinks::index_is_current(world),
        sinks::archive_is_complete(world),
        sinks::nothing_acknowledged_unseen(world),
    ]
}

impl World {
    /// True if nothing will happen to the order by itself any more.
    fn is_finished(&self, order: &Order) -> bool {
        pending(order, &self.context) == Pending::Nothing
    }

    /// The changes of each order, in the order of their versions.
    fn changes(&self) -> BTreeMap<&OrderId, Vec<(Version, &Change)>> {
        let mut rows: Vec<_> = self.history.iter().collect();
        rows.sort_by_key(|row| row.version);
        let mut all: BTreeMap<&OrderId, Vec<(Version, &Change)>> = BTreeMap::new();
        for row in rows {
            all.entry(&row.order_id)
                .or_default()
                .extend(row.changes.iter().map(|change| (row.version, change)));
        }
        all
    }
}

/// How many violations a sentence names; the rest is counted.
const NAMED: usize = 3;

fn answer(number: u8, name: &'static str, violations: Vec<String>, counted: String) -> Check {
    if violations.is_empty() {
        return Check {
            number,
            name,
            ok: true,
            detail: counted,
        };
    }
    let more = violations.len().saturating_sub(NAMED);
    let mut detail = violations
        .into_iter()
        .take(NAMED)
        .collect::<Vec<_>>()
        .join("; ");
    if more > 0 {
        detail.push_str(&format!("; and {more} more"));
    }
    Check {
        number,
        name,
        ok: false,
        detail,
    }
}

#[cfg(test)]
mod tests;
