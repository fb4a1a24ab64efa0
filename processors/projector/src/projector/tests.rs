use super::*;
use sagaline_archive::{Redaction, Row};
use sagaline_lambda::{Refused, RetryPolicy, RetryQueue};
use sagaline_search::SearchInput;
use sagaline_sinks::Written;
use sagaline_stream::{Counts, MemoryParking, Outcome, Remaining};
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

/// A sink that answers as it is told, by `<order>@<version>`; what it is not told of is done.
struct Scripted<const ARCHIVE: bool> {
    answers: HashMap<&'static str, Written>,
    otherwise: Written,
    took: Mutex<Vec<String>>,
}

type SearchScript = Scripted<false>;
type ArchiveScript = Scripted<true>;

impl<const ARCHIVE: bool> Scripted<ARCHIVE> {
    fn new(answers: &[(&'static str, Written)]) -> Self {
        Self {
            answers: answers.iter().cloned().collect(),
            otherwise: Written::Done,
            took: Mutex::default(),
        }
    }

    fn down() -> Self {
        Self {
            otherwise: not_now(),
            ..Self::new(&[])
        }
    }
}

impl<const ARCHIVE: bool> Sink for Scripted<ARCHIVE> {
    type Input = String;

    const WHO: &'static str = if ARCHIVE { "archive" } else { "search" };

    fn project(&self, record: &Record<'_>) -> Result<String, Failure> {
        // The real projections, so that what is poison to them is poison here.
        let (order_id, version) = if ARCHIVE {
            let row = Row::from_record(record, &Redaction::new("", None))?;
            (row.order_id, row.version)
        } else {
            let input = SearchInput::from_record(record)?;
            (input.order_id().to_owned(), input.version())
        };
        Ok(format!("{order_id}@{version}"))
    }

    async fn write(&self, inputs: Vec<String>, _: &Budget) -> Vec<Written> {
        assert!(
            !inputs.iter().any(|input| input.starts_with("panic")),
            "told to panic"
        );
        let answers = inputs
            .iter()
            .map(|input| {
                self.answers
                    .get(input.as_str())
                    .unwrap_or(&self.otherwise)
                    .clone()
            })
            .collect();
        self.took.lock().unwrap().extend(inputs);
        answers
    }

    async fn message(&self, record: &Record<'_>, _: &Budget) -> Result<String, BoxError> {
        Ok(format!("{} {}", Self::WHO, self.project(record)?))
    }
}

/// A queue that keeps what it is sent, or takes nothing.
struct Queue {
    works: bool,
    kept: Mutex<Vec<String>>,
}

impl SendBatch for Queue {
    async fn send_batch(&self, bodies: &[&str]) -> Result<Vec<Refused>, BoxError> {
        if !self.works {
            return Err("the queue is away".into());
        }
        self.kept
            .lock()
            .unwrap()
            .extend(bodies.iter().map(|body| (*body).to_owned()));
        Ok(Vec::new())
    }
}

fn not_now() -> Written {
    Written::NotNow("503".to_owned())
}

struct Played {
    response: String,
    counts: Counts,
    parked: Vec<sagaline_stream::Parked>,
    to_search: Vec<String>,
    to_archive: Vec<String>,
    unchanged: u64,
}

/// Runs records through a projector with these sinks. `queues` = the retry queues work.
async fn play(
    search: SearchScript,
    archive: ArchiveScript,
    queues: bool,
    records: &[String],
) -> Played {
    let once = RetryPolicy {
        attempts: 1,
        ..RetryPolicy::INVOCATION
    };
    let kept = || Queue {
        works: queues,
        kept: Mutex::default(),
    };
    let (search_queue, archive_queue) = (kept(), kept());
    let projector = Projector {
        engine: Engine::new(CONSUMER, MemoryParking::default()),
        search: Route::new(search, RetryQueue::over(&search_queue, once)),
        archive: Route::new(archive, RetryQueue::over(&archive_queue, once)),
    };
    let payload = format!("{{\"Records\":[{}]}}", records.join(","));
    let batch = Batch::parse(payload.as_bytes()).unwrap();
    let run = Run {
        projector: &projector,
        unchanged: AtomicU64::new(0),
    };
    let outcome: Outcome = Box::pin(projector.engine.run_batch(&batch, &run, &invocation()))
        .await
        .unwrap();
    let metrics: serde_json::Value =
        serde_json::from_str(&metrics(&outcome.report, &run, "f", EpochMillis::new(0))).unwrap();
    let number = |name: &str| metrics[name].as_u64().unwrap();
    let ends = [
        "RecordsDone",
        "RecordsStale",
        "RecordsSkipped",
        "RecordsParked",
        "RecordsDeferred",
        "RecordsFailed",
    ];
    assert_eq!(
        number("RecordsIn"),
        ends.map(number).iter().sum::<u64>(),
        "the arithmetic of the batch"
    );
    Played {
        response: serde_json::to_string(&outcome.response).unwrap(),
        counts: *outcome.counts(),
        parked: projector.engine.parking().kept(),
        to_search: search_queue.kept.into_inner().unwrap(),
        to_archive: archive_queue.kept.into_inner().unwrap(),
        unchanged: number("VersionUnchanged"),
    }
}

impl SendBatch for &Queue {
    fn send_batch(
        &self,
        bodies: &[&str],
    ) -> impl Future<Output = Result<Vec<Refused>, BoxError>> + Send {
        (**self).send_batch(bodies)
    }
}

fn invocation() -> Invocation {
    Invocation {
        function: "shop-projector".to_owned(),
        request_id: "r-1".to_owned(),
        received_at: EpochMillis::new(1_764_500_000_000),
        remaining: Remaining::Known(Duration::from_secs(60)),
    }
}

/// A record of a head. Images are `version` numbers; 0 is none.
fn head(event: &str, order: &str, sequence: u32, new: u32, old: u32) -> String {
    let image = |name: &str, version: u32| match version {
        0 => String::new(),
        _ => format!(
            r#","{name}":{{"PK":{{"S":"ORDER#{order}"}},"SK":{{"S":"ORDER#DETAIL"}},"version":{{"N":"{version}"}}}}"#
        ),
    };
    format!(
        r#"{{"eventID":"e{sequence}","eventName":"{event}","dynamodb":{{"SequenceNumber":"{sequence}","Keys":{{"PK":{{"S":"ORDER#{order}"}},"SK":{{"S":"ORDER#DETAIL"}}}}{}{}}}}}"#,
        image("NewImage", new),
        image("OldImage", old),
    )
}

fn modify(order: &str, sequence: u32, version: u32) -> String {
    head("MODIFY", order, sequence, version, version - 1)
}

fn done<const ARCHIVE: bool>() -> Scripted<ARCHIVE> {
    Scripted::new(&[])
}

const NOTHING_REPORTED: &str = r#"{"batchItemFailures":[]}"#;

// C-03
#[tokio::test]
async fn a_remove_without_any_image_is_parked_with_its_text_and_costs_no_neighbour() {
    let records = [
        head("REMOVE", "o-1", 100, 0, 3),
        head("REMOVE", "o-2", 200, 0, 0),
        modify("o-3", 300, 2),
    ];
    let played = play(done(), done(), true, &records).await;
    assert_eq!(played.response, NOTHING_REPORTED);
    assert_eq!((played.counts.done(), played.counts.parked()), (2, 1));
    assert_eq!(played.parked.len(), 1, "once, not once a sink");
    assert_eq!(
        (played.parked[0].who.as_str(), &played.parked[0].record),
        ("projector", &records[1])
    );
}

// C-35
#[tokio::test]
async fn each_part_of_a_bulk_answer_goes_its_own_way_and_the_archive_is_not_touched_by_it() {
    let refused = Written::Refused("mapper_parsing_exception".to_owned());
    let search = Scripted::new(&[
        ("o-2@2", not_now()),
        ("o-3@2", refused),
        ("o-4@2", not_now()),
    ]);
    let records =
        ["o-1", "o-2", "o-3", "o-4"].map(|order| modify(order, 100, 2).replace("e100", order));
    let played = play(search, done(), true, &records).await;
    assert_eq!(played.response, NOTHING_REPORTED);
    assert_eq!(
        (
            played.counts.done(),
            played.counts.deferred(),
            played.counts.parked()
        ),
        (1, 2, 1)
    );
    assert_eq!(played.to_search, ["search o-2@2", "search o-4@2"]);
    assert!(played.to_archive.is_empty());
    assert_eq!(played.parked[0].who, "search");
    assert!(
        played.parked[0].error.contains("mapper_parsing_exception"),
        "{}",
        played.parked[0].error
    );
}

// C-41, C-48
#[tokio::test]
async fn what_the_archive_does_not_take_is_deferred_and_reported_only_when_the_queue_fails_too() {
    let records = [
        modify("o-1", 100, 2),
        modify("o-2", 200, 2),
        modify("o-3", 300, 2),
    ];
    let some = || Scripted::new(&[("o-2@2", not_now())]);
    let played = play(done(), some(), true, &records).await;
    assert_eq!(played.response, NOTHING_REPORTED);
    assert_eq!((played.counts.done(), played.counts.deferred()), (2, 1));
    assert_eq!(played.to_archive, ["archive o-2@2"]);

    let played = play(done(), some(), false, &records).await;
    assert_eq!(
        played.response,
        r#"{"batchItemFailures":[{"itemIdentifier":"200"}]}"#
    );
    assert_eq!((played.counts.done(), played.counts.failed()), (2, 1));
}

// C-48
#[tokio::test]
async fn a_sink_that_is_down_costs_the_other_nothing() {
    let records = [modify("o-1", 100, 2), modify("o-2", 200, 2)];
    let played = play(done(), Scripted::down(), true, &records).await;
    assert_eq!(played.counts.deferred(), 2);
    assert!(played.to_search.is_empty());
    assert_eq!(played.to_archive, ["archive o-1@2", "archive o-2@2"]);

    let played = play(done(), Scripted::down(), false, &records).await;
    assert_eq!(
        played.response,
        r#"{"batchItemFailures":[{"itemIdentifier":"100"}]}"#
    );
    assert_eq!(played.counts.failed(), 2);
}

#[tokio::test]
async fn of_two_verdicts_the_first_of_failed_parked_deferred_stale_done_counts() {
    let search = Scripted::new(&[
        ("o-1@2", Written::Stale),
        ("o-2@2", Written::Refused("400".to_owned())),
    ]);
    let archive = Scripted::new(&[("o-2@2", not_now()), ("o-3@2", not_now())]);
    let records = [
        modify("o-1", 100, 2),
        modify("o-2", 200, 2),
        modify("o-3", 300, 2),
        modify("o-4", 400, 2),
    ];
    let played = play(search, archive, true, &records).await;
    let counts = played.counts;
    assert_eq!(
        (
            counts.stale(),
            counts.parked(),
            counts.deferred(),
            counts.done()
        ),
        (1, 1, 1, 1)
    );
}

// C-05
#[tokio::test]
async fn an_older_version_of_the_batch_shares_the_fate_of_the_newest() {
    let records = [
        head("INSERT", "o-7", 100, 1, 0),
        modify("o-7", 200, 2),
        head("INSERT", "o-7", 300, 1, 0),
    ];
    let behind = || vec![("o-7@1", Written::Behind(1))];
    let played = play(Scripted::new(&behind()), done(), true, &records).await;
    assert_eq!((played.counts.stale(), played.counts.done()), (2, 1));

    let newest_waits = || Scripted::new(&[behind(), vec![("o-7@2", not_now())]].concat());
    let played = play(newest_waits(), done(), true, &records).await;
    assert_eq!((played.counts.stale(), played.counts.deferred()), (2, 1));
    assert_eq!(played.to_search, ["search o-7@2"]);

    let played = play(newest_waits(), done(), false, &records).await;
    assert_eq!(
        played.response,
        r#"{"batchItemFailures":[{"itemIdentifier":"100"}]}"#
    );
    assert_eq!(played.counts.failed(), 3);
}

#[tokio::test]
async fn other_items_are_skipped_and_so_is_a_head_that_changed_without_its_version() {
    let other = head("MODIFY", "o-1", 100, 2, 1).replace("ORDER#DETAIL", "HISTORY#0000000002");
    let records = [
        other,
        head("MODIFY", "o-2", 200, 4, 4),
        modify("o-3", 300, 2),
    ];
    let played = play(done(), done(), true, &records).await;
    assert_eq!(played.response, NOTHING_REPORTED);
    assert_eq!(
        (
            played.counts.skipped(),
            played.counts.done(),
            played.unchanged
        ),
        (2, 1, 1)
    );
}

#[tokio::test]
async fn poison_never_blocks_and_is_parked_by_name() {
    let no_version =
        modify("o-1", 100, 2).replace(r#""version":{"N":"2"}"#, r#""version":{"N":"2.5"}"#);
    let undecodable = modify("o-2", 200, 2).replace(r#"{"N":"2"}"#, r#"{"N":true}"#);
    let unknown = modify("o-3", 300, 2).replace("MODIFY", "REPLACE");
    let no_keys =
        r#"{"eventID":"e400","eventName":"INSERT","dynamodb":{"SequenceNumber":"400"}}"#.to_owned();
    let imageless = head("MODIFY", "o-5", 500, 0, 1);
    let records = [
        no_version,
        undecodable,
        unknown,
        no_keys,
        imageless,
        modify("o-6", 600, 2),
    ];
    let played = play(done(), done(), true, &records).await;
    assert_eq!(played.response, NOTHING_REPORTED);
    assert_eq!((played.counts.parked(), played.counts.done()), (5, 1));
    assert!(played.parked.iter().all(|parked| parked.who == "projector"));
}

#[tokio::test]
async fn a_panic_in_one_sink_is_a_failure_and_leaves_the_other_to_its_work() {
    let archive: ArchiveScript = done();
    let search = Scripted {
        otherwise: Written::Done,
        ..Scripted::new(&[])
    };
    let records = [modify("panic", 100, 2)];
    let played = play(search, archive, true, &records).await;
    assert_eq!(
        played.response,
        r#"{"batchItemFailures":[{"itemIdentifier":"100"}]}"#
    );
    assert_eq!(played.counts.failed(), 1);
}

// C-52
#[tokio::test]
async fn a_payload_that_is_no_event_fails_the_invocation_by_the_name_of_its_shape() {
    let queue = Queue {
        works: true,
        kept: Mutex::default(),
    };
    let route = || RetryQueue::over(&queue, RetryPolicy::INVOCATION);
    let projector = Projector {
        engine: Engine::new(CONSUMER, MemoryParking::default()),
        search: Route::new(done::<false>(), route()),
        archive: Route::new(done::<true>(), route()),
    };
    let error = projector.handle(b"[]", &invocation()).await.unwrap_err();
    assert_eq!(
        sagaline_lambda::one_line(error.as_ref()),
        "the payload is not what this function is for: a bare list of records, not an event with `Records`"
    );
    let answer = projector
        .handle(br#"{"Records":[]}"#, &invocation())
        .await
        .unwrap();
    assert!(answer.is_empty());
}
