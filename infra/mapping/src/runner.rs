//! The runner as a value: start it with a configuration, watch it, stop it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use aws_config::SdkConfig;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::checkpoint::StateError;
use crate::config::{Config, Mapping};
use crate::drive::queue::QueueTask;
use crate::drive::schedule::ScheduleTask;
use crate::drive::table::TableTask;
use crate::drive::{Shared, Stop};
use crate::host::{Host, Output, Pool, Setting};
use crate::log::InvocationLog;
use crate::metrics::{Lines, Meter, Metric};
use crate::prepare::{Clients, Prepared};

/// A call that ends within this time of a stop is finished and checkpointed; a longer one is killed and comes again.
const DRAIN_LIMIT: Duration = Duration::from_secs(4);

/// The longest pause between two reads of an idle shard of a local stack: a write is delivered within 100 ms.
const LOCAL_POLL: Duration = Duration::from_millis(75);

/// The same on AWS, which itself polls about four times a second (F-ESM-1).
const AWS_POLL: Duration = Duration::from_millis(250);

/// How long an idle receive waits, in seconds, locally and on AWS.
const LOCAL_RECEIVE_WAIT_S: i32 = 1;
/// See [`LOCAL_RECEIVE_WAIT_S`].
const AWS_RECEIVE_WAIT_S: i32 = 10;

/// The account in ARNs when no source names one.
const NO_ACCOUNT: &str = "000000000000";

/// How the runner works, apart from what it runs.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where checkpoints are kept. Without it every start begins at the starting position.
    pub state: Option<PathBuf>,
    /// Where metrics go, one JSON line per increment.
    pub metrics: Option<PathBuf>,
    /// Where invocations go, one JSON line each.
    pub log: Option<PathBuf>,
    /// `AWS_ENDPOINT_URL` for functions whose environment sets none.
    pub endpoint_url: Option<String>,
    /// Where the functions' own lines go.
    pub output: Output,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            state: None,
            metrics: None,
            log: None,
            endpoint_url: None,
            output: Output::stderr(),
        }
    }
}

/// Why the runner does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A file for metrics or the log cannot be opened.
    #[error("{path}: cannot be opened for writing")]
    File {
        /// The file.
        path: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The state cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// A source or destination does not exist, or cannot be reached.
    #[error("{key}: {reason}")]
    Unusable {
        /// The mapping and property, as `mappings[0].table`.
        key: String,
        /// What was found.
        reason: String,
    },
}

/// What one mapping has done so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappingStatus {
    /// `function/source`.
    pub mapping: String,
    /// The function.
    pub function: String,
    /// The table, queue or schedule.
    pub source: String,
    /// Records read.
    pub polled: u64,
    /// Records that the filter dropped.
    pub filtered_out: u64,
    /// Records handed to the function, once per call.
    pub invoked: u64,
    /// Records that failed in a call.
    pub failed: u64,
    /// Records given up, whatever became of their document.
    pub given_up: u64,
    /// Those of them whose destination took no document.
    pub dropped: u64,
    /// Those of them that the destination was told of.
    pub delivered_on_failure: u64,
    /// Messages deleted from the queue.
    pub deleted: u64,
    /// The age of the last record of the last finished batch, in milliseconds.
    pub iterator_age_ms: u64,
    /// How long nothing was left to do; `None` while something is.
    pub idle_for: Option<Duration>,
    /// AWS's `LastProcessingResult`.
    pub last_result: String,
}

/// A running runner. [`Runner::stop`] ends it in order; dropping it kills everything.
#[derive(Debug)]
pub struct Runner {
    host: Host,
    tasks: JoinSet<()>,
    writers: JoinSet<()>,
    stop: Stop,
    end_writers: CancellationToken,
    mappings: Vec<(Mapping, Arc<Meter>)>,
    warnings: Vec<String>,
}

impl Runner {
    /// Finds every source and destination, then starts all enabled mappings. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// [`StartError`], naming the mapping's property or the file. Nothing runs then.
    pub async fn start(
        config: &Config,
        options: &Options,
        sdk: &SdkConfig,
    ) -> Result<Self, StartError> {
        let lines = open(options.metrics.as_ref(), Lines::open)?;
        let log = open(options.log.as_ref(), InvocationLog::open)?;
        let clients = Clients::new(sdk);
        let mut warnings = config.warnings.clone();
        let mut prepared = Vec::new();
        for mapping in config.mappings.iter().filter(|mapping| mapping.enabled) {
            prepared.push((
                mapping,
                clients
                    .prepare(mapping, config, options.state.as_deref(), &mut warnings)
                    .await?,
            ));
        }
        let place = prepared.iter().find_map(|(_, prepared)| prepared.place());
        let (place_region, account) =
            place.unwrap_or_else(|| (String::new(), NO_ACCOUNT.to_owned()));
        let region = sdk
            .region()
            .map(ToString::to_string)
            .unwrap_or(place_region);
        let setting = Setting {
            region,
            account,
            endpoint_url: options.endpoint_url.clone(),
            credentials: sdk.credentials_provider(),
            output: options.output.clone(),
        };
        let local = sdk.endpoint_url().is_some() || options.endpoint_url.is_some();
        let host = Host::new(&config.functions, &setting);
        let mut runner = Self {
            host,
            tasks: JoinSet::new(),
            writers: JoinSet::new(),
            stop: Stop::default(),
            end_writers: CancellationToken::new(),
            mappings: Vec::new(),
            warnings,
        };
        for (mapping, prepared) in prepared {
            // The configuration has checked that every mapping names a function of it.
            let Some(function) = runner.host.function(&mapping.function) else {
                continue;
            };
            let meter = Meter::new(mapping.name(), lines.clone());
            let shared = Shared {
                function: mapping.function.as_str().into(),
                meter: Arc::clone(&meter),
                log: log.clone(),
            };
            runner.begin(mapping, prepared, function, shared, &setting, local);
            runner.mappings.push((mapping.clone(), meter));
        }
        Ok(runner)
    }

    fn begin(
        &mut self,
        mapping: &Mapping,
        prepared: Prepared,
        function: Pool,
        shared: Shared,
        setting: &Setting,
        local: bool,
    ) {
        let stop = self.stop.clone();
        match prepared {
            Prepared::Table {
                streams,
                settings,
                on_failure,
                checkpoints,
                ..
            } => {
                self.writers
                    .spawn(Arc::clone(&checkpoints).write_until(self.end_writers.clone()));
                let function_arn = function.arn().to_owned();
                let longest_poll = if local { LOCAL_POLL } else { AWS_POLL };
                let task = TableTask {
                    streams,
                    settings,
                    function,
                    function_arn,
                    mapping_id: mapping.id(),
                    on_failure,
                    longest_poll,
                    shared,
                    checkpoints,
                    stop,
                };
                self.tasks.spawn(task.run());
            }
            Prepared::Queue { queue, settings } => {
                let wait_s = if local {
                    LOCAL_RECEIVE_WAIT_S
                } else {
                    AWS_RECEIVE_WAIT_S
                };
                self.tasks.spawn(
                    QueueTask {
                        queue,
                        settings,
                        function,
                        wait_s,
                        shared,
                        stop,
                    }
                    .run(),
                );
            }
            Prepared::Schedule { rate } => {
                let (region, account) = (setting.region.clone(), setting.account.clone());
                self.tasks.spawn(
                    ScheduleTask {
                        rate,
                        function,
                        region,
                        account,
                        shared,
                        stop,
                    }
                    .run(),
                );
            }
        }
    }

    /// What is legal but probably not meant, one sentence each.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The state of all enabled mappings, in the order of the configuration.
    #[must_use]
    pub fn status(&self) -> Vec<MappingStatus> {
        let status = |(mapping, meter): &(Mapping, Arc<Meter>)| MappingStatus {
            mapping: mapping.name(),
            function: mapping.function.clone(),
            source: mapping.source.name().to_owned(),
            polled: meter.value(Metric::PolledEventCount),
            filtered_out: meter.value(Metric::FilteredOutEventCount),
            invoked: meter.value(Metric::InvokedEventCount),
            failed: meter.value(Metric::FailedInvokeEventCount),
            given_up: meter.given_up(),
            dropped: meter.value(Metric::DroppedEventCount),
            delivered_on_failure: meter.value(Metric::OnFailureDestinationDeliveredEventCount),
            deleted: meter.value(Metric::DeletedEventCount),
            iterator_age_ms: meter.value(Metric::IteratorAge),
            idle_for: meter.idle_for(),
            last_result: meter.result(),
        };
        self.mappings.iter().map(status).collect()
    }

    /// How long every source has been drained, with nothing running or to be retried; `None` while something is. Schedules do
    /// not count.
    #[must_use]
    pub fn idle_for(&self) -> Option<Duration> {
        let mut least = Duration::MAX;
        for (_, meter) in &self.mappings {
            least = least.min(meter.idle_for()?);
        }
        Some(least)
    }

    /// The ids and functions of all running bootstraps.
    #[must_use]
    pub fn pids(&self) -> Vec<(u32, String)> {
        self.host.pids()
    }

    /// Stops in order, within 5 s: reading ends at once, calls that end within 4 s are finished and checkpointed, longer ones
    /// are killed and come again after the next start. No bootstrap is left running.
    pub async fn stop(mut self) {
        self.stop.drain.cancel();
        let drain = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(DRAIN_LIMIT, drain).await.is_err() {
            self.stop.cut.cancel();
            self.tasks.shutdown().await;
        }
        self.host.shut_down().await;
        self.end_writers.cancel();
        while self.writers.join_next().await.is_some() {}
    }
}

fn open<T>(
    path: Option<&PathBuf>,
    open: impl Fn(Option<&std::path::Path>) -> std::io::Result<T>,
) -> Result<T, StartError> {
    let path = path.map(PathBuf::as_path);
    open(path).map_err(|source| StartError::File {
        path: path
            .unwrap_or(std::path::Path::new(""))
            .display()
            .to_string(),
        source,
    })
}
