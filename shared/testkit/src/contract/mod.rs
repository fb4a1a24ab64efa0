//! The contract of a table and of the store over it, as a suite that runs against any adapter: the memory table, a local endpoint, AWS.
//!
//! [`run`] is for every adapter, and may run again and again on the same table: each run uses names of its own. [`strict`] holds the rules that
//! AWS keeps and some emulators do not. A broken rule panics with a sentence, as a test does. It leaves orders behind, unfinished ones among
//! them: give it a table that no pipeline watches.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a contract suite fails as tests do, by panicking"
)]

pub mod orders;

mod pages;
mod port;

pub mod charges;
pub mod counted;

mod patterns;
mod placement;
mod saga;
mod steps;

use std::time::Duration;

use sagaline_store::{Store, Table};
use uuid::Uuid;

/// How often, and how long apart, an index is asked for what the table holds already.
const LOOKS: u32 = 100;
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Every rule that every adapter keeps.
///
/// # Panics
/// If one is broken.
pub async fn run<T: Table>(table: T) {
    let store = Store::new(table);
    let names = Names::fresh();
    port::run(store.table(), &names).await;
    pages::run(store.table(), &names).await;
    Box::pin(placement::run(&store, &names)).await;
    Box::pin(saga::run(&store, &names)).await;
    Box::pin(patterns::run(&store, &names)).await;
}

/// The rules of AWS that emulators are known to break.
///
/// # Panics
/// If one is broken.
pub async fn strict<T: Table>(table: &T) {
    port::strict(table, &Names::fresh()).await;
}

/// Names that no other run uses.
pub(crate) struct Names(String);

impl Names {
    fn fresh() -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "a suite that runs again on the same table needs names of its own"
        )]
        let run = Uuid::new_v4().simple().to_string();
        Self(run.get(..12).unwrap_or_default().to_owned())
    }

    pub(crate) fn name(&self, what: &str) -> String {
        format!("{what}-{}", self.0)
    }
}

/// Looks until `look` finds something: an index follows its table a little later (F-GSI-1).
pub(crate) async fn eventually<R>(what: &str, mut look: impl AsyncFnMut() -> Option<R>) -> R {
    for _ in 0..LOOKS {
        if let Some(found) = look().await {
            return found;
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "an index says nothing of its progress; the memory table is never waited for"
        )]
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    panic!("never seen: {what}");
}
