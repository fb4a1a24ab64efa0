//! Metrics of the saga in CloudWatch's embedded metric format: one JSON object a line, written by the processors.

use sagaline_order::Timestamp;
use serde_json::{Map, Value, json};

use crate::SweepReport;

/// The namespace of the metrics.
const NAMESPACE: &str = "Sagaline";

/// Who measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Measured<'a> {
    /// The function's name; dimension `function`.
    function: &'a str,
    /// The consumer; dimension `consumer`.
    consumer: &'a str,
    /// When.
    at: Timestamp,
}

/// One EMF object.
fn emf(measured: Measured<'_>, metrics: &[(&'static str, &'static str, u64)]) -> String {
    let names: Vec<Value> = metrics
        .iter()
        .map(|(name, unit, _)| json!({"Name": name, "Unit": unit}))
        .collect();
    let mut object = Map::new();
    object.insert(
        "_aws".to_owned(),
        json!({
            "Timestamp": measured.at.as_millis(),
            "CloudWatchMetrics": [{"Namespace": NAMESPACE, "Dimensions": [["function", "consumer"]], "Metrics": names}],
        }),
    );
    object.insert("function".to_owned(), measured.function.into());
    object.insert("consumer".to_owned(), measured.consumer.into());
    object.extend(
        metrics
            .iter()
            .map(|(name, _, value)| ((*name).to_owned(), (*value).into())),
    );
    Value::Object(object).to_string()
}

impl SweepReport {
    /// One EMF object of the pass.
    #[must_use]
    pub fn emf(&self, function: &str, at: Timestamp) -> String {
        let measured = Measured {
            function,
            consumer: "sweeper",
            at,
        };
        emf(
            measured,
            &[
                ("OldestOverdueSeconds", "Seconds", self.oldest_overdue_s),
                ("OrderNeedsAttention", "Count", self.alarms),
                ("OrdersDue", "Count", self.found),
                ("OrdersMoved", "Count", self.moved),
                ("OrdersDeferred", "Count", self.deferred),
                ("OrdersFailed", "Count", self.failed),
                ("OrdersOutOfTime", "Count", self.out_of_time),
                ("ShardsLeft", "Count", self.shards_left),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_declared_and_has_a_value() {
        let at = Timestamp::parse("2026-01-31T08:30:00Z").unwrap();
        let line = SweepReport {
            found: 3,
            oldest_overdue_s: 61,
            ..SweepReport::default()
        }
        .emf("sweeper-fn", at);
        let object: Value = serde_json::from_str(&line).unwrap();
        assert!(!line.contains('\n'));
        for metric in object["_aws"]["CloudWatchMetrics"][0]["Metrics"]
            .as_array()
            .unwrap()
        {
            assert!(
                object[metric["Name"].as_str().unwrap()].is_u64(),
                "{metric}"
            );
        }
        assert_eq!(
            (&object["OldestOverdueSeconds"], &object["OrdersDue"]),
            (&json!(61), &json!(3))
        );
        assert_eq!(
            (&object["function"], &object["consumer"]),
            (&json!("sweeper-fn"), &json!("sweeper"))
        );
    }
}
