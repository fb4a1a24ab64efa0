//! The simulator over many seeds, and through every state of small worlds; and that both see what is broken.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use sagaline_testkit::simulator::{
    Budget, Mutation, Outcome, Scenario, Simulation, explore, simulate,
};

/// What CI runs.
const SEEDS: u64 = 2_000;
const ORDERS: usize = 50;

#[expect(clippy::unwrap_used, reason = "without a runtime there is no test")]
fn run(seed: u64, orders: usize, mutation: Option<Mutation>) -> Outcome {
    simulate(Simulation {
        seed,
        orders,
        mutation,
    })
    .unwrap()
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What a finding looks like to whoever must understand it.
fn told(outcome: &Outcome, orders: usize) -> String {
    format!(
        "seed {}\n{}\n{}\nagain: {}\n",
        outcome.seed,
        outcome.findings.join("\n"),
        outcome.trace.join("\n"),
        outcome.command(orders)
    )
}

#[test]
fn two_thousand_seeds_of_fifty_orders_end_with_every_invariant() {
    let next = AtomicU64::new(0);
    let found = Mutex::new(Vec::new());
    let happened = Mutex::new(BTreeMap::<String, u64>::new());
    std::thread::scope(|scope| {
        for _ in 0..threads() {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= SEEDS || found.lock().unwrap().len() >= 3 {
                        return;
                    }
                    let outcome = run(seed, ORDERS, None);
                    let mut sums = happened.lock().unwrap();
                    for (what, count) in &outcome.happened {
                        *sums.entry(what.clone()).or_default() += count;
                    }
                    drop(sums);
                    if !outcome.findings.is_empty() {
                        found.lock().unwrap().push(told(&outcome, ORDERS));
                    }
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "{}", found.join("\n"));
    let happened = happened.into_inner().unwrap();
    // A storm in which something never happens proves nothing about it.
    for what in [
        "get throttled",
        "get not sent",
        "transact throttled",
        "transact not sent",
        "transact unheard",
        "transact conflict",
        "transact still runs",
        "query throttled",
        "query behind",
        "charge not sent",
        "charge unheard",
        "charge wanders",
        "refund not sent",
        "refund unheard",
        "refund wanders",
        "find not sent",
        "publish throttled",
        "publish not sent",
        "publish unheard",
        "crash before",
        "crash after",
        "freeze",
        "lag",
        "repeat begins",
        "sweep begins",
        "arrives",
        "commit Confirmed",
        "commit Cancelled",
        "commit Rejected",
        "commit Unwinding",
        "commit NeedsOperator",
        "message OrderConfirmed",
        "message OrderCancelled",
        "message OrderNeedsAttention",
    ] {
        let count = happened.get(what).copied().unwrap_or_default();
        assert!(count >= 100, "{what}: {count} times in {happened:#?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_trace_bit_for_bit() {
    let mut hashes = BTreeMap::new();
    for seed in 0..40 {
        let (first, again) = (run(seed, 20, None), run(seed, 20, None));
        assert_eq!(first, again);
        hashes.insert(first.trace_hash, seed);
    }
    assert_eq!(hashes.len(), 40, "and another seed another one");
}

#[test]
fn a_failing_seed_says_what_happened_and_how_to_see_it_again() {
    let outcome = (0..100)
        .map(|seed| run(seed, 10, Some(Mutation::UndoLost)))
        .find(|outcome| !outcome.findings.is_empty())
        .unwrap();
    let again = run(outcome.seed, 10, Some(Mutation::UndoLost));
    assert_eq!(outcome, again);
    assert!(
        outcome.findings[0].contains("money"),
        "{:?}",
        outcome.findings
    );
    assert!(
        outcome.trace.iter().any(|line| line.contains("refund")),
        "{:#?}",
        outcome.trace
    );
    assert_eq!(
        outcome.command(10),
        format!(
            "cargo xtask simulate --seed {} --seeds 1 --orders 10",
            outcome.seed
        )
    );
}

#[test]
fn every_safeguard_that_is_taken_away_is_missed_by_some_seed() {
    for mutation in Mutation::ALL {
        let seen = (0..100).any(|seed| !run(seed, 10, Some(mutation)).findings.is_empty());
        assert!(seen, "{mutation:?} goes unseen in 100 seeds");
    }
}

/// What CI goes through to the end; `cargo xtask simulate --exhaustive` goes further.
fn small_worlds() -> Vec<Scenario> {
    let named = |budget, names: &[&str]| {
        let mut scenarios = Scenario::with(budget);
        scenarios.retain(|scenario| names.contains(&scenario.name));
        scenarios
    };
    let mut worlds: Vec<_> = Budget::ONE_OF_EACH
        .into_iter()
        // Freezes make the most states by far.
        .filter(|budget| budget.freezes == 0)
        .flat_map(|budget| named(budget, &["stock for one of two"]))
        .collect();
    worlds.extend(named(
        Budget::NONE,
        &["one is declined", "one is cancelled"],
    ));
    worlds
}

#[test]
fn no_state_of_a_small_world_breaks_an_invariant() {
    let mut states = 0;
    for scenario in small_worlds() {
        let explored = explore(&scenario, threads(), 1_000_000).unwrap();
        if let Some(finding) = &explored.finding {
            panic!(
                "{scenario:?}\n{}\n{}",
                finding.what.join("\n"),
                finding.moves.join("\n")
            );
        }
        assert!(explored.complete && explored.ends > 0, "{explored:?}");
        states += explored.states;
    }
    println!("{states} states explored");
    assert!(states > 1_000, "{states}");
}

#[test]
fn every_safeguard_that_is_taken_away_is_missed_in_some_state() {
    for mutation in Mutation::ALL {
        // The cancelled ones first: their way is the longest.
        let seen = small_worlds().into_iter().rev().any(|scenario| {
            let scenario = Scenario {
                mutation: Some(mutation),
                ..scenario
            };
            explore(&scenario, threads(), 20_000)
                .unwrap()
                .finding
                .is_some()
        });
        assert!(seen, "{mutation:?} goes unseen in every state");
    }
}
