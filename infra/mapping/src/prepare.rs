//! What is found out about each mapping before anything runs: its stream or queue, its destination, its checkpoints.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aws_config::SdkConfig;

use crate::checkpoint::Checkpoints;
use crate::config::{Config, Mapping, QueueSettings, Rate, Source, StreamSettings};
use crate::destination::OnFailure;
use crate::runner::StartError;
use crate::source::queue::Queue;
use crate::source::streams::TableStreams;

/// What is found out about a mapping before anything runs.
pub(crate) enum Prepared {
    Table {
        streams: TableStreams,
        settings: StreamSettings,
        on_failure: OnFailure,
        checkpoints: Arc<Checkpoints>,
        arn: String,
    },
    Queue {
        queue: Queue,
        settings: QueueSettings,
    },
    Schedule {
        rate: Rate,
    },
}

impl Prepared {
    /// Region and account of the source, from its ARN.
    pub(crate) fn place(&self) -> Option<(String, String)> {
        let arn = match self {
            Self::Table { arn, .. } => arn,
            Self::Queue { queue, .. } => &queue.arn,
            Self::Schedule { .. } => return None,
        };
        let mut parts = arn.split(':').skip(3);
        Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
    }
}

/// The AWS clients, built once.
pub(crate) struct Clients {
    streams: aws_sdk_dynamodbstreams::Client,
    sqs: aws_sdk_sqs::Client,
    s3: aws_sdk_s3::Client,
}

impl Clients {
    pub(crate) fn new(sdk: &SdkConfig) -> Self {
        // Local stacks serve buckets by path only, and AWS takes paths too.
        let s3 = aws_sdk_s3::config::Builder::from(sdk)
            .force_path_style(true)
            .build();
        Self {
            streams: aws_sdk_dynamodbstreams::Client::new(sdk),
            sqs: aws_sdk_sqs::Client::new(sdk),
            s3: aws_sdk_s3::Client::from_conf(s3),
        }
    }

    /// Finds the source and the destination of a mapping.
    ///
    /// # Errors
    /// [`StartError`], naming the property.
    pub(crate) async fn prepare(
        &self,
        mapping: &Mapping,
        config: &Config,
        state: Option<&Path>,
        warnings: &mut Vec<String>,
    ) -> Result<Prepared, StartError> {
        let unusable = |property: &str, reason: String| StartError::Unusable {
            key: format!("{}.{property}", mapping.key),
            reason,
        };
        Ok(match &mapping.source {
            Source::Table { table, settings } => {
                let streams = TableStreams {
                    client: self.streams.clone(),
                    table: table.clone(),
                };
                let newest = streams
                    .newest()
                    .await
                    .map_err(|error| unusable("table", error.to_string()))?;
                let arn = newest.ok_or_else(|| {
                    unusable(
                        "table",
                        format!("table {table} does not exist or has no stream"),
                    )
                })?;
                let destination =
                    OnFailure::resolve(settings.on_failure.as_ref(), &self.sqs, &self.s3).await;
                let on_failure = destination.map_err(|reason| {
                    unusable("DestinationConfig.OnFailure.Destination", reason)
                })?;
                let checkpoints = Checkpoints::open(state, mapping)?;
                Prepared::Table {
                    streams,
                    settings: settings.clone(),
                    on_failure,
                    checkpoints,
                    arn,
                }
            }
            Source::Queue { url, settings } => {
                let queue = Queue::open(self.sqs.clone(), url)
                    .await
                    .map_err(|reason| unusable("queue_url", reason))?;
                // F-SQS-2
                let timeout = config
                    .functions
                    .get(&mapping.function)
                    .map_or(Duration::ZERO, |function| function.timeout);
                if queue.visibility < timeout * 6 {
                    let (has, needs) = (queue.visibility.as_secs(), timeout.as_secs() * 6);
                    warnings.push(format!("{}: the queue's visibility time-out of {has} s is under 6 times the function's time-out, {needs} s", mapping.key));
                }
                Prepared::Queue {
                    queue,
                    settings: settings.clone(),
                }
            }
            Source::Schedule { rate, .. } => Prepared::Schedule { rate: *rate },
        })
    }
}
