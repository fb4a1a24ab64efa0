//! `sagaline search backfill` and `search verify`, where they need no service.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail like a test")]

use std::process::{Command, Output};

fn sagaline(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sagaline"))
        .env_clear()
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("HOME", "/nonexistent")
        .args(arguments)
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

#[track_caller]
fn check(arguments: &[&str], environment: &[(&str, &str)], first_line: &str) {
    let output = sagaline(arguments, environment);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.starts_with(first_line), "{said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn help_has_examples_and_says_what_each_kind_of_drift_is() {
    for (command, expected) in [
        ("backfill", "--max-rcu <N>"),
        ("verify", "only a remap repairs it"),
    ] {
        let output = sagaline(&["search", command, "--help"], &[]);
        assert_eq!(output.status.code(), Some(0));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            text.contains(&format!("Examples:\n  sagaline search {command}")),
            "{text}"
        );
        assert!(text.contains(expected) && text.contains("--json"), "{text}");
    }
}

#[test]
fn what_cannot_be_meant_is_refused() {
    check(
        &["search", "verify", "--since", "2h", "--all"],
        &[],
        "error[SL0001]: the argument '--since <TIME>' cannot be used with '--all'",
    );
    check(
        &["search", "verify", "--since", "soon"],
        &[],
        "error[SL0001]: invalid value 'soon' for '--since <TIME>'",
    );
    check(
        &["search", "backfill", "--max-rcu", "0"],
        &[],
        "error[SL0001]: invalid value '0' for '--max-rcu <N>'",
    );
    check(
        &["search", "backfill", "mug"],
        &[],
        "error[SL0001]: unexpected argument 'mug' found",
    );
}

#[test]
fn what_is_missing_is_named_before_anything_is_written() {
    // Somebody takes connections there, and is asked nothing before there is a table.
    let search = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let search = format!("http://{}", search.local_addr().unwrap());
    let nobody = "http://127.0.0.1:9";
    let state = tempfile::tempdir().unwrap();
    let path = state.path().join("state.json");
    let backfill = ["search", "backfill", "--state", path.to_str().unwrap()];
    for command in [&backfill[..], &["search", "verify", "--all", "--repair"]] {
        check(
            command,
            &[],
            "error[SL1001]: OPENSEARCH_ENDPOINT is not set",
        );
        check(
            command,
            &[("OPENSEARCH_ENDPOINT", nobody)],
            "error[SL1006]: OpenSearch cannot be reached",
        );
        check(
            command,
            &[("OPENSEARCH_ENDPOINT", &search)],
            "error[SL1001]: ORDERS_TABLE is not set",
        );
        check(
            command,
            &[
                ("OPENSEARCH_ENDPOINT", &search),
                ("ORDERS_TABLE", "orders"),
                ("AWS_ACCESS_KEY_ID", "a"),
                ("AWS_SECRET_ACCESS_KEY", "b"),
                ("AWS_REGION", "us-east-1"),
                ("AWS_ENDPOINT_URL", nobody),
            ],
            "error[SL1003]: the DynamoDB endpoint cannot be reached",
        );
    }
    assert!(!path.exists());
}
