use super::*;
use crate::redrive::Redrive;
use sagaline_lambda::Handler as _;
use sagaline_stream::{EpochMillis, Invocation, MemoryParking, Remaining};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A sink that answers by the body of the message, and counts its calls.
struct Scripted {
    answer: fn(&str) -> Written,
    up: bool,
    calls: Mutex<Vec<usize>>,
}

impl Scripted {
    fn new(answer: fn(&str) -> Written) -> Self {
        Self {
            answer,
            up: true,
            calls: Mutex::default(),
        }
    }

    fn down() -> Self {
        Self {
            up: false,
            ..Self::new(|_| Written::NotNow("connection refused".to_owned()))
        }
    }
}

impl Retried for &Scripted {
    type Input = String;

    async fn resolve(&self, body: &str) -> Result<Option<String>, Failure> {
        match body {
            "gone" => Ok(None),
            "garbage" => Err(Failure::poison("not a message")),
            "unreadable" => Err(Failure::retry("the head could not be read")),
            other => Ok(Some(other.to_owned())),
        }
    }

    async fn write(&self, inputs: Vec<String>, _: &Budget) -> Vec<Written> {
        self.calls.lock().unwrap().push(inputs.len());
        inputs.iter().map(|input| (self.answer)(input)).collect()
    }

    async fn is_up(&self) -> bool {
        self.up
    }
}

fn event(messages: &[(&str, u32)]) -> String {
    let messages: Vec<String> = messages
        .iter()
        .enumerate()
        .map(|(n, (body, count))| {
            format!(
                r#"{{"messageId":"m{n}","body":"{body}","attributes":{{"ApproximateReceiveCount":"{count}"}},"eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:eu-west-1:1:shop-archive-retry"}}"#
            )
        })
        .collect();
    format!("{{\"Records\":[{}]}}", messages.join(","))
}

struct Played {
    reported: Vec<String>,
    parked: Vec<sagaline_stream::Parked>,
}

async fn play(sink: &Scripted, messages: &[(&str, u32)]) -> Played {
    let parking = Arc::new(MemoryParking::default());
    let redrive = Redrive::new(sink, sink, Arc::clone(&parking));
    let invocation = Invocation {
        function: "shop-redrive".to_owned(),
        request_id: "r-1".to_owned(),
        received_at: EpochMillis::new(1_764_500_000_000),
        remaining: Remaining::Known(Duration::from_secs(50)),
    };
    let response = redrive
        .handle(event(messages).as_bytes(), &invocation)
        .await
        .unwrap();
    Played {
        reported: response.identifiers().map(str::to_owned).collect(),
        parked: parking.kept(),
    }
}

#[tokio::test]
async fn what_the_sink_takes_is_deleted_and_only_what_fails_comes_again() {
    let sink = Scripted::new(|body| {
        if body == "slow" {
            Written::NotNow("429".to_owned())
        } else {
            Written::Done
        }
    });
    let played = play(
        &sink,
        &[
            ("a", 1),
            ("slow", 1),
            ("gone", 1),
            ("garbage", 1),
            ("unreadable", 1),
            ("b", 1),
        ],
    )
    .await;
    assert_eq!(played.reported, ["m1", "m4"]);
    assert_eq!(played.parked.len(), 1);
    assert_eq!(
        (
            played.parked[0].who.as_str(),
            played.parked[0].reason.as_str()
        ),
        ("archive", "not a message")
    );
    assert_eq!(
        *sink.calls.lock().unwrap(),
        [3],
        "one write for all that is left to write"
    );
}

#[tokio::test]
async fn after_a_failure_of_the_whole_sink_the_rest_is_reported_without_calling_and_nothing_is_parked()
 {
    let messages: Vec<(&str, u32)> = (0..60).map(|_| ("a", 500)).collect();
    let sink = Scripted::down();
    let played = play(&sink, &messages).await;
    assert_eq!(played.reported.len(), 60);
    assert!(played.parked.is_empty());
    assert_eq!(*sink.calls.lock().unwrap(), [TOGETHER]);

    let alone = Scripted::down();
    let played = play(&alone, &[("a", 500)]).await;
    assert_eq!(
        (played.reported.len(), played.parked.len()),
        (1, 0),
        "a single message is no proof against itself"
    );
}

#[tokio::test]
async fn a_message_that_fails_alone_too_often_is_parked() {
    let one_fails = |body: &str| {
        if body == "bad" {
            Written::NotNow("503".to_owned())
        } else {
            Written::Done
        }
    };
    let played = play(&Scripted::new(one_fails), &[("bad", 20), ("a", 1)]).await;
    assert_eq!(
        (played.reported.as_slice(), played.parked.len()),
        (["m0".to_owned()].as_slice(), 0)
    );

    let played = play(&Scripted::new(one_fails), &[("bad", 21), ("a", 1)]).await;
    assert!(played.reported.is_empty());
    assert_eq!(
        played.parked[0].reason,
        "failed alone, received 21 times: 503"
    );
    assert!(played.parked[0].record.contains(r#""messageId":"m0""#));

    let played = play(&Scripted::new(one_fails), &[("bad", 21)]).await;
    assert_eq!((played.reported.len(), played.parked.len()), (0, 1));
}

#[tokio::test]
async fn several_messages_of_one_order_share_the_verdict_of_the_one_that_was_sent() {
    let sink = Scripted::new(|body| {
        if body == "newest" {
            Written::Done
        } else {
            Written::Behind(0)
        }
    });
    assert!(
        play(&sink, &[("newest", 1), ("older", 1)])
            .await
            .reported
            .is_empty()
    );

    let fails = Scripted::new(|body| {
        if body == "newest" {
            Written::NotNow("503".to_owned())
        } else {
            Written::Behind(0)
        }
    });
    let played = play(&fails, &[("newest", 21), ("older", 1)]).await;
    assert_eq!(
        (played.reported.as_slice(), played.parked.len()),
        (["m1".to_owned()].as_slice(), 1)
    );
}

#[tokio::test]
async fn what_the_sink_refuses_is_parked_at_once() {
    let sink = Scripted::new(|_| Written::Refused("mapper_parsing_exception".to_owned()));
    let played = play(&sink, &[("a", 1)]).await;
    assert!(played.reported.is_empty());
    assert_eq!(
        played.parked[0].reason,
        "the sink refused it: mapper_parsing_exception"
    );
}
