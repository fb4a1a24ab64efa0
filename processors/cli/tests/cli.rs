//! The built binary, where it needs no service: usage, bad input, no credentials, nobody at the endpoint.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail like a test")]

mod common;

use std::io::Write as _;
use std::time::{Duration, Instant};

use common::{check, sagaline, stderr};

/// The endpoint of a machine on which nobody listens: the discard port of this one.
const NOBODY: &str = "http://127.0.0.1:9";

const WITH_CREDENTIALS: [(&str, &str); 4] = [
    ("ORDERS_TABLE", "orders"),
    ("AWS_ACCESS_KEY_ID", "a"),
    ("AWS_SECRET_ACCESS_KEY", "b"),
    ("AWS_REGION", "us-east-1"),
];

const CREATE: [&str; 9] = [
    "create",
    "--order-id",
    "o-1",
    "--user",
    "u-1",
    "--currency",
    "EUR",
    "--line",
    "mug:2:1250",
];

fn file(text: impl AsRef<[u8]>) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_ref()).unwrap();
    file
}

#[test]
fn help_is_an_answer_and_has_examples() {
    for command in [
        &["--help"][..],
        &["create", "--help"],
        &["show", "--help"],
        &["ls", "--help"],
        &["cancel", "--help"],
        &["report", "--help"],
        &["stock", "--help"],
        &["search", "--help"],
        &["import", "--help"],
        &["local", "run", "--help"],
    ] {
        let output = sagaline(command, &[]);
        assert_eq!(output.status.code(), Some(0), "{command:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            text.contains("Examples:\n  sagaline "),
            "{command:?}: {text}"
        );
        assert!(
            text.contains("--json") && text.contains("--table") && text.contains("--endpoint-url"),
            "{command:?}"
        );
    }
    assert!(sagaline(&["--version"], &[]).status.success());
}

#[test]
fn usage_errors_have_a_code_and_exit_2() {
    check(&sagaline(&[], &[]), 2, "error[SL0001]:");
    check(
        &sagaline(&["create"], &[]),
        2,
        "error[SL0001]: the following required arguments were not provided",
    );
    check(
        &sagaline(&["fly"], &[]),
        2,
        "error[SL0001]: unrecognized subcommand 'fly'",
    );
    check(&sagaline(&["ls"], &[]), 2, "error[SL0001]:");
    check(
        &sagaline(&["ls", "--status", "CONFIRMED"], &[]),
        2,
        "error[SL0001]: invalid value 'CONFIRMED' for '--status <STATUS>'",
    );
    check(
        &sagaline(&["stock", "set", "mug", "many"], &[]),
        2,
        "error[SL0001]: invalid value 'many'",
    );
    check(&sagaline(&["search"], &[]), 2, "error[SL0001]:");
}

#[test]
fn bad_input_is_refused_by_field_before_anything_is_asked_of_anyone() {
    let create = |changes: &[(usize, &str)]| {
        let mut arguments = CREATE.to_vec();
        changes
            .iter()
            .for_each(|(at, value)| arguments[*at] = value);
        sagaline(&arguments, &[])
    };
    check(
        &create(&[(8, "mug:0:1250")]),
        2,
        "error[SL0002]: lines[0].qty: must be 1 to 1,000,000, not 0",
    );
    check(
        &create(&[(8, "mug:-1:1250")]),
        2,
        "error[SL0002]: lines[0].qty:",
    );
    check(
        &create(&[(8, "mug:2:9223372036854775807")]),
        2,
        "error[SL0002]: lines[0].unit_minor: takes the order's total beyond 64 bits",
    );
    check(
        &create(&[(8, "mug")]),
        2,
        "error[SL0002]: lines[0]: 'mug' is not SKU:QTY:UNIT_MINOR",
    );
    check(
        &create(&[(6, "EURO")]),
        2,
        "error[SL0002]: currency: 'EURO' is no ISO 4217 code",
    );
    check(
        &create(&[(2, "")]),
        2,
        "error[SL0002]: order_id: must be 1 to 100 characters",
    );
    check(
        &create(&[(2, &"x".repeat(300))]),
        2,
        "error[SL0002]: order_id:",
    );
    check(&create(&[(2, "a#b")]), 2, "error[SL0002]: order_id:");
    let repeated = [&CREATE[..], &["--line", "mug:1:1"]].concat();
    check(
        &sagaline(&repeated, &[]),
        2,
        "error[SL0002]: lines[1].sku: 'mug' stands on an earlier line",
    );
    let many: Vec<String> = (0..41).map(|n| format!("--line=sku-{n}:1:1")).collect();
    let many: Vec<&str> = CREATE[..7]
        .iter()
        .copied()
        .chain(many.iter().map(String::as_str))
        .collect();
    check(
        &sagaline(&many, &[]),
        2,
        "error[SL0002]: lines: must be 1 to 40, not 41",
    );

    check(
        &sagaline(&["show", "a#b"], &[]),
        2,
        "error[SL0002]: order id must be",
    );
    check(
        &sagaline(&["cancel", "o-1", "--reason", " "], &[]),
        2,
        "error[SL0002]: reason:",
    );
    check(
        &sagaline(&["report", "o-1", "--type", "payment.lost"], &[]),
        2,
        "error[SL0002]: type: 'payment.lost' is none of payment.approved",
    );
    check(
        &sagaline(&["report", "o-1", "--type", "shipment.sent"], &[]),
        2,
        "error[SL0002]: tracking: is needed",
    );
    check(
        &sagaline(&["report", "o-1", "--type", "payment.approved"], &[]),
        2,
        "error[SL0002]: payment_id: is needed",
    );
    check(
        &sagaline(&["stock", "get", "a b"], &[]),
        2,
        "error[SL0002]: sku must be",
    );
    check(
        &sagaline(&["search", "colour:blue"], &[]),
        2,
        "error[SL0002]: query: there is no field \"colour\"",
    );
}

#[test]
fn an_invalid_file_is_refused_whole_before_any_connection_and_names_its_lines() {
    let good =
        r#"{"user_id":"u-1","currency":"EUR","lines":[{"sku":"mug","qty":2,"unit_minor":1250}]}"#;
    let orders = file(format!(
        "{good}\n{}\nnot json\n\n{good}\n",
        good.replace("\"qty\":2", "\"qty\":0")
    ));
    let path = orders.path().to_str().unwrap();

    let output = sagaline(&["import", path], &[]);
    check(&output, 2, "error[SL0004]: 2 of 4 lines of ");
    let said = stderr(&output);
    assert!(
        said.contains("line 2: lines[0].qty: must be 1 to 1,000,000, not 0"),
        "{said}"
    );
    assert!(
        said.contains("line 3: order: must be one JSON object"),
        "{said}"
    );

    let output = sagaline(&["import", path, "--json"], &[]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["placed"], 0);
    assert_eq!(json["invalid"][0]["line"], 2);
    assert_eq!(json["invalid"][1]["line"], 3);

    // Its valid lines need the table after all.
    check(
        &sagaline(&["import", path, "--skip-invalid"], &[]),
        2,
        "error[SL1001]: ORDERS_TABLE is not set",
    );
}

#[test]
fn a_file_that_is_missing_or_empty_is_refused() {
    check(
        &sagaline(&["import", "/nonexistent.ndjson"], &[]),
        2,
        "error[SL0003]: /nonexistent.ndjson cannot be read",
    );
    let empty = file("\n \n");
    check(
        &sagaline(&["import", empty.path().to_str().unwrap()], &[]),
        2,
        "error[SL0002]:",
    );
}

// C-51
#[test]
fn a_file_cut_off_in_the_middle_of_an_order_names_file_and_line() {
    let good =
        r#"{"user_id":"u-1","currency":"EUR","lines":[{"sku":"mug","qty":2,"unit_minor":1250}]}"#;
    let cut = file(format!("{good}\n{good}\n{}", &good[..40]));
    let output = sagaline(&["import", cut.path().to_str().unwrap()], &WITH_CREDENTIALS);
    check(&output, 2, "error[SL0004]: 1 of 3 lines of /");
    assert!(stderr(&output).contains("line 3:"));
}

#[test]
fn what_is_missing_is_said_within_five_seconds() {
    #[track_caller]
    fn soon(arguments: &[&str], environment: &[(&str, &str)], first_line: &str) {
        let begun = Instant::now();
        let output = sagaline(arguments, environment);
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{:?}",
            begun.elapsed()
        );
        check(&output, 2, first_line);
        assert_eq!(
            stderr(&output).lines().count(),
            1,
            "one line: {}",
            stderr(&output)
        );
    }
    soon(
        &["show", "o-1"],
        &[],
        "error[SL1001]: ORDERS_TABLE is not set",
    );
    soon(
        &["show", "o-1"],
        &WITH_CREDENTIALS[..1],
        "error[SL1002]: no AWS Region is configured",
    );
    let no_credentials = [WITH_CREDENTIALS[0], WITH_CREDENTIALS[3]];
    soon(
        &["show", "o-1"],
        &no_credentials,
        "error[SL1002]: no AWS credentials are found",
    );
    soon(
        &CREATE,
        &no_credentials,
        "error[SL1002]: no AWS credentials are found",
    );
    for command in [
        &["show", "o-1"][..],
        &["ls", "--user", "u-1"],
        &["cancel", "o-1", "--reason", "no"],
        &["stock", "get", "mug"],
        &CREATE,
    ] {
        let nobody = [command, &["--endpoint-url", NOBODY]].concat();
        soon(
            &nobody,
            &WITH_CREDENTIALS,
            "error[SL1003]: the DynamoDB endpoint cannot be reached",
        );
    }
    let by_variable = [&WITH_CREDENTIALS[..], &[("AWS_ENDPOINT_URL", NOBODY)]].concat();
    soon(&["show", "o-1"], &by_variable, "error[SL1003]:");
    soon(
        &["show", "o-1", "--endpoint-url", "localhost:4566"],
        &WITH_CREDENTIALS,
        "error[SL1001]: --endpoint-url 'localhost:4566' is no http or https URL",
    );
    soon(
        &["search", "mug"],
        &[],
        "error[SL1001]: OPENSEARCH_ENDPOINT is not set",
    );
    soon(
        &["search", "mug"],
        &[("OPENSEARCH_ENDPOINT", NOBODY)],
        "error[SL1006]: OpenSearch cannot be reached at http://127.0.0.1:9/",
    );
    soon(
        &["search", "init"],
        &[("OPENSEARCH_ENDPOINT", NOBODY)],
        "error[SL1006]:",
    );
    soon(
        &["search", "doctor"],
        &[("OPENSEARCH_ENDPOINT", "search")],
        "error[SL1001]: OPENSEARCH_ENDPOINT is no URL",
    );
    soon(
        &["local", "run"],
        &[],
        "error[SL1007]: neither --mappings nor SAGALINE_STACK is given",
    );
    soon(
        &["local", "run", "--mappings", "/nonexistent.json"],
        &[],
        "error[SL1007]: /nonexistent.json: cannot be read",
    );
}

#[test]
fn an_endpoint_that_answers_with_something_else_is_no_endless_wait() {
    // A server that takes connections and says nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let begun = Instant::now();
    let output = sagaline(&["show", "o-1", "--endpoint-url", &url], &WITH_CREDENTIALS);
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    check(
        &output,
        2,
        "error[SL1003]: the DynamoDB endpoint cannot be reached",
    );
}
