//! When everything is at rest: nothing waits in a mapping, a queue or Firehose, and no order has anything left to do by itself.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use sagaline_order::{Context, Pending, State, pending};
use sagaline_store::{HEAD_SK, read_head};

use super::pipeline::Pipeline;
use super::wait::until;

/// How long the mappings must have had nothing to do: longer than the projector gathers a batch.
const QUIET: Duration = Duration::from_millis(1_200);
/// Rest is what lasts: the record of a commit that was made while this looked is still on its way to the mappings.
const LASTS: Duration = QUIET;
/// Longer than any deadline of the tests' own settings.
const LIMIT: Duration = Duration::from_secs(120);

impl Pipeline {
    /// Waits for it.
    ///
    /// # Panics
    /// With what is still going on, and the last lines of the functions.
    pub(crate) async fn at_rest(&self) {
        let mut going_on = String::new();
        let mut since = None;
        let rest = until("everything is at rest", LIMIT, async || {
            going_on = self.going_on().await;
            if !going_on.is_empty() {
                since = None;
                return None;
            }
            let since = *since.get_or_insert_with(Instant::now);
            (since.elapsed() >= LASTS).then_some(())
        });
        if tokio::time::timeout(LIMIT - Duration::from_secs(1), rest)
            .await
            .is_err()
        {
            let lines = self.lines.lock().unwrap();
            let last: Vec<_> = lines
                .iter()
                .rev()
                .take(30)
                .map(|(of, line)| format!("[{of}] {line}"))
                .collect();
            panic!("not at rest: {going_on}\n{}", last.join("\n"));
        }
    }

    /// What is not at rest; empty if everything is.
    async fn going_on(&self) -> String {
        // A schedule is busy while it runs; the sweeper's work shows in the orders themselves.
        let status = self.runner.as_ref().expect("a runner runs").status();
        let feeds = status
            .iter()
            .filter(|mapping| !mapping.source.starts_with("rate("));
        for mapping in feeds {
            if mapping.idle_for.is_none_or(|idle| idle < QUIET) {
                return format!("{}: {}", mapping.mapping, mapping.last_result);
            }
        }
        for queue in ["SEARCH_RETRY_QUEUE_URL", "ARCHIVE_RETRY_QUEUE_URL"] {
            if self.place.waiting(self.place.var(queue)).await > 0 {
                return format!("messages wait in {queue}");
            }
        }
        let now = sagaline_lambda::now();
        let context = Context {
            now,
            config: self.store.saga_config(now).await,
        };
        for item in self.place.items().await {
            if item
                .get("SK")
                .and_then(|sk| sk.as_s().ok())
                .is_none_or(|sk| sk != HEAD_SK)
            {
                continue;
            }
            // A head that cannot be read is nobody's to finish.
            let Ok(order) = read_head(&item) else {
                continue;
            };
            let waits_for_a_person =
                order.state == State::NeedsOperator && order.notices.is_empty();
            if !waits_for_a_person && pending(&order, &context) != Pending::Nothing {
                return format!(
                    "{} is {:?} with {:?}",
                    order.order_id, order.state, order.steps
                );
            }
        }
        self.unarchived().await
    }

    /// A committed version that Firehose has not delivered yet; empty if there is none.
    async fn unarchived(&self) -> String {
        let view = self.archived("order_changes").await;
        let view: BTreeSet<_> = view
            .iter()
            .map(|(order, version)| (order.as_str(), version.get()))
            .collect();
        for item in self.place.items().await {
            let text = |name: &str| item.get(name).and_then(|value| value.as_s().ok());
            let (Some(pk), Some(sk)) = (text("PK"), text("SK")) else {
                continue;
            };
            let version = sk
                .strip_prefix("HISTORY#")
                .and_then(|version| version.parse().ok());
            if let (Some(order), Some(version)) = (pk.strip_prefix("ORDER#"), version)
                && !view.contains(&(order, version))
            {
                return format!("version {version} of {order} is not in the archive");
            }
        }
        String::new()
    }
}
