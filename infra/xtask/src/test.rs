//! `cargo xtask test`: one local stack for all test programs, then `cargo test`.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use sagaline_local::{
    DeployOptions, Progress, STACK_FILE_VARIABLE, Stack, StackOptions, bootstraps_in,
};

use crate::summary::Summary;
use crate::tool;

/// How a run of the tests ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) summary: Summary,
    /// Cargo's own verdict: also false when a test program does not compile or dies.
    success: bool,
}

impl Outcome {
    pub(crate) fn ok(&self) -> Result<()> {
        if self.success && !self.summary.has_failures() {
            return Ok(());
        }
        bail!("the tests failed")
    }
}

/// Runs the tests. `args` are cargo's.
pub(crate) fn run(args: &[String]) -> Result<Outcome> {
    let progress = Progress::stderr();
    sagaline_local::check_prerequisites(None)?;
    eprintln!("  functions and command line: building (minutes the first time) ...");
    let chosen = args
        .iter()
        .any(|arg| arg == "-p" || arg.starts_with("--package"));
    if chosen {
        let functions = tool::FUNCTIONS.map(|function| function.package);
        tool::build(&[functions.as_slice(), &[tool::COMMAND_LINE]].concat())?;
    } else {
        tool::build_with_tests()?;
    }
    let deploy = DeployOptions {
        bootstraps: bootstraps_in(&tool::built_dir()?),
        ..DeployOptions::default()
    };
    let stack = Stack::start(
        &StackOptions {
            opensearch: None,
            deploy,
        },
        &progress,
    )?;
    let file = stack
        .dir()
        .context("the stack is our own")?
        .join("stack.json");
    stack.save(&file)?;

    let which: &[&str] = if chosen { &[] } else { &["--workspace"] };
    let cargo_args = ["test", "--no-fail-fast"]
        .iter()
        .chain(which)
        .copied()
        .chain(args.iter().map(String::as_str));
    let mut tests = tool::guarded(tool::cargo_command(cargo_args).env(STACK_FILE_VARIABLE, &file));
    let mut tests = tests
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo test")?;
    let output = BufReader::new(tests.stdout.take().context("its stdout is a pipe")?);
    // Kept: the guard ends the tests when it closes.
    let lifeline = tests.stdin.take();
    let mut summary = Summary::default();
    for line in output.lines() {
        let line = line.context("cannot read what the tests print")?;
        println!("{line}");
        summary.read(&line);
    }
    let success = tests.wait().context("cannot wait for the tests")?.success();
    drop(lifeline);
    stack.stop();
    Ok(Outcome { summary, success })
}
