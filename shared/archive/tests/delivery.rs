//! The sink against a scripted Firehose: what is sent again, what never, and what each row hears in the end.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may panic like the test itself"
)]

use sagaline_archive::{
    ArchiveSink, MAX_CALL_BYTES, MAX_CALL_RECORDS, MAX_RECORD_BYTES, Patience, PutError, Redaction,
    Row, SinkVerdict, Target,
};
use sagaline_stream::{BoxError, Budget, EpochMillis, Image, Invocation, Limits, Remaining};
use std::sync::Mutex;
use std::time::Duration;

type Script = Box<dyn Fn(usize, &[String]) -> Result<Vec<Option<String>>, PutError> + Send + Sync>;

/// Answers what the test says, and refuses what Firehose would.
struct Scripted {
    script: Script,
    calls: Mutex<Vec<Vec<String>>>,
    objects: Mutex<Vec<(String, String)>>,
    keeps_objects: bool,
}

impl Scripted {
    fn new(
        script: impl Fn(usize, &[String]) -> Result<Vec<Option<String>>, PutError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self {
            script: Box::new(script),
            calls: Mutex::default(),
            objects: Mutex::default(),
            keeps_objects: true,
        }
    }

    fn calls(&self) -> Vec<Vec<String>> {
        self.calls.lock().unwrap().clone()
    }
}

impl Target for Scripted {
    async fn put_batch(&self, lines: &[&str]) -> Result<Vec<Option<String>>, PutError> {
        assert!((1..=MAX_CALL_RECORDS).contains(&lines.len()));
        assert!(lines.iter().map(|line| line.len()).sum::<usize>() <= MAX_CALL_BYTES);
        assert!(lines.iter().all(|line| line.len() <= MAX_RECORD_BYTES
            && line.ends_with('\n')
            && line.matches('\n').count() == 1));
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let mut calls = self.calls.lock().unwrap();
        calls.push(lines.clone());
        (self.script)(calls.len() - 1, &lines)
    }

    async fn put_object(&self, key: &str, line: Vec<u8>) -> Result<(), BoxError> {
        self.objects
            .lock()
            .unwrap()
            .push((key.to_owned(), String::from_utf8(line)?));
        if self.keeps_objects {
            Ok(())
        } else {
            Err("no such bucket".into())
        }
    }
}

fn row(order: &str) -> Row {
    let head = format!(r#"{{"order_id":{{"S":"{order}"}},"version":{{"N":"1"}}}}"#);
    Row::from_head(&Image::parse(&head).unwrap(), &Redaction::new("", None)).unwrap()
}

/// A row whose line has exactly so many bytes.
fn row_of(order: &str, bytes: usize) -> Row {
    let mut row = row(order);
    row.cause_reason = Some(String::new());
    row.cause_reason = Some("x".repeat(bytes - row.to_line().len()));
    assert_eq!(row.to_line().len(), bytes);
    row
}

fn taken(lines: &[String]) -> Result<Vec<Option<String>>, PutError> {
    Ok(vec![None; lines.len()])
}

fn failing(lines: &[String], marks: &[&str]) -> Result<Vec<Option<String>>, PutError> {
    let fails = |line: &String| {
        marks
            .iter()
            .any(|mark| line.contains(&format!("\"order_id\":\"{mark}\"")))
    };
    Ok(lines
        .iter()
        .map(|line| fails(line).then(|| "ServiceUnavailableException: slow down".to_owned()))
        .collect())
}

fn patience() -> Patience {
    let ms = Duration::from_millis;
    Patience {
        retries: 2,
        first_pause: ms(1),
        longest_pause: ms(2),
        ..Patience::default()
    }
}

fn budget(milliseconds: u64) -> Budget {
    let invocation = Invocation {
        function: "projector".to_owned(),
        request_id: "r-1".to_owned(),
        received_at: EpochMillis::new(1_764_500_000_000),
        remaining: Remaining::Known(Duration::from_millis(milliseconds)),
    };
    Budget::start(
        &invocation,
        &Limits {
            margin: Duration::ZERO,
            ..Limits::default()
        },
    )
}

async fn write(target: &Scripted, rows: Vec<Row>) -> Vec<bool> {
    let verdicts = ArchiveSink::with_patience(target, patience())
        .write(rows, &budget(10_000))
        .await;
    verdicts
        .iter()
        .map(|verdict| *verdict == SinkVerdict::Done)
        .collect()
}

// C-41
#[tokio::test]
async fn only_the_rows_that_were_not_taken_are_sent_again() {
    let rows = || ["a", "b", "c", "d", "e", "f"].map(row).to_vec();
    let passing = Scripted::new(|call, lines| {
        if call == 0 {
            failing(lines, &["b", "e"])
        } else {
            taken(lines)
        }
    });
    assert_eq!(write(&passing, rows()).await, [true; 6]);
    assert_eq!(
        passing.calls().iter().map(Vec::len).collect::<Vec<_>>(),
        [6, 2]
    );

    let lasting = Scripted::new(|_, lines| failing(lines, &["b", "e"]));
    assert_eq!(
        write(&lasting, rows()).await,
        [true, false, true, true, false, true]
    );
    assert_eq!(
        lasting.calls().iter().map(Vec::len).collect::<Vec<_>>(),
        [6, 2, 2],
        "as often as the patience says"
    );
}

// C-42
#[tokio::test]
async fn a_row_one_byte_too_large_is_kept_beside_and_rejects_no_call() {
    let rows = || {
        vec![
            row_of("fits", MAX_RECORD_BYTES),
            row_of("large", MAX_RECORD_BYTES + 1),
            row("small"),
        ]
    };
    let target = Scripted::new(|_, lines| taken(lines));
    assert_eq!(write(&target, rows()).await, [true; 3]);
    assert_eq!(target.calls().concat().len(), 2);
    let objects = target.objects.lock().unwrap().clone();
    assert_eq!(objects.len(), 1);
    assert!(objects[0].0.starts_with("oversize/dt=unknown/large-1-"));
    assert_eq!(
        serde_json::from_str::<Row>(&objects[0].1).unwrap(),
        rows()[1]
    );

    let without_bucket = Scripted {
        keeps_objects: false,
        ..Scripted::new(|_, lines| taken(lines))
    };
    assert_eq!(write(&without_bucket, rows()).await, [true, false, true]);
}

#[tokio::test]
async fn row_501_goes_into_a_second_call() {
    let target = Scripted::new(|_, lines| taken(lines));
    let rows: Vec<Row> = (0..501).map(|n| row(&format!("o-{n}"))).collect();
    assert_eq!(write(&target, rows).await, vec![true; 501]);
    let calls = target.calls();
    assert_eq!(
        calls.iter().map(Vec::len).collect::<Vec<_>>(),
        [MAX_CALL_RECORDS, 1]
    );
    assert_eq!(calls.concat().len(), 501);
}

// C-44: what may have been written is sent again; the row carries what the view tells repeats by.
#[tokio::test]
async fn an_answer_of_another_length_or_none_at_all_is_an_unknown_outcome() {
    let target = Scripted::new(|call, lines| match call {
        0 => Ok(vec![None; lines.len() + 1]),
        1 => Err(PutError::Failed("connection reset".into())),
        _ => taken(lines),
    });
    assert_eq!(write(&target, vec![row("a"), row("b")]).await, [true, true]);
    let calls = target.calls();
    assert!(calls.len() == 3 && calls.iter().all(|call| *call == calls[0]));
}

// C-48 (this crate's half)
#[tokio::test]
async fn while_firehose_is_down_every_row_is_left_to_be_deferred_with_its_reason() {
    let target = Scripted::new(|_, _| Err(PutError::Failed("connection refused".into())));
    let verdicts = ArchiveSink::with_patience(&target, patience())
        .write(vec![row("a"), row("b")], &budget(10_000))
        .await;
    let expected =
        SinkVerdict::Retry("Firehose did not take the call: connection refused".to_owned());
    assert_eq!(verdicts, [expected.clone(), expected]);
    let verdicts = ArchiveSink::with_patience(&target, patience())
        .write(vec![row("a")], &budget(0))
        .await;
    assert!(
        matches!(verdicts.as_slice(), [SinkVerdict::Retry(_)]),
        "no time, no row lost"
    );
}

#[tokio::test]
async fn without_time_nothing_is_sent_and_no_row_lost() {
    let target = Scripted::new(|_, lines| taken(lines));
    let rows = vec![row("a"), row_of("large", MAX_RECORD_BYTES + 1)];
    let verdicts = ArchiveSink::with_patience(&target, patience())
        .write(rows, &budget(0))
        .await;
    assert!(
        verdicts
            .iter()
            .all(|verdict| matches!(verdict, SinkVerdict::Retry(_)))
    );
    assert!(target.calls().is_empty() && target.objects.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_row_that_spoils_its_call_is_found_by_halves_and_costs_no_other() {
    let spoilt = |lines: &[String]| {
        lines
            .iter()
            .any(|line| line.contains("\"order_id\":\"bad\""))
    };
    let target = Scripted::new(move |_, lines| {
        if spoilt(lines) {
            Err(PutError::Refused("InvalidArgumentException".into()))
        } else {
            taken(lines)
        }
    });
    let rows = ["a", "b", "bad", "c", "d"].map(row).to_vec();
    assert_eq!(write(&target, rows).await, [true, true, false, true, true]);
}
