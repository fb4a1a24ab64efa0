//! `sagaline retry-undo --all`: after an outage, every order that waits for a person because its undo is stuck.
//!
//! The list is the status EXCEPTION of the index; each order's own head decides whether it belongs to it. One after another, at a bounded rate:
//! the gateway has only just come back. There is no list to keep: what was retried is no longer found, so it can be stopped and run again.

use crate::args::Global;
use crate::commands::operate;
use crate::error::{Code, CommandError};
use crate::output;
use crate::session::{Clock, Session};
use futures::TryStreamExt as _;
use indicatif::{ProgressBar, ProgressStyle};
use sagaline_lambda::one_line;
use sagaline_order::{Event, Order, OrderId, State, Status, Verdict, decide};
use sagaline_saga::{Recorder, Submitted};
use sagaline_store::{Direction, Disposition, DynamoTable, ListedStatus, Span};
use serde_json::{Value, json};
use std::pin::pin;
use std::time::Duration;
use tokio::time::MissedTickBehavior;

/// Rows of the index a read.
const PAGE: u32 = 100;

/// Heads read at the same time.
const READING: usize = 8;

/// What is there to be retried.
struct Found {
    stuck: Vec<Order>,
    /// Orders that wait for a person for another reason.
    others: usize,
    /// Orders whose head cannot be read, and why. They cost the others nothing.
    unreadable: Vec<(OrderId, String)>,
}

/// What was done.
struct Done {
    orders: Vec<Value>,
    retried: usize,
    failed: usize,
}

pub(super) async fn run(yes: bool, rate: u32, global: &Global) -> Result<(), CommandError> {
    let recorder = Session::open(global).await?.into_recorder();
    let found = find(&recorder).await?;
    if yes {
        return retry(&recorder, &found, rate, global.json).await;
    }
    let Found {
        stuck,
        others,
        unreadable,
    } = &found;
    if global.json {
        let orders = stuck.iter().map(|order| row(order, "stuck", &why(order)));
        let orders: Vec<Value> = orders.chain(found.unreadable()).collect();
        output::json(
            &json!({"result": "dry_run", "orders": orders, "stuck": stuck.len(), "others": others}),
        );
        return Ok(());
    }
    let rows = stuck.iter().map(|order| {
        [
            order.order_id.to_string(),
            order.version.to_string(),
            output::amount(order.total_minor.get(), order.currency.code()),
            order
                .attention
                .as_ref()
                .map(|why| why.since.to_string())
                .unwrap_or_default(),
            why(order),
        ]
    });
    if !stuck.is_empty() {
        output::line(&output::table(
            ["order", "version", "total", "since", "because"],
            rows,
        ));
    }
    unreadable.iter().for_each(cannot_be_read);
    output::line(&format!(
        "{} to be retried; {others} more wait for a person for other reasons",
        stuck.len()
    ));
    if !stuck.is_empty() {
        output::line("nothing was done; run it again with --yes");
    }
    Ok(())
}

/// Reads the whole list, the longest waiting first.
async fn find(recorder: &Recorder<DynamoTable, Clock>) -> Result<Found, CommandError> {
    let store = recorder.store();
    let context = recorder.context().await;
    let mut found = Found {
        stuck: Vec::new(),
        others: 0,
        unreadable: Vec::new(),
    };
    let Some(listed) = ListedStatus::new(Status::Exception) else {
        return Ok(found);
    };
    let waiting = store
        .by_status(listed, Span::ALL)
        .direction(Direction::OldestFirst)
        .page_size(PAGE)
        .stream();
    let mut heads = pin!(
        waiting
            .map_ok(async |row| {
                let head = store.load(&row.order_id).await;
                Ok((row.order_id, head))
            })
            .try_buffered(READING)
    );
    while let Some((order_id, head)) = heads.try_next().await? {
        let order = match head {
            // The index follows the table: an order may be past it.
            Ok(order) => order.filter(|order| order.state == State::NeedsOperator),
            Err(error) if error.disposition() == Disposition::Retry => return Err(error.into()),
            Err(error) => {
                found.unreadable.push((order_id, one_line(&error)));
                continue;
            }
        };
        let Some(order) = order else {
            continue;
        };
        match decide(&order, &Event::UndoRetried, &context).verdict {
            Verdict::Applied => found.stuck.push(order),
            Verdict::NoEffect | Verdict::Refused => found.others += 1,
        }
    }
    Ok(found)
}

async fn retry(
    recorder: &Recorder<DynamoTable, Clock>,
    found: &Found,
    rate: u32,
    json: bool,
) -> Result<(), CommandError> {
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / rate.max(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let bar = progress(found.stuck.len());
    let mut done = Done {
        orders: found.unreadable().collect(),
        failed: found.unreadable.len(),
        retried: 0,
    };
    if !json {
        found.unreadable.iter().for_each(cannot_be_read);
    }
    let mut stopped = None;
    for order in &found.stuck {
        ticks.tick().await;
        let (result, reason) = match one(recorder, order).await {
            Ok((result, reason)) => {
                done.retried += usize::from(matches!(result, "applied" | "already_applied"));
                (result, reason)
            }
            Err(error) => {
                done.failed += 1;
                let reason = error.what().to_owned();
                if error.stops_everything() {
                    stopped = Some(error);
                }
                ("failed", reason)
            }
        };
        done.orders.push(row(order, result, &reason));
        if !json {
            bar.suspend(|| output::line(&format!("order {}: {result}: {reason}", order.order_id)));
        }
        bar.inc(1);
        if stopped.is_some() {
            break;
        }
    }
    bar.finish_and_clear();
    let Done {
        orders,
        retried,
        failed,
    } = done;
    let all = found.stuck.len() + found.unreadable.len();
    let left = all.saturating_sub(orders.len());
    if json {
        output::json(&json!({
            "result": "done", "orders": orders, "retried": retried, "failed": failed, "left": left, "others": found.others,
        }));
    } else {
        output::line(&format!(
            "{retried} retried, {failed} failed, {left} left; {} more wait for a person for other reasons",
            found.others
        ));
    }
    match stopped {
        Some(error) => Err(error),
        None if failed > 0 => Err(CommandError::new(
            Code::NotAllowed,
            format!("{failed} of {all} undos could not be retried"),
        )
        .advise("read the lines above, then run it again")),
        None => Ok(()),
    }
}

async fn one(
    recorder: &Recorder<DynamoTable, Clock>,
    order: &Order,
) -> Result<(&'static str, String), CommandError> {
    let order_id: &OrderId = &order.order_id;
    let submission = operate::submission(order_id, order.version, Event::UndoRetried);
    let request_id = submission.request_id.clone();
    let submitted = recorder.submit(order_id, submission).await;
    let submitted = submitted.map_err(|error| CommandError::of_drive(&request_id, &error))?;
    Ok(match submitted {
        Some(Submitted::Applied { reason, .. }) => ("applied", reason),
        Some(Submitted::AlreadyApplied { .. }) => (
            "already_applied",
            "the same request was written before".to_owned(),
        ),
        Some(Submitted::NoEffect { reason, .. } | Submitted::Refused { reason, .. }) => {
            ("no_effect", reason)
        }
        Some(Submitted::Moved { order }) => (
            "moved",
            format!("somebody was faster; it is {:?} now", order.state),
        ),
        None => ("gone", "there is no such order any more".to_owned()),
    })
}

fn row(order: &Order, result: &str, reason: &str) -> Value {
    json!({"order_id": order.order_id, "version": order.version, "result": result, "reason": reason})
}

impl Found {
    fn unreadable(&self) -> impl Iterator<Item = Value> {
        let rows = self.unreadable.iter();
        rows.map(|(order_id, reason)| json!({"order_id": order_id, "result": "unreadable", "reason": reason}))
    }
}

fn cannot_be_read((order_id, reason): &(OrderId, String)) {
    output::line(&format!("order {order_id}: unreadable: {reason}"));
}

/// Why it waits.
fn why(order: &Order) -> String {
    let attention = order.attention.as_ref();
    attention.map(|why| why.reason.clone()).unwrap_or_default()
}

/// A progress bar on standard error; nothing where that is no terminal.
fn progress(orders: usize) -> ProgressBar {
    let bar = ProgressBar::new(u64::try_from(orders).unwrap_or(u64::MAX));
    let style = ProgressStyle::with_template("retrying {bar:40} {pos}/{len} {per_sec} {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
