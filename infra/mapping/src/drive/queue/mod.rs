//! The task of one queue mapping: gathers batches, calls, deletes what is done.
//!
//! What is not deleted comes again after the queue's visibility time-out with a higher receive count; the queue, not the
//! mapping, ends the retries (F-SQS-2).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{Invoker, Shared, Stop, outcome_word, pause};
use crate::clock;
use crate::config::QueueSettings;
use crate::metrics::Metric;
use crate::response::{Outcome, QueueVerdict, queue_verdict};
use crate::shard::EVENT_LIMIT_BYTES;
use crate::source::{
    self,
    queue::{MOST_PER_CALL, Queue, Received},
};

/// The pause between two short polls while a window is open.
const GATHER_PAUSE: Duration = Duration::from_millis(100);

/// The pause after SQS refused a receive.
const RECEIVE_BACKOFF: Duration = Duration::from_secs(1);

/// The first pause after a call that did not reach the function; it doubles.
const NOT_INVOKED_PAUSE: Duration = Duration::from_millis(200);

/// Everything that a queue mapping needs.
pub(crate) struct QueueTask<F> {
    pub(crate) queue: Queue,
    pub(crate) settings: QueueSettings,
    pub(crate) function: F,
    /// How long an idle receive waits, in seconds (SQS: at most 20).
    pub(crate) wait_s: i32,
    pub(crate) shared: Shared,
    pub(crate) stop: Stop,
}

impl<F: Invoker> QueueTask<F> {
    pub(crate) async fn run(self) {
        let mut part = self.shared.meter.part();
        let permits = Arc::new(Semaphore::new(self.settings.concurrency));
        let task = Arc::new(self);
        let mut jobs = JoinSet::new();
        while !task.stop.drain.is_cancelled() {
            while jobs.try_join_next().is_some() {}
            let gathered = tokio::select! {
                biased;
                () = task.stop.drain.cancelled() => break,
                permit = Arc::clone(&permits).acquire_owned() => match permit {
                    Ok(permit) => tokio::select! {
                        biased;
                        () = task.stop.drain.cancelled() => break,
                        batch = task.gather() => batch.map(|batch| (permit, batch)),
                    },
                    Err(_closed) => break,
                },
            };
            match gathered {
                Err(reason) => {
                    part.set_busy(true);
                    task.shared.meter.set_result(&format!("PROBLEM: {reason}"));
                    pause(RECEIVE_BACKOFF, &task.stop.drain).await;
                }
                Ok((_, batch)) if batch.is_empty() => {
                    while jobs.try_join_next().is_some() {}
                    let drained = jobs.is_empty()
                        && tokio::select! {
                            biased;
                            () = task.stop.drain.cancelled() => break,
                            drained = task.queue.is_drained() => drained.unwrap_or(false),
                        };
                    part.set_busy(!drained);
                }
                Ok((permit, batch)) => {
                    part.set_busy(true);
                    let task = Arc::clone(&task);
                    jobs.spawn(async move {
                        let _permit = permit;
                        for call in by_size(batch) {
                            task.deliver(&call).await;
                        }
                    });
                }
            }
        }
        tokio::select! {
            biased;
            () = task.stop.cut.cancelled() => {}
            () = async { while jobs.join_next().await.is_some() {} } => {}
        }
    }

    /// Receives until a batch is full or its window is over. Messages that the filter drops are deleted unseen (F-SQS-6).
    async fn gather(&self) -> Result<Vec<Received>, String> {
        let mut batch = Vec::new();
        let mut window_end = None;
        loop {
            let missing = self.settings.batch_size.saturating_sub(batch.len());
            let left = window_end.map(|end: Instant| end.saturating_duration_since(Instant::now()));
            let wait_s = match left {
                None => self.wait_s,
                Some(left) => i32::try_from(left.as_secs()).unwrap_or(0).min(self.wait_s),
            };
            let received = match self.queue.receive(missing.min(MOST_PER_CALL), wait_s).await {
                Ok(received) => received,
                // What is gathered already is delivered; the next receive tells the error.
                Err(_) if !batch.is_empty() => return Ok(batch),
                Err(reason) => return Err(reason),
            };
            let came = received.len();
            self.shared.meter.count(Metric::PolledEventCount, came);
            let (seen, unseen): (Vec<_>, Vec<_>) = received
                .into_iter()
                .partition(|message| self.settings.filter.admits_body(&message.body));
            if !unseen.is_empty() {
                self.shared
                    .meter
                    .count(Metric::FilteredOutEventCount, unseen.len());
                let deleted = self.queue.delete(&unseen.iter().collect::<Vec<_>>()).await;
                self.shared.meter.count(Metric::DeletedEventCount, deleted);
            }
            batch.extend(seen);
            if batch.is_empty() {
                return Ok(batch);
            }
            let end = *window_end.get_or_insert_with(|| Instant::now() + self.settings.window);
            let bytes: usize = batch.iter().map(|message| message.event.len() + 1).sum();
            if batch.len() >= self.settings.batch_size
                || bytes >= EVENT_LIMIT_BYTES
                || Instant::now() >= end
            {
                return Ok(batch);
            }
            if came == 0 {
                let left = end.saturating_duration_since(Instant::now());
                pause(left.min(GATHER_PAUSE), &self.stop.drain).await;
            }
        }
    }

    /// Calls the function with a batch and deletes what is done.
    async fn deliver(&self, batch: &[Received]) {
        let received_at = Instant::now();
        let request_id = clock::fresh_id();
        let ids: Vec<&str> = batch.iter().map(|message| message.id.as_str()).collect();
        let event = Bytes::from(source::event(
            batch.iter().map(|message| message.event.as_str()),
        ));
        let mut wait = NOT_INVOKED_PAUSE;
        let meter = &self.shared.meter;
        loop {
            let invocation = tokio::select! {
                biased;
                () = self.stop.cut.cancelled() => return,
                invocation = self.function.invoke(request_id, event.clone()) => invocation,
            };
            let verdict = queue_verdict(&invocation.outcome, self.settings.report_failures, &ids);
            let again: Vec<usize> = match &verdict {
                QueueVerdict::Done => Vec::new(),
                QueueVerdict::Again(places) => places.clone(),
                QueueVerdict::Whole | QueueVerdict::NotInvoked => (0..batch.len()).collect(),
            };
            if verdict != QueueVerdict::NotInvoked {
                meter.count(Metric::InvokedEventCount, batch.len());
            }
            meter.count(Metric::FailedInvokeEventCount, again.len());
            meter.set_result(match &invocation.outcome {
                Outcome::Answered(_) if again.is_empty() => "OK",
                Outcome::Answered(_) => "PROBLEM: Function reported failures",
                Outcome::Failed(_) => "PROBLEM: Function call failed",
                Outcome::NotInvoked(_) => "PROBLEM: Function could not be called",
            });
            self.shared.note(
                None,
                request_id,
                &ids,
                outcome_word(&invocation.outcome, again.len(), batch.len()),
                invocation.duration,
            );
            if verdict == QueueVerdict::NotInvoked {
                // The batch is kept under the same receipt, until it becomes visible again (F-SQS-5).
                let kept = received_at.elapsed() + wait < self.queue.visibility;
                if kept && pause(wait, &self.stop.drain).await {
                    wait = wait.saturating_mul(2);
                    continue;
                }
                return;
            }
            let done: Vec<&Received> = batch
                .iter()
                .enumerate()
                .filter(|(place, _)| again.binary_search(place).is_err())
                .map(|(_, message)| message)
                .collect();
            let deleted = self.queue.delete(&done).await;
            meter.count(Metric::DeletedEventCount, deleted);
            return;
        }
    }
}

/// Cuts a batch so that each call's event is at most 6 MB.
fn by_size(batch: Vec<Received>) -> Vec<Vec<Received>> {
    let mut calls: Vec<Vec<Received>> = Vec::new();
    let mut room = 0;
    for message in batch {
        let size = message.event.len() + 1;
        match calls.last_mut() {
            Some(call) if size <= room => {
                room -= size;
                call.push(message);
            }
            Some(_) | None => {
                room = (EVENT_LIMIT_BYTES - 16).saturating_sub(size);
                calls.push(vec![message]);
            }
        }
    }
    calls
}

#[cfg(test)]
mod tests;
