//! The captured AWS traces, replayed call by call on the pure state machine.
//!
//! Records 1 to 4 are of one item; 2 always fails. A letter is one request id.

use std::time::Duration;

use crate::support::{START, Simulation, answer, names, raises, record, rules};
use sagaline_mapping::response::Outcome;
use sagaline_mapping::shard::Rules;

/// What a trace's handler does with record 2 in the batch.
fn lists(poison: &'static str) -> impl FnMut(&[&str]) -> Outcome {
    move |batch| {
        if batch.contains(&poison) {
            names(&[poison])
        } else {
            names(&[])
        }
    }
}

fn raises_on(poison: &'static str) -> impl FnMut(&[&str]) -> Outcome {
    move |batch| {
        if batch.contains(&poison) {
            raises()
        } else {
            names(&[])
        }
    }
}

#[track_caller]
fn check(
    rules: Rules,
    reports: bool,
    function: impl FnMut(&[&str]) -> Outcome,
    trace: &str,
    documents: &[&str],
) -> Simulation {
    let mut simulation = Simulation::new(rules, reports);
    simulation.offer(&["1", "2", "3", "4"]);
    simulation.run(function);
    assert_eq!(
        (simulation.trace().as_str(), simulation.documents()),
        (trace, documents.iter().map(ToString::to_string).collect())
    );
    assert_eq!(simulation.checkpoint(), Some("4"));
    simulation
}

fn retries(max_retries: u32, bisect: bool) -> Rules {
    Rules {
        max_retries: Some(max_retries),
        bisect,
        ..rules()
    }
}

#[test]
fn f_trc_1_without_reporting_a_list_is_ignored() {
    check(rules(), false, lists("2"), "A[1,2,3,4]", &[]);
}

#[test]
fn f_trc_2_without_bisect_the_suffix_goes_as_one_unit() {
    check(
        retries(1, false),
        true,
        lists("2"),
        "A[1,2,3,4] B[2,3,4] B[2,3,4]",
        &["[2,3,4] RetryAttemptsExhausted 2 Some(Reported)"],
    );
}

#[test]
fn f_trc_3_with_bisect_the_poison_record_is_cut_out() {
    let wanted = "A[1,2,3,4] B[2,3,4] C[2] C[2] D[3,4]";
    let simulation = check(
        retries(1, true),
        true,
        lists("2"),
        wanted,
        &["[2] RetryAttemptsExhausted 2 Some(Reported)"],
    );
    // The pauses lie within what was seen (F-ESM-13).
    let at: Vec<u64> = simulation
        .calls
        .iter()
        .map(|seen| seen.at.0 - START.0)
        .collect();
    assert_eq!(at, [0, 10, 20, 220, 220]);
}

#[test]
fn f_trc_4_an_error_keeps_the_request_id_and_ends_with_the_whole_batch() {
    check(
        retries(2, false),
        false,
        raises_on("2"),
        "A[1,2,3,4] A[1,2,3,4] A[1,2,3,4]",
        &["[1,2,3,4] RetryAttemptsExhausted 3 Some(Unhandled)"],
    );
}

#[test]
fn f_trc_5_an_error_with_bisect_halves_until_the_record_stands_alone() {
    let wanted = "A[1,2,3,4] B[1,2] C[1] D[2] D[2] E[3,4]";
    check(
        retries(1, true),
        false,
        raises_on("2"),
        wanted,
        &["[2] RetryAttemptsExhausted 2 Some(Unhandled)"],
    );
}

#[test]
fn f_trc_6_an_empty_identifier_fails_the_whole_batch_without_a_function_error() {
    let empty = |_: &[&str]| answer(r#"{"batchItemFailures":[{"itemIdentifier":""}]}"#);
    check(
        retries(0, false),
        true,
        empty,
        "A[1,2,3,4]",
        &["[1,2,3,4] RetryAttemptsExhausted 1 Some(Reported)"],
    );
}

#[test]
fn f_trc_7_a_moved_checkpoint_starts_with_a_fresh_budget_and_is_not_topped_up() {
    // C-06: retry budget counted on the wrong unit.
    let mut simulation = Simulation::new(
        Rules {
            batch_size: 3,
            ..retries(3, false)
        },
        true,
    );
    simulation.offer(&["1", "2", "3", "4", "5", "x"]);
    let mut offered_later = false;
    simulation.run(|batch| {
        offered_later |= batch.contains(&"7");
        if batch.contains(&"x") {
            names(&["x"])
        } else {
            names(&[])
        }
    });
    assert_eq!(simulation.trace(), "A[1,2,3] B[4,5,x] C[x] C[x] C[x] C[x]");
    assert_eq!(
        simulation.documents(),
        ["[x] RetryAttemptsExhausted 4 Some(Reported)"]
    );
    assert_eq!(simulation.deliveries("x"), 5);
    for good in ["1", "2", "3", "4", "5"] {
        assert_eq!(simulation.deliveries(good), 1, "{good}");
    }
    // The shard goes on.
    simulation.offer(&["7"]);
    simulation.run(|_| names(&[]));
    assert_eq!(
        (simulation.checkpoint(), simulation.deliveries("7")),
        (Some("7"), 1)
    );
}

#[test]
fn f_trc_8_an_error_or_a_malformed_body_spends_the_budget_of_a_single_record() {
    let bodies = [
        r#"{"itemIdentifier":""}"#,
        r#"{"itemIdentifier":null}"#,
        r#"{"itemIdentifier":123}"#,
        r#"{"foo":"x"}"#,
    ];
    let malformed =
        bodies.map(|element| answer(&format!(r#"{{"batchItemFailures":[{element}]}}"#)));
    for outcome in malformed.into_iter().chain([raises()]) {
        let mut simulation = Simulation::new(
            Rules {
                batch_size: 3,
                ..retries(3, false)
            },
            true,
        );
        simulation.offer(&["x"]);
        simulation.run(|_| outcome.clone());
        assert_eq!(simulation.trace(), "A[x] A[x] A[x] A[x]");
        assert_eq!(
            simulation
                .discarded
                .iter()
                .map(|discarded| discarded.invoke_count)
                .collect::<Vec<_>>(),
            [4]
        );
    }
}

#[test]
fn f_trc_9_a_record_that_waited_too_long_is_given_up_without_a_call() {
    let mut simulation = Simulation::new(
        Rules {
            max_age: Some(Duration::from_secs(60)),
            ..rules()
        },
        true,
    );
    simulation.now = START.after(Duration::from_secs(70));
    simulation.offer(&["x"]);
    simulation.run(|_| names(&[]));
    assert_eq!(
        (simulation.trace().as_str(), simulation.documents()),
        ("", vec!["[x] RecordAgeExceeded 1 None".to_owned()])
    );
}

#[test]
fn f_trc_10_a_window_is_held_open_for_the_rest() {
    let mut simulation = Simulation::new(
        Rules {
            batch_size: 2,
            window: Duration::from_secs(5),
            ..rules()
        },
        true,
    );
    simulation.offer(&["1", "2", "3", "4", "5"]);
    simulation.run(|_| names(&[]));
    assert_eq!(simulation.trace(), "A[1,2] B[3,4] C[5]");
    assert_eq!(
        simulation
            .calls
            .iter()
            .map(|seen| seen.at.0 - START.0)
            .collect::<Vec<_>>(),
        [0, 0, 5_000]
    );
}

#[test]
fn f_trc_11_records_that_the_filter_drops_are_never_seen_and_move_the_checkpoint() {
    let mut simulation = Simulation::new(rules(), true);
    for sequence in ["1", "2", "3", "4", "5"] {
        if sequence.parse::<u32>().unwrap().is_multiple_of(2) {
            simulation.shard.offer(record(sequence, 1), START);
        } else {
            simulation.shard.skip(sequence.into());
        }
    }
    simulation.run(|_| names(&[]));
    assert_eq!(
        (simulation.trace().as_str(), simulation.checkpoint()),
        ("A[2,4]", Some("5"))
    );
}
