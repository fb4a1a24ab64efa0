//! One test per fact about a stream mapping that the pure parts decide. The configuration's share of these facts stands in
//! `src/config/tests.rs`, the filter's in `src/filter/tests.rs`, the driver's in `driver.rs`.

use std::time::Duration;

use crate::support::{START, Simulation, answer, names, raises, record, rules};
use sagaline_mapping::response::{Outcome, Verdict, stream_verdict};
use sagaline_mapping::shard::{Action, Record, Rules};

fn bisect(max_retries: u32) -> Rules {
    Rules {
        bisect: true,
        max_retries: Some(max_retries),
        ..rules()
    }
}

#[test]
fn f_esm_1_a_batch_ends_at_its_size_and_at_six_megabytes() {
    let mut simulation = Simulation::new(
        Rules {
            batch_size: 3,
            ..rules()
        },
        true,
    );
    simulation.offer(&["1", "2", "3", "4"]);
    simulation.run(|_| names(&[]));
    assert_eq!(simulation.trace(), "A[1,2,3] B[4]");

    let mut simulation = Simulation::new(rules(), true);
    for sequence in ["1", "2", "3", "4", "5", "6", "7"] {
        let big = Record {
            event: "x".repeat(1024 * 1024).into(),
            ..record(sequence, 1)
        };
        simulation.shard.offer(big, START);
    }
    simulation.run(|_| names(&[]));
    assert_eq!(simulation.trace(), "A[1,2,3,4,5] B[6,7]");
}

#[test]
fn f_esm_1_six_megabytes_end_an_open_window() {
    let mut simulation = Simulation::new(
        Rules {
            window: Duration::from_secs(300),
            batch_size: 10_000,
            ..rules()
        },
        true,
    );
    for at in 0..6 {
        let big = Record {
            event: "x".repeat(1024 * 1024).into(),
            ..record(&at.to_string(), 1)
        };
        simulation.shard.offer(big, START);
    }
    assert!(
        matches!(simulation.shard.next(START), Some(Action::Invoke(call)) if call.records.len() == 5)
    );
}

#[test]
fn f_esm_2_without_a_limit_a_bad_record_is_retried_for_a_day() {
    let mut simulation = Simulation::new(rules(), true);
    simulation.offer(&["1"]);
    simulation.run(|_| raises());
    assert_eq!(simulation.discarded.len(), 1);
    let day = Duration::from_secs(24 * 3_600);
    assert!(
        simulation.now.since(START) > day
            && simulation.now.since(START) < day + Duration::from_secs(20),
        "{:?}",
        simulation.now
    );
    assert!(
        simulation.documents()[0].starts_with("[1] RecordAgeExceeded"),
        "{:?}",
        simulation.documents()
    );
}

#[test]
fn f_esm_2_a_record_that_ages_between_retries_is_given_up_with_its_last_response() {
    let mut simulation = Simulation::new(
        Rules {
            max_age: Some(Duration::from_secs(60)),
            ..rules()
        },
        true,
    );
    simulation.offer(&["1"]);
    simulation.run(|_| raises());
    let calls = simulation.calls.len();
    assert_eq!(
        simulation.documents(),
        [format!("[1] RecordAgeExceeded {calls} Some(Unhandled)")]
    );
}

#[test]
fn f_esm_2_only_the_records_that_are_too_old_are_given_up() {
    let mut simulation = Simulation::new(
        Rules {
            max_age: Some(Duration::from_secs(60)),
            ..rules()
        },
        true,
    );
    simulation.now = START.after(Duration::from_secs(61));
    simulation.offer(&["old"]);
    simulation.shard.offer(
        Record {
            arrived: Some(simulation.now),
            ..record("young", 1)
        },
        simulation.now,
    );
    simulation.shard.offer(
        Record {
            arrived: None,
            ..record("unknown", 1)
        },
        simulation.now,
    );
    simulation.run(|_| names(&[]));
    assert_eq!(
        (simulation.trace().as_str(), simulation.documents()),
        (
            "A[young,unknown]",
            vec!["[old] RecordAgeExceeded 1 None".to_owned()]
        )
    );
}

#[test]
fn f_esm_3_a_call_that_never_reached_the_function_spends_no_retry() {
    let mut simulation = Simulation::new(
        Rules {
            max_retries: Some(0),
            ..rules()
        },
        true,
    );
    simulation.offer(&["1"]);
    let mut refusals = 0;
    simulation.run(|_| {
        refusals += 1;
        if refusals <= 20 {
            Outcome::NotInvoked("throttled".into())
        } else {
            names(&[])
        }
    });
    assert_eq!(
        (
            simulation.calls.len(),
            simulation.discarded.len(),
            simulation.checkpoint()
        ),
        (21, 0, Some("1"))
    );
    assert!(simulation.calls.iter().all(|seen| seen.attempt == 1));

    // Only age ends it, and the document has no response.
    let mut simulation = Simulation::new(
        Rules {
            max_age: Some(Duration::from_secs(60)),
            ..rules()
        },
        true,
    );
    simulation.offer(&["1"]);
    simulation.run(|_| Outcome::NotInvoked("throttled".into()));
    assert_eq!(simulation.documents(), ["[1] RecordAgeExceeded 1 None"]);
}

#[test]
fn f_esm_4_lanes_keep_the_order_of_an_item_and_let_others_go_on() {
    let mut simulation = Simulation::new(
        Rules {
            lanes: 2,
            batch_size: 1,
            ..rules()
        },
        true,
    );
    for (sequence, key) in [("a1", 0), ("b1", 1), ("a2", 0), ("b2", 1)] {
        simulation.shard.offer(record(sequence, key), START);
    }
    let Some(Action::Invoke(first)) = simulation.shard.next(START) else {
        panic!("a call")
    };
    let Some(Action::Invoke(second)) = simulation.shard.next(START) else {
        panic!("a call")
    };
    assert_eq!(
        (&*first.records[0].sequence, &*second.records[0].sequence),
        ("a1", "b1")
    );
    assert_eq!(
        simulation.shard.next(START),
        None,
        "a lane runs one batch after another"
    );
    simulation.shard.resolve(second.lane, Verdict::Done, START);
    assert_eq!(
        simulation.checkpoint(),
        None,
        "the checkpoint waits for the slower lane"
    );
    let Some(Action::Invoke(third)) = simulation.shard.next(START) else {
        panic!("a call")
    };
    assert_eq!(&*third.records[0].sequence, "b2");
    simulation.shard.resolve(first.lane, Verdict::Done, START);
    assert_eq!(simulation.checkpoint(), Some("b1"));
}

#[test]
fn f_esm_6_an_error_splits_the_batch_although_failures_are_reported() {
    let mut simulation = Simulation::new(bisect(0), true);
    simulation.offer(&["1", "2"]);
    simulation.run(|batch| {
        if batch.contains(&"2") {
            raises()
        } else {
            names(&[])
        }
    });
    assert_eq!(
        (simulation.trace().as_str(), simulation.documents()),
        (
            "A[1,2] B[1] C[2]",
            vec!["[2] RetryAttemptsExhausted 1 Some(Unhandled)".to_owned()]
        )
    );
}

#[test]
fn f_esm_7_the_lowest_reported_sequence_is_the_checkpoint() {
    // C-01: a rewind treated as a set. 1300 comes again although it succeeded.
    let mut simulation = Simulation::new(rules(), true);
    simulation.offer(&["1100", "1200", "1300"]);
    let mut first = true;
    simulation.run(|_| {
        if std::mem::take(&mut first) {
            names(&["1200"])
        } else {
            names(&[])
        }
    });
    assert_eq!(simulation.trace(), "A[1100,1200,1300] B[1200,1300]");
    assert_eq!(
        stream_verdict(&names(&["1300", "1200"]), true, &["1100", "1200", "1300"]),
        Verdict::FailedFrom(1)
    );
}

#[test]
fn f_esm_7_the_lowest_is_the_numerically_lowest_whatever_the_length_of_the_text() {
    // C-04
    let sequences = [
        "888888888888888888888",
        "1200000000000000000000",
        "9100000000000000000000000000000000000042",
    ];
    assert_eq!(
        stream_verdict(
            &names(&[sequences[2], sequences[1], sequences[0]]),
            true,
            &sequences
        ),
        Verdict::FailedFrom(0)
    );
    assert_eq!(
        stream_verdict(&names(&[sequences[2], sequences[1]]), true, &sequences),
        Verdict::FailedFrom(1)
    );
}

#[test]
fn f_esm_8_a_moved_checkpoint_has_a_full_budget_and_a_split_spends_nothing() {
    let mut simulation = Simulation::new(
        Rules {
            max_retries: Some(1),
            ..rules()
        },
        true,
    );
    simulation.offer(&["1", "2", "3"]);
    // Every batch fails once, then moves by one: no batch ever fails twice without moving.
    let mut failed = std::collections::HashSet::new();
    simulation.run(|batch| {
        let head = batch[0].to_owned();
        if failed.insert(head) {
            names(&[batch[0]])
        } else if batch.len() > 1 {
            names(&[batch[1]])
        } else {
            names(&[])
        }
    });
    assert_eq!(
        (simulation.trace().as_str(), simulation.discarded.len()),
        ("A[1,2,3] A[1,2,3] B[2,3] B[2,3] C[3] C[3]", 0)
    );

    let mut simulation = Simulation::new(bisect(1), false);
    simulation.offer(&["1"]);
    simulation.offer(&["2"]);
    let mut calls = 0;
    simulation.run(|_| {
        calls += 1;
        if calls <= 2 { raises() } else { names(&[]) }
    });
    assert_eq!(simulation.trace(), "A[1,2] B[1] B[1] C[2]");
}

#[test]
fn f_esm_9_the_left_part_runs_to_its_end_before_the_right_one() {
    let mut simulation = Simulation::new(bisect(1), false);
    simulation.offer(&["1", "2", "3", "4", "5", "6", "7", "8"]);
    simulation.run(|batch| {
        if batch.contains(&"1") || batch.contains(&"8") {
            raises()
        } else {
            names(&[])
        }
    });
    assert_eq!(
        simulation.trace(),
        "A[1,2,3,4,5,6,7,8] B[1,2,3,4] C[1,2] D[1] D[1] E[2] F[3,4] G[5,6,7,8] H[5,6] I[7,8] J[7] K[8] K[8]"
    );
}

#[test]
fn f_esm_10_a_suffix_that_fails_at_its_first_record_is_split_behind_it() {
    let mut simulation = Simulation::new(bisect(0), true);
    simulation.offer(&["1", "2", "3", "4"]);
    simulation.run(|batch| {
        if batch.contains(&"2") {
            names(&["2"])
        } else {
            names(&[])
        }
    });
    assert_eq!(simulation.trace(), "A[1,2,3,4] B[2,3,4] C[2] D[3,4]");
}

#[test]
fn f_esm_11_without_bisect_a_poison_record_takes_its_suffix_with_it() {
    let mut simulation = Simulation::new(
        Rules {
            max_retries: Some(0),
            ..rules()
        },
        true,
    );
    simulation.offer(&["1", "2", "3"]);
    simulation.run(|batch| {
        if batch.contains(&"2") {
            names(&["2"])
        } else {
            names(&[])
        }
    });
    assert_eq!(
        simulation.documents(),
        ["[2,3] RetryAttemptsExhausted 1 Some(Reported)"]
    );
}

#[test]
fn f_esm_12_an_unchanged_retry_reuses_its_request_id_and_nothing_else_does() {
    let mut simulation = Simulation::new(bisect(2), true);
    simulation.offer(&["1", "2", "3", "4"]);
    simulation.run(|batch| {
        if batch.contains(&"2") {
            names(&["2"])
        } else {
            names(&[])
        }
    });
    for pair in simulation.calls.windows(2) {
        assert_eq!(
            pair[0].request_id == pair[1].request_id,
            pair[0].sequences == pair[1].sequences,
            "{pair:?}"
        );
    }
}

#[test]
fn f_esm_13_a_new_batch_comes_soon_and_a_retry_later_and_later() {
    let mut simulation = Simulation::new(
        Rules {
            max_retries: Some(8),
            ..rules()
        },
        true,
    );
    simulation.offer(&["1", "2"]);
    simulation.run(|batch| names(&[batch[batch.len() - 1]]));
    let pauses: Vec<u64> = simulation
        .calls
        .windows(2)
        .map(|pair| pair[1].at.0 - pair[0].at.0)
        .collect();
    assert_eq!(
        pauses,
        [10, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]
    );
}

#[test]
fn an_answer_to_no_call_changes_nothing() {
    let mut simulation = Simulation::new(rules(), true);
    simulation.offer(&["1"]);
    simulation.shard.resolve(0, Verdict::Done, START);
    simulation.shard.resolve(9, Verdict::Done, START);
    simulation.shard.reported(0);
    assert_eq!(simulation.checkpoint(), None);
    simulation.run(|_| answer("{}"));
    assert_eq!(simulation.trace(), "A[1]");
}
