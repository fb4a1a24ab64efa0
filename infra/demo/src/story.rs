//! The story of a run: orders come in, people act, everything comes to rest, and then it is counted and checked.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use sagaline_order::{OrderId, Status};
use sagaline_testkit::invariants::{World, check};
use tokio::time::Instant;

use crate::input::Input;
use crate::parts::Parts;
use crate::report::{Audit, Ends, Expected, Report, Timeline};
use crate::snapshot::{Moment, Snapshot};
use crate::{people, rest, snapshot};

/// What happened to the orders, told by the archive.
const AUDIT: &str = "SELECT cause_kind, state, count(*) AS changes, count(DISTINCT order_id) AS orders \
                     FROM order_changes GROUP BY cause_kind, state ORDER BY changes DESC, cause_kind, state LIMIT 8";

/// Runs the story to its end.
pub(crate) async fn tell(parts: &Parts, input: &Input) -> Result<Report> {
    let began = Instant::now();
    eprintln!(
        "  kill any of the functions while it runs (`pkill -9 -f sagaline-saga-processor`): the result does not change"
    );
    let at_rest = rest::watch(parts, input.lines, people::act(parts, input)).await?;
    let snapshot = snapshot::take(parts, input).await?;
    let checks = check(&snapshot.world);
    let ends = Ends::count(&snapshot.world);
    let expected = expected(&snapshot.world, &input.script.ends);
    let report = Report {
        ok: at_rest
            && checks.iter().all(|check| check.ok)
            && expected.as_ref().is_none_or(Expected::is_met),
        at_rest,
        seconds: began.elapsed().as_secs(),
        orders: ends,
        expected,
        timeline: timeline(&snapshot),
        search: parts.index.search(&input.search_for).await?,
        audit: audit(parts).await?,
        checks,
    };
    Ok(report)
}

fn expected(world: &World, ends: &BTreeMap<String, usize>) -> Option<Expected> {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for head in &world.heads {
        *found
            .entry(head.order.status().as_str().to_owned())
            .or_default() += 1;
    }
    (!ends.is_empty()).then(|| Expected {
        ends: ends.clone(),
        found,
    })
}

/// The order with the most to tell: of those that were cancelled the one with the most kinds of changes, else of all.
fn timeline(snapshot: &Snapshot) -> Option<Timeline> {
    let heads = snapshot.world.heads.iter();
    let statuses: BTreeMap<&OrderId, Status> = heads
        .map(|head| (&head.order.order_id, head.order.status()))
        .collect();
    let interest = |(order_id, moments): &(&OrderId, &Vec<Moment>)| {
        let kinds: BTreeSet<_> = moments.iter().flat_map(|moment| &moment.changes).collect();
        (
            statuses.get(order_id) == Some(&Status::Cancelled),
            kinds.len(),
            moments.len(),
        )
    };
    // The last of equals: reversed, so that it is the first by id.
    let (order_id, moments) = snapshot.timelines.iter().rev().max_by_key(interest)?;
    let status = statuses.get(order_id).map_or("", |status| status.as_str());
    Some(Timeline {
        order_id: order_id.clone(),
        status,
        moments: moments.clone(),
    })
}

async fn audit(parts: &Parts) -> Result<Audit> {
    let table = parts
        .archive
        .query(AUDIT, |_| {})
        .await
        .context("cannot ask the archive")?;
    let rows = table
        .rows
        .into_iter()
        .map(|row| row.into_iter().map(Option::unwrap_or_default).collect())
        .collect();
    Ok(Audit {
        query: AUDIT,
        columns: table.columns,
        rows,
    })
}
