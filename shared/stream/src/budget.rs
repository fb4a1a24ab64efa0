//! The time an invocation has, and what a handler may know of its invocation.
//!
//! The wall clock is read by the caller, once; from there on time is counted with [`tokio::time::Instant`], so a test with paused time
//! plays any deadline without waiting. See [`Limits::margin`] for what happens when the time runs out.

use crate::time::EpochMillis;
use crate::verdict::Failure;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// How much time is left of an invocation. Nothing left and not known are different things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remaining {
    /// This much is left; zero admits nothing.
    Known(Duration),
    /// Nobody said: [`Limits::default_remaining`] applies.
    Unknown,
}

impl Remaining {
    /// From a deadline, as the Lambda context states it, and the present.
    #[must_use]
    pub fn until(deadline: EpochMillis, now: EpochMillis) -> Self {
        Self::Known(deadline.since(now))
    }
}

/// One call of the function, as the caller knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The function's name.
    pub function: String,
    /// The request id. It is no attempt id: an unchanged retry has the same one (F-ESM-12).
    pub request_id: String,
    /// When the call arrived.
    pub received_at: EpochMillis,
    /// How much time is left.
    pub remaining: Remaining,
}

/// The engine's bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many lanes run at the same time; 0 counts as 1.
    pub concurrency: usize,
    /// How long before the deadline admission stops and work in flight is asked to end. Half of it is left to such work; then it is
    /// dropped, and the other half is for the answer. What is not settled by then is reported.
    pub margin: Duration,
    /// How much time there is when nobody said.
    pub default_remaining: Duration,
}

impl Default for Limits {
    /// 16 lanes, a margin of 1 s, 5 s when unknown.
    fn default() -> Self {
        Self {
            concurrency: 16,
            margin: Duration::from_secs(1),
            default_remaining: Duration::from_secs(5),
        }
    }
}

/// The budget of a running invocation. Clones share it, also its cancellation.
#[derive(Debug, Clone)]
pub struct Budget {
    function: Arc<str>,
    request_id: Arc<str>,
    received_at: EpochMillis,
    started: Instant,
    stop_at: Instant,
    cut_at: Instant,
    token: CancellationToken,
}

impl Budget {
    /// Starts to count. Inside a tokio runtime with its timer enabled.
    #[must_use]
    pub fn start(invocation: &Invocation, limits: &Limits) -> Self {
        let remaining = match invocation.remaining {
            Remaining::Known(known) => known,
            Remaining::Unknown => limits.default_remaining,
        };
        let started = Instant::now();
        Self {
            function: invocation.function.as_str().into(),
            request_id: invocation.request_id.as_str().into(),
            received_at: invocation.received_at,
            started,
            stop_at: started + remaining.saturating_sub(limits.margin),
            cut_at: started + remaining.saturating_sub(limits.margin / 2),
            token: CancellationToken::new(),
        }
    }

    /// The time until admission stops and work in flight should end.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        if self.token.is_cancelled() {
            Duration::ZERO
        } else {
            self.stop_at.saturating_duration_since(Instant::now())
        }
    }

    /// Whether nothing new may begin.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.remaining().is_zero()
    }

    /// Whether the time itself is up, as opposed to a cancelled invocation.
    pub(crate) fn time_is_up(&self) -> bool {
        self.stop_at <= Instant::now()
    }

    /// Cancelled when work in flight should end: the time is up, or the invocation has failed.
    #[must_use]
    pub const fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Runs `work` for as long as the budget lasts.
    ///
    /// # Errors
    /// A failure to be retried, when the budget ended first; `work` is dropped then.
    pub async fn within<F: Future>(&self, work: F) -> Result<F::Output, Failure> {
        let in_time = timeout_at(self.stop_at, self.token.run_until_cancelled(work)).await;
        in_time
            .ok()
            .flatten()
            .ok_or_else(|| Failure::retry("the invocation's time was up"))
    }

    /// The present, counted from the arrival of the call.
    #[must_use]
    pub fn now(&self) -> EpochMillis {
        self.received_at.after(self.started.elapsed())
    }

    /// The function's name.
    #[must_use]
    pub fn function(&self) -> &str {
        &self.function
    }

    /// The request id.
    #[must_use]
    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    /// Runs the engine's own work: to its end, or until it must be dropped, which is `None`.
    pub(crate) async fn bound<F: Future>(&self, work: F) -> Option<F::Output> {
        let mut work = std::pin::pin!(work);
        if let Ok(output) = timeout_at(self.stop_at, work.as_mut()).await {
            return Some(output);
        }
        self.token.cancel();
        timeout_at(self.cut_at, work).await.ok()
    }
}
