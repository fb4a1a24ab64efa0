//! The task of one schedule: calls its function when the calendar says so.

use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinSet;

use super::{Invocation, Invoker, Shared, Stop, outcome_word, pause};
use crate::clock;
use crate::config::Rate;
use crate::metrics::Metric;
use crate::response::Outcome;
use crate::source::schedule::{Calendar, Due, event};

/// The pause before a call that did not reach the function is tried again.
const NOT_INVOKED_PAUSE: Duration = Duration::from_secs(1);

/// Everything that a schedule needs.
pub(crate) struct ScheduleTask<F> {
    pub(crate) rate: Rate,
    pub(crate) function: F,
    pub(crate) region: String,
    pub(crate) account: String,
    pub(crate) shared: Shared,
    pub(crate) stop: Stop,
}

impl<F: Invoker> ScheduleTask<F> {
    pub(crate) async fn run(self) {
        // A schedule never ends, so it has no part in what `--once` waits for; a running call is left to end by the stop.
        let mut calendar = Calendar::new(self.rate.period(), clock::now());
        let mut jobs: JoinSet<(Due, Invocation)> = JoinSet::new();
        while !self.stop.drain.is_cancelled() {
            while let Some(due) = calendar.take(clock::now(), clock::fresh_id) {
                self.shared.meter.count(Metric::PolledEventCount, 1);
                self.begin(due, &mut jobs);
            }
            let wait = calendar.wake_at().since(clock::now());
            tokio::select! {
                biased;
                Some(done) = jobs.join_next() => self.finish(done, &mut calendar),
                _ = pause(wait, &self.stop.drain) => {}
            }
        }
        tokio::select! {
            biased;
            () = self.stop.cut.cancelled() => {}
            () = async { while let Some(done) = jobs.join_next().await { self.finish(done, &mut calendar); } } => {}
        }
    }

    fn begin(&self, due: Due, jobs: &mut JoinSet<(Due, Invocation)>) {
        let payload = Bytes::from(event(
            &due,
            &self.shared.function,
            &self.region,
            &self.account,
        ));
        let (function, drain) = (self.function.clone(), self.stop.drain.clone());
        self.shared.meter.count(Metric::InvokedEventCount, 1);
        jobs.spawn(async move {
            loop {
                let invocation = function.invoke(due.request_id, payload.clone()).await;
                let reached = !matches!(invocation.outcome, Outcome::NotInvoked(_));
                if reached || !pause(NOT_INVOKED_PAUSE, &drain).await {
                    return (due, invocation);
                }
            }
        });
    }

    fn finish(
        &self,
        done: Result<(Due, Invocation), tokio::task::JoinError>,
        calendar: &mut Calendar,
    ) {
        let (due, invocation) = match done {
            Ok(done) => done,
            Err(error) => {
                return tracing::error!(mapping = self.shared.meter.mapping(), %error, "a scheduled call failed in the runner");
            }
        };
        let failed = !matches!(invocation.outcome, Outcome::Answered(_));
        let event_id = due.request_id.to_string();
        self.shared.note(
            None,
            due.request_id,
            &[&event_id],
            outcome_word(&invocation.outcome, 0, 1),
            invocation.duration,
        );
        self.shared.meter.set_result(if failed {
            "PROBLEM: Function call failed"
        } else {
            "OK"
        });
        if failed {
            self.shared.meter.count(Metric::FailedInvokeEventCount, 1);
            if !calendar.failed(due, clock::now()) {
                tracing::warn!(
                    mapping = self.shared.meter.mapping(),
                    "a scheduled event is given up after two repetitions"
                );
            }
        }
    }
}
