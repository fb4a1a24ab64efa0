//! `cargo xtask`: what a developer runs.
//!
//! Each command is one file and does one job: set up, build, hand over. It refuses to know what the pipeline does: the demo is a program of its
//! own, tests are tests. It is light on purpose, so that it compiles within seconds and can say what is missing before anything else is built.
//! Start reading at [`Command`].

mod ci;
mod demo;
mod deny;
mod glibc;
mod package;
mod readme;
mod simulate;
mod summary;
mod test;
mod tool;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

/// Sagaline's automation. Everything it installs is under `.local/`.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the pipeline on real parts with about 200 orders and checks the result.
    Demo(DemoArgs),
    /// Runs every test, integration tests included, on one local stack.
    Test(PassedOn),
    /// Runs all that a change must pass. The last line is the summary of the tests.
    Ci,
    /// Runs the benchmarks.
    Bench(PassedOn),
    /// Runs the saga in simulated worlds, seed by seed or state by state. Exit code 1 = something was found.
    Simulate(simulate::SimulateArgs),
    /// Builds the functions for release into dist/<function>/bootstrap.
    Package(PackageArgs),
}

#[derive(Debug, Args)]
struct DemoArgs {
    /// Leaves everything running until Ctrl-C and prints every address.
    #[arg(long)]
    keep: bool,
    /// Prints the result as one JSON document on stdout.
    #[arg(long)]
    json: bool,
    /// Orders to load, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    orders: Option<PathBuf>,
    /// Products and their stock.
    #[arg(long, value_name = "FILE")]
    catalogue: Option<PathBuf>,
    /// Uses an OpenSearch server that already runs: no Java and Maven needed.
    #[arg(long, value_name = "URL")]
    opensearch: Option<String>,
}

#[derive(Debug, Args)]
struct PassedOn {
    /// Handed to cargo as it is.
    #[arg(last = true)]
    args: Vec<String>,
}

#[derive(Debug, Args)]
struct PackageArgs {
    /// arm64, x86_64 or a Rust target triple. The host's own when absent.
    #[arg(long)]
    target: Option<String>,
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Demo(args) => demo::run(&args),
        Command::Test(passed) => test::run(&passed.args).and_then(|outcome| {
            println!("{}", outcome.summary);
            outcome.ok()
        }),
        Command::Ci => ci::run(),
        Command::Bench(passed) => tool::cargo(
            ["bench", "--workspace"]
                .into_iter()
                .chain(passed.args.iter().map(String::as_str)),
        ),
        Command::Simulate(args) => simulate::run(&args),
        Command::Package(args) => package::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
