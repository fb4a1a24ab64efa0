//! What holds for any batch, any failures and any settings.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::support::{START, answer, names, raises, record};
use proptest::prelude::*;
use sagaline_mapping::clock::Millis;
use sagaline_mapping::response::{Outcome, stream_verdict};
use sagaline_mapping::shard::{Action, Rules, Shard};
use uuid::Uuid;

/// How a function treats a poison record.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Lists,
    Raises,
    Garbage,
}

#[derive(Debug, Clone)]
struct Plan {
    rules: Rules,
    reports: bool,
    /// The item of each record, in stream order.
    keys: Vec<u64>,
    /// How often each record fails, and how. 99 is always.
    faults: BTreeMap<usize, (u32, Fault)>,
    /// Which of several open jobs ends next, and which calls never reach the function.
    choices: Vec<u8>,
}

fn plans() -> impl Strategy<Value = Plan> {
    let fault = (
        prop_oneof![1_u32..4, Just(99)],
        prop_oneof![
            Just(Fault::Lists),
            Just(Fault::Raises),
            Just(Fault::Garbage)
        ],
    );
    let rules = (
        1_usize..12,
        1_usize..4,
        any::<bool>(),
        0_u32..4,
        prop_oneof![Just(0_u64), Just(2)],
    );
    (
        rules,
        any::<bool>(),
        prop::collection::vec(0_u64..5, 1..30),
        prop::collection::btree_map(0_usize..30, fault, 0..6),
        prop::collection::vec(any::<u8>(), 64),
    )
        .prop_map(
            |((batch_size, lanes, bisect, retries, window), reports, keys, faults, choices)| Plan {
                rules: Rules {
                    batch_size,
                    lanes,
                    bisect,
                    max_retries: Some(retries),
                    max_age: None,
                    window: Duration::from_secs(window),
                },
                reports,
                keys,
                faults,
                choices,
            },
        )
}

/// What happened to the records of a shard.
#[derive(Debug, Default)]
struct History {
    delivered: BTreeMap<usize, u32>,
    finished: BTreeSet<usize>,
    discarded: BTreeSet<usize>,
    steps: usize,
}

fn place(sequence: &str) -> usize {
    sequence.parse::<usize>().unwrap() - 1_000
}

/// Runs a plan to its end, with open jobs ending in any order, and checks what must hold at every step.
fn run(plan: &Plan) -> Result<History, TestCaseError> {
    let mut shard = Shard::new(plan.rules, Uuid::from_u128(1));
    let mut history = History::default();
    let mut faults = plan.faults.clone();
    let mut open: Vec<Action> = Vec::new();
    let mut now: Millis = START;
    let mut choices = plan.choices.iter().copied().cycle();
    for (at, key) in plan.keys.iter().enumerate() {
        shard.offer(record(&(1_000 + at).to_string(), *key), now);
    }
    loop {
        history.steps += 1;
        prop_assert!(history.steps < 20_000, "the process ends");
        while let Some(action) = shard.next(now) {
            check_action(
                plan,
                &history,
                &open,
                &action,
                shard.checkpoint().map(|sequence| place(sequence)),
            )?;
            if let Action::Invoke(call) = &action {
                for record in call.records.iter() {
                    *history
                        .delivered
                        .entry(place(&record.sequence))
                        .or_default() += 1;
                }
            }
            open.push(action);
        }
        if open.is_empty() {
            match shard.wake_at() {
                Some(at) if at > now => now = at,
                Some(_) | None => return Ok(history),
            }
            continue;
        }
        let choice = choices.next().unwrap_or_default();
        match open.swap_remove(usize::from(choice) % open.len()) {
            Action::Invoke(call) => {
                let sequences: Vec<&str> = call
                    .records
                    .iter()
                    .map(|record| &*record.sequence)
                    .collect();
                let outcome = if choice % 16 == 15 {
                    Outcome::NotInvoked("throttled".into())
                } else {
                    answer_of(&sequences, &mut faults)
                };
                let before = shard.checkpoint().map(|sequence| place(sequence));
                let resolution = shard.resolve(
                    call.lane,
                    stream_verdict(&outcome, plan.reports, &sequences),
                    now,
                );
                history.finished.extend(
                    sequences
                        .iter()
                        .take(resolution.done)
                        .map(|sequence| place(sequence)),
                );
                prop_assert!(
                    shard.checkpoint().map(|sequence| place(sequence)) >= before,
                    "a checkpoint never goes back"
                );
            }
            Action::Discard(discarded) => {
                history.discarded.extend(
                    discarded
                        .records
                        .iter()
                        .map(|record| place(&record.sequence)),
                );
                shard.reported(discarded.lane);
            }
        }
    }
}

fn answer_of(sequences: &[&str], faults: &mut BTreeMap<usize, (u32, Fault)>) -> Outcome {
    let mut listed = Vec::new();
    for sequence in sequences {
        if let Some((left, fault)) = faults.get_mut(&place(sequence))
            && *left > 0
        {
            *left = if *left == 99 { 99 } else { *left - 1 };
            match fault {
                Fault::Lists => listed.push(*sequence),
                Fault::Raises => return raises(),
                Fault::Garbage => return answer("garbage"),
            }
        }
    }
    names(&listed)
}

fn check_action(
    plan: &Plan,
    history: &History,
    open: &[Action],
    action: &Action,
    checkpoint: Option<usize>,
) -> Result<(), TestCaseError> {
    let records = match action {
        Action::Invoke(call) => &call.records,
        Action::Discard(discarded) => &discarded.records,
    };
    prop_assert!(!records.is_empty() && records.len() <= plan.rules.batch_size);
    let places: Vec<usize> = records
        .iter()
        .map(|record| place(&record.sequence))
        .collect();
    prop_assert!(
        places.windows(2).all(|pair| pair[0] < pair[1]),
        "a batch is in stream order: {places:?}"
    );
    for at in places {
        prop_assert!(
            checkpoint.is_none_or(|checkpoint| at > checkpoint),
            "no record before a checkpoint comes back: {at}"
        );
        prop_assert!(
            !history.finished.contains(&at) && !history.discarded.contains(&at),
            "a finished record does not come back: {at}"
        );
        // The order of an item never inverts: whatever came before it is finished or stands in this same batch.
        for earlier in (0..at).filter(|earlier| plan.keys[*earlier] == plan.keys[at]) {
            let finished =
                history.finished.contains(&earlier) || history.discarded.contains(&earlier);
            prop_assert!(
                finished
                    || records
                        .iter()
                        .any(|record| place(&record.sequence) == earlier),
                "{at} overtakes {earlier}"
            );
        }
    }
    let lane = |action: &Action| match action {
        Action::Invoke(call) => call.lane,
        Action::Discard(discarded) => discarded.lane,
    };
    prop_assert!(
        open.iter().all(|other| lane(other) != lane(action)),
        "a lane does one thing at a time"
    );
    Ok(())
}

proptest! {
    #[test]
    fn every_record_is_finished_or_reported_and_the_shard_comes_to_its_end(plan in plans()) {
        let history = run(&plan)?;
        for at in 0..plan.keys.len() {
            let finished = history.finished.contains(&at);
            prop_assert!(finished != history.discarded.contains(&at), "{at} is finished or reported, not both");
            prop_assert!(history.delivered.get(&at).is_some_and(|count| *count > 0), "{at} was delivered");
        }
    }

    #[test]
    fn a_record_that_never_fails_is_reported_only_behind_one_that_does(plan in plans()) {
        let history = run(&plan)?;
        if plan.rules.bisect {
            for at in &history.discarded {
                prop_assert!(plan.faults.contains_key(at), "bisect isolates what fails: {at}");
            }
        }
        if plan.faults.is_empty() {
            prop_assert!(history.discarded.is_empty());
        }
    }

    #[test]
    fn the_same_plan_runs_the_same_way_twice(plan in plans()) {
        let (one, two) = (run(&plan)?, run(&plan)?);
        prop_assert_eq!((one.delivered, one.discarded, one.steps), (two.delivered, two.discarded, two.steps));
    }
}
