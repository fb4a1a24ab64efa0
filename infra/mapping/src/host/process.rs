//! The life of one bootstrap: start, calls, end.

use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt;
use bytes::Bytes;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, interval, timeout_at};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::api::{Api, Phase, Work};
use super::{Output, Processes, Spec, environment, memory};
use crate::clock;
use crate::drive::Invocation;
use crate::response::{FunctionError, FunctionErrorKind, Outcome};

/// How often the memory of a busy process is looked at.
const MEMORY_PERIOD: Duration = Duration::from_millis(100);

/// A running bootstrap. Dropping it kills the process, its whole group, and its listener.
#[derive(Debug)]
pub(super) struct Process {
    pid: u32,
    api: Arc<Api>,
    /// How the process ended, once it has.
    ended: watch::Receiver<Option<String>>,
    kill: CancellationToken,
    /// How long the start took, until a call has told.
    init: Option<Duration>,
}

/// Why a process did not come to take calls.
#[derive(Debug)]
pub(super) enum StartError {
    /// It could not be started at all: the call never reached the function.
    Spawn(String),
    /// It failed on its way to the first event.
    Init(String),
}

/// How a call ended.
#[derive(Debug)]
pub(super) enum CallEnd {
    /// The function had it.
    Ended {
        /// The result.
        invocation: Invocation,
        /// The process can take another call.
        reusable: bool,
    },
    /// The process ended, or hung, before it took the event.
    NeverTaken,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill.cancel();
    }
}

impl Process {
    /// Starts a bootstrap and waits until it asks for its first event.
    pub(super) async fn start(
        spec: &Spec,
        processes: &Arc<Processes>,
        limit: Duration,
    ) -> Result<Self, StartError> {
        let spawn = |error: std::io::Error| {
            StartError::Spawn(format!("{}: {error}", spec.bootstrap.display()))
        };
        let began = Instant::now();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(spawn)?;
        let address = listener.local_addr().map_err(spawn)?.to_string();
        let log_stream = format!(
            "{}/[$LATEST]{}",
            clock::now().timestamp().strftime("%Y/%m/%d"),
            clock::fresh_id().simple()
        );
        let mut command = Command::new(&spec.bootstrap);
        command
            .env_clear()
            .envs(environment::of(spec, &address, &log_stream).await);
        if let Some(folder) = spec.bootstrap.parent() {
            command.current_dir(folder);
        }
        // A group of its own: Ctrl-C at a terminal reaches the runner alone, which then drains, and a kill reaches the
        // children of a bootstrap that is a script.
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(spawn)?;
        let pid = child
            .id()
            .ok_or_else(|| StartError::Spawn("the process ended at once".to_owned()))?;
        pass_lines(child.stdout.take(), spec);
        pass_lines(child.stderr.take(), spec);
        let api = Api::new(spec.name.clone(), spec.arn.clone(), spec.timeout);
        let (tell_end, ended) = watch::channel(None);
        let kill = CancellationToken::new();
        processes.lock().insert(pid, spec.name.clone());
        let watcher = watch_over(
            child,
            pid,
            kill.clone(),
            tell_end,
            Arc::clone(processes),
            listener,
            Arc::clone(&api),
        );
        processes.watchers.spawn(watcher);
        let mut process = Self {
            pid,
            api,
            ended,
            kill,
            init: None,
        };
        process.wait_until_ready(spec, began + limit).await?;
        process.init = Some(began.elapsed());
        Ok(process)
    }

    pub(super) fn is_alive(&self) -> bool {
        self.ended.borrow().is_none()
    }

    /// Hands an event to the process and waits for the end of the call.
    pub(super) async fn call(&mut self, spec: &Spec, request_id: Uuid, event: Bytes) -> CallEnd {
        let (taken, was_taken) = oneshot::channel();
        let (reply, replied) = oneshot::channel();
        self.api.offer(Work {
            request_id,
            event,
            taken,
            reply,
        });
        // A process that has answered, but does not come back for another event, hangs: it is given the time of one call.
        let patience = Instant::now() + spec.timeout;
        let began = tokio::select! {
            biased;
            taken = was_taken => match taken {
                Ok(began) => began,
                Err(_) => return CallEnd::NeverTaken,
            },
            _ = self.ended.wait_for(Option::is_some) => return CallEnd::NeverTaken,
            () = tokio::time::sleep_until(patience) => return CallEnd::NeverTaken,
        };
        let deadline = began + spec.timeout;
        let (outcome, ended, reusable) = match self.wait_for_reply(spec, replied, deadline).await {
            Ok((outcome, ended)) => (outcome, ended, true),
            Err(error) => {
                // The batch may come again at once: by then the process must have stopped doing anything about it.
                let ended = Instant::now();
                self.kill.cancel();
                let _ = self.ended.wait_for(Option::is_some).await;
                (Outcome::Failed(error), ended, false)
            }
        };
        let duration = ended.saturating_duration_since(began);
        let invocation = Invocation { outcome, duration };
        self.report(spec, request_id, &invocation);
        CallEnd::Ended {
            invocation,
            reusable,
        }
    }

    async fn wait_until_ready(&mut self, spec: &Spec, deadline: Instant) -> Result<(), StartError> {
        let mut phase = self.api.phase.subscribe();
        let changed = tokio::select! {
            biased;
            phase = timeout_at(deadline, phase.wait_for(|phase| *phase != Phase::Starting)) => match phase {
                Ok(Ok(phase)) => phase.clone(),
                Ok(Err(_)) | Err(_) => Phase::Failed(format!("no event was asked for within the limit of the init phase (function {})", spec.name)),
            },
            ended = self.ended.wait_for(Option::is_some) => {
                let how = ended.ok().and_then(|ended| ended.clone()).unwrap_or_default();
                Phase::Failed(format!("Runtime exited during init: {how}"))
            }
        };
        match changed {
            Phase::Ready => Ok(()),
            Phase::Failed(reason) => Err(StartError::Init(reason)),
            Phase::Starting => Err(StartError::Init("the process is still starting".to_owned())),
        }
    }

    /// Waits for the answer; an error means that the process is of no use any more.
    async fn wait_for_reply(
        &mut self,
        spec: &Spec,
        mut replied: oneshot::Receiver<(Outcome, Instant)>,
        deadline: Instant,
    ) -> Result<(Outcome, Instant), FunctionError> {
        let failed = |kind, message| Err(FunctionError { kind, message });
        let mut memory_check = interval(MEMORY_PERIOD);
        loop {
            tokio::select! {
                biased;
                reply = &mut replied => return reply.or_else(|_| failed(FunctionErrorKind::Crash, "the call was lost in the host".to_owned())),
                ended = self.ended.wait_for(Option::is_some) => {
                    let how = ended.ok().and_then(|ended| ended.clone()).unwrap_or_default();
                    return failed(FunctionErrorKind::Crash, format!("Runtime exited: {how}"));
                }
                () = tokio::time::sleep_until(deadline) => {
                    return failed(FunctionErrorKind::Timeout, format!("Task timed out after {}.00 seconds", spec.timeout.as_secs()));
                }
                _ = memory_check.tick() => {
                    let used = memory::of(self.pid).map_or(0, |memory| memory.now_kb);
                    if used > u64::from(spec.memory_mb) * 1_024 {
                        return failed(FunctionErrorKind::OutOfMemory, format!("Runtime exited: {} MB used of {} MB", used / 1_024, spec.memory_mb));
                    }
                }
            }
        }
    }

    /// The line that Lambda writes after each call.
    fn report(&mut self, spec: &Spec, request_id: Uuid, invocation: &Invocation) {
        let output = &spec.setting.output;
        if let Outcome::Failed(error) = &invocation.outcome {
            output.line(
                &spec.name,
                &format!("RequestId: {request_id} Error: {}", error.message),
            );
        }
        let milliseconds = |duration: Duration| {
            format!(
                "{}.{:02}",
                duration.as_millis(),
                duration.subsec_micros() % 1_000 / 10
            )
        };
        let peak = memory::of(self.pid).map_or(String::new(), |memory| {
            format!(" Max Memory Used: {} MB", memory.peak_kb.div_ceil(1_024))
        });
        let init = self.init.take().map_or(String::new(), |init| {
            format!(" Init Duration: {} ms", milliseconds(init))
        });
        let duration = milliseconds(invocation.duration);
        output.line(&spec.name, &format!("REPORT RequestId: {request_id} Duration: {duration} ms Memory Size: {} MB{peak}{init}", spec.memory_mb));
    }
}

/// Serves the Runtime API of a process for as long as it lives, kills it when told to, and tells how it ended.
async fn watch_over(
    mut child: Child,
    pid: u32,
    kill: CancellationToken,
    tell_end: watch::Sender<Option<String>>,
    processes: Arc<Processes>,
    listener: TcpListener,
    api: Arc<Api>,
) {
    let server = tokio::spawn(async move {
        // A call is a few small writes each way: they must not wait for each other.
        let listener = listener.tap_io(|stream| {
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "a connection stays with delayed writes");
            }
        });
        if let Err(error) = axum::serve(listener, api.router()).await {
            tracing::error!(%error, "a Runtime API listener failed");
        }
    });
    let status = tokio::select! {
        biased;
        status = child.wait() => status,
        () = kill.cancelled() => {
            kill_group(pid);
            child.wait().await
        }
    };
    // What a script has left behind ends with it.
    kill_group(pid);
    processes.lock().remove(&pid);
    tell_end.send_replace(Some(
        status.map_or_else(|error| error.to_string(), describe),
    ));
    server.abort();
}

fn describe(status: ExitStatus) -> String {
    status.to_string()
}

fn kill_group(pid: u32) {
    if let Some(group) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // The group may be gone already, which is what is wanted.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Passes a function's lines on, each with the function's name.
fn pass_lines(stream: Option<impl AsyncRead + Unpin + Send + 'static>, spec: &Spec) {
    let Some(stream) = stream else { return };
    let (output, name): (Output, String) = (spec.setting.output.clone(), spec.name.clone());
    tokio::spawn(async move {
        let mut reader = BufReader::new(stream);
        let mut line = Vec::new();
        // The stream ends with the process, and an unreadable one is at its end too.
        while matches!(reader.read_until(b'\n', &mut line).await, Ok(read) if read > 0) {
            output.line(
                &name,
                String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']),
            );
            line.clear();
        }
    });
}
