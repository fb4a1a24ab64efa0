//! The deterministic simulator: the real saga in a world in which everything that can go wrong does, in an order that a seed decides.
//!
//! # What is real
//!
//! The drive loop, the sweep and the submit path of `sagaline-saga`, with their retries, time-outs and waits; `decide`, `evolve` and `pending`;
//! placement, commit, guards and reads of `sagaline-store`; the memory table's conditions and indexes ([`crate::memory`]); the gateway's
//! contract ([`crate::gateway::book`]) read by the same pure functions that read HTTP answers.
//!
//! # What is simulated
//!
//! A `floor` on which every call to table, gateway and bus waits for its turn; a virtual clock that moves only while nothing can go on, or when
//! all processes are frozen; two consumers of the stream, a sweeper, a front for customers and operators, each with its own clock and settings
//! cache; records that are lost, repeated, late, or handed to both consumers at once, in order per order and in any order across orders; calls
//! that are throttled, unheard, conflicting, done later; tasks that end at a call, before it or after it; outages of the gateway; customers who
//! cancel, fulfilment that ships or refuses, a gateway that tells unasked, operators who help or meddle.
//!
//! # What is not
//!
//! The batch engine and the mapping (they have simulations of their own), the sinks, the wire, the permissions. A payment id that two orders
//! share; a request under way for longer than `recheck_s`; a person who settles money wrongly.
//!
//! # How it is used
//!
//! [`simulate`] runs one seed: the same seed gives the same trace, bit for bit, in every build. [`explore`] leaves nothing to chance: two orders,
//! one product, every loss, repeat, fault and crash at every call, breadth first. A world that came to rest is held against the invariants
//! ([`crate::invariants`] 1 to 6), against its own history, and every message against whoever should have heard it. [`Mutation`] takes
//! one safeguard away, to show that this would be seen.
//!
//! # How to add a fault
//!
//! A new way in which a call fails: a `Fate` and the calls that can have it (`call.rs`), its meaning in `parts.rs`. Something
//! that happens to a world: a `Happening` (`storm.rs`), what it does (`storm/choices.rs`), how often in `weather.rs`. Roll for it with the
//! world's dice and nothing else: no hash map's order, no clock, no thread.
//!
//! Start reading at `storm/choices.rs`: one step of a world.

mod call;
mod dice;
mod floor;
mod trace;

mod mutation;
mod parts;
mod world;

mod people;
mod storm;
mod weather;

mod verdict;

mod exhaustive;

use std::collections::BTreeMap;
use std::future::Future;

use tokio::runtime::Builder;

pub use exhaustive::{Budget, Exploration, Finding, Scenario, explore};
pub use mutation::Mutation;

use dice::Dice;
use storm::{PROCESSES, Storm};
use weather::Weather;
use world::{Setting, World};

/// The most lines of the trace that a finding shows.
const SHOWN: usize = 60;
/// How far the clock of a process may be off, in milliseconds.
const MOST_SKEW_MS: u64 = 1_500;

/// What to simulate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Simulation {
    /// Decides everything.
    pub seed: u64,
    /// How many orders.
    pub orders: usize,
    /// What is broken, for tests of the simulator itself.
    pub mutation: Option<Mutation>,
}

/// What became of a seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// Commits made, placements included.
    pub transitions: u64,
    /// Choices made.
    pub steps: u64,
    /// Seconds that passed in the world.
    pub world_s: u64,
    /// Over everything that happened, in its order.
    pub trace_hash: u64,
    /// How often what happened, e.g. `transact unheard` or `commit Confirmed`.
    pub happened: BTreeMap<String, u64>,
    /// What is wrong; empty = nothing.
    pub findings: Vec<String>,
    /// With findings: the last that happened to the orders they name, or to all.
    pub trace: Vec<String>,
}

/// Runs one seed. Pure: nothing outside the arguments has a say.
///
/// # Errors
/// If no tokio runtime can be made.
pub fn simulate(simulation: Simulation) -> std::io::Result<Outcome> {
    let Simulation {
        seed,
        orders,
        mutation,
    } = simulation;
    in_paused_time(async move {
        let mut dice = Dice::new(seed);
        let weather = Weather::rolled(&mut dice);
        let plans = weather::plans(orders, &mut dice);
        let skew = |dice: &mut Dice| {
            let off = dice.between(0, 2 * MOST_SKEW_MS);
            i64::try_from(off).unwrap_or(0) - i64::try_from(MOST_SKEW_MS).unwrap_or(0)
        };
        let setting = Setting {
            stock: weather::stock(orders, &mut dice),
            config: weather::config(&mut dice),
            skews_ms: (0..PROCESSES).map(|_| skew(&mut dice)).collect(),
            tick_ms: 1,
            jitter: dice.next(),
            mutation,
        };
        let mut storm = Storm::new(World::new(setting), plans, weather, dice);
        storm.run().await;
        let trace = if storm.findings.is_empty() {
            Vec::new()
        } else {
            shown(&storm)
        };
        Outcome {
            seed,
            transitions: storm.commits,
            steps: storm.steps,
            world_s: storm.world.elapsed_ms() / 1000,
            trace_hash: storm.trace.hash(),
            happened: storm.trace.happened(),
            findings: storm.findings,
            trace,
        }
    })
}

/// What happened last to the first order that a finding names; of no order, what happened last.
fn shown(storm: &Storm) -> Vec<String> {
    let mut orders: Vec<String> = storm
        .world
        .heads()
        .into_iter()
        .map(|(order, _)| order.order_id.to_string())
        .collect();
    let names = |finding: &String, order: &String| {
        finding
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
            .any(|word| word == order)
    };
    orders.retain(|order| storm.findings.iter().any(|finding| names(finding, order)));
    orders.truncate(1);
    let about = storm.trace.about(&orders, SHOWN);
    if about.is_empty() {
        storm.trace.tail(SHOWN)
    } else {
        about
    }
}

/// Runs a world's director on a thread of its own time.
fn in_paused_time<R>(work: impl Future<Output = R>) -> std::io::Result<R> {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()?;
    // Without tokio's own budget, which would make a task yield where nobody chose it.
    Ok(runtime.block_on(tokio::task::unconstrained(work)))
}

impl Outcome {
    /// How to see it again.
    #[must_use]
    pub fn command(&self, orders: usize) -> String {
        format!(
            "cargo xtask simulate --seed {} --seeds 1 --orders {orders}",
            self.seed
        )
    }
}
