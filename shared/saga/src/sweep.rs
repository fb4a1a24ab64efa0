//! One pass of the sweeper: every order whose wake time has come, each on its own.
//!
//! The stream is the fast path, this is the path of correctness: with the stream off, every order still ends. So a pass may not be held up by
//! anything: it starts at a random shard, takes a page of each shard in turn, and goes on past orders that it could not move. What it does not
//! reach stays due and is found by the next pass, which starts elsewhere.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;

use futures::{FutureExt as _, StreamExt as _, stream};
use sagaline_order::{OrderId, Timestamp};
use sagaline_store::{Cursor, DUE_SHARDS, DueRow, Table};
use sagaline_stream::chain;
use tokio::time::Instant;

use crate::bus::EventBus;
use crate::drive::{Driver, Rest};
use crate::{Clock, DriveError, Path, PaymentGateway};

/// Orders of one page. Small, so that shards take turns.
const PAGE: u32 = 25;

/// How to make a pass.
#[derive(Debug, Clone, Copy)]
pub struct Sweep {
    /// Any number: which shard comes first. A random one, so that a pass that ends early starves none.
    pub seed: u32,
    /// Orders driven at the same time.
    pub concurrency: usize,
    /// When the pass must be over.
    pub until: Instant,
}

/// What a pass came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SweepReport {
    /// Orders that were found due.
    pub found: u64,
    /// Of these, the ones that were moved by at least one commit.
    pub moved: u64,
    /// Of these, the ones that had nothing to do after all: somebody was faster.
    pub idle: u64,
    /// Of these, the ones that wait for the gateway, or for a newer program.
    pub deferred: u64,
    /// Of these, the ones that there was no time for.
    pub out_of_time: u64,
    /// Of these, the ones that could not be moved.
    pub failed: u64,
    /// Commits made.
    pub commits: u64,
    /// Among them, calls for a person.
    pub alarms: u64,
    /// For how long the oldest one found has been overdue, in seconds.
    pub oldest_overdue_s: u64,
    /// Shards that were not read to their end.
    pub shards_left: u64,
}

impl<T: Table, C: Clock, G: PaymentGateway, B: EventBus> Driver<T, C, G, B> {
    /// Makes one pass. Nothing that goes wrong with one order or one shard ends it.
    pub async fn sweep(&self, sweep: Sweep) -> SweepReport {
        let mut report = SweepReport::default();
        let mut shards: VecDeque<(u32, Option<Cursor>)> = (0..DUE_SHARDS)
            .map(|i| (sweep.seed.wrapping_add(i) % DUE_SHARDS, None))
            .collect();
        while let Some((shard, cursor)) = shards.pop_front() {
            if Instant::now() >= sweep.until {
                report.shards_left = report.shards_left.saturating_add(1);
                continue;
            }
            let now = self.recorder().clock().now();
            let page = match self
                .recorder()
                .store()
                .due(shard, now)
                .page_size(PAGE)
                .after(cursor.as_ref())
                .page()
                .await
            {
                Ok(page) => page,
                Err(error) => {
                    tracing::error!(
                        shard,
                        error = chain(&error),
                        "a shard of the due orders cannot be read"
                    );
                    report.shards_left = report.shards_left.saturating_add(1);
                    continue;
                }
            };
            self.drive_all(page.rows, now, sweep, &mut report).await;
            if let Some(next) = page.next {
                shards.push_back((shard, Some(next)));
            }
        }
        tracing::info!(?report, "swept");
        report
    }

    async fn drive_all(
        &self,
        rows: Vec<DueRow>,
        now: Timestamp,
        sweep: Sweep,
        report: &mut SweepReport,
    ) {
        let driving = stream::iter(rows.into_iter().map(async |row| {
            let drive = AssertUnwindSafe(self.drive(&row.order_id, Path::Sweeper, sweep.until))
                .catch_unwind()
                .await;
            (row, drive)
        }));
        let mut driven = driving.buffer_unordered(sweep.concurrency.max(1));
        while let Some((row, drive)) = driven.next().await {
            report.found += 1;
            let overdue_ms = row
                .wake_at
                .map_or(0, |at| now.as_millis().saturating_sub(at.as_millis()));
            report.oldest_overdue_s = report
                .oldest_overdue_s
                .max(u64::try_from(overdue_ms / 1000).unwrap_or(0));
            match drive {
                Ok(Ok(driven)) => {
                    report.commits += u64::from(driven.commits);
                    report.alarms += u64::from(driven.alarms);
                    *match driven.rest {
                        _ if driven.commits > 0 => &mut report.moved,
                        Rest::Absent | Rest::Finished | Rest::Until(_) => &mut report.idle,
                        Rest::Deferred => &mut report.deferred,
                        Rest::OutOfTime => &mut report.out_of_time,
                    } += 1;
                }
                Ok(Err(error)) => {
                    *if error.is_newer_schema() {
                        &mut report.deferred
                    } else {
                        &mut report.failed
                    } += 1;
                    log(&row.order_id, &error);
                }
                Err(_) => {
                    report.failed += 1;
                    tracing::error!(order_id = %row.order_id, "the sweep of an order panicked");
                }
            }
        }
    }
}

fn log(order_id: &OrderId, error: &DriveError) {
    tracing::error!(%order_id, disposition = ?error.disposition(), error = chain(error), "an order could not be moved");
}
