//! `sagaline table` from outside, where it needs no service: help, usage, what is refused before anything is asked, sizes of files.

mod common;

use std::io::Write as _;

use common::{check, sagaline, stderr};

#[test]
fn help_has_examples_for_each_command() {
    for command in ["get", "query", "raw", "partiql", "size", "export", "doctor"] {
        let output = sagaline(&["table", command, "--help"], &[]);
        assert_eq!(output.status.code(), Some(0), "{command}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            text.contains(&format!("Examples:\n  sagaline table {command}")),
            "{text}"
        );
    }
    let output = sagaline(&["table", "--help"], &[]);
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("A KEY is PK/SK")
    );
}

#[test]
fn what_cannot_be_meant_is_refused_before_anything_is_asked() {
    let bad = |arguments: &[&str], first: &str| {
        check(&sagaline(&[&["table"], arguments].concat(), &[]), 2, first)
    };
    bad(
        &["get", "o-1"],
        "error[SL0002]: 'o-1' names no single item; write ORDER#o-1",
    );
    bad(&["get"], "error[SL0001]:");
    bad(&["get", "--pk", "ORDER#o-1"], "error[SL0001]:");
    bad(&["raw", "REFUND#2026-01-31#0"], "error[SL0002]:");
    bad(&["query", "--pk", ""], "error[SL0002]: the PK is empty");
    bad(
        &["query", "--pk", "a", "--between", "b", "a"],
        "error[SL0002]: 'b' comes after 'a'",
    );
    bad(
        &["query", "--pk", "a", "--index", "due", "--strong"],
        "error[SL0001]:",
    );
    bad(
        &["query", "--pk", "a", "--index", "nope"],
        "error[SL0001]: invalid value 'nope'",
    );
    bad(
        &["query", "--pk", "a", "--cursor", "x"],
        "error[SL0002]: --cursor is no cursor",
    );
    bad(
        &["partiql", "DROP TABLE x"],
        "error[SL0002]: DROP is no SELECT",
    );
    bad(
        &["size", "nowhere.json"],
        "error[SL0003]: nowhere.json is no file",
    );
    bad(&["export"], "error[SL0001]:");
    bad(
        &["export", "--user", "u-1", "--from", "soon"],
        "error[SL0002]: --from 'soon' is no time",
    );
    // Then comes what is missing to ask.
    bad(&["get", "ORDER#o-1"], "error[SL1001]:");
}

#[test]
fn an_export_that_cannot_begin_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.csv");
    let output = sagaline(
        &["table", "export", "--all", "--out", path.to_str().unwrap()],
        &[],
    );
    check(&output, 2, "error[SL1001]:");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn the_size_of_a_file_needs_no_table() {
    let size = |text: &str, arguments: &[&str]| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        sagaline(
            &[&["table", "size", file.path().to_str().unwrap()], arguments].concat(),
            &[],
        )
    };
    // The worked example of the DynamoDB guide.
    let shirt = r#"{"shirt-color": {"S": "R"}, "shirt-size": {"S": "M"}}"#;
    let output = size(shirt, &["--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["bytes"], 23);
    // Plain JSON, over several lines.
    let output = size(
        "{\n  \"shirt-color\": \"R\",\n  \"shirt-size\": \"M\"\n}\n",
        &[],
    );
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("23 bytes of the 409600")
    );
    let output = size(&format!("{shirt}\n{shirt}\n"), &["--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&json["items"], &json["bytes"]["total"]),
        (&2.into(), &46.into())
    );
    check(
        &size(&format!("{shirt}\nnonsense"), &[]),
        2,
        "error[SL0002]:",
    );
    check(&size("[1]", &[]), 2, "error[SL0002]:");
    check(&size("", &[]), 2, "error[SL0002]:");
    check(&size("{\"a\": \"\\ud800\"}", &[]), 2, "error[SL0002]:");
    let big = format!("{{\"a\": \"{}\"}}", "x".repeat(500_000));
    let output = size(&big, &[]);
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("DynamoDB refuses it: it is 500001 bytes large")
    );
}
