//! A local event source mapping runner with the semantics of AWS Lambda.
//!
//! It starts real Lambda bootstraps, speaks the Runtime API with them, and feeds them from DynamoDB Streams, SQS and schedules
//! exactly as the Lambda service would: partial responses, splits, retry budgets, record age, on-failure documents. What passes
//! here passes there. It knows nothing of what the functions do.
//!
//! # A tour
//!
//! - [`config`]: the file, checked; every setting under AWS's name. [`filter`]: `FilterCriteria`.
//! - [`shard`]: **the heart**, a pure state machine per shard. [`response`]: what a function's answer means. [`document`]: what
//!   is said of a batch that is given up. All pure: a simulator can drive them.
//! - [`source`]: streams, queues and the clock as AWS renders them. [`host`]: processes and the Runtime API.
//! - [`drive`]: the tasks that connect these. [`Runner`]: all of it as a value to start, watch and stop.
//! - [`run`]: the command line's entry.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use sagaline_mapping::{Config, Options, Runner};
//!
//! let config = Config::load("mappings.json".as_ref())?;
//! let sdk = aws_config::load_from_env().await;
//! let runner = Runner::start(&config, &Options::default(), &sdk).await?;
//! println!("{:?}", runner.status());
//! runner.stop().await;
//! # Ok(())
//! # }
//! ```

pub mod clock;
pub mod config;
pub mod filter;
pub mod response;
pub mod shard;

pub mod document;
pub mod source;

pub mod host;

pub mod drive;

mod aws_error;
mod checkpoint;
mod destination;
mod log;
mod metrics;
mod prepare;
mod run;
mod runner;

pub use checkpoint::StateError;
pub use config::{Config, ConfigError};
pub use destination::OnFailure;
pub use host::Output;
pub use metrics::Metric;
pub use run::{RunArgs, RunError, RunOptions, run};
pub use runner::{MappingStatus, Options, Runner, StartError};
