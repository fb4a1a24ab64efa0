//! Stops asking a server that does not answer: an outage then costs no one's time, and what it did not take waits in the retry queue.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Closed, or open until a moment. After it one request is let through to try, and none other until that one has an answer or the time has
/// passed once more.
#[derive(Debug)]
pub(crate) struct Breaker {
    /// How many whole requests in a row must fail.
    threshold: u32,
    /// For how long it opens.
    pause: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    open_until: Option<Instant>,
}

impl Breaker {
    pub(crate) fn new(threshold: u32, pause: Duration) -> Self {
        Self {
            threshold,
            pause,
            state: Mutex::default(),
        }
    }

    /// Whether a request may go. When this is the one that tries, the others wait.
    pub(crate) fn admits(&self) -> bool {
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.open_until {
            None => true,
            Some(until) if now < until => false,
            Some(_) => {
                state.open_until = Some(now + self.pause);
                true
            }
        }
    }

    /// Whether requests are being held back.
    pub(crate) fn is_open(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.open_until.is_some_and(|until| Instant::now() < until)
    }

    /// A request had an answer of its own, of whatever kind.
    pub(crate) fn answered(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::default();
    }

    /// A whole request failed.
    pub(crate) fn failed(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.failures = state.failures.saturating_add(1);
        if state.failures >= self.threshold {
            if state.open_until.is_none() {
                tracing::error!(
                    failures = state.failures,
                    "search does not answer: not asked for a while"
                );
            }
            state.open_until = Some(Instant::now() + self.pause);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_opens_after_failures_in_a_row_and_lets_one_request_try() {
        let breaker = Breaker::new(3, Duration::from_secs(10));
        breaker.failed();
        breaker.failed();
        breaker.answered();
        breaker.failed();
        breaker.failed();
        assert!(breaker.admits() && !breaker.is_open());
        breaker.failed();
        assert!(!breaker.admits() && breaker.is_open());

        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(breaker.admits(), "one tries");
        assert!(!breaker.admits(), "the others wait for it");
        breaker.failed();
        assert!(!breaker.admits());

        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(breaker.admits());
        breaker.answered();
        assert!(breaker.admits() && breaker.admits());
    }
}
