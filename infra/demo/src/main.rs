//! The demo: the whole pipeline on real parts, some 200 orders, and what became of each.
//!
//! It starts the local stack, the simulated payment gateway and the mapping runner with the real bootstraps; loads a catalogue and a file of
//! orders with the real command line; plays the people of the script (who cancel, who settle late); waits until everything is at rest; then
//! shows what happened and checks the invariants on a snapshot taken from outside: table, gateway, bus, index, archive. It refuses to know how
//! an order is processed: it only watches.
//!
//! Start reading at [`story::tell`].

mod args;
mod input;

mod bus;
mod counters;
mod index;
mod parts;

mod people;
mod rest;
mod story;

mod snapshot;

mod keep;
mod report;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser as _;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::Args;
use crate::parts::Parts;

/// How a run ended.
enum End {
    /// Everything is as it must be.
    Good,
    /// A check failed.
    Bad,
    /// Somebody stopped it.
    Interrupted,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let end = runtime.block_on(run(&args));
    // A start that was interrupted may still wait for a server: its processes end with this one.
    runtime.shutdown_background();
    match end {
        Ok(End::Good) => ExitCode::SUCCESS,
        Ok(End::Bad) => ExitCode::FAILURE,
        // The shells' convention: 128 and the number of the signal.
        Ok(End::Interrupted) => ExitCode::from(130),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> Result<End> {
    let mut interrupted = Box::pin(interruption()?);
    let input = input::read(args)?;
    let parts = tokio::select! {
        parts = Box::pin(Parts::start(args, &input)) => parts?,
        () = &mut interrupted => return Ok(End::Interrupted),
    };
    let told = tokio::select! {
        told = Box::pin(story::tell(&parts, &input)) => Some(told),
        () = &mut interrupted => None,
    };
    let end = match told {
        None => Ok(End::Interrupted),
        Some(Err(error)) => Err(error),
        Some(Ok(report)) => {
            report.print(args.json)?;
            if args.keep {
                keep::explain(&parts, &report, args.json)?;
                interrupted.await;
            }
            Ok(if report.ok { End::Good } else { End::Bad })
        }
    };
    parts.stop().await;
    end
}

/// Ends with the first Ctrl-C or SIGTERM.
fn interruption() -> Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
