//! One file a command: its arguments, then `run`, then how it is shown.

pub(crate) mod archive;
pub(crate) mod cancel;
pub(crate) mod create;
pub(crate) mod dlq;
mod foretold;
pub(crate) mod import;
pub(crate) mod local;
pub(crate) mod ls;
pub(crate) mod operate;
pub(crate) mod parked;
pub(crate) mod phone;
pub(crate) mod replay;
pub(crate) mod report;
mod retry_all;
pub(crate) mod schema;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod stock;
mod submitted;
pub(crate) mod table;

use crate::args::{Cli, Command};
use crate::error::CommandError;
use std::process::ExitCode;

/// Runs the command that was asked for.
pub(crate) async fn run(cli: Cli) -> Result<ExitCode, CommandError> {
    let global = &cli.global;
    match cli.command {
        Command::Create(command) => command.run(global).await?,
        Command::Show(command) => command.run(global).await?,
        Command::Ls(command) => command.run(global).await?,
        Command::Cancel(command) => command.run(global).await?,
        Command::Report(command) => command.run(global).await?,
        Command::Stock(command) => command.run(global).await?,
        Command::Schema(command) => command.run(global)?,
        Command::Search(command) => command.run(global).await?,
        Command::Archive(command) => command.run(global).await?,
        Command::Table(command) => Box::pin(command.run(global)).await?,
        Command::Import(command) => command.run(global).await?,
        Command::Parked(command) => Box::pin(command.run(global)).await?,
        Command::Dlq(command) => Box::pin(command.run(global)).await?,
        Command::Replay(command) => Box::pin(command.run(global)).await?,
        Command::Explain(command) => command.run(global).await?,
        Command::Nudge(command) => command.run(global).await?,
        Command::RetryStep(command) => command.run(global).await?,
        Command::RetryUndo(command) => command.run(global).await?,
        Command::MarkUndone(command) => command.run(global).await?,
        Command::Park(command) => command.run(global).await?,
        Command::Unpark(command) => command.run(global).await?,
        Command::Abandon(command) => command.run(global).await?,
        Command::Local(command) => return command.run(global).await,
    }
    Ok(ExitCode::SUCCESS)
}
