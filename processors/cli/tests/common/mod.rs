//! Runs the built command, and checks how it ends.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::process::{Command, Output};

/// A command with nothing in its environment but what is given.
pub(crate) fn sagaline(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sagaline"));
    // No metadata service is asked: on some machines there is one.
    command
        .env_clear()
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("HOME", "/nonexistent");
    command
        .args(arguments)
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[track_caller]
pub(crate) fn check(output: &Output, exit: i32, first_line: &str) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(exit), "{said}");
    let first = said.lines().next().unwrap_or_default();
    assert!(first.starts_with(first_line), "{first}");
    assert!(first.contains("; "), "what to do: {first}");
}
