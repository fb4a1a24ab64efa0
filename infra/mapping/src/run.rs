//! The command line's entry: runs until told to end, and shows what happens.
//!
//! Data goes to standard output (a table, or JSON lines), talk and the functions' own lines to standard error.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use aws_config::SdkConfig;
use comfy_table::Table;
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::interval;

use crate::clock;
use crate::config::{Config, ConfigError};
use crate::runner::{MappingStatus, Options, Runner, StartError};

/// `--once` ends when everything has been drained for this long.
const IDLE_LIMIT: Duration = Duration::from_secs(2);

/// How often the state is looked at, and shown.
const LOOK_PERIOD: Duration = Duration::from_millis(200);

/// How many looks lie between two lines or tables: one a second.
const LOOKS_PER_SHOW: u64 = 5;

/// The arguments of the runner's own, to be flattened into a command.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct RunArgs {
    /// Functions and mappings (JSON); without it, those of this project's template.
    #[arg(long, value_name = "FILE")]
    pub mappings: Option<PathBuf>,
    /// Keep checkpoints here; without it every start begins at the starting position.
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Append metrics here, one JSON line per increment.
    #[arg(long, value_name = "FILE")]
    pub metrics: Option<PathBuf>,
    /// Append invocations here, one JSON line each.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// End when every source is drained and has been idle for 2 s.
    #[arg(long)]
    pub once: bool,
}

/// Everything that a run needs to know apart from the configuration.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Files, folders and outputs.
    pub runner: Options,
    /// End when every source is drained and has been idle for 2 s.
    pub once: bool,
    /// JSON lines instead of a table.
    pub json: bool,
}

impl RunOptions {
    /// The options of a command line.
    #[must_use]
    pub fn new(args: &RunArgs, endpoint_url: Option<String>, json: bool) -> Self {
        let runner = Options {
            state: args.state.clone(),
            metrics: args.metrics.clone(),
            log: args.log.clone(),
            endpoint_url,
            ..Options::default()
        };
        Self {
            runner,
            once: args.once,
            json,
        }
    }
}

/// Why a run ended badly, or did not begin.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The configuration is refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The runner did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The terminal or a signal handler does not work.
    #[error("the process cannot be watched over")]
    Io(#[from] io::Error),
}

impl RunError {
    /// The exit code that tells of it: 2 for whatever the configuration or the place is to blame for, 1 otherwise.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Start(_) => 2,
            Self::Io(_) => 1,
        }
    }
}

/// Runs a configuration until SIGTERM, Ctrl-C, or the end of `--once`. Gives the exit code.
///
/// # Errors
/// [`RunError`], with the exit code that goes with it.
pub async fn run(config: &Config, options: &RunOptions, sdk: &SdkConfig) -> Result<u8, RunError> {
    // Before anything is started: a signal that comes early must find its handler.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let runner = Runner::start(config, &options.runner, sdk).await?;
    for warning in runner.warnings() {
        eprintln!("warning: {warning}");
    }
    let mut screen = Screen::new(options.json);
    watch(
        &runner,
        options.once,
        &mut screen,
        &mut terminate,
        &mut interrupt,
    )
    .await?;
    let last = runner.status();
    runner.stop().await;
    screen.show(&last, true)?;
    Ok(0)
}

/// Shows the state until there is a reason to end.
async fn watch(
    runner: &Runner,
    once: bool,
    screen: &mut Screen,
    terminate: &mut Signal,
    interrupt: &mut Signal,
) -> io::Result<()> {
    let mut look = interval(LOOK_PERIOD);
    let mut looks = 0_u64;
    loop {
        tokio::select! {
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
            _ = look.tick() => {
                if once && runner.idle_for().is_some_and(|idle| idle >= IDLE_LIMIT) {
                    return Ok(());
                }
                if looks.is_multiple_of(LOOKS_PER_SHOW) {
                    screen.show(&runner.status(), false)?;
                }
                looks += 1;
            }
        }
    }
}

/// Standard output.
struct Screen {
    json: bool,
    live: bool,
    lines: usize,
    shown: Vec<MappingStatus>,
}

impl Screen {
    fn new(json: bool) -> Self {
        Self {
            json,
            live: io::stdout().is_terminal(),
            lines: 0,
            shown: Vec::new(),
        }
    }

    /// Shows the state: JSON lines for what changed, a table that replaces itself on a terminal, and only the last one elsewhere.
    fn show(&mut self, status: &[MappingStatus], last: bool) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if self.json {
            for (at, mapping) in status.iter().enumerate() {
                if last
                    || self
                        .shown
                        .get(at)
                        .is_none_or(|shown| numbers(shown) != numbers(mapping))
                {
                    writeln!(out, "{}", line(mapping))?;
                }
            }
            self.shown = status.to_vec();
        } else if self.live || last {
            if self.live && self.lines > 0 {
                // Up to the first line of the former table, and clear from there.
                write!(out, "\x1b[{}A\x1b[J", self.lines)?;
            }
            let table = table(status);
            self.lines = table.lines().count();
            writeln!(out, "{table}")?;
        }
        out.flush()
    }
}

fn numbers(status: &MappingStatus) -> [u64; 9] {
    [
        status.polled,
        status.filtered_out,
        status.invoked,
        status.failed,
        status.given_up,
        status.dropped,
        status.delivered_on_failure,
        status.deleted,
        status.iterator_age_ms,
    ]
}

fn line(status: &MappingStatus) -> serde_json::Value {
    json!({
        "mapping": status.mapping, "function": status.function, "source": status.source,
        "polled": status.polled, "filtered_out": status.filtered_out, "invoked": status.invoked, "failed": status.failed,
        "given_up": status.given_up, "dropped": status.dropped, "delivered_on_failure": status.delivered_on_failure, "deleted": status.deleted,
        "iterator_age_ms": status.iterator_age_ms, "idle": status.idle_for.is_some(), "last_result": status.last_result, "at": clock::now().rfc3339(),
    })
}

fn table(status: &[MappingStatus]) -> String {
    let mut table = Table::new();
    table.set_content_arrangement(comfy_table::ContentArrangement::Dynamic);
    table.load_style(comfy_table::presets::UTF8_HORIZONTAL_ONLY);
    table.set_header([
        "function",
        "source",
        "polled",
        "filtered",
        "invoked",
        "failed",
        "given up",
        "age ms",
        "last result",
    ]);
    for mapping in status {
        table.add_row([
            mapping.function.clone(),
            mapping.source.clone(),
            mapping.polled.to_string(),
            mapping.filtered_out.to_string(),
            mapping.invoked.to_string(),
            mapping.failed.to_string(),
            mapping.given_up.to_string(),
            mapping.iterator_age_ms.to_string(),
            mapping.last_result.clone(),
        ]);
    }
    table.to_string()
}
