//! Runs a program of the set-up to its end, with its output in a log. The guard ends it, and all it started, when this process goes away.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

use crate::root;

/// How much of a log an error shows.
const TAIL_LINES: usize = 25;

/// Runs `program` and waits. Its output is in `log`, whose end is part of the error when it fails.
pub(crate) fn run(program: &Path, args: &[&str], log: &Path) -> Result<()> {
    let output = File::create(log).with_context(|| format!("cannot create {}", log.display()))?;
    let errors = output.try_clone().context("cannot share a log")?;
    if guarded(program, args, output.into(), errors.into())?
        .status
        .success()
    {
        return Ok(());
    }
    bail!(
        "{} {} failed:\n{}",
        program.display(),
        args.first().unwrap_or(&""),
        tail(log)
    )
}

/// Runs `program`, waits, and answers with what it wrote to stdout. What it wrote to stderr is the error when it fails.
pub(crate) fn output(program: &Path, args: &[&str]) -> Result<String> {
    let output = guarded(program, args, Stdio::piped(), Stdio::piped())?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim_end());
    }
    String::from_utf8(output.stdout).context("the output is no UTF-8")
}

/// Runs `program` under the guard. The pipe on the guard's stdin is never written to: its end tells the guard that this process is gone.
fn guarded(program: &Path, args: &[&str], stdout: Stdio, stderr: Stdio) -> Result<Output> {
    let mut guard = Command::new("python3");
    guard
        .arg(root().join("infra/local/guard.py"))
        .arg(program)
        .args(args);
    guard
        .stdin(Stdio::piped())
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0);
    let cannot_run = || format!("cannot run {}", program.display());
    let mut child = guard.spawn().with_context(cannot_run)?;
    // Waiting closes a child's stdin, unless it is held here.
    let _held = child.stdin.take();
    child.wait_with_output().with_context(cannot_run)
}

/// The last lines of a log, indented.
pub(crate) fn tail(log: &Path) -> String {
    let text = fs::read(log)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(TAIL_LINES);
    lines
        .iter()
        .skip(from)
        .map(|line| format!("    {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
