//! What the two sinks hold, and what the mappings did with every record.

use std::collections::BTreeMap;

use sagaline_order::{OrderId, Version};

use super::{Check, Feed, World, answer};

/// 7. The index holds each order's highest version, and never a lower one again.
pub(super) fn index_is_current(world: &World) -> Check {
    let mut wrong = Vec::new();
    let mut documents: BTreeMap<_, _> = world
        .documents
        .iter()
        .map(|document| (&document.order_id, document))
        .collect();
    if documents.len() < world.documents.len() {
        wrong.push("an order has two documents".to_owned());
    }
    for order in world.heads.iter().map(|head| &head.order) {
        match documents.remove(&order.order_id) {
            None => wrong.push(format!("{} is not in the index", order.order_id)),
            Some(document) if document.deleted => {
                wrong.push(format!("{} is deleted in the index only", order.order_id))
            }
            Some(document) if document.version != order.version => {
                wrong.push(format!(
                    "{} is at version {}, the index at {}",
                    order.order_id, order.version, document.version
                ));
            }
            Some(document) if document.highest_seen > document.version => {
                wrong.push(format!(
                    "the index fell from version {} of {} to {}",
                    document.highest_seen, order.order_id, document.version
                ));
            }
            Some(_) => {}
        }
    }
    wrong.extend(
        documents
            .values()
            .filter(|document| !document.deleted)
            .map(|document| format!("{} is in the index only", document.order_id)),
    );
    answer(
        7,
        "the index holds each order's highest version",
        wrong,
        format!(
            "{} documents, each at its order's version",
            world.documents.len()
        ),
    )
}

/// 8. Every committed version is in the archive at least once, and once in the view.
pub(super) fn archive_is_complete(world: &World) -> Check {
    let mut wrong = Vec::new();
    let archived = count(&world.archived);
    let mut view = count(&world.view);
    for commit in &world.history {
        let key = (&commit.order_id, commit.version);
        if !archived.contains_key(&key) {
            wrong.push(format!(
                "version {} of {} is not in the archive",
                commit.version, commit.order_id
            ));
        }
        match view.remove(&key) {
            Some(1) => {}
            found => wrong.push(format!(
                "version {} of {} is {} times in the view",
                commit.version,
                commit.order_id,
                found.unwrap_or(0)
            )),
        }
    }
    wrong.extend(view.keys().map(|(order_id, version)| {
        format!("the view has version {version} of {order_id}, which was never committed")
    }));
    let repeats = world.archived.len().saturating_sub(archived.len());
    let counted = format!(
        "{} versions in {} rows ({repeats} repeats), each once in the view",
        archived.len(),
        world.archived.len()
    );
    answer(
        8,
        "every version is in the archive, and once in the view",
        wrong,
        counted,
    )
}

fn count(rows: &[(OrderId, Version)]) -> BTreeMap<(&OrderId, Version), usize> {
    let mut counts = BTreeMap::new();
    for (order_id, version) in rows {
        *counts.entry((order_id, *version)).or_default() += 1;
    }
    counts
}

/// 9. No record is acknowledged before it is done, stale, skipped, parked or deferred; what the mapping itself gives up on is in the failure bucket.
pub(super) fn nothing_acknowledged_unseen(world: &World) -> Check {
    let mut wrong: Vec<_> = world.feeds.iter().filter_map(feed_fault).collect();
    let given_up: u64 = world.feeds.iter().map(|feed| feed.given_up).sum();
    if given_up != world.given_up_records {
        wrong.push(format!(
            "the mappings gave up on {given_up} records, the failure bucket has {}",
            world.given_up_records
        ));
    }
    // A batch that is killed after parking is parked again under the same key: the bucket never has more than was counted, unless a count was lost.
    let parked: u64 = world
        .feeds
        .iter()
        .filter_map(|feed| feed.outcomes)
        .map(|outcomes| outcomes.parked)
        .sum();
    if parked > 0 && world.parked_records == 0 {
        wrong.push(format!(
            "{parked} records count as parked and none is in the bucket"
        ));
    }
    let read: u64 = world.feeds.iter().map(|feed| feed.read).sum();
    let counted = format!(
        "{read} records read, all accounted for; {given_up} given up, {} parked",
        world.parked_records
    );
    answer(
        9,
        "no record is acknowledged before it is dealt with",
        wrong,
        counted,
    )
}

fn feed_fault(feed: &Feed) -> Option<String> {
    let name = &feed.name;
    let Some(acknowledged) = feed
        .read
        .checked_sub(feed.filtered.saturating_add(feed.given_up))
    else {
        return Some(format!(
            "{name}: {} records read, but {} filtered and {} given up",
            feed.read, feed.filtered, feed.given_up
        ));
    };
    let outcomes = feed.outcomes?;
    let settled = [
        outcomes.done,
        outcomes.stale,
        outcomes.skipped,
        outcomes.parked,
        outcomes.deferred,
    ]
    .into_iter()
    .fold(0, u64::saturating_add);
    if outcomes.records_in != settled.saturating_add(outcomes.failed) {
        return Some(format!(
            "{name}: {} records in, and {settled} settled with {} failed",
            outcomes.records_in, outcomes.failed
        ));
    }
    (settled < acknowledged)
        .then(|| format!("{name}: {acknowledged} records acknowledged, only {settled} settled"))
}
