//! The host with real child processes. What they do is scripted by the event; see `tests/function/bootstrap.rs`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use sagaline_mapping::config::Function;
use sagaline_mapping::drive::{Invocation, Invoker};
use sagaline_mapping::host::{Host, Output, Pool, Setting};
use sagaline_mapping::response::{FunctionErrorKind, Outcome};
use serde_json::{Value, json};
use uuid::Uuid;

/// A host with one function, and the lines that it wrote.
struct Stage {
    host: Host,
    function: Pool,
    lines: Arc<Mutex<Vec<String>>>,
}

fn stage_with(bootstrap: PathBuf, env: &[(&str, &str)], timeout: Duration) -> Stage {
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let written = Arc::clone(&lines);
    let env = env
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let functions = BTreeMap::from([(
        "saga".to_owned(),
        Function {
            bootstrap,
            env,
            timeout,
            memory_mb: 128,
        },
    )]);
    let setting = Setting {
        region: "eu-west-1".into(),
        account: "123456789012".into(),
        endpoint_url: Some("http://127.0.0.1:1".into()),
        credentials: None,
        output: Output::new(move |function, line| {
            written.lock().unwrap().push(format!("{function}: {line}"))
        }),
    };
    let host = Host::new(&functions, &setting);
    let function = host.function("saga").unwrap();
    Stage {
        host,
        function,
        lines,
    }
}

fn stage(env: &[(&str, &str)]) -> Stage {
    stage_with(
        env!("CARGO_BIN_EXE_mapping-test-function").into(),
        env,
        Duration::from_secs(20),
    )
}

impl Stage {
    async fn call(&self, word: &str) -> Invocation {
        let event = json!({ "Records": [{ "messageId": "m-1", "body": word }] }).to_string();
        self.function
            .invoke(Uuid::from_u128(7), Bytes::from(event))
            .await
    }

    /// The process that runs, when exactly one does.
    fn pid(&self) -> u32 {
        let pids = self.host.pids();
        assert_eq!(pids.len(), 1, "{pids:?}");
        assert_eq!(pids[0].1, "saga");
        pids[0].0
    }

    async fn end(self) {
        self.host.shut_down().await;
        assert_eq!(self.host.pids(), []);
    }
}

fn failure(invocation: &Invocation) -> (FunctionErrorKind, String) {
    match &invocation.outcome {
        Outcome::Failed(error) => (error.kind, error.message.clone()),
        other @ (Outcome::Answered(_) | Outcome::NotInvoked(_)) => panic!("no failure: {other:?}"),
    }
}

fn body(invocation: &Invocation) -> Bytes {
    match &invocation.outcome {
        Outcome::Answered(body) => body.clone(),
        other @ (Outcome::Failed(_) | Outcome::NotInvoked(_)) => panic!("no answer: {other:?}"),
    }
}

/// Fails in this way, and the next call finds a working function.
async fn check_failure(
    word: &str,
    timeout: Duration,
    kind: FunctionErrorKind,
    message: &str,
    process_survives: bool,
) {
    let stage = stage_with(
        env!("CARGO_BIN_EXE_mapping-test-function").into(),
        &[],
        timeout,
    );
    body(&stage.call("fine").await);
    let before = stage.pid();
    let (found, text) = failure(&stage.call(word).await);
    assert_eq!(found, kind, "{text}");
    assert!(text.contains(message), "{text}");
    assert_eq!(
        body(&stage.call("fine").await),
        r#"{"batchItemFailures":[]}"#
    );
    let survived = stage.host.pids().iter().any(|(pid, _)| *pid == before);
    assert_eq!(survived, process_survives);
    stage.end().await;
}

#[tokio::test]
async fn one_process_serves_call_after_call_and_each_is_reported() {
    let stage = stage(&[]);
    assert_eq!(
        body(&stage.call("fine").await),
        r#"{"batchItemFailures":[]}"#
    );
    let first = stage.pid();
    assert_eq!(
        body(&stage.call("do:report").await),
        r#"{"batchItemFailures":[{"itemIdentifier":"m-1"}]}"#
    );
    assert_eq!(stage.pid(), first);
    let lines = stage.lines.lock().unwrap().clone();
    let reports: Vec<&String> = lines
        .iter()
        .filter(|line| {
            line.starts_with(
                "saga: REPORT RequestId: 00000000-0000-0000-0000-000000000007 Duration: ",
            )
        })
        .collect();
    assert_eq!(reports.len(), 2, "{lines:?}");
    assert!(
        reports[0].contains(" Init Duration: ") && !reports[1].contains(" Init Duration: "),
        "{reports:?}"
    );
    assert!(
        reports
            .iter()
            .all(|line| line.contains(" Memory Size: 128 MB Max Memory Used: ")),
        "{reports:?}"
    );
    stage.end().await;
}

#[tokio::test]
async fn lines_of_a_function_carry_its_name() {
    let stage = stage(&[]);
    body(&stage.call("fine").await);
    stage.host.shut_down().await;
    // The process is gone, so both pipes are at their end; their readers may still have a line in hand.
    while stage
        .lines
        .lock()
        .unwrap()
        .iter()
        .filter(|line| line.starts_with("saga: init on std"))
        .count()
        < 2
    {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_process_gets_the_environment_of_lambda_and_nothing_else_of_the_runner() {
    let stage = stage(&[
        ("ORDERS_TABLE", "orders"),
        ("AWS_LAMBDA_FUNCTION_NAME", "forged"),
    ]);
    let answer: Value = serde_json::from_slice(&body(&stage.call("do:env").await)).unwrap();
    let env = answer["env"].as_object().unwrap();
    for (name, value) in [
        ("AWS_LAMBDA_FUNCTION_NAME", "saga"),
        ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128"),
        ("AWS_LAMBDA_LOG_GROUP_NAME", "/aws/lambda/saga"),
        ("AWS_REGION", "eu-west-1"),
        ("AWS_DEFAULT_REGION", "eu-west-1"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
        ("ORDERS_TABLE", "orders"),
        ("_HANDLER", "bootstrap"),
    ] {
        assert_eq!(env.get(name), Some(&Value::from(value)), "{name}");
    }
    for name in env.keys() {
        let expected = name.starts_with("AWS_")
            || name.starts_with("LAMBDA_")
            || [
                "PATH",
                "TZ",
                "_HANDLER",
                "ORDERS_TABLE",
                "RUST_LOG",
                "RUST_BACKTRACE",
            ]
            .contains(&name.as_str());
        assert!(expected, "{name} was passed on");
    }
    assert_eq!(answer["folder"], env["LAMBDA_TASK_ROOT"]);
    stage.end().await;
}

#[tokio::test]
async fn an_event_comes_with_all_headers() {
    let stage = stage(&[]);
    let answer: Value = serde_json::from_slice(&body(&stage.call("do:env").await)).unwrap();
    let header = |name: &str| {
        answer["headers"][name]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(
        header("lambda-runtime-aws-request-id"),
        "00000000-0000-0000-0000-000000000007"
    );
    assert_eq!(
        header("lambda-runtime-invoked-function-arn"),
        "arn:aws:lambda:eu-west-1:123456789012:function:saga"
    );
    assert!(header("lambda-runtime-deadline-ms").parse::<u64>().unwrap() > 1_764_500_000_000);
    let trace = header("lambda-runtime-trace-id");
    let parts: Vec<&str> = trace.split(';').collect();
    assert_eq!(
        (parts.len(), parts[0].len(), parts[1].len(), parts[2]),
        (3, 40, 23, "Sampled=0"),
        "{trace}"
    );
    stage.end().await;
}

#[tokio::test]
async fn a_reported_error_fails_the_call_and_keeps_the_process() {
    check_failure(
        "do:raise",
        Duration::from_secs(20),
        FunctionErrorKind::Error,
        "Raised: as told",
        true,
    )
    .await;
}

#[tokio::test]
async fn a_process_that_exits_fails_its_call_and_is_replaced() {
    check_failure(
        "do:exit",
        Duration::from_secs(20),
        FunctionErrorKind::Crash,
        "exit status: 3",
        false,
    )
    .await;
}

#[tokio::test]
async fn a_process_that_hangs_is_killed_at_its_deadline_and_replaced() {
    check_failure(
        "do:hang",
        Duration::from_secs(1),
        FunctionErrorKind::Timeout,
        "Task timed out after 1.00 seconds",
        false,
    )
    .await;
}

#[tokio::test]
async fn a_process_above_its_memory_is_killed_and_replaced() {
    check_failure(
        "do:leak",
        Duration::from_secs(20),
        FunctionErrorKind::OutOfMemory,
        "of 128 MB",
        false,
    )
    .await;
}

#[tokio::test]
async fn an_answer_above_six_megabytes_fails_the_call_and_keeps_the_process() {
    check_failure(
        "do:large",
        Duration::from_secs(20),
        FunctionErrorKind::TooLarge,
        "6291556",
        true,
    )
    .await;
}

#[tokio::test]
async fn an_answer_of_exactly_the_limit_is_taken() {
    let stage = stage(&[]);
    assert_eq!(body(&stage.call("do:limit").await).len(), 6_291_556);
    stage.end().await;
}

#[tokio::test]
async fn garbage_is_handed_on_as_it_is() {
    let stage = stage(&[]);
    assert_eq!(body(&stage.call("do:garbage").await), &b"\xff{not json"[..]);
    stage.end().await;
}

#[tokio::test]
async fn a_failed_start_is_tried_once_more_and_then_fails_the_call() {
    for (how, message) in [
        ("error", "Init: no configuration"),
        ("exit", "exit status: 7"),
    ] {
        let stage = stage(&[("TEST_INIT", how)]);
        let (kind, text) = failure(&stage.call("fine").await);
        assert_eq!(kind, FunctionErrorKind::Init);
        assert!(text.contains(message), "{text}");
        let lines = stage.lines.lock().unwrap().clone();
        assert_eq!(
            lines
                .iter()
                .filter(|line| line.contains("INIT_REPORT"))
                .count(),
            1,
            "{lines:?}"
        );
        stage.end().await;
    }
}

#[tokio::test]
async fn a_bootstrap_that_cannot_be_started_is_no_call_at_all() {
    let stage = stage_with("/no/such/bootstrap".into(), &[], Duration::from_secs(1));
    assert!(
        matches!(stage.call("fine").await.outcome, Outcome::NotInvoked(reason) if reason.contains("/no/such/bootstrap"))
    );
    stage.end().await;
}

#[tokio::test]
async fn calls_at_the_same_time_run_in_processes_of_their_own() {
    let stage = stage(&[]);
    let calls = [
        stage.call("do:slow"),
        stage.call("do:slow"),
        stage.call("do:slow"),
    ];
    for invocation in futures::future::join_all(calls).await {
        body(&invocation);
    }
    assert_eq!(stage.host.pids().len(), 3);
    body(&stage.call("fine").await);
    assert_eq!(stage.host.pids().len(), 3, "a free process is used again");
    stage.end().await;
}

fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_process_that_is_killed_in_the_middle_fails_its_call() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("taken");
    let stage = stage(&[("TEST_RECORD", record.to_str().unwrap())]);
    let (invocation, ()) = tokio::join!(stage.call("do:hang"), async {
        while !record.exists() {
            tokio::task::yield_now().await;
        }
        kill(stage.pid());
    });
    let (kind, message) = failure(&invocation);
    assert_eq!(kind, FunctionErrorKind::Crash);
    assert!(message.contains("signal: 9"), "{message}");
    stage.end().await;
}

#[tokio::test]
async fn a_process_that_was_killed_while_idle_costs_nothing() {
    let stage = stage(&[]);
    body(&stage.call("fine").await);
    kill(stage.pid());
    // Until the host has noticed, the event may be handed to the dying process, which is a crash like any other.
    while !stage.host.pids().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        body(&stage.call("fine").await),
        r#"{"batchItemFailures":[]}"#
    );
    stage.end().await;
}

#[tokio::test]
async fn a_call_that_is_dropped_takes_its_process_with_it() {
    let stage = stage(&[]);
    body(&stage.call("fine").await);
    assert!(
        tokio::time::timeout(Duration::from_millis(50), stage.call("do:hang"))
            .await
            .is_err()
    );
    stage.end().await;
}
