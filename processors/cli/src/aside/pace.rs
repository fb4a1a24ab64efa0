//! At most so many a second, whoever asks.

use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// Pieces a second, as in `10/s` or `10`.
pub(crate) fn rate(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix("/s").unwrap_or(text);
    match number.parse() {
        Ok(rate @ 1..=10_000) => Ok(rate),
        Ok(_) | Err(_) => Err("must be 1/s to 10000/s".to_owned()),
    }
}

/// Gives turns, evenly spread. What was slow is not made up for by a burst afterwards.
#[derive(Debug)]
pub(super) struct Pace(Option<Mutex<Interval>>);

impl Pace {
    /// Without a rate every turn is at once.
    pub(super) fn new(rate: Option<u32>) -> Self {
        Self(rate.map(|rate| {
            let mut turns = interval(Duration::from_secs(1) / rate.max(1));
            turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
            Mutex::new(turns)
        }))
    }

    /// Waits for the next turn; those who wait get theirs in the order in which they came.
    pub(super) async fn turn(&self) {
        if let Self(Some(turns)) = self {
            turns.lock().await.tick().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::join_all;
    use tokio::time::{Instant, timeout};

    #[test]
    fn a_rate_is_a_number_a_second() {
        assert_eq!((rate("10/s"), rate("1")), (Ok(10), Ok(1)));
        for bad in ["", "0", "-1", "10/m", "x", "10001/s"] {
            assert!(rate(bad).is_err(), "{bad}");
        }
    }

    /// When each of so many turns came, in milliseconds, if `together` ask at once and every one of them works so long.
    async fn turns(rate: Option<u32>, count: usize, together: usize, work: Duration) -> Vec<u128> {
        let began = Instant::now();
        let pace = Pace::new(rate);
        let mut came = Vec::new();
        while came.len() < count {
            let asking = (0..together).map(|_| async {
                pace.turn().await;
                let at = began.elapsed().as_millis();
                let _slow = timeout(work, std::future::pending::<()>()).await;
                at
            });
            came.extend(join_all(asking).await);
        }
        came
    }

    #[tokio::test(start_paused = true)]
    async fn in_no_second_there_are_more_turns_than_the_rate() {
        for (together, work) in [(1, 0), (8, 0), (8, 30), (1, 2_500), (8, 2_500)] {
            for rate in [1, 3, 10, 50] {
                let came = turns(Some(rate), 64, together, Duration::from_millis(work)).await;
                let most = came
                    .iter()
                    .map(|from| {
                        came.iter()
                            .filter(|at| (*from..from + 1_000).contains(at))
                            .count()
                    })
                    .max();
                // The clock counts whole milliseconds, so that a turn may fall into the second before its own.
                assert!(
                    most <= Some(rate as usize + 1),
                    "{most:?} at {rate}/s, {together} together, {work} ms each"
                );
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_rate_is_used_and_none_waits_for_nothing() {
        let came = turns(Some(10), 101, 1, Duration::ZERO).await;
        assert_eq!(came.last(), Some(&10_000), "100 spaces of 100 ms");
        let free = turns(None, 100, 8, Duration::ZERO).await;
        assert!(free.iter().all(|at| *at <= 100), "{free:?}");
    }
}
