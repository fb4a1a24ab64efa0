//! `sagaline`: the operator's and developer's tool.
//!
//! Data goes to standard output (a table for people, one JSON document with `--json`), talk and errors to standard error. Every error begins
//! `error[SLnnnn]: what; what to do`, and has a page in `docs/errors/`. Time and fresh ids are made here, at the edge, and nowhere below.
//!
//! What it refuses to know: how orders are stored, decided and indexed. Start reading at `args.rs`; then one file a command in `commands/`.

mod args;
mod aside;
mod commands;
mod error;
mod mint;
mod output;
mod session;
mod tabular;

use args::Cli;
use clap::Parser as _;
use error::{Code, CommandError};
use std::process::ExitCode;

fn main() -> ExitCode {
    sagaline_lambda::telemetry::init_command();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            return report(&CommandError::new(
                Code::Unavailable,
                format!("the process cannot start its tasks: {error}"),
            ));
        }
    };
    match runtime.block_on(Box::pin(commands::run(cli))) {
        Ok(code) => code,
        Err(error) => report(&error),
    }
}

/// Help and version are answers; everything else that clap says is an error of ours.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // What cannot be printed on a closed pipe is nobody's loss.
        let _closed = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.render().to_string();
    let mut lines = text.trim_end().lines();
    let first = lines.next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    eprintln!(
        "error[{}]: {first}; {}",
        Code::Usage.name(),
        Code::Usage.advice()
    );
    lines.for_each(|line| eprintln!("{line}"));
    ExitCode::from(Code::Usage.exit())
}

fn report(error: &CommandError) -> ExitCode {
    eprintln!("{error}");
    error
        .details()
        .iter()
        .for_each(|line| eprintln!("  {line}"));
    ExitCode::from(error.code().exit())
}
