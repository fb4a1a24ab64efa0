//! Handlers of whole batches.

use crate::common::{
    broken, endings, event, invocation, modify, modify_event, reported, throttled,
};
use sagaline_stream::Ending::{Done, Failed, Parked, Stale};
use sagaline_stream::{
    Answers, Batch, BatchHandler, Budget, Engine, Failure, InvocationError, MemoryParking, Outcome,
    Record, Remaining, Verdict,
};
use std::time::Duration;

struct Sink<F>(F);

impl<F: Fn(&[Record<'_>], &Answers) -> Result<(), Failure> + Sync> BatchHandler for Sink<F> {
    async fn handle_batch(
        &self,
        records: &[Record<'_>],
        answers: &Answers,
        _: &Budget,
    ) -> Result<(), Failure> {
        (self.0)(records, answers)
    }
}

async fn run<F>(records: &[String], sink: F) -> (Result<Outcome, InvocationError>, usize)
where
    F: Fn(&[Record<'_>], &Answers) -> Result<(), Failure> + Sync,
{
    let payload = event(records);
    let batch = Batch::parse(&payload).expect("an event");
    let engine = Engine::new("sink", MemoryParking::default());
    let outcome = engine
        .run_batch(
            &batch,
            &Sink(sink),
            &invocation(Remaining::Known(Duration::from_secs(60))),
        )
        .await;
    let parked = engine.parking().kept().len();
    (outcome, parked)
}

fn four() -> Vec<String> {
    vec![
        modify("1", "a"),
        broken("2"),
        modify("3", "b"),
        modify_event("1", "1", "a"),
        modify("4", "c"),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_sink_gets_what_can_be_read_without_repeats() {
    let (outcome, parked) = run(&four(), |records, answers| {
        let places: Vec<usize> = records.iter().map(Record::place).collect();
        assert_eq!(places, [0, 2, 4]);
        answers.set(0, Ok(Verdict::Done));
        answers.set(1, Ok(Verdict::Stale));
        answers.set(2, Err(Failure::poison("refused")));
        answers.set(9, Ok(Verdict::Done));
        Ok(())
    })
    .await;
    let outcome = outcome.expect("an outcome");
    assert_eq!(
        endings(&outcome.report),
        [Done, Parked, Stale, Stale, Parked]
    );
    assert_eq!(parked, 2);
}

#[tokio::test(start_paused = true)]
async fn a_record_without_an_answer_has_failed() {
    let (outcome, _) = run(&four(), |_, answers| {
        answers.set(0, Ok(Verdict::Done));
        answers.set(2, Ok(Verdict::Done));
        Ok(())
    })
    .await;
    let outcome = outcome.expect("an outcome");
    assert_eq!(
        endings(&outcome.report),
        [Done, Parked, Failed, Stale, Done]
    );
    assert_eq!(reported(&outcome), ["3"]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_the_whole_is_the_failure_of_what_has_no_answer() {
    let (outcome, _) = run(&four(), |_, answers| {
        answers.set(1, Ok(Verdict::Done));
        Err(Failure::retry("the sink is down"))
    })
    .await;
    let outcome = outcome.expect("an outcome");
    assert_eq!(
        endings(&outcome.report),
        [Failed, Parked, Done, Failed, Failed]
    );
    assert_eq!(
        outcome.report.handled[4].why.as_deref(),
        Some("the sink is down")
    );

    let (outcome, _) = run(&four(), |_, _| Err(Failure::fatal("no permission"))).await;
    assert!(matches!(
        outcome,
        Err(InvocationError::Fatal { place: 0, .. })
    ));
}

// C-12
#[tokio::test(start_paused = true)]
async fn a_panic_of_a_sink_leaves_its_answers() {
    let (outcome, _) = run(&four(), |_, answers| {
        answers.set(0, Ok(Verdict::Done));
        answers.set(1, throttled());
        panic!("the sink panics");
    })
    .await;
    let outcome = outcome.expect("the process serves on");
    assert_eq!(
        endings(&outcome.report),
        [Done, Parked, Failed, Stale, Failed]
    );
    assert_eq!(
        outcome.report.handled[4].why.as_deref(),
        Some("the handler panicked: the sink panics")
    );
}
