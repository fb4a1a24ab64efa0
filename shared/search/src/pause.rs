//! The one place where this crate waits for nothing but time.

use std::time::Duration;

#[expect(
    clippy::disallowed_methods,
    reason = "the one pause between two attempts: callers count it, jitter it and bound it"
)]
pub(crate) async fn pause(length: Duration) {
    tokio::time::sleep(length).await;
}
