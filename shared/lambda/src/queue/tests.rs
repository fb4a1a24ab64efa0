use super::*;
use std::collections::VecDeque;
use std::time::Duration;

type Script = fn(&[&str]) -> Result<Vec<Refused>, BoxError>;

/// Answers each call by the next script, then takes everything.
struct Scripted {
    script: Mutex<VecDeque<Script>>,
    calls: Mutex<Vec<Vec<String>>>,
}

impl SendBatch for Scripted {
    async fn send_batch(&self, bodies: &[&str]) -> Result<Vec<Refused>, BoxError> {
        self.calls.lock().unwrap().push(
            bodies
                .iter()
                .map(|body| (*body).chars().take(8).collect())
                .collect(),
        );
        let next = self.script.lock().unwrap().pop_front();
        next.map_or_else(|| Ok(Vec::new()), |answer| answer(bodies))
    }
}

const AWAY: Script = |_| Err("connection refused".into());

fn queue(script: &[Script]) -> RetryQueue<Scripted> {
    let sender = Scripted {
        script: Mutex::new(script.iter().copied().collect()),
        calls: Mutex::default(),
    };
    RetryQueue::over(sender, RetryPolicy::INVOCATION)
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

fn refuse(place: usize, for_good: bool) -> Refused {
    Refused {
        place,
        reason: "InternalError".to_owned(),
        for_good,
    }
}

// C-41 (the queue's half): a 200 is no success of its parts.
#[tokio::test(start_paused = true)]
async fn only_the_entries_that_failed_go_again() {
    let queue = queue(&[|_| Ok(vec![refuse(1, false)])]);
    let answers = queue.send(&texts(&["a", "b", "c"]), soon()).await;
    assert_eq!(answers, [Ok(()), Ok(()), Ok(())]);
    assert_eq!(
        *queue.sender.calls.lock().unwrap(),
        [texts(&["a", "b", "c"]), texts(&["b"])]
    );
}

#[tokio::test(start_paused = true)]
async fn a_message_refused_for_good_costs_its_neighbours_nothing() {
    let queue = queue(&[|_| Ok(vec![refuse(0, true)])]);
    let answers = queue.send(&texts(&["a", "b"]), soon()).await;
    assert_eq!(
        answers,
        [
            Err(QueueError::Refused {
                reason: "InternalError".to_owned()
            }),
            Ok(())
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_stays_away_is_an_answer_for_each_message() {
    let queue = queue(&[AWAY; 5]);
    let answers = queue.send(&texts(&["a", "b"]), soon()).await;
    let away = Err(QueueError::Unavailable {
        reason: "connection refused".to_owned(),
    });
    assert_eq!(answers, [away.clone(), away]);
    assert_eq!(
        queue.sender.calls.lock().unwrap().len(),
        RetryPolicy::INVOCATION.attempts
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_tried_again_after_the_deadline() {
    let queue = queue(&[AWAY; 5]);
    let answers = queue
        .send(&texts(&["a"]), Instant::now() + Duration::from_millis(50))
        .await;
    assert!(answers.iter().all(Result::is_err));
    assert_eq!(queue.sender.calls.lock().unwrap().len(), 1);
}

#[test]
fn characters_that_sqs_refuses_are_escaped_and_mean_the_same() {
    let body = "{\"a\":\"x\u{fffe}\u{ffff}y\"}";
    assert_eq!(printable(body), r#"{"a":"x\ufffe\uffffy"}"#);
    let value: serde_json::Value = serde_json::from_str(&printable(body)).expect("JSON");
    assert_eq!(value["a"], "x\u{fffe}\u{ffff}y");
}

#[tokio::test(start_paused = true)]
async fn batches_keep_both_limits() {
    let small: Vec<String> = (0..23).map(|n| format!("m{n}")).collect();
    let queue_of_small = queue(&[]);
    assert!(
        queue_of_small
            .send(&small, soon())
            .await
            .iter()
            .all(Result::is_ok)
    );
    let mut sizes: Vec<usize> = queue_of_small
        .sender
        .calls
        .lock()
        .unwrap()
        .iter()
        .map(Vec::len)
        .collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [3, 10, 10]);

    let large = vec![
        "x".repeat(400_000),
        "x".repeat(600_000),
        "x".to_owned(),
        "x".repeat(1_000_001),
    ];
    let queue_of_large = queue(&[]);
    let answers = queue_of_large.send(&large, soon()).await;
    assert_eq!(
        answers,
        [
            Ok(()),
            Ok(()),
            Ok(()),
            Err(QueueError::TooLarge { bytes: 1_000_001 })
        ]
    );
    assert_eq!(queue_of_large.sender.calls.lock().unwrap().len(), 2);
}
