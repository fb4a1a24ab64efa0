//! One server process: from its start until it says where it listens, and its end.
//!
//! The contract with the child: it prints one line, its URL, on stdout when it is up; it exits when its stdin ends. All else it writes goes to the log.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::tool::tail;

/// How long a server may take until it listens. OpenSearch takes 4 to 7 s on two cores; a busy machine takes longer.
const START: Duration = Duration::from_secs(120);
/// How long a server may take to end by itself before it is killed.
const STOP: Duration = Duration::from_secs(5);

/// A running server. Dropping it stops it.
#[derive(Debug)]
pub(crate) struct Server {
    url: String,
    child: Child,
    stdin: Option<ChildStdin>,
    /// Disconnects when the child closes its stdout, that is when it ends. In a mutex only so that a running server can be shared.
    alive: Mutex<Receiver<String>>,
}

impl Server {
    /// Starts `command` and waits for its URL. Its log is at `log`, the end of which is part of the error when it does not come up.
    pub(crate) fn start(name: &str, mut command: Command, log: &Path) -> Result<Self> {
        let errors =
            File::create(log).with_context(|| format!("cannot create {}", log.display()))?;
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .process_group(0);
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().context("a piped stdout is there")?;
        let (send, alive) = channel();
        std::thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            let mut line = String::new();
            if stdout.read_line(&mut line).is_ok_and(|n| n > 0) && send.send(line).is_ok() {
                // Held until the end: the sender goes when the child has closed its stdout.
                let _ = std::io::copy(&mut stdout.by_ref(), &mut std::io::sink());
            }
        });
        let mut server = Self {
            url: String::new(),
            child,
            stdin,
            alive: Mutex::new(alive),
        };
        match server.wait(START) {
            Ok(line) => server.url = line.trim().to_owned(),
            Err(RecvTimeoutError::Timeout) => bail!(
                "{name} did not come up within {} s; the end of its log:\n{}",
                START.as_secs(),
                tail(log)
            ),
            Err(RecvTimeoutError::Disconnected) => bail!(
                "{name} ended before it was up; the end of its log:\n{}",
                tail(log)
            ),
        }
        Ok(server)
    }

    /// Where it listens, without a slash at the end.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Waits for the line that it prints, or for its end (`Disconnected`).
    fn wait(&mut self, at_most: Duration) -> Result<String, RecvTimeoutError> {
        self.alive
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .recv_timeout(at_most)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stdin.take());
        if self.wait(STOP) == Err(RecvTimeoutError::Timeout) {
            // It may have ended just now, which is what is wanted.
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// The log of a server in a run's folder.
pub(crate) fn log_in(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.log"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn log(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("sagaline-server-{name}-{}", std::process::id()))
    }

    #[test]
    fn server_is_up_when_it_prints_its_address_and_ends_when_its_stdin_does() {
        let log = log("up");
        let server =
            Server::start("echo", shell("echo http://here; cat; echo ended >&2"), &log).unwrap();
        assert_eq!(server.url(), "http://here");
        drop(server);
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "ended\n");
        std::fs::remove_file(log).unwrap();
    }

    #[test]
    fn server_that_ends_early_is_an_error_with_the_end_of_its_log() {
        let log = log("early");
        let error = Server::start("broken", shell("echo no disk >&2; exit 1"), &log).unwrap_err();
        assert_eq!(
            error.to_string(),
            "broken ended before it was up; the end of its log:\n    no disk"
        );
        std::fs::remove_file(log).unwrap();
    }
}
