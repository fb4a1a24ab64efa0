//! Queues.

use crate::common::{NoParking, endings, event, invocation, reported};
use sagaline_stream::Ending::{Done, Failed, Parked};
use sagaline_stream::{
    Budget, Engine, Failure, InvocationError, MemoryParking, Message, MessageHandler, NotAnEvent,
    Outcome, Parking, Remaining, SqsBatch, Verdict,
};
use std::time::Duration;

fn message(id: &str, body: &str, group: &str) -> String {
    let group = if group.is_empty() {
        String::new()
    } else {
        format!(r#","MessageGroupId":"{group}""#)
    };
    format!(
        r#"{{"messageId":"{id}","receiptHandle":"h","body":"{body}","attributes":{{"ApproximateReceiveCount":"21","SentTimestamp":"1764499999000"{group}}},"messageAttributes":{{"kind":{{"stringValue":"row","stringListValues":[],"dataType":"String"}},"raw":{{"binaryValue":"AA==","dataType":"Binary"}}}},"md5OfBody":"x","eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:eu-west-1:123456789012:retry","awsRegion":"eu-west-1"}}"#
    )
}

/// Does what the body says.
struct Obedient;

impl MessageHandler for Obedient {
    async fn handle(&self, message: &Message<'_>, _: &Budget) -> Result<Verdict, Failure> {
        assert_eq!(
            (
                message.receive_count(),
                message.attribute("kind"),
                message.attribute("raw")
            ),
            (Some(21), Some("row"), None)
        );
        match message.body() {
            "retry" => Err(Failure::retry("later")),
            "poison" => Err(Failure::poison("never")),
            "fatal" => Err(Failure::fatal("stop")),
            "panic" => panic!("as told"),
            _ => Ok(Verdict::Done),
        }
    }
}

async fn run<P: Parking>(messages: &[String], parking: P) -> Result<Outcome, InvocationError> {
    let payload = event(messages);
    let batch = SqsBatch::parse(&payload).expect("an event");
    let known = invocation(Remaining::Known(Duration::from_secs(60)));
    Engine::new("redrive", parking)
        .run_messages(&batch, &Obedient, &known)
        .await
}

// F-SQS-3
#[tokio::test(start_paused = true)]
async fn every_failed_message_is_named_and_no_other() {
    let messages = [
        message("m1", "ok", ""),
        message("m2", "retry", ""),
        message("m3", "poison", ""),
        message("m4", "panic", ""),
    ];
    let outcome = run(&messages, MemoryParking::default())
        .await
        .expect("an outcome");
    assert_eq!(endings(&outcome.report), [Done, Failed, Parked, Failed]);
    insta::assert_snapshot!(
        serde_json::to_string(&outcome.response).expect("JSON"),
        @r#"{"batchItemFailures":[{"itemIdentifier":"m2"},{"itemIdentifier":"m4"}]}"#
    );
    assert_eq!(outcome.report.iterator_age, Some(Duration::from_secs(1)));
}

// F-SQS-4
#[tokio::test(start_paused = true)]
async fn on_a_fifo_queue_what_is_behind_a_failure_in_its_group_is_reported_too() {
    let messages = [
        message("m1", "ok", "g"),
        message("m2", "retry", "g"),
        message("m3", "ok", "g"),
        message("m4", "ok", "h"),
        message("m5", "ok", "g"),
    ];
    let outcome = run(&messages, MemoryParking::default())
        .await
        .expect("an outcome");
    assert_eq!(reported(&outcome), ["m2", "m3", "m5"]);
    assert_eq!(outcome.report.blocked, 2);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_cannot_be_read_is_parked_and_costs_no_neighbour() {
    let bad = message("m2", "ok", "").replace(r#""body":"ok","#, "");
    let foreign = message("m3", "ok", "").replace("aws:sqs\"", "aws:sns\"");
    let messages = [message("m1", "ok", ""), bad, foreign];
    let outcome = run(&messages, MemoryParking::default())
        .await
        .expect("an outcome");
    assert_eq!(endings(&outcome.report), [Done, Parked, Parked]);
    let outcome = run(&messages, NoParking).await.expect("an outcome");
    assert_eq!(reported(&outcome), ["m2", "m3"]);
    assert!(
        outcome.report.handled[1]
            .why
            .as_deref()
            .is_some_and(|why| why.ends_with("body: the message has none)"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_message_without_an_id_that_must_come_again_fails_the_invocation() {
    let messages = [message("m1", "ok", ""), message("", "retry", "")];
    let error = run(&messages, NoParking)
        .await
        .expect_err("no honest response");
    assert!(
        matches!(error, InvocationError::Unnamed { place: 1, .. }),
        "{error}"
    );
    let error = run(&[message("m1", "fatal", "")], NoParking)
        .await
        .expect_err("fatal");
    assert!(
        matches!(error, InvocationError::Fatal { place: 0, .. }),
        "{error}"
    );
    let error: InvocationError = SqsBatch::parse(b"[]").expect_err("no event").into();
    assert!(
        matches!(error, InvocationError::NotAnEvent(NotAnEvent::BareList))
            && error.report().is_none()
    );
}
