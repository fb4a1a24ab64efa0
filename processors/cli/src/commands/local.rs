//! `sagaline local run`: hosts Lambda functions on this machine. A thin wrapper: the runner has semantics and arguments of its own.

use crate::args::Global;
use crate::error::{Code, CommandError};
use crate::session;
use clap::{Args, Subcommand};
use sagaline_lambda::one_line;
use sagaline_mapping::{Config, RunArgs, RunOptions};
use std::path::Path;
use std::process::ExitCode;

/// Names the description of a running stack, which holds the functions and mappings of the template with every reference resolved.
const STACK: &str = "SAGALINE_STACK";

/// Runs Lambda functions on this machine.
#[derive(Debug, Args)]
pub(crate) struct Local {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Feeds functions from streams, queues and schedules, exactly as AWS would.
    ///
    /// Without --mappings: the functions of the template, as the stack that SAGALINE_STACK names has them.
    #[command(after_help = "\
Examples:
  sagaline local run --mappings mappings.json --endpoint-url http://127.0.0.1:4566
  sagaline local run --mappings mappings.json --once --json")]
    Run(RunArgs),
}

impl Local {
    pub(crate) async fn run(self, global: &Global) -> Result<ExitCode, CommandError> {
        let Action::Run(args) = self.action;
        let config = match &args.mappings {
            Some(file) => Config::load(file).map_err(|error| mappings(&error))?,
            None => of_stack()?,
        };
        let aws = session::aws(global).await?;
        let options = RunOptions::new(&args, global.endpoint_url.clone(), global.json);
        match sagaline_mapping::run(&config, &options, aws.sdk()).await {
            Ok(code) => Ok(ExitCode::from(code)),
            Err(error) if error.exit_code() == 2 => Err(mappings(&error)),
            Err(error) => {
                Err(CommandError::new(Code::CheckFailed, one_line(&error)).advise("run it again"))
            }
        }
    }
}

fn of_stack() -> Result<Config, CommandError> {
    let Some(file) = std::env::var_os(STACK) else {
        return Err(CommandError::new(
            Code::Mappings,
            format!("neither --mappings nor {STACK} is given"),
        )
        .advise("pass --mappings FILE, or name a running stack's file"));
    };
    let file = Path::new(&file);
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| {
        CommandError::new(
            Code::Mappings,
            format!("{}: cannot be read: {error}", file.display()),
        )
    })?;
    let stack: Result<serde_json::Value, _> = serde_json::from_str(&text);
    let runner = stack
        .ok()
        .and_then(|stack| stack.pointer("/deployment/runner").cloned());
    let Some(runner) = runner else {
        return Err(CommandError::new(
            Code::Mappings,
            format!("{}: does not describe a stack", file.display()),
        ));
    };
    Config::parse(&runner.to_string(), Path::new(".")).map_err(|error| mappings(&error))
}

fn mappings(error: &(dyn std::error::Error + 'static)) -> CommandError {
    CommandError::new(Code::Mappings, one_line(error))
}
