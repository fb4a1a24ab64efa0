//! The Runtime API host: starts real bootstraps and calls them, as the Lambda service does.
//!
//! One process serves one call at a time; a call that finds none free starts another one, as on AWS, where concurrency is the
//! number of execution environments. Each process has a listener of its own on the loopback interface, so that
//! `AWS_LAMBDA_RUNTIME_API` says which process is speaking. The host knows nothing of records, batches or retries.
//!
//! Start reading at `Pool::invoke`; `process.rs` is the life of one process, `api.rs` the HTTP side of it.
//!
//! **When the runner is killed** with SIGKILL nobody can stop the bootstraps. Their listeners close with the runner: a bootstrap
//! that waits for an event, or sends an answer, finds the connection closed and ends (`lambda_runtime` does). One in the middle
//! of a handler ends when the handler is done, or when it writes to its closed standard output.

mod api;
mod environment;
mod memory;
mod process;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_credential_types::provider::SharedCredentialsProvider;
use bytes::Bytes;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::config::Function;
use crate::drive::{Invocation, Invoker};
use crate::response::{FunctionError, FunctionErrorKind, Outcome};
use process::{CallEnd, Process, StartError};

/// How long a start may take before it is begun anew inside the call (Lambda guide, "Lambda execution environment", init phase).
const INIT_LIMIT: Duration = Duration::from_secs(10);

/// How often a call is offered to another process because the one it was meant for had ended before it took the event.
const OFFERS: u32 = 3;

/// Where the functions' lines go.
#[derive(Clone)]
pub struct Output(Arc<Sink>);

/// Takes a function's name and one of its lines.
type Sink = dyn Fn(&str, &str) + Send + Sync;

impl Output {
    /// Hands every line over, with the name of its function.
    pub fn new(sink: impl Fn(&str, &str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(sink))
    }

    /// Prints to standard error, `[function] line`.
    #[must_use]
    pub fn stderr() -> Self {
        Self::new(|function, line| eprintln!("[{function}] {line}"))
    }

    fn line(&self, function: &str, line: &str) {
        (self.0)(function, line);
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Output")
    }
}

/// What all functions of a host share.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The region that functions see.
    pub region: String,
    /// The account in function ARNs.
    pub account: String,
    /// `AWS_ENDPOINT_URL` for functions whose environment sets none.
    pub endpoint_url: Option<String>,
    /// Asked at every start of a process, so that its credentials are fresh. Without it the runner's own variables are passed.
    pub credentials: Option<SharedCredentialsProvider>,
    /// Where the functions' lines go.
    pub output: Output,
}

/// All functions and their processes.
#[derive(Debug, Clone)]
pub struct Host {
    pools: BTreeMap<String, Pool>,
    processes: Arc<Processes>,
}

/// One function: calls it, on a free process or a new one.
#[derive(Debug, Clone)]
pub struct Pool {
    inner: Arc<PoolInner>,
}

#[derive(Debug)]
struct PoolInner {
    spec: Spec,
    idle: Mutex<Vec<Process>>,
    processes: Arc<Processes>,
}

/// What a process of a function is made of.
#[derive(Debug)]
struct Spec {
    name: String,
    arn: String,
    bootstrap: PathBuf,
    env: BTreeMap<String, String>,
    timeout: Duration,
    memory_mb: u32,
    setting: Setting,
}

/// Every process that runs now.
#[derive(Debug, Default)]
struct Processes {
    running: Mutex<BTreeMap<u32, String>>,
    watchers: TaskTracker,
}

impl Processes {
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<u32, String>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host {
    /// A host for these functions. Nothing is started before it is called.
    #[must_use]
    pub fn new(functions: &BTreeMap<String, Function>, setting: &Setting) -> Self {
        let processes = Arc::new(Processes::default());
        let pools = functions.iter().map(|(name, function)| {
            let spec = Spec {
                name: name.clone(),
                arn: format!(
                    "arn:aws:lambda:{}:{}:function:{name}",
                    setting.region, setting.account
                ),
                bootstrap: function.bootstrap.clone(),
                env: function.env.clone(),
                timeout: function.timeout,
                memory_mb: function.memory_mb,
                setting: setting.clone(),
            };
            let inner = PoolInner {
                spec,
                idle: Mutex::new(Vec::new()),
                processes: Arc::clone(&processes),
            };
            (
                name.clone(),
                Pool {
                    inner: Arc::new(inner),
                },
            )
        });
        Self {
            pools: pools.collect(),
            processes,
        }
    }

    /// The function of this name.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<Pool> {
        self.pools.get(name).cloned()
    }

    /// The ids and functions of all running processes.
    #[must_use]
    pub fn pids(&self) -> Vec<(u32, String)> {
        self.processes
            .lock()
            .iter()
            .map(|(pid, name)| (*pid, name.clone()))
            .collect()
    }

    /// Ends all processes and waits until they are gone. Calls that still run must have been dropped before.
    pub async fn shut_down(&self) {
        for pool in self.pools.values() {
            pool.lock_idle().clear();
        }
        self.processes.watchers.close();
        self.processes.watchers.wait().await;
    }
}

impl Pool {
    /// The function's ARN.
    #[must_use]
    pub fn arn(&self) -> &str {
        &self.inner.spec.arn
    }

    fn lock_idle(&self) -> std::sync::MutexGuard<'_, Vec<Process>> {
        self.inner
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// A free process that still runs, else a new one. A start that fails, or takes longer than ten seconds, is begun once more
    /// with the function's own time-out; if that fails too, so does the call (Lambda guide, "Failures during the init phase").
    async fn process(&self) -> Result<Process, StartError> {
        loop {
            let free = self.lock_idle().pop();
            match free {
                Some(process) if process.is_alive() => return Ok(process),
                Some(_ended) => {}
                None => break,
            }
        }
        let spec = &self.inner.spec;
        match Process::start(spec, &self.inner.processes, INIT_LIMIT).await {
            Err(StartError::Init(first)) => {
                spec.setting.output.line(
                    &spec.name,
                    &format!("INIT_REPORT Init failed, and is begun once more: {first}"),
                );
                Process::start(spec, &self.inner.processes, spec.timeout).await
            }
            started @ (Ok(_) | Err(StartError::Spawn(_))) => started,
        }
    }
}

impl Invoker for Pool {
    async fn invoke(&self, request_id: Uuid, event: Bytes) -> Invocation {
        for _ in 0..OFFERS {
            let mut process = match self.process().await {
                Ok(process) => process,
                Err(StartError::Spawn(reason)) => return not_invoked(reason),
                Err(StartError::Init(reason)) => {
                    let outcome = Outcome::Failed(FunctionError {
                        kind: FunctionErrorKind::Init,
                        message: reason,
                    });
                    return Invocation {
                        outcome,
                        duration: Duration::ZERO,
                    };
                }
            };
            match process
                .call(&self.inner.spec, request_id, event.clone())
                .await
            {
                CallEnd::Ended {
                    invocation,
                    reusable,
                } => {
                    if reusable {
                        self.lock_idle().push(process);
                    }
                    return invocation;
                }
                CallEnd::NeverTaken => {}
            }
        }
        not_invoked("the function's processes end before they take an event".to_owned())
    }
}

fn not_invoked(reason: String) -> Invocation {
    Invocation {
        outcome: Outcome::NotInvoked(reason),
        duration: Duration::ZERO,
    }
}
