//! The task of one stream mapping: finds streams and shards, and keeps one task per shard running.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use uuid::Uuid;

use super::{Invoker, ShardEnd, ShardTask, Shared, Stop};
use crate::checkpoint::{Checkpoints, ShardState};
use crate::clock;
use crate::config::StreamSettings;
use crate::destination::OnFailure;
use crate::document::Origin;
use crate::source::ReadError;
use crate::source::lineage::{Begin, Listing, Plan, plan};
use crate::source::streams::{ShardInfo, StreamShard, TableStreams};

/// How often streams and shards are looked for. New ones are found within 30 seconds.
const DISCOVERY_PERIOD: Duration = Duration::from_secs(10);

/// Everything that a stream mapping needs.
pub(crate) struct TableTask<F> {
    pub(crate) streams: TableStreams,
    pub(crate) settings: StreamSettings,
    pub(crate) function: F,
    pub(crate) function_arn: String,
    pub(crate) mapping_id: Uuid,
    pub(crate) on_failure: OnFailure,
    pub(crate) longest_poll: Duration,
    pub(crate) shared: Shared,
    pub(crate) checkpoints: Arc<Checkpoints>,
    pub(crate) stop: Stop,
}

type Running = JoinSet<(String, String, ShardEnd)>;

impl<F: Invoker> TableTask<F> {
    pub(crate) async fn run(self) {
        let mut part = self.shared.meter.part();
        let mut tasks = Running::new();
        let mut running = HashSet::new();
        while !self.stop.drain.is_cancelled() {
            let found = tokio::select! {
                biased;
                () = self.stop.drain.cancelled() => break,
                found = self.discover(&running) => found,
            };
            match found {
                Ok(plan) => {
                    part.set_busy(plan.waiting);
                    self.carry_out(plan, &mut tasks, &mut running);
                }
                Err(error) => {
                    part.set_busy(true);
                    self.shared.meter.set_result(&format!("PROBLEM: {error}"));
                    tracing::warn!(table = %self.streams.table, %error, "streams and shards cannot be listed");
                }
            }
            tokio::select! {
                biased;
                () = self.stop.drain.cancelled() => {}
                Some(ended) = tasks.join_next() => {
                    // Whatever waits for this shard is begun in the next round, at once.
                    part.set_busy(true);
                    self.note_end(ended, &mut running);
                }
                _ = super::pause(DISCOVERY_PERIOD, &self.stop.drain) => {}
            }
        }
        while let Some(ended) = tasks.join_next().await {
            self.note_end(ended, &mut running);
        }
    }

    async fn discover(&self, running: &HashSet<(String, String)>) -> Result<Plan, ReadError> {
        let known = self.checkpoints.streams();
        let latest = (known.is_empty() && self.settings.from_latest).then(clock::now);
        let newest = self.streams.newest().await?;
        let arns: BTreeSet<String> = known.into_iter().chain(newest.clone()).collect();
        let mut listings = Vec::new();
        for arn in arns {
            match self.streams.shards(&arn).await {
                Ok(shards) => {
                    self.checkpoints
                        .keep_shards(&arn, |id| shards.iter().any(|shard| shard.id == id));
                    listings.push(Listing {
                        stream_arn: arn,
                        shards,
                    });
                }
                // An older stream is deleted 24 hours after its end; nothing of it is left to read. What was read of it is
                // finished before a newer stream is begun.
                Err(ReadError::Gone(reason)) if newest.as_ref() != Some(&arn) => {
                    tracing::warn!(stream = %arn, %reason, "an older stream is gone");
                    let left = running.iter().filter(|(stream, _)| *stream == arn);
                    let shards: Vec<ShardInfo> = left
                        .map(|(_, id)| ShardInfo {
                            id: id.clone(),
                            parent: None,
                            closed: true,
                        })
                        .collect();
                    if shards.is_empty() {
                        self.checkpoints.forget_stream(&arn);
                    }
                    listings.push(Listing {
                        stream_arn: arn,
                        shards,
                    });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(plan(
            &listings,
            |arn, shard| self.checkpoints.shard(arn, shard),
            running,
            latest,
        ))
    }

    fn carry_out(&self, plan: Plan, tasks: &mut Running, running: &mut HashSet<(String, String)>) {
        for (stream_arn, shard_id) in plan.passed_over {
            self.checkpoints
                .set(&stream_arn, &shard_id, ShardState::Finished);
        }
        for begin in plan.begin {
            running.insert((begin.stream_arn.clone(), begin.shard_id.clone()));
            self.begin(begin, tasks);
        }
    }

    fn begin(
        &self,
        Begin {
            stream_arn,
            shard_id,
            position,
            state,
        }: Begin,
        tasks: &mut Running,
    ) {
        tracing::info!(mapping = self.shared.meter.mapping(), stream = %stream_arn, shard = %shard_id, ?position, "reading a shard");
        self.checkpoints.set(&stream_arn, &shard_id, state);
        let checkpoints = Arc::clone(&self.checkpoints);
        let (checkpoint_arn, checkpoint_shard) = (stream_arn.clone(), shard_id.clone());
        let task = ShardTask {
            reader: StreamShard::new(
                self.streams.client.clone(),
                stream_arn.clone(),
                shard_id.clone(),
                position,
                self.settings.filter.clone(),
            ),
            function: self.function.clone(),
            rules: self.settings.rules,
            reports: self.settings.report_failures,
            origin: Origin {
                mapping_id: self.mapping_id,
                function_arn: self.function_arn.clone(),
                stream_arn: stream_arn.clone(),
                shard_id: shard_id.clone(),
            },
            on_failure: self.on_failure.clone(),
            longest_poll: self.longest_poll,
            shared: self.shared.clone(),
            checkpoint: move |sequence: &str| {
                checkpoints.set(
                    &checkpoint_arn,
                    &checkpoint_shard,
                    ShardState::After(sequence.to_owned()),
                )
            },
            stop: self.stop.clone(),
        };
        tasks.spawn(async move {
            let end = task.run().await;
            (stream_arn, shard_id, end)
        });
    }

    fn note_end(
        &self,
        ended: Result<(String, String, ShardEnd), tokio::task::JoinError>,
        running: &mut HashSet<(String, String)>,
    ) {
        match ended {
            Ok((stream_arn, shard_id, end)) => {
                if end != ShardEnd::Stopped {
                    self.checkpoints
                        .set(&stream_arn, &shard_id, ShardState::Finished);
                }
                running.remove(&(stream_arn, shard_id));
            }
            // Only a panic in our own code. The shard stays marked as running: it is not read past the fault.
            Err(error) => {
                tracing::error!(mapping = self.shared.meter.mapping(), %error, "the task of a shard failed")
            }
        }
    }
}
