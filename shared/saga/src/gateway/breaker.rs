//! The breaker: after several failures in a row the gateway is left alone for a while.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Failures in a row that open it.
const FAILURES: u32 = 5;

/// How long it stays open. Then calls go through again, and the first failure opens it anew.
const OPEN_FOR: Duration = Duration::from_secs(20);

#[derive(Debug, Default)]
pub(crate) struct Breaker(Mutex<Memory>);

#[derive(Debug, Default)]
struct Memory {
    failures: u32,
    open_until: Option<Instant>,
}

impl Breaker {
    pub(crate) fn is_open(&self) -> bool {
        self.memory()
            .open_until
            .is_some_and(|until| Instant::now() < until)
    }

    pub(crate) fn succeeded(&self) {
        *self.memory() = Memory::default();
    }

    pub(crate) fn failed(&self) {
        let mut memory = self.memory();
        memory.failures = memory.failures.saturating_add(1);
        if memory.failures >= FAILURES {
            memory.open_until = Some(Instant::now() + OPEN_FOR);
        }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_opens_after_failures_in_a_row_and_closes_with_a_success() {
        let breaker = Breaker::default();
        for _ in 1..FAILURES {
            breaker.failed();
        }
        breaker.succeeded();
        breaker.failed();
        assert!(
            !breaker.is_open(),
            "a success in between starts the count anew"
        );
        for _ in 1..FAILURES {
            breaker.failed();
        }
        assert!(breaker.is_open());
        tokio::time::advance(OPEN_FOR).await;
        assert!(!breaker.is_open(), "after a while it is tried again");
        breaker.failed();
        assert!(breaker.is_open(), "and the first failure opens it anew");
        tokio::time::advance(OPEN_FOR).await;
        breaker.succeeded();
        breaker.failed();
        assert!(!breaker.is_open());
    }
}
