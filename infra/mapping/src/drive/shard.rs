//! The task of one shard: reads ahead, and does what the shard's state machine says.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, timeout};

use super::{Invocation, Invoker, Shared, Stop, outcome_word, pause};
use crate::clock;
use crate::destination::{Delivery, OnFailure};
use crate::document::Origin;
use crate::metrics::{Metric, Part};
use crate::response::{Outcome, stream_verdict};
use crate::shard::{Action, Call, Discarded, Rules, Shard};
use crate::source::{self, Page, Read, ReadError, ShardReader};

/// The shortest pause after an empty read.
const SHORTEST_POLL: Duration = Duration::from_millis(10);

/// The shortest and the longest pause after a failed read.
const SHORTEST_BACKOFF: Duration = Duration::from_millis(50);
/// See [`SHORTEST_BACKOFF`].
const LONGEST_BACKOFF: Duration = Duration::from_secs(5);

/// How long one read may take. It is far above what a stream needs: it frees the reader from a connection that is dead.
const READ_LIMIT: Duration = Duration::from_secs(30);

/// How a shard's task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardEnd {
    /// The shard is closed, and everything in it is finished.
    Finished,
    /// The shard or its stream is gone; what was read is finished.
    Gone,
    /// The runner stops.
    Stopped,
}

/// Everything that the task of one shard needs.
#[derive(Debug)]
pub struct ShardTask<R, F, C> {
    /// Reads the shard, already at its position.
    pub reader: R,
    /// The function.
    pub function: F,
    /// Delivery settings.
    pub rules: Rules,
    /// `FunctionResponseTypes` holds `ReportBatchItemFailures`.
    pub reports: bool,
    /// Names for documents and the log.
    pub origin: Origin,
    /// Where documents go.
    pub on_failure: OnFailure,
    /// The longest pause between two reads of an idle shard.
    pub longest_poll: Duration,
    /// Counters and log.
    pub shared: Shared,
    /// Told whenever the checkpoint moves: everything up to this record is finished.
    pub checkpoint: C,
    /// When to end.
    pub stop: Stop,
}

/// What the reader tells.
enum Feed {
    Records(Vec<Read>),
    /// Nothing more to read at the moment.
    CaughtUp,
    Failing(String),
    End(ShardEnd),
}

/// What a finished job tells.
enum Done {
    Call(Call, Invocation),
    Report(Discarded, Delivery),
}

impl<R: ShardReader, F: Invoker, C: FnMut(&str) + Send> ShardTask<R, F, C> {
    /// Runs until the shard ends or the runner stops.
    pub async fn run(self) -> ShardEnd {
        let (feed, input) = mpsc::channel(1);
        let reading = self.stop.drain.child_token();
        let reader = tokio::spawn(read_ahead(
            self.reader,
            feed,
            self.longest_poll,
            reading.clone(),
        ));
        let driver = Driver {
            shard: Shard::new(self.rules, clock::fresh_id()),
            part: self.shared.meter.part(),
            function: self.function,
            reports: self.reports,
            origin: Arc::new(self.origin),
            on_failure: self.on_failure,
            shared: self.shared,
            checkpoint: self.checkpoint,
            stored: None,
            stop: self.stop,
            jobs: JoinSet::new(),
            end: None,
            caught_up: false,
            failing: false,
        };
        let end = driver.run(input).await;
        reading.cancel();
        if let Err(error) = reader.await {
            tracing::error!(%error, "the reader of a shard failed");
        }
        end
    }
}

struct Driver<F, C> {
    shard: Shard,
    part: Part,
    function: F,
    reports: bool,
    origin: Arc<Origin>,
    on_failure: OnFailure,
    shared: Shared,
    checkpoint: C,
    stored: Option<Arc<str>>,
    stop: Stop,
    jobs: JoinSet<Done>,
    end: Option<ShardEnd>,
    caught_up: bool,
    failing: bool,
}

impl<F: Invoker, C: FnMut(&str) + Send> Driver<F, C> {
    async fn run(mut self, mut input: mpsc::Receiver<Feed>) -> ShardEnd {
        loop {
            let draining = self.stop.drain.is_cancelled();
            if !draining {
                while let Some(action) = self.shard.next(clock::now()) {
                    self.begin(action);
                }
            }
            self.store_checkpoint();
            let finished = self.shard.is_empty();
            self.part.set_busy(!(finished && self.caught_up));
            if let Some(end) = self.end.filter(|_| finished) {
                return end;
            }
            if draining && self.jobs.is_empty() {
                return ShardEnd::Stopped;
            }
            let wake = self
                .shard
                .wake_at()
                .filter(|_| !draining)
                .map(|at| at.since(clock::now()));
            tokio::select! {
                biased;
                () = self.stop.cut.cancelled() => return ShardEnd::Stopped,
                Some(done) = self.jobs.join_next() => self.finish(done),
                () = self.stop.drain.cancelled(), if !draining => {}
                fed = input.recv(), if !draining && self.end.is_none() && self.shard.room() => self.take(fed),
                () = tokio::time::sleep_until(Instant::now() + wake.unwrap_or_default()), if wake.is_some() => {}
            }
        }
    }

    fn take(&mut self, fed: Option<Feed>) {
        match fed {
            Some(Feed::Records(records)) => {
                self.caught_up = false;
                let now = clock::now();
                let all = records.len();
                let mut dropped = 0;
                for record in records {
                    match record {
                        Read::Admitted(record) => self.shard.offer(record, now),
                        Read::Dropped(sequence) => {
                            dropped += 1;
                            self.shard.skip(sequence);
                        }
                    }
                }
                self.shared.meter.count(Metric::PolledEventCount, all);
                self.shared
                    .meter
                    .count(Metric::FilteredOutEventCount, dropped);
            }
            Some(Feed::CaughtUp) => {
                self.caught_up = true;
                if std::mem::take(&mut self.failing) {
                    self.shared.meter.set_result("OK");
                }
            }
            Some(Feed::Failing(reason)) => {
                self.caught_up = false;
                self.failing = true;
                self.shared.meter.set_result(&format!("PROBLEM: {reason}"));
            }
            Some(Feed::End(end)) => self.end = Some(end),
            // The reader ends without a word only when it is told to stop.
            None => self.end = Some(ShardEnd::Stopped),
        }
    }

    fn begin(&mut self, action: Action) {
        match action {
            Action::Invoke(call) => {
                let function = self.function.clone();
                let event = Bytes::from(source::event(
                    call.records.iter().map(|record| &*record.event),
                ));
                self.jobs.spawn(async move {
                    let invocation = function.invoke(call.request_id, event).await;
                    Done::Call(call, invocation)
                });
            }
            Action::Discard(discarded) => {
                tracing::warn!(
                    mapping = self.shared.meter.mapping(), shard = %self.origin.shard_id, condition = ?discarded.condition, records = discarded.records.len(),
                    first = discarded.records.first().map(|record| &*record.sequence), calls = discarded.invoke_count, "records are given up"
                );
                let (on_failure, origin) = (self.on_failure.clone(), Arc::clone(&self.origin));
                self.jobs.spawn(async move {
                    let delivery = on_failure.deliver(&origin, &discarded).await;
                    Done::Report(discarded, delivery)
                });
            }
        }
    }

    fn finish(&mut self, done: Result<Done, JoinError>) {
        match done {
            Ok(Done::Call(call, invocation)) => self.finish_call(&call, &invocation),
            Ok(Done::Report(discarded, delivery)) => {
                let count = discarded.records.len();
                self.shared.meter.give_up(count);
                match delivery {
                    Delivery::Delivered => self
                        .shared
                        .meter
                        .count(Metric::OnFailureDestinationDeliveredEventCount, count),
                    Delivery::Refused => self.shared.meter.count(Metric::DroppedEventCount, count),
                    Delivery::Nowhere => {}
                }
                self.shard.reported(discarded.lane);
            }
            // Only a panic in our own code gets here. The lane stays busy: nothing is lost, and nothing is skipped.
            Err(error) => {
                tracing::error!(mapping = self.shared.meter.mapping(), %error, "a job of a shard failed; its batch is kept until the next start")
            }
        }
    }

    fn finish_call(&mut self, call: &Call, invocation: &Invocation) {
        let sequences: Vec<&str> = call
            .records
            .iter()
            .map(|record| &*record.sequence)
            .collect();
        let verdict = stream_verdict(&invocation.outcome, self.reports, &sequences);
        let now = clock::now();
        let resolution = self.shard.resolve(call.lane, verdict, now);
        let outcome = outcome_word(&invocation.outcome, resolution.failed, sequences.len());
        let meter = &self.shared.meter;
        // A call that never reached the function is no invocation; its records failed all the same (F-ESM-19).
        if !matches!(invocation.outcome, Outcome::NotInvoked(_)) {
            meter.count(Metric::InvokedEventCount, sequences.len());
        }
        meter.count(Metric::FailedInvokeEventCount, resolution.failed);
        if let Some(arrived) = resolution.last_arrived {
            meter.age(now.since(arrived));
        }
        match &invocation.outcome {
            Outcome::Answered(_) => meter.set_result(if resolution.failed == 0 {
                "OK"
            } else {
                "PROBLEM: Function reported failures"
            }),
            Outcome::Failed(_) => meter.set_result("PROBLEM: Function call failed"),
            Outcome::NotInvoked(reason) => meter.set_result(&format!("PROBLEM: {reason}")),
        }
        self.shared.note(
            Some(&self.origin.shard_id),
            call.request_id,
            &sequences,
            outcome,
            invocation.duration,
        );
    }

    fn store_checkpoint(&mut self) {
        if let Some(sequence) = self.shard.checkpoint()
            && self.stored.as_ref() != Some(sequence)
        {
            (self.checkpoint)(sequence);
            self.stored = Some(Arc::clone(sequence));
        }
    }
}

/// Reads a shard to its end and hands pages over. The channel holds one page: a shard without room stops the reading.
async fn read_ahead<R: ShardReader>(
    mut reader: R,
    feed: mpsc::Sender<Feed>,
    longest_poll: Duration,
    end: tokio_util::sync::CancellationToken,
) {
    let mut idle = SHORTEST_POLL;
    let mut backoff = SHORTEST_BACKOFF;
    let mut told_caught_up = false;
    loop {
        let read = tokio::select! {
            biased;
            () = end.cancelled() => return,
            read = timeout(READ_LIMIT, reader.read()) => read.unwrap_or_else(|_| Err(ReadError::Later("no answer to a read".to_owned()))),
        };
        if read.is_ok() {
            backoff = SHORTEST_BACKOFF;
        }
        let (message, wait) = match read {
            Ok(Page { records, end: true }) => {
                // A message that nobody takes any more means that the driver has ended; so does this task.
                let _ = feed.send(Feed::Records(records)).await;
                let _ = feed.send(Feed::End(ShardEnd::Finished)).await;
                return;
            }
            Ok(Page {
                records,
                end: false,
            }) if records.is_empty() => {
                let message = if told_caught_up {
                    None
                } else {
                    Some(Feed::CaughtUp)
                };
                told_caught_up = true;
                let wait = idle.min(longest_poll);
                idle = (idle * 2).min(longest_poll);
                (message, wait)
            }
            Ok(Page {
                records,
                end: false,
            }) => {
                told_caught_up = false;
                idle = SHORTEST_POLL;
                (Some(Feed::Records(records)), Duration::ZERO)
            }
            Err(ReadError::Gone(reason)) => {
                tracing::warn!(%reason, "a shard cannot be read any more");
                let _ = feed.send(Feed::End(ShardEnd::Gone)).await;
                return;
            }
            Err(ReadError::Later(reason)) => {
                tracing::debug!(%reason, "a read failed");
                told_caught_up = false;
                let wait = backoff;
                backoff = (backoff * 2).min(LONGEST_BACKOFF);
                (Some(Feed::Failing(reason)), wait)
            }
        };
        if let Some(message) = message
            && feed.send(message).await.is_err()
        {
            return;
        }
        if !wait.is_zero() && !pause(wait, &end).await {
            return;
        }
    }
}
