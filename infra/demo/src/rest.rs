//! Watches until everything is at rest, with a progress line. At rest: everybody has done their part, no order is unfinished but those whose next
//! moment is far away (they wait for a person), and since then nothing has waited in a mapping or a queue for a while.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::pin::pin;
use std::time::Duration;

use anyhow::{Context, Result};
use aws_sdk_sqs::types::QueueAttributeName;
use indicatif::{ProgressBar, ProgressStyle};
use sagaline_order::{OrderId, Seconds};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::parts::Parts;

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(500);
/// How long there must have been nothing to do: longer than the projector gathers a batch, and than the local Firehose buffers.
const QUIET: Duration = Duration::from_millis(1_500);
/// An order that wakes later than this changes nothing while the snapshot is taken.
const FAR: Seconds = Seconds(60);
/// After this the checks show what does not come to rest.
const LIMIT: Duration = Duration::from_secs(150);
/// How often a plain line tells how far it is, where no terminal shows the bar.
const LINES: Duration = Duration::from_secs(5);

/// Watches while `acting` runs, and afterwards until everything is at rest. False if the time was over before.
pub(crate) async fn watch(
    parts: &Parts,
    orders: usize,
    acting: impl Future<Output = Result<()>>,
) -> Result<bool> {
    let mut acting = pin!(acting);
    let mut acted = false;
    let mut line = Line::new(orders);
    let mut calm = Calm::default();
    let began = Instant::now();
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            done = &mut acting, if !acted => {
                done?;
                acted = true;
            }
            _ = look.tick() => {
                parts.bus.listen().await?;
                line.show(parts).await?;
                if acted && calm.at_rest(parts).await? {
                    line.end(parts).await?;
                    return Ok(true);
                }
                if began.elapsed() > LIMIT {
                    line.end(parts).await?;
                    return Ok(false);
                }
            }
        }
    }
}

/// Since when all orders have been settled. Nothing is concluded from the same look: the record of a commit that was made during it is still
/// on its way to the mappings.
#[derive(Default)]
struct Calm(Option<Instant>);

impl Calm {
    async fn at_rest(&mut self, parts: &Parts) -> Result<bool> {
        if unsettled(parts).await?.is_some() {
            self.0 = None;
            return Ok(false);
        }
        let since = *self.0.get_or_insert_with(Instant::now);
        Ok(since.elapsed() >= QUIET && nothing_waits(parts).await?)
    }
}

/// True if the mappings have had nothing to do for a while, and the retry queues are empty.
async fn nothing_waits(parts: &Parts) -> Result<bool> {
    for queue in ["SEARCH_RETRY_QUEUE_URL", "ARCHIVE_RETRY_QUEUE_URL"] {
        if waiting(parts, parts.setting(queue)?).await? > 0 {
            return Ok(false);
        }
    }
    // A schedule is busy while it runs; the sweeper's work shows in the orders themselves.
    let status = parts.runner.status();
    let mut feeds = status
        .iter()
        .filter(|mapping| !mapping.source.starts_with("rate("));
    Ok(feeds.all(|mapping| mapping.idle_for.is_some_and(|idle| idle >= QUIET)))
}

/// Messages in a queue, also those that somebody works on.
async fn waiting(parts: &Parts, queue_url: &str) -> Result<u64> {
    let names = [
        QueueAttributeName::ApproximateNumberOfMessages,
        QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
    ];
    let sqs = aws_sdk_sqs::Client::new(&parts.sdk);
    let answer = sqs
        .get_queue_attributes()
        .queue_url(queue_url)
        .set_attribute_names(Some(names.to_vec()))
        .send()
        .await;
    let answer = answer.with_context(|| format!("cannot read the queue {queue_url}"))?;
    let counts = answer.attributes().into_iter().flat_map(|all| all.values());
    Ok(counts.filter_map(|count| count.parse::<u64>().ok()).sum())
}

/// An order of the `due` index that still has something to do by itself.
async fn unsettled(parts: &Parts) -> Result<Option<OrderId>> {
    let table = parts.setting("ORDERS_TABLE")?;
    let scan = aws_sdk_dynamodb::Client::new(&parts.sdk)
        .scan()
        .table_name(table)
        .index_name("due");
    let mut rows = scan.into_paginator().items().send();
    while let Some(row) = rows.next().await {
        let row = row.context("cannot read the due index")?;
        let key = row
            .get("PK")
            .and_then(|key| key.as_s().ok())
            .and_then(|key| key.strip_prefix("ORDER#"))
            .context("the due index lists orders")?;
        let id = OrderId::stored(key);
        let order = parts
            .store
            .load(&id)
            .await
            .with_context(|| format!("cannot read {id}"))?;
        let far = sagaline_lambda::now().plus(FAR);
        let wake_at = order.and_then(|order| order.wake_at);
        if wake_at.is_some_and(|wake_at| wake_at <= far) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// The progress line: what the index shows of the orders.
struct Line {
    bar: Option<ProgressBar>,
    told: Instant,
    orders: usize,
}

impl Line {
    fn new(orders: usize) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template(
                "{spinner} orders {bar:30} {pos}/{len} at their end  {msg}  ({elapsed})",
            );
            ProgressBar::new(orders as u64)
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Self {
            bar,
            told: Instant::now(),
            orders,
        }
    }

    async fn show(&mut self, parts: &Parts) -> Result<()> {
        let seen = parts.index.documents().await?;
        let mut by_status: BTreeMap<&str, u64> = BTreeMap::new();
        for document in &seen {
            *by_status.entry(&document.status).or_default() += 1;
        }
        let open = |status: &&str| matches!(*status, "UNPAID" | "PROCESSING");
        let ended: u64 = by_status
            .iter()
            .filter(|(status, _)| !open(status))
            .map(|(_, count)| count)
            .sum();
        let message = by_status
            .iter()
            .map(|(status, count)| format!("{} {count}", status.to_lowercase()))
            .collect::<Vec<_>>()
            .join(", ");
        if let Some(bar) = &self.bar {
            bar.set_position(ended);
            bar.set_message(message);
        } else if self.told.elapsed() >= LINES {
            self.told = Instant::now();
            eprintln!(
                "  orders: {ended} of {} at their end ({message})",
                self.orders
            );
        }
        Ok(())
    }

    async fn end(&mut self, parts: &Parts) -> Result<()> {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        // What the last changes made is seen, too.
        parts.index.refresh().await
    }
}
