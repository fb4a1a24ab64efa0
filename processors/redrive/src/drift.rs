//! The scheduled comparison of table and index: the operator's `search verify --since 2h` as a metric, `SearchDriftCount`.
//!
//! It has an event of its own, and an invocation's time. What it could not finish in it is said by another metric, and in the log: a count of
//! zero means that the index is right only as long as `SearchDriftUnfinished` is zero, too. It finds and does not repair: why an index
//! drifts is for a person to see first.

use sagaline_lambda::{BoxError, Handler, now, one_line, telemetry};
use sagaline_order::Timestamp;
use sagaline_search::verify::{Findings, Verifier};
use sagaline_sinks::{Search, heads, verify_since};
use sagaline_store::Table;
use sagaline_stream::{BatchResponse, Budget, Invocation, Limits};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::future::Future;

/// How far back it looks. The schedule comes twice in that time, so nothing is left out when one run fails.
const LOOKS_BACK_MILLIS: i64 = 2 * 60 * 60 * 1_000;

/// Of what was found, so many orders are named in the log.
const NAMED: usize = 20;

/// What a check came to.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) findings: Findings,
    /// Why it did not get to its end.
    pub(crate) unfinished: Option<String>,
}

/// What can be checked.
pub(crate) trait DriftCheck {
    /// Compares what was written since, as far as the budget lasts.
    fn check(&self, since: Timestamp, budget: &Budget) -> impl Future<Output = Checked>;
}

impl<T: Table> DriftCheck for Search<T> {
    async fn check(&self, since: Timestamp, budget: &Budget) -> Checked {
        let reread = |ids: Vec<String>| heads(&self.store, ids);
        let mut verifier = Verifier::new(&self.client, &self.write_alias, reread);
        let work = verify_since(&mut verifier, &self.store, (since, now()), |_| {});
        let unfinished = match budget.within(Box::pin(work)).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(one_line(&error)),
            Err(time_is_up) => Some(time_is_up.chain()),
        };
        Checked {
            findings: verifier.into_findings(),
            unfinished,
        }
    }
}

/// A handler that is also called by a schedule.
#[derive(Debug)]
pub(crate) struct Scheduled<H, C> {
    inner: H,
    check: C,
    consumer: &'static str,
}

impl<H, C> Scheduled<H, C> {
    /// Scheduled events go to `check`, all others to `inner`.
    pub(crate) const fn new(inner: H, check: C, consumer: &'static str) -> Self {
        Self {
            inner,
            check,
            consumer,
        }
    }
}

impl<H: Handler<Answer = BatchResponse>, C: DriftCheck> Handler for Scheduled<H, C> {
    type Answer = BatchResponse;

    async fn handle(
        &self,
        payload: &[u8],
        invocation: &Invocation,
    ) -> Result<BatchResponse, BoxError> {
        if !is_scheduled(payload) {
            return self.inner.handle(payload, invocation).await;
        }
        let budget = Budget::start(invocation, &Limits::default());
        let at = invocation.received_at.as_millis();
        let since = Timestamp::from_millis(at.saturating_sub(LOOKS_BACK_MILLIS))
            .ok_or("the invocation has no usable time")?;
        let checked = Box::pin(self.check.check(since, &budget)).await;
        tell(&checked);
        telemetry::emit(&metrics(&checked, &invocation.function, self.consumer, at));
        Ok(BatchResponse::default())
    }
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "detail-type")]
    detail_type: String,
}

/// A schedule's event (EventBridge user guide, "Scheduled Event"). A batch of a queue has `Records`, and no detail type.
fn is_scheduled(payload: &[u8]) -> bool {
    serde_json::from_slice::<Event>(payload)
        .is_ok_and(|event| event.detail_type == "Scheduled Event")
}

fn tell(checked: &Checked) {
    let Checked {
        findings,
        unfinished,
    } = checked;
    for finding in findings.found().iter().take(NAMED) {
        let (head_version, index_version) = (finding.head_version, finding.index_version);
        tracing::error!(
            drift = finding.drift.as_str(),
            order_id = finding.order_id,
            ?head_version,
            ?index_version,
            "the index is not what the table says"
        );
    }
    if let Some(why) = unfinished {
        tracing::error!(
            heads = findings.heads,
            why,
            "the index could not be compared with the table to the end: run `sagaline search verify --since 2h`"
        );
    }
}

/// One object in CloudWatch's embedded metric format.
fn metrics(checked: &Checked, function: &str, consumer: &str, at: i64) -> String {
    let values = [
        ("SearchDriftCount", json!(checked.findings.total())),
        ("SearchDriftChecked", json!(checked.findings.heads)),
        (
            "SearchDriftUnfinished",
            json!(u64::from(checked.unfinished.is_some())),
        ),
    ];
    let declared: Vec<Value> = values
        .iter()
        .map(|(name, _)| json!({"Name": name, "Unit": "Count"}))
        .collect();
    let mut object = Map::new();
    let about = json!({"Timestamp": at, "CloudWatchMetrics": [
        {"Namespace": "Sagaline", "Dimensions": [["function", "consumer"]], "Metrics": declared},
    ]});
    object.insert("_aws".to_owned(), about);
    object.insert("function".to_owned(), function.into());
    object.insert("consumer".to_owned(), consumer.into());
    object.extend(
        values
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value)),
    );
    Value::Object(object).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sagaline_search::verify::{Drift, Finding};
    use sagaline_stream::{EpochMillis, Remaining};
    use std::sync::Mutex;
    use std::time::Duration;

    struct Queues(Mutex<usize>);

    impl Handler for &Queues {
        type Answer = BatchResponse;

        async fn handle(&self, _: &[u8], _: &Invocation) -> Result<BatchResponse, BoxError> {
            *self.0.lock().unwrap() += 1;
            Ok(BatchResponse::default())
        }
    }

    struct Asked(Mutex<Vec<i64>>);

    impl DriftCheck for &Asked {
        async fn check(&self, since: Timestamp, _: &Budget) -> Checked {
            self.0.lock().unwrap().push(since.as_millis());
            Checked::default()
        }
    }

    fn invocation() -> Invocation {
        Invocation {
            function: "shop-redrive".to_owned(),
            request_id: "r-1".to_owned(),
            received_at: EpochMillis::new(1_764_500_000_000),
            remaining: Remaining::Known(Duration::from_secs(50)),
        }
    }

    #[tokio::test]
    async fn the_event_of_a_schedule_is_a_comparison_and_everything_else_a_batch() {
        let (queues, asked) = (Queues(Mutex::default()), Asked(Mutex::default()));
        let handler = Scheduled::new(&queues, &asked, "redrive");
        let scheduled = r#"{"version":"0","detail-type":"Scheduled Event","source":"aws.events","time":"2025-11-30T10:53:20Z","detail":{}}"#;
        let answer = handler.handle(scheduled.as_bytes(), &invocation()).await;
        assert_eq!(answer.unwrap(), BatchResponse::default());
        assert_eq!(*asked.0.lock().unwrap(), [1_764_492_800_000]);
        assert_eq!(*queues.0.lock().unwrap(), 0);
        for batch in [
            r#"{"Records":[]}"#,
            "[]",
            "garbage",
            r#"{"detail-type":"Scheduled Event of another kind"}"#,
        ] {
            handler
                .handle(batch.as_bytes(), &invocation())
                .await
                .unwrap();
        }
        assert_eq!(asked.0.lock().unwrap().len(), 1);
        assert_eq!(*queues.0.lock().unwrap(), 4);
    }

    #[test]
    fn what_was_found_and_what_was_not_finished_are_metrics_of_their_own() {
        let mut checked = Checked {
            unfinished: Some("the invocation's time was up".to_owned()),
            ..Checked::default()
        };
        checked.findings.heads = 7;
        checked.findings.add(Finding {
            drift: Drift::Missing,
            order_id: "o-1".to_owned(),
            head_version: Some(2),
            index_version: None,
            repaired: false,
            why: None,
        });
        let object: Value =
            serde_json::from_str(&metrics(&checked, "shop-redrive", "redrive", 5)).unwrap();
        assert_eq!(object["SearchDriftCount"], 1);
        assert_eq!(object["SearchDriftChecked"], 7);
        assert_eq!(object["SearchDriftUnfinished"], 1);
        assert_eq!(object["consumer"], "redrive");
        let about = &object["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(about["Namespace"], "Sagaline");
        assert_eq!(about["Metrics"].as_array().unwrap().len(), 3);
    }
}
