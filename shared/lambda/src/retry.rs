//! The one retry policy: exponential waits with jitter, a budget of attempts and of waiting, and a deadline.
//!
//! `backon` does the waiting. (`backoff`, its better known elder, is unmaintained: RUSTSEC-2025-0012.) No other place of the processors
//! sleeps.

use backon::{ExponentialBuilder, Retryable};
use std::future::Future;
use std::time::Duration;
use tokio::time::Instant;

/// How often, how long and until when something is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The wait after the first failure, before jitter. It doubles.
    pub first_wait: Duration,
    /// No wait is longer than this, before jitter.
    pub longest_wait: Duration,
    /// Calls in all, the first included.
    pub attempts: usize,
    /// All waits together.
    pub waiting_budget: Duration,
}

impl RetryPolicy {
    /// For a call inside an invocation, behind an SDK that has tried three times itself.
    pub const INVOCATION: Self = Self {
        first_wait: Duration::from_millis(100),
        longest_wait: Duration::from_secs(2),
        attempts: 5,
        waiting_budget: Duration::from_secs(6),
    };

    /// For a command that a person waits for.
    pub const COMMAND: Self = Self {
        first_wait: Duration::from_millis(200),
        longest_wait: Duration::from_secs(3),
        attempts: 5,
        waiting_budget: Duration::from_secs(8),
    };

    /// Calls `operation` until it succeeds, `worth_retrying` says no, or the policy or the deadline ends it.
    ///
    /// No wait is begun that would not end before the deadline. A call in flight is the caller's to bound.
    ///
    /// # Errors
    /// The last failure.
    pub async fn run<T, E, Operation, Call>(
        &self,
        deadline: Option<Instant>,
        worth_retrying: impl FnMut(&E) -> bool,
        operation: Operation,
    ) -> Result<T, E>
    where
        Operation: FnMut() -> Call,
        Call: Future<Output = Result<T, E>>,
    {
        let waits = ExponentialBuilder::new()
            .with_jitter()
            .with_min_delay(self.first_wait)
            .with_max_delay(self.longest_wait)
            .with_max_times(self.attempts.saturating_sub(1))
            .with_total_delay(Some(self.waiting_budget));
        operation
            .retry(waits)
            .when(worth_retrying)
            .adjust(|_, wait| {
                wait.filter(|wait| {
                    deadline.is_none_or(|deadline| Instant::now() + *wait < deadline)
                })
            })
            .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    async fn tries(
        policy: RetryPolicy,
        deadline: Option<Duration>,
        retryable: bool,
    ) -> (u32, Duration) {
        let calls = Cell::new(0);
        let begun = Instant::now();
        let answer: Result<(), &str> = policy
            .run(
                deadline.map(|length| begun + length),
                |_| retryable,
                || {
                    calls.set(calls.get() + 1);
                    async { Err("no") }
                },
            )
            .await;
        assert_eq!(answer, Err("no"));
        (calls.get(), begun.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_waits_and_deadline_each_end_the_trying() {
        let (calls, waited) = tries(RetryPolicy::INVOCATION, None, true).await;
        assert_eq!(calls, 5);
        assert!(
            waited > Duration::from_secs(1) && waited <= Duration::from_secs(6),
            "{waited:?}"
        );

        let (calls, _) = tries(RetryPolicy::INVOCATION, None, false).await;
        assert_eq!(calls, 1);

        let (calls, waited) = tries(
            RetryPolicy::INVOCATION,
            Some(Duration::from_millis(450)),
            true,
        )
        .await;
        assert!((2..5).contains(&calls), "{calls}");
        assert!(waited < Duration::from_millis(450));

        let impatient = RetryPolicy {
            waiting_budget: Duration::from_millis(150),
            ..RetryPolicy::INVOCATION
        };
        let (calls, _) = tries(impatient, None, true).await;
        assert!(calls < 5, "{calls}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_success_is_the_answer() {
        let calls = Cell::new(0);
        let answer: Result<i32, ()> = RetryPolicy::INVOCATION
            .run(
                None,
                |()| true,
                || {
                    calls.set(calls.get() + 1);
                    let call = calls.get();
                    async move { if call < 3 { Err(()) } else { Ok(call) } }
                },
            )
            .await;
        assert_eq!(answer, Ok(3));
    }
}
