//! What the table alone shows: guards, versions, wake times.

use std::collections::{BTreeMap, BTreeSet};

use super::{Check, World, answer};

/// 1. Per request id: one state effect, ever.
pub(super) fn one_effect_per_request(world: &World) -> Check {
    let mut wrong = Vec::new();
    let mut by_request = BTreeSet::new();
    let mut by_version: BTreeMap<_, u32> = BTreeMap::new();
    for guard in &world.guards {
        if !by_request.insert(&guard.request_id) {
            wrong.push(format!("request {} has two guards", guard.request_id));
        }
        *by_version
            .entry((&guard.order_id, guard.result_version))
            .or_default() += 1;
    }
    let committed: BTreeSet<_> = world
        .history
        .iter()
        .map(|row| (&row.order_id, row.version))
        .collect();
    for (&(order_id, version), &guards) in &by_version {
        if guards > 1 {
            wrong.push(format!(
                "{guards} requests claim version {version} of {order_id}"
            ));
        }
        if !committed.contains(&(order_id, version)) {
            wrong.push(format!(
                "a guard claims version {version} of {order_id}, which was never committed"
            ));
        }
    }
    for (order_id, version) in committed
        .iter()
        .filter(|commit| !by_version.contains_key(*commit))
    {
        wrong.push(format!(
            "version {version} of {order_id} was committed without a guard"
        ));
    }
    let counted = format!(
        "{} commits under {} request ids",
        committed.len(),
        by_request.len()
    );
    answer(1, "one state effect per request id", wrong, counted)
}

/// 2. Version +1 per commit; history has no gap.
pub(super) fn no_gap_in_versions(world: &World) -> Check {
    let mut wrong = Vec::new();
    let mut history: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    for row in &world.history {
        history
            .entry(&row.order_id)
            .or_default()
            .push(row.version.get());
    }
    for head in &world.heads {
        let order = &head.order;
        let mut versions = history.remove(&order.order_id).unwrap_or_default();
        versions.sort_unstable();
        if !versions.iter().copied().eq(1..=order.version.get()) {
            wrong.push(format!(
                "{} is at version {} with history {versions:?}",
                order.order_id, order.version
            ));
        }
    }
    wrong.extend(
        history
            .keys()
            .map(|order_id| format!("{order_id} has a history and no head")),
    );
    let counted = format!(
        "{} history rows lead to {} heads",
        world.history.len(),
        world.heads.len()
    );
    answer(
        2,
        "versions rise by one, history has no gap",
        wrong,
        counted,
    )
}

/// 3. Unfinished <=> `wake_at` and `due_pk` set.
pub(super) fn unfinished_orders_wake(world: &World) -> Check {
    let mut wrong = Vec::new();
    let mut unfinished = 0_u64;
    for head in &world.heads {
        let order = &head.order;
        let open = !world.is_finished(order);
        unfinished += u64::from(open);
        if order.wake_at.is_some() != open || head.in_due_index != open {
            wrong.push(format!(
                "{} ({:?}) is {}, {} wake_at, {} due_pk",
                order.order_id,
                order.state,
                if open { "unfinished" } else { "finished" },
                if order.wake_at.is_some() {
                    "has"
                } else {
                    "lacks"
                },
                if head.in_due_index { "has" } else { "lacks" },
            ));
        }
    }
    let counted = format!(
        "{unfinished} of {} orders are unfinished, and exactly these wake",
        world.heads.len()
    );
    answer(
        3,
        "unfinished orders, and only they, have a wake time",
        wrong,
        counted,
    )
}
