//! Records, handlers and parking places for the tests.

use sagaline_stream::{
    Answers, Batch, BatchHandler, BoxError, Budget, Ending, Engine, EpochMillis, Failure,
    Invocation, InvocationError, Limits, MemoryParking, Outcome, Parked, Parking, Record,
    RecordHandler, Remaining, Report, Verdict,
};
use std::future::Future;
use std::sync::Mutex;
use std::time::Duration;

/// 2025-11-30T10:53:20Z.
pub(crate) const NOW: EpochMillis = EpochMillis::new(1_764_500_000_000);

pub(crate) fn invocation(remaining: Remaining) -> Invocation {
    Invocation {
        function: "function".into(),
        request_id: "r-1".into(),
        received_at: NOW,
        remaining,
    }
}

/// A MODIFY of the item `key` with that sequence number; the event id is the number too.
pub(crate) fn modify(sequence: &str, key: &str) -> String {
    modify_event(sequence, sequence, key)
}

pub(crate) fn modify_event(event_id: &str, sequence: &str, key: &str) -> String {
    format!(
        r#"{{"eventID":"{event_id}","eventName":"MODIFY","eventSource":"aws:dynamodb","dynamodb":{{"SequenceNumber":"{sequence}","ApproximateCreationDateTime":1764499990,"Keys":{{"id":{{"S":"{key}"}}}},"NewImage":{{"id":{{"S":"{key}"}}}}}}}}"#
    )
}

/// As [`modify`], but its new image holds an attribute without a type tag.
pub(crate) fn broken(sequence: &str) -> String {
    format!(
        r#"{{"eventID":"{sequence}","eventName":"MODIFY","dynamodb":{{"NewImage":{{"id":{{}}}},"SequenceNumber":"{sequence}"}}}}"#
    )
}

pub(crate) fn event<S: AsRef<str>>(records: &[S]) -> Vec<u8> {
    let records: Vec<&str> = records.iter().map(AsRef::as_ref).collect();
    format!(r#"{{"Records":[{}]}}"#, records.join(",")).into_bytes()
}

/// A handler made of a function.
pub(crate) struct Each<F>(pub(crate) F);

impl<F, R> RecordHandler for Each<F>
where
    F: Fn(String) -> R + Sync,
    R: Future<Output = Result<Verdict, Failure>> + Send,
{
    async fn handle(&self, record: &Record<'_>, _: &Budget) -> Result<Verdict, Failure> {
        (self.0)(record.event_id().unwrap_or("none").to_owned()).await
    }
}

/// Answers by event id; done where nothing is said.
pub(crate) struct Scripted(pub(crate) Vec<(&'static str, Answer)>);

type Answer = fn() -> Result<Verdict, Failure>;

impl Scripted {
    fn answer(&self, record: &Record<'_>) -> Result<Verdict, Failure> {
        let script = self
            .0
            .iter()
            .find(|(event_id, _)| Some(*event_id) == record.event_id());
        script.map_or(Ok(Verdict::Done), |(_, answer)| answer())
    }
}

impl RecordHandler for Scripted {
    async fn handle(&self, record: &Record<'_>, _: &Budget) -> Result<Verdict, Failure> {
        self.answer(record)
    }
}

impl BatchHandler for Scripted {
    async fn handle_batch(
        &self,
        records: &[Record<'_>],
        answers: &Answers,
        _: &Budget,
    ) -> Result<(), Failure> {
        records
            .iter()
            .enumerate()
            .for_each(|(index, record)| answers.set(index, self.answer(record)));
        Ok(())
    }
}

pub(crate) fn throttled() -> Result<Verdict, Failure> {
    Err(Failure::retry("the store throttles"))
}

pub(crate) fn refused() -> Result<Verdict, Failure> {
    Err(Failure::poison("the sink refuses it"))
}

/// Refuses to park.
pub(crate) struct NoParking;

impl Parking for NoParking {
    async fn park(&self, _: &Parked) -> Result<(), BoxError> {
        Err("access denied".into())
    }
}

/// Runs a batch record by record and in one, which must agree, and returns the outcome.
pub(crate) async fn run_both<S: AsRef<str>>(
    records: &[S],
    handler: &Scripted,
) -> (Outcome, Vec<Parked>) {
    let payload = event(records);
    let batch = Batch::parse(&payload).expect("an event");
    let known = invocation(Remaining::Known(Duration::from_secs(60)));
    let engine = Engine::new("tester", MemoryParking::default());
    let each = engine
        .run(&batch, handler, &known)
        .await
        .expect("an outcome");
    let parked = engine.parking().kept();

    let engine = Engine::new("tester", MemoryParking::default());
    let whole = engine
        .run_batch(&batch, handler, &known)
        .await
        .expect("an outcome");
    assert_eq!(
        each.response, whole.response,
        "both ways to run a batch answer alike"
    );
    let by_record = |mut parked: Vec<Parked>| {
        parked.sort_by(|a, b| a.record.cmp(&b.record));
        parked
    };
    assert_eq!(
        by_record(parked.clone()),
        by_record(engine.parking().kept()),
        "both park alike"
    );
    (each, parked)
}

pub(crate) async fn run_with<P: Parking, H: RecordHandler, S: AsRef<str>>(
    records: &[S],
    handler: &H,
    parking: P,
) -> Result<Outcome, InvocationError> {
    let payload = event(records);
    let batch = Batch::parse(&payload).expect("an event");
    Engine::new("tester", parking)
        .run(
            &batch,
            handler,
            &invocation(Remaining::Known(Duration::from_secs(60))),
        )
        .await
}

pub(crate) async fn run_limited<H: RecordHandler, S: AsRef<str>>(
    records: &[S],
    handler: &H,
    remaining: Remaining,
    limits: Limits,
) -> Outcome {
    let payload = event(records);
    let batch = Batch::parse(&payload).expect("an event");
    let engine = Engine::new("tester", MemoryParking::default()).with_limits(limits);
    engine
        .run(&batch, handler, &invocation(remaining))
        .await
        .expect("an outcome")
}

pub(crate) fn endings(report: &Report) -> Vec<Ending> {
    report.handled.iter().map(|record| record.ending).collect()
}

pub(crate) fn reported(outcome: &Outcome) -> Vec<&str> {
    outcome.response.identifiers().collect()
}

/// Waits on the (paused) clock.
pub(crate) async fn wait(length: Duration) {
    let nothing = std::future::pending::<()>();
    let _elapsed = tokio::time::timeout(length, nothing).await;
}

/// A shared list of what happened.
#[derive(Default)]
pub(crate) struct Log(Mutex<Vec<String>>);

impl Log {
    pub(crate) fn add(&self, line: impl Into<String>) {
        self.0.lock().expect("not poisoned").push(line.into());
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().expect("not poisoned").clone()
    }
}
