//! Random batches against a naive model: records one after another, key by key.

use crate::common::{event, invocation, wait};
use crate::plan::{Act, Plan, original, plans, raw};
use proptest::prelude::*;
use sagaline_stream::{
    Answers, Batch, BatchHandler, BoxError, Budget, Counts, Ending, Engine, Failure,
    InvocationError, Limits, Outcome, Parked, Parking, Record, RecordHandler, Remaining, Report,
    Verdict,
};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Does as planned, and writes down what it did.
struct Actor {
    plans: Vec<Plan>,
    /// `(key, place, true)` at the start, `false` at the end.
    log: Mutex<Vec<(u8, usize, bool)>>,
    flying: AtomicUsize,
    most: AtomicUsize,
}

impl Actor {
    fn new(plans: Vec<Plan>) -> Self {
        Self {
            plans,
            log: Mutex::default(),
            flying: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        }
    }

    fn place(record: &Record<'_>) -> usize {
        record
            .event_id()
            .and_then(|id| id.parse().ok())
            .expect("the tests' own id")
    }

    fn note(&self, place: usize, start: bool) {
        self.log
            .lock()
            .expect("not poisoned")
            .push((self.plans[place].key, place, start));
    }
}

impl RecordHandler for Actor {
    async fn handle(&self, record: &Record<'_>, _: &Budget) -> Result<Verdict, Failure> {
        let place = Self::place(record);
        self.note(place, true);
        self.most.fetch_max(
            self.flying.fetch_add(1, Ordering::SeqCst) + 1,
            Ordering::SeqCst,
        );
        wait(Duration::from_millis(self.plans[place].millis)).await;
        self.flying.fetch_sub(1, Ordering::SeqCst);
        self.note(place, false);
        match self.plans[place].act {
            Act::Settle(verdict) => Ok(verdict),
            Act::Retry => Err(Failure::retry("later")),
            Act::Poison => Err(Failure::poison("never")),
            Act::Panic => std::panic::resume_unwind(Box::new("as planned")),
            Act::Undecodable => unreachable!("it was never decoded"),
        }
    }
}

impl BatchHandler for Actor {
    async fn handle_batch(
        &self,
        records: &[Record<'_>],
        answers: &Answers,
        budget: &Budget,
    ) -> Result<(), Failure> {
        for (index, record) in records.iter().enumerate() {
            if self.plans[Self::place(record)].act == Act::Panic {
                continue;
            }
            answers.set(index, RecordHandler::handle(self, record, budget).await);
        }
        Ok(())
    }
}

/// Parks what its plan lets it.
struct Lot<'p>(&'p [Plan]);

impl Parking for Lot<'_> {
    async fn park(&self, parked: &Parked) -> Result<(), BoxError> {
        let place: usize = parked.event_id.as_deref().unwrap_or_default().parse()?;
        if self.0[place].parks {
            Ok(())
        } else {
            Err("full".into())
        }
    }
}

/// How each record must end when there is time enough, and whether its key's failures block what is behind.
fn expected(plans: &[Plan], blocking: bool) -> Vec<Ending> {
    let mut frozen = HashMap::new();
    let mut endings: Vec<Ending> = Vec::new();
    for (place, plan) in plans.iter().enumerate() {
        if plan.repeat {
            let first = endings[original(plans, place)];
            endings.push(if first == Ending::Failed {
                Ending::Failed
            } else {
                Ending::Stale
            });
            continue;
        }
        let parked = if plan.parks {
            Ending::Parked
        } else {
            Ending::Failed
        };
        let ending = match plan.act {
            Act::Undecodable => parked,
            _ if blocking && frozen.contains_key(&plan.key) => Ending::Failed,
            Act::Settle(verdict) => verdict.into(),
            Act::Poison => parked,
            Act::Retry | Act::Panic => Ending::Failed,
        };
        if ending == Ending::Failed && plan.act != Act::Undecodable {
            frozen.insert(plan.key, ());
        }
        endings.push(ending);
    }
    endings
}

/// The number that must be reported for these endings: slowly, by padding all numbers to one length.
fn lowest(plans: &[Plan], endings: &[Ending]) -> Result<Option<String>, ()> {
    let failed = || (0..plans.len()).filter(|place| endings[*place] == Ending::Failed);
    if failed().any(|place| plans[place].sequence.is_none()) {
        return Err(());
    }
    let opaque = plans.iter().any(|plan| {
        plan.sequence
            .as_deref()
            .is_some_and(|text| text.starts_with('o'))
    });
    let padded = |place: &usize| {
        let text = plans[*place].sequence.clone().unwrap_or_default();
        if opaque {
            format!("{place:060}")
        } else {
            format!("{text:0>60}")
        }
    };
    Ok(failed()
        .min_by_key(padded)
        .and_then(|place| plans[place].sequence.clone()))
}

fn report(result: &Result<Outcome, InvocationError>) -> &Report {
    match result {
        Ok(outcome) => &outcome.report,
        Err(error) => error.report().expect("it was run"),
    }
}

/// What must hold of every run, whatever happened.
fn check(plans: &[Plan], result: &Result<Outcome, InvocationError>) -> Result<(), TestCaseError> {
    let report = report(result);
    let endings: Vec<Ending> = report.handled.iter().map(|record| record.ending).collect();
    let counts = report.counts;
    prop_assert_eq!(counts, Counts::of(endings.iter().copied()));
    prop_assert_eq!(counts.records_in(), plans.len() as u64);
    let sum = counts.done()
        + counts.stale()
        + counts.skipped()
        + counts.parked()
        + counts.deferred()
        + counts.failed();
    prop_assert_eq!(counts.records_in(), sum);
    match (lowest(plans, &endings), result) {
        (Err(()), Err(InvocationError::Unnamed { .. })) => {}
        (Ok(lowest), Ok(outcome)) => {
            let reported: Vec<String> = outcome.response.identifiers().map(str::to_owned).collect();
            prop_assert_eq!(reported, lowest.into_iter().collect::<Vec<_>>());
        }
        (wanted, got) => prop_assert!(
            false,
            "{:?} {:?}",
            wanted,
            got.as_ref().map(|outcome| &outcome.response)
        ),
    }
    Ok(())
}

fn paused<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(work)
}

fn run(
    actor: &Actor,
    concurrency: usize,
    remaining: Duration,
    in_one: bool,
) -> Result<Outcome, InvocationError> {
    let records: Vec<String> = (0..actor.plans.len())
        .map(|place| raw(&actor.plans, place))
        .collect();
    let payload = event(&records);
    let batch = Batch::parse(&payload).expect("an event");
    let margin = Duration::from_millis(20);
    let limits = Limits {
        concurrency,
        margin,
        default_remaining: remaining,
    };
    let engine = Engine::new("model", Lot(&actor.plans)).with_limits(limits);
    let known = invocation(Remaining::Known(remaining));
    paused(async {
        let began = tokio::time::Instant::now();
        let result = if in_one {
            engine.run_batch(&batch, actor, &known).await
        } else {
            engine.run(&batch, actor, &known).await
        };
        // The engine may use half of its margin to let work end; the clock counts in milliseconds.
        assert!(
            began.elapsed() <= remaining.saturating_sub(margin / 2) + Duration::from_millis(1),
            "it answers before the deadline"
        );
        result
    })
}

/// Same key: one after another, in order, and nothing after a failure.
fn check_lanes(actor: &Actor, concurrency: usize) -> Result<(), TestCaseError> {
    prop_assert!(actor.most.load(Ordering::SeqCst) <= concurrency);
    let mut open: HashMap<u8, usize> = HashMap::new();
    let mut last: HashMap<u8, usize> = HashMap::new();
    for (key, place, start) in actor.log.lock().expect("not poisoned").iter().copied() {
        if start {
            prop_assert!(
                open.insert(key, place).is_none(),
                "two records of one key at a time"
            );
            if let Some(before) = last.insert(key, place) {
                prop_assert!(before < place, "out of order");
                let skipped = (before + 1..place).find(|between| {
                    actor.plans[*between].key == key
                        && !actor.plans[*between].repeat
                        && actor.plans[*between].act != Act::Undecodable
                });
                prop_assert!(skipped.is_none(), "a record was passed over");
                let failed = expected(&actor.plans, true)[before] == Ending::Failed;
                prop_assert!(!failed, "run behind a failure");
            }
        } else {
            prop_assert_eq!(open.remove(&key), Some(place));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn with_time_enough_every_record_ends_as_the_naive_model_says(plans in plans(), concurrency in 1_usize..8) {
        let actor = Actor::new(plans);
        let result = run(&actor, concurrency, Duration::from_secs(60), false);
        check(&actor.plans, &result)?;
        check_lanes(&actor, concurrency)?;
        let endings: Vec<Ending> = report(&result).handled.iter().map(|record| record.ending).collect();
        prop_assert_eq!(endings, expected(&actor.plans, true));
    }

    #[test]
    fn whole_batches_end_as_the_naive_model_says(plans in plans(), concurrency in 1_usize..8) {
        let actor = Actor::new(plans);
        let result = run(&actor, concurrency, Duration::from_secs(60), true);
        check(&actor.plans, &result)?;
        let endings: Vec<Ending> = report(&result).handled.iter().map(|record| record.ending).collect();
        prop_assert_eq!(endings, expected(&actor.plans, false));
    }

    #[test]
    fn under_any_deadline_nothing_is_acknowledged_that_was_not_finished(
        plans in plans(), concurrency in 1_usize..8, millis in 0_u64..200, in_one in any::<bool>(),
    ) {
        let actor = Actor::new(plans);
        let result = run(&actor, concurrency, Duration::from_millis(millis), in_one);
        check(&actor.plans, &result)?;
        if !in_one {
            check_lanes(&actor, concurrency)?;
        }
        let log = actor.log.lock().expect("not poisoned");
        let finished = |place: usize| log.iter().any(|(_, logged, start)| *logged == place && !start);
        let wanted = expected(&actor.plans, !in_one);
        for (place, record) in report(&result).handled.iter().enumerate() {
            let undecodable = actor.plans[place].act == Act::Undecodable;
            if record.ending != Ending::Failed {
                prop_assert_eq!(record.ending, wanted[place], "a settled record has the ending it was given");
                prop_assert!(undecodable || finished(original(&actor.plans, place)), "acknowledged before its work was done");
            }
        }
    }
}
