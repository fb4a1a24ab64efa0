//! `cargo xtask simulate`: builds the simulator for release and becomes it.

use std::os::unix::process::CommandExt;

use anyhow::{Result, anyhow};
use clap::Args;

use crate::tool;

/// Seeds, or every state of small worlds.
#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// How many seeds.
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    seeds: u64,
    /// Orders of each seed.
    #[arg(long, value_name = "M", default_value_t = 50)]
    orders: usize,
    /// The first seed. With --seeds 1: this one again, as a finding says.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Threads; as many as the machine has when absent.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Goes through every state of small worlds instead of seeds.
    #[arg(long)]
    exhaustive: bool,
    /// Exhaustive: how much may go wrong in one history, as crashes,losses,repeats,faults,freezes,tasks.
    #[arg(long, value_name = "NUMBERS", requires = "exhaustive")]
    budget: Option<String>,
    /// Exhaustive: states of one small world after which it is given up.
    #[arg(long, value_name = "N", requires = "exhaustive")]
    states: Option<usize>,
    /// Prints the result as one JSON document on stdout.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &SimulateArgs) -> Result<()> {
    let mut simulate = tool::cargo_command([
        "run",
        "--release",
        "--quiet",
        "--package",
        "sagaline-testkit",
        "--example",
        "simulate",
        "--",
    ]);
    let numbers = [
        ("--seeds", Some(args.seeds.to_string())),
        ("--orders", Some(args.orders.to_string())),
        ("--seed", Some(args.seed.to_string())),
        ("--threads", args.threads.map(|threads| threads.to_string())),
        ("--budget", args.budget.clone()),
        ("--states", args.states.map(|states| states.to_string())),
    ];
    for (flag, value) in numbers {
        simulate.args(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
    }
    simulate
        .args(args.exhaustive.then_some("--exhaustive"))
        .args(args.json.then_some("--json"));
    // This process becomes cargo, and that the simulator: its exit code is ours.
    Err(anyhow!(simulate.exec()).context("cannot start cargo"))
}
