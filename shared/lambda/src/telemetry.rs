//! Logs and metrics: one JSON object a line on standard output in Lambda, where CloudWatch reads both.

use serde_json::{Value, json};
use std::io::Write as _;
use tracing_subscriber::EnvFilter;

/// The SDK and the HTTP stack speak up only when something is wrong.
const QUIET: &str =
    "hyper=warn,aws_config=warn,aws_smithy_runtime=warn,aws_sdk=warn,h2=warn,rustls=warn";

/// Starts the log of a Lambda function. `AWS_LAMBDA_LOG_LEVEL` (Lambda's own setting) or `RUST_LOG` chooses the level; `info` otherwise.
///
/// A panic becomes one line of the same log.
pub fn init_lambda() {
    let level = ["RUST_LOG", "AWS_LAMBDA_LOG_LEVEL"]
        .iter()
        .find_map(|name| std::env::var(name).ok())
        .filter(|level| !level.is_empty());
    let filter = filter(level.as_deref().unwrap_or("info"));
    // Lambda stamps every line with the time of its arrival, so ours would be a second one.
    let log = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(true)
        .with_env_filter(filter);
    // A second start in one process (a test) keeps the first log.
    if log.try_init().is_ok() {
        std::panic::set_hook(Box::new(|panic| {
            let place = panic
                .location()
                .map(ToString::to_string)
                .unwrap_or_default();
            let said = panic.payload_as_str().unwrap_or("no message");
            tracing::error!(place, said, "panicked");
        }));
    }
}

/// Starts the log of a command: nothing but what `RUST_LOG` asks for, on standard error.
pub fn init_command() {
    // Off is off: the warnings of the SDK, too. What matters of them is in the command's own error.
    let filter =
        std::env::var("RUST_LOG").map_or_else(|_| EnvFilter::new("off"), |level| filter(&level));
    // A second start in one process (a test) keeps the first log.
    let _already_started = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(filter)
        .try_init();
}

fn filter(level: &str) -> EnvFilter {
    EnvFilter::try_new(format!("{QUIET},{level}"))
        .unwrap_or_else(|_| EnvFilter::new(format!("{QUIET},info")))
}

/// Adds a count of the processor's own to a metrics object, so that a batch still has one.
#[must_use]
pub fn with_count(metrics: &str, name: &str, value: u64) -> String {
    let Ok(mut object) = serde_json::from_str::<Value>(metrics) else {
        return metrics.to_owned();
    };
    if let Some(Value::Array(declared)) = object.pointer_mut("/_aws/CloudWatchMetrics/0/Metrics") {
        declared.push(json!({"Name": name, "Unit": "Count"}));
    }
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value.into());
    }
    object.to_string()
}

/// Writes one metrics object (CloudWatch embedded metric format) as a line of its own, past the log's format and level.
pub fn emit(metrics: &str) {
    let mut line = String::with_capacity(metrics.len() + 1);
    line.push_str(metrics);
    line.push('\n');
    // One write call a line, so that lines of concurrent writers never mix.
    let mut out = std::io::stdout().lock();
    if let Err(error) = out.write_all(line.as_bytes()).and_then(|()| out.flush()) {
        tracing::error!(%error, "metrics could not be written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sagaline_stream::{Counts, Dimensions, Ending, EpochMillis};

    #[test]
    fn a_count_of_the_processors_own_joins_the_one_object_of_the_batch() {
        let dimensions = Dimensions {
            function: "f",
            consumer: "projector",
        };
        let metrics =
            Counts::of([Ending::Skipped]).emf(dimensions, EpochMillis::new(1_764_500_000_000));
        let object: Value =
            serde_json::from_str(&with_count(&metrics, "VersionUnchanged", 1)).expect("JSON");
        assert_eq!(object["VersionUnchanged"], 1);
        assert_eq!(object["RecordsSkipped"], 1);
        let declared = object["_aws"]["CloudWatchMetrics"][0]["Metrics"]
            .as_array()
            .expect("a list");
        assert_eq!(declared.len(), 8);
        assert_eq!(
            declared[7],
            json!({"Name": "VersionUnchanged", "Unit": "Count"})
        );
    }
}
