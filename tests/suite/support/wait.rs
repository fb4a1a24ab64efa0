//! Waiting for what must become true.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};

/// How long everything may take that needs no deadline of the pipeline to pass. Generous: a busy machine is slow, not wrong.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(50);

/// Looks until `look` finds something, for at most `limit`.
///
/// # Panics
/// When the time is over, with what was waited for.
pub(crate) async fn until<T>(
    what: &str,
    limit: Duration,
    mut look: impl AsyncFnMut() -> Option<T>,
) -> T {
    let began = Instant::now();
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        if let Some(found) = look().await {
            return found;
        }
        assert!(
            began.elapsed() < limit,
            "not seen within {} s: {what}",
            limit.as_secs()
        );
    }
}
