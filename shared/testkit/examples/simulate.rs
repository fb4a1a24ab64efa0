//! Runs the simulator for as many seeds as wanted, or the exhaustive mode. `cargo xtask simulate` builds it for release and calls it.
//!
//! Progress goes to stderr, the result to stdout. Exit code 1 = something was found.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::Parser;
use sagaline_testkit::simulator::{Budget, Outcome, Scenario, Simulation, explore, simulate};
use serde_json::json;

#[derive(Debug, Parser)]
#[command(name = "simulate")]
struct Args {
    /// How many seeds.
    #[arg(long, default_value_t = 2_000)]
    seeds: u64,
    /// Orders of each seed.
    #[arg(long, default_value_t = 50)]
    orders: usize,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Threads; as many as the machine has when absent.
    #[arg(long)]
    threads: Option<usize>,
    /// Goes through every state of the small worlds instead.
    #[arg(long)]
    exhaustive: bool,
    /// Exhaustive: how much may go wrong in one history, as crashes,losses,repeats,faults,freezes,tasks. One of each kind in turn when absent.
    #[arg(long, value_parser = budget)]
    budget: Option<Budget>,
    /// Exhaustive: states of one small world after which it is given up.
    #[arg(long, default_value_t = 3_000_000)]
    states: usize,
    /// The result as one JSON document.
    #[arg(long)]
    json: bool,
}

/// What all seeds came to.
#[derive(Debug, Default)]
struct Sum {
    seeds: AtomicU64,
    transitions: AtomicU64,
    steps: AtomicU64,
    world_s: AtomicU64,
    failed: Mutex<Vec<Outcome>>,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let threads = args
        .threads
        .or_else(|| std::thread::available_parallelism().ok().map(usize::from))
        .unwrap_or(1)
        .max(1);
    if args.exhaustive {
        return exhaustive(&args, threads);
    }
    let begun = Instant::now();
    let sum = Sum::default();
    let next = AtomicU64::new(args.seed);
    let (end, stop) = (args.seed.saturating_add(args.seeds), AtomicBool::new(false));
    let shows = std::io::stderr().is_terminal();
    std::thread::scope(|scope| -> Result<()> {
        let workers: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| work(&args, &next, end, &sum, &stop)))
            .collect();
        let mut told = Instant::now();
        while shows && workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::park_timeout(Duration::from_millis(100));
            if told.elapsed() > Duration::from_secs(1) {
                told = Instant::now();
                let (seeds, transitions) = (
                    sum.seeds.load(Ordering::Relaxed),
                    sum.transitions.load(Ordering::Relaxed),
                );
                eprint!(
                    "\r  {seeds} of {} seeds, {transitions} transitions",
                    args.seeds
                );
            }
        }
        for worker in workers {
            worker
                .join()
                .map_err(|_| anyhow::anyhow!("a seed panicked"))??;
        }
        Ok(())
    })?;
    if shows {
        eprintln!();
    }
    tell(&args, &sum, begun.elapsed())
}

fn work(args: &Args, next: &AtomicU64, end: u64, sum: &Sum, stop: &AtomicBool) -> Result<()> {
    while !stop.load(Ordering::Relaxed) {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end {
            break;
        }
        let outcome = simulate(Simulation {
            seed,
            orders: args.orders,
            mutation: None,
        })
        .context("no runtime")?;
        sum.seeds.fetch_add(1, Ordering::Relaxed);
        sum.transitions
            .fetch_add(outcome.transitions, Ordering::Relaxed);
        sum.steps.fetch_add(outcome.steps, Ordering::Relaxed);
        sum.world_s.fetch_add(outcome.world_s, Ordering::Relaxed);
        if !outcome.findings.is_empty()
            && let Ok(mut failed) = sum.failed.lock()
        {
            failed.push(outcome);
            // Enough to work with.
            if failed.len() >= 10 {
                stop.store(true, Ordering::Relaxed);
            }
        }
    }
    Ok(())
}

fn tell(args: &Args, sum: &Sum, took: Duration) -> Result<ExitCode> {
    let mut failed = sum
        .failed
        .lock()
        .map_err(|_| anyhow::anyhow!("a seed panicked"))?;
    failed.sort_by_key(|outcome| outcome.seed);
    let (seeds, transitions) = (
        sum.seeds.load(Ordering::Relaxed),
        sum.transitions.load(Ordering::Relaxed),
    );
    let per_second = u128::from(transitions) * 1000 / took.as_millis().max(1);
    if args.json {
        let failures: Vec<_> = failed
            .iter()
            .map(|outcome| {
                json!({
                    "seed": outcome.seed, "findings": outcome.findings, "trace": outcome.trace,
                    "trace_hash": format!("{:016x}", outcome.trace_hash), "command": outcome.command(args.orders),
                })
            })
            .collect();
        println!(
            "{}",
            json!({
                "seeds": seeds, "orders": args.orders, "transitions": transitions, "steps": sum.steps.load(Ordering::Relaxed),
                "world_seconds": sum.world_s.load(Ordering::Relaxed), "seconds": took.as_millis() as f64 / 1000.0,
                "transitions_per_second": per_second, "failures": failures,
            })
        );
    } else {
        for outcome in failed.iter() {
            println!("seed {}:", outcome.seed);
            for finding in &outcome.findings {
                println!("  {finding}");
            }
            for line in &outcome.trace {
                println!("    {line}");
            }
            println!("  again: {}", outcome.command(args.orders));
        }
        println!(
            "{seeds} seeds of {} orders: {transitions} transitions in {:.1} s ({per_second} a second), {} days of the world, {} seeds with findings",
            args.orders,
            took.as_secs_f64(),
            sum.world_s.load(Ordering::Relaxed) / 86_400,
            failed.len()
        );
    }
    Ok(if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn budget(text: &str) -> Result<Budget, String> {
    let numbers: Vec<u8> = text
        .split(',')
        .map(|number| {
            number
                .trim()
                .parse()
                .map_err(|_| format!("'{number}' is no small number"))
        })
        .collect::<Result<_, _>>()?;
    let [crashes, losses, repeats, faults, freezes, tasks] = numbers.as_slice() else {
        return Err(
            "six numbers are needed: crashes,losses,repeats,faults,freezes,tasks".to_owned(),
        );
    };
    Ok(Budget {
        crashes: *crashes,
        losses: *losses,
        repeats: *repeats,
        faults: *faults,
        freezes: *freezes,
        tasks: *tasks,
    })
}

fn exhaustive(args: &Args, threads: usize) -> Result<ExitCode> {
    let mut explored = Vec::new();
    let budgets = args
        .budget
        .map_or_else(|| Budget::ONE_OF_EACH.to_vec(), |budget| vec![budget]);
    for scenario in budgets.into_iter().flat_map(Scenario::with) {
        let begun = Instant::now();
        let exploration = explore(&scenario, threads, args.states).context("no runtime")?;
        eprintln!(
            "  {}: {} states, {} moves, {} ends, depth {}, {:.1} s{}",
            exploration.name,
            exploration.states,
            exploration.moves,
            exploration.ends,
            exploration.depth,
            begun.elapsed().as_secs_f64(),
            if exploration.complete {
                ""
            } else {
                ", not complete"
            }
        );
        explored.push(exploration);
    }
    let states: usize = explored.iter().map(|one| one.states).sum();
    let found: Vec<_> = explored
        .iter()
        .filter(|one| one.finding.is_some())
        .collect();
    let complete = explored.iter().all(|one| one.complete);
    if args.json {
        let worlds: Vec<_> = explored
            .iter()
            .map(|one| {
                json!({
                    "name": one.name, "states": one.states, "moves": one.moves, "ends": one.ends, "depth": one.depth, "complete": one.complete,
                    "finding": one.finding.as_ref().map(|finding| json!({"what": finding.what, "moves": finding.moves})),
                })
            })
            .collect();
        println!(
            "{}",
            json!({"states": states, "complete": complete, "worlds": worlds})
        );
    } else {
        for one in &found {
            println!("{}:", one.name);
            if let Some(finding) = &one.finding {
                finding.what.iter().for_each(|what| println!("  {what}"));
                finding.moves.iter().for_each(|step| println!("    {step}"));
            }
        }
        let all = if complete { "every" } else { "not every" };
        println!(
            "{states} states of {} small worlds, {all} reachable state visited, {} with findings",
            explored.len(),
            found.len()
        );
    }
    Ok(if found.is_empty() && complete {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
