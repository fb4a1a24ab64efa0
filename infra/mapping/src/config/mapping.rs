//! One mapping: what feeds which function, and every setting of it with AWS's range.
//!
//! Ranges are those of the CreateEventSourceMapping page of the Lambda API reference (F-ESM-1, F-ESM-2, F-SQS-1).

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use uuid::Uuid;

use super::destination::{DestinationArn, on_failure};
use super::object::Object;
use super::{ConfigError, Function, Rate};
use crate::filter::{Filter, Subject};
use crate::shard::Rules;

/// One mapping, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Mapping {
    /// Where it stands in the file, as `mappings[0]`.
    pub key: String,
    /// The function that is called.
    pub function: String,
    /// What feeds it.
    pub source: Source,
    /// A disabled mapping is not run.
    pub enabled: bool,
}

/// What feeds a function, with the settings that exist for it.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// The stream of a DynamoDB table.
    Table {
        /// The table's name. Its newest stream is found through the Streams API.
        table: String,
        /// How it is read and delivered.
        settings: StreamSettings,
    },
    /// A standard SQS queue.
    Queue {
        /// The queue's URL.
        url: String,
        /// How it is read and delivered.
        settings: QueueSettings,
    },
    /// The clock.
    Schedule {
        /// The expression as written.
        expression: String,
        /// How often.
        rate: Rate,
    },
}

/// The settings of a stream mapping.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamSettings {
    /// Batches, retries, age and splits: what the shard's state machine needs.
    pub rules: Rules,
    /// Whether the first start reads only what comes later (`LATEST`), not all that is there (`TRIM_HORIZON`).
    pub from_latest: bool,
    /// Which records the function sees.
    pub filter: Filter,
    /// `FunctionResponseTypes` holds `ReportBatchItemFailures`.
    pub report_failures: bool,
    /// Where the documents of discarded batches go.
    pub on_failure: Option<DestinationArn>,
}

/// The settings of a queue mapping.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueSettings {
    /// The most messages of one call.
    pub batch_size: usize,
    /// How long to gather.
    pub window: Duration,
    /// Which messages the function sees.
    pub filter: Filter,
    /// `FunctionResponseTypes` holds `ReportBatchItemFailures`.
    pub report_failures: bool,
    /// How many calls may run at the same time.
    pub concurrency: usize,
}

impl Mapping {
    /// `function/source`, the name under which a mapping appears in metrics, logs and tables.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.function, self.source.name())
    }

    /// The mapping's id, derived from function and source: the same over restarts. AWS mints a random one.
    #[must_use]
    pub fn id(&self) -> Uuid {
        let source = match &self.source {
            Source::Table { table, .. } => format!("table\n{table}"),
            Source::Queue { url, .. } => format!("queue\n{url}"),
            Source::Schedule { expression, .. } => format!("schedule\n{expression}"),
        };
        Uuid::new_v5(
            &Uuid::NAMESPACE_URL,
            format!("sagaline-mapping\n{}\n{source}", self.function).as_bytes(),
        )
    }

    pub(super) fn parse(
        mut object: Object,
        functions: &BTreeMap<String, Function>,
        warnings: &mut Vec<String>,
    ) -> Result<Self, ConfigError> {
        let key = object.path().to_owned();
        let function = object.required_text("function")?;
        let Some(target) = functions.get(&function) else {
            return Err(object.invalid("function", format!("no function is called {function}")));
        };
        let enabled = object.boolean("Enabled")?.unwrap_or(true);
        let kinds = ["table", "queue_url", "schedule"]
            .into_iter()
            .filter(|kind| object.has(kind))
            .count();
        if kinds != 1 {
            return Err(ConfigError::Invalid {
                key,
                reason: "exactly one of table, queue_url and schedule names the source".to_owned(),
            });
        }
        let source = if let Some(table) = object.text("table")? {
            let settings = StreamSettings::parse(&mut object, warnings)?;
            Source::Table { table, settings }
        } else if let Some(url) = object.text("queue_url")? {
            if url.ends_with(".fifo") {
                return Err(object.unsupported(
                    "queue_url",
                    "FIFO queues are not read; only standard queues are",
                ));
            }
            let settings = QueueSettings::parse(&mut object)?;
            Source::Queue { url, settings }
        } else {
            let expression = object.required_text("schedule")?;
            let rate = Rate::parse(&expression).ok_or_else(|| {
                object.unsupported(
                    "schedule",
                    "only rate(1 minute), rate(N minutes), hours, days and seconds are",
                )
            })?;
            Source::Schedule { expression, rate }
        };
        object.finish()?;
        if target.timeout > Duration::from_secs(60)
            && matches!(source, Source::Schedule { rate, .. } if rate.period() < target.timeout)
        {
            warnings.push(format!("{key}: the function's time-out is longer than its schedule's period; calls can overlap"));
        }
        Ok(Self {
            key,
            function,
            source,
            enabled,
        })
    }
}

impl Source {
    /// The table's name, the queue's name or the schedule.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Table { table, .. } => table,
            Self::Queue { url, .. } => url.rsplit('/').next().unwrap_or(url),
            Self::Schedule { expression, .. } => expression,
        }
    }
}

impl StreamSettings {
    fn parse(object: &mut Object, warnings: &mut Vec<String>) -> Result<Self, ConfigError> {
        let from_latest =
            match object.text("StartingPosition")?.as_deref() {
                Some("TRIM_HORIZON") => false,
                Some("LATEST") => true,
                Some("AT_TIMESTAMP") => return Err(object.unsupported(
                    "StartingPosition",
                    "AT_TIMESTAMP does not exist for DynamoDB streams; use TRIM_HORIZON or LATEST",
                )),
                Some(other) => {
                    return Err(object.invalid(
                        "StartingPosition",
                        format!("{other} is neither TRIM_HORIZON nor LATEST"),
                    ));
                }
                None => {
                    warnings.push(format!(
                        "{}: AWS requires it; TRIM_HORIZON is used",
                        object.path_of("StartingPosition")
                    ));
                    false
                }
            };
        if let Some(seconds) = object.integer("TumblingWindowInSeconds", 0, 900)?
            && seconds > 0
        {
            return Err(object.unsupported(
                "TumblingWindowInSeconds",
                "tumbling windows are not run locally",
            ));
        }
        if object.take("StartingPositionTimestamp").is_some() {
            return Err(object.unsupported(
                "StartingPositionTimestamp",
                "it does not exist for DynamoDB streams",
            ));
        }
        let rules = Rules {
            batch_size: as_count(object.integer("BatchSize", 1, 10_000)?.unwrap_or(100)),
            window: window(object)?,
            lanes: as_count(object.integer("ParallelizationFactor", 1, 10)?.unwrap_or(1)),
            bisect: object
                .boolean("BisectBatchOnFunctionError")?
                .unwrap_or(false),
            max_retries: object
                .limit("MaximumRetryAttempts", 0, 10_000)?
                .flatten()
                .and_then(|retries| u32::try_from(retries).ok()),
            max_age: object
                .limit("MaximumRecordAgeInSeconds", 60, 604_800)?
                .flatten()
                .map(Duration::from_secs),
        };
        let settings = Self {
            rules,
            from_latest,
            filter: filter(object, Subject::StreamRecord, warnings)?,
            report_failures: report_failures(object)?,
            on_failure: on_failure(object)?,
        };
        common(object)?;
        Ok(settings)
    }
}

impl QueueSettings {
    /// AWS begins with five concurrent batches (Lambda guide, "SQS scaling"); locally that is also the limit unless
    /// `MaximumConcurrency` says otherwise.
    const CONCURRENCY: u64 = 5;

    fn parse(object: &mut Object) -> Result<Self, ConfigError> {
        let batch_size = object.integer("BatchSize", 1, 10_000)?.unwrap_or(10);
        let window = window(object)?;
        if batch_size > 10 && window.is_zero() {
            return Err(object.invalid("BatchSize", format!("{batch_size} is above 10, which needs MaximumBatchingWindowInSeconds of at least 1")));
        }
        let concurrency = match object.object("ScalingConfig")? {
            None => None,
            Some(mut scaling) => {
                let most = scaling.integer("MaximumConcurrency", 2, 1_000)?;
                scaling.finish()?;
                most
            }
        };
        let mut warnings = Vec::new();
        let settings = Self {
            batch_size: as_count(batch_size),
            window,
            filter: filter(object, Subject::QueueMessage, &mut warnings)?,
            report_failures: report_failures(object)?,
            concurrency: as_count(concurrency.unwrap_or(Self::CONCURRENCY)),
        };
        common(object)?;
        Ok(settings)
    }
}

fn as_count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn window(object: &mut Object) -> Result<Duration, ConfigError> {
    Ok(Duration::from_secs(
        object
            .integer("MaximumBatchingWindowInSeconds", 0, 300)?
            .unwrap_or(0),
    ))
}

fn filter(
    object: &mut Object,
    subject: Subject,
    warnings: &mut Vec<String>,
) -> Result<Filter, ConfigError> {
    let Some(mut criteria) = object.object("FilterCriteria")? else {
        return Ok(Filter::default());
    };
    let mut filter = Filter::default();
    let filters = criteria.objects("Filters")?.unwrap_or_default();
    // F-ESM-14: five by default, ten on request.
    if filters.len() > 10 {
        return Err(criteria.invalid(
            "Filters",
            format!("{} filters; AWS takes 5, or 10 on request", filters.len()),
        ));
    }
    if filters.len() > 5 {
        warnings.push(format!(
            "{}: more than 5 filters need a raised quota on AWS",
            criteria.path_of("Filters")
        ));
    }
    for mut entry in filters {
        let pattern = entry.required_text("Pattern")?;
        filter
            .add(&pattern, subject)
            .map_err(|reason| entry.invalid("Pattern", reason))?;
        entry.finish()?;
    }
    criteria.finish()?;
    Ok(filter)
}

fn report_failures(object: &mut Object) -> Result<bool, ConfigError> {
    let types = object.list("FunctionResponseTypes")?.unwrap_or_default();
    match types.as_slice() {
        [] => Ok(false),
        [Value::String(only)] if only == "ReportBatchItemFailures" => Ok(true),
        other => Err(object.invalid(
            "FunctionResponseTypes",
            format!(
                "{} is not [\"ReportBatchItemFailures\"]",
                Value::from(other.to_vec())
            ),
        )),
    }
}

/// `MetricsConfig` asks for the counters that the runner always prints; the rest is refused with a reason.
fn common(object: &mut Object) -> Result<(), ConfigError> {
    if let Some(mut metrics) = object.object("MetricsConfig")? {
        for value in metrics.list("Metrics")?.unwrap_or_default() {
            if value.as_str() != Some("EventCount") {
                return Err(metrics.unsupported("Metrics", "only EventCount is counted here"));
            }
        }
        metrics.finish()?;
    }
    for (key, reason) in [
        ("KmsKeyArn", "filters are read as plain text"),
        (
            "ProvisionedPollerConfig",
            "the runner has no provisioned pollers",
        ),
        ("LoggingConfig", "the runner has one log; see --log"),
    ] {
        if object.has(key) {
            return Err(object.unsupported(key, reason));
        }
    }
    Ok(())
}
