//! `sagaline schema`, as its binary: our own table, and one broken file for each rule.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail like a test")]

mod common;

use common::{check, sagaline, stderr};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Output;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn fixture(name: &str) -> String {
    let file = root().join("fixtures/schema").join(name);
    file.to_str().unwrap().to_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn lint(file: &str) -> (Value, Output) {
    let output = sagaline(&["schema", "check", file, "--json"], &[]);
    (json(&output), output)
}

#[test]
fn our_own_table_and_the_clean_fixture_have_no_finding() {
    let ours = root().join("infra/schema/orders.schema.json");
    for file in [ours.to_str().unwrap(), &fixture("clean.json")] {
        let (found, output) = lint(file);
        assert_eq!(
            found["findings"],
            Value::from(Vec::<Value>::new()),
            "{found:#}"
        );
        assert_eq!(output.status.code(), Some(0));
        let output = sagaline(&["schema", "check", file], &[]);
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said, format!("{file}: nothing found\n"));
    }
}

/// Where each rule finds the change of its fixture.
const PLACES: [(&str, &str); 39] = [
    ("shape", "/table"),
    ("empty-template", "/items/message/key/sort"),
    ("bad-template", "/items/message/key/sort"),
    ("unknown-part", "/items/user_ticket/key/sort"),
    ("key-shape", "/items/ticket/indexes/by_day"),
    ("same-keys", "/items/user_ticket/key"),
    ("colliding-keys", "/items/ticket/key"),
    (
        "unsharded-partition",
        "/items/ticket/indexes/by_day/partition",
    ),
    ("time-offset", "/parts/opened/format"),
    ("time-local", "/parts/opened/zone"),
    ("time-width", "/parts/opened/format"),
    ("time-order", "/parts/opened/format"),
    ("number-width", "/items/message/key/sort"),
    ("key-type", "/table/sort/type"),
    ("key-length", "/items/user_ticket/key/sort"),
    ("key-length-unknown", "/items/user_ticket/key/partition"),
    ("name-length", "/table/name"),
    ("reserved-word", "/items/ticket/attributes/status"),
    ("item-size", "/items/ticket"),
    ("depth", "/items/ticket/attributes/thread/depth"),
    ("index-count", "/indexes"),
    ("local-index-count", "/indexes"),
    ("projected-count", "/indexes"),
    ("action-count", "/transactions/open"),
    ("local-index-key", "/indexes/index_00/partition"),
    ("unknown-index", "/patterns/tickets_of_day/reads/0/index"),
    ("unknown-item", "/transactions/open/actions/1/item"),
    (
        "unknown-attribute",
        "/items/message/attributes/of_subject/copy_of",
    ),
    ("unused-index", "/indexes/by_day"),
    ("empty-index", "/indexes/index_00"),
    ("not-listed", "/patterns/tickets_of_day/reads/0/index"),
    (
        "strong-index-read",
        "/patterns/tickets_of_day/reads/0/consistency",
    ),
    ("index-get", "/patterns/tickets_of_day/reads/0/operation"),
    (
        "partition-condition",
        "/patterns/tickets_of_day/reads/0/partition",
    ),
    ("sort-condition", "/patterns/ticket/reads/0/sort"),
    ("no-match", "/patterns/messages/reads/0/partition/equals"),
    (
        "not-projected",
        "/patterns/tickets_of_day/reads/0/returns/1",
    ),
    ("ttl-type", "/items/ticket/attributes/expires_at/type"),
    ("retention-without-ttl", "/items/message/retention"),
];

#[test]
fn every_rule_finds_the_one_change_of_its_fixture_and_nothing_else() {
    let rules = json(&sagaline(&["schema", "rules", "--json"], &[]));
    let rules: Vec<&Value> = rules["rules"].as_array().unwrap().iter().collect();
    let ids: BTreeSet<&str> = rules
        .iter()
        .map(|rule| rule["rule"].as_str().unwrap())
        .collect();
    assert_eq!(ids, PLACES.map(|(rule, _)| rule).into(), "rules, places");
    for (rule, place) in PLACES {
        let (found, output) = lint(&fixture(&format!("{rule}.json")));
        let findings = found["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 1, "{rule}: {found:#}");
        let finding = &findings[0];
        assert_eq!(
            (&finding["rule"], &finding["path"]),
            (&rule.into(), &place.into()),
            "{found:#}"
        );
        let described = rules
            .iter()
            .find(|described| described["rule"] == rule)
            .unwrap();
        assert_eq!(finding["severity"], described["severity"]);
        assert_eq!(finding["do"], described["do"]);
        let sentence = finding["what"].as_str().unwrap();
        assert!(
            !sentence.is_empty() && !sentence.contains('\n'),
            "{sentence}"
        );
        if finding["severity"] == "error" {
            assert_eq!(
                (&found["errors"], &found["warnings"]),
                (&1.into(), &0.into())
            );
            check(&output, 1, "error[SL4001]: ");
        } else {
            assert_eq!(
                (&found["errors"], &found["warnings"]),
                (&0.into(), &1.into())
            );
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        }
    }
    let files = std::fs::read_dir(root().join("fixtures/schema")).unwrap();
    let files: BTreeSet<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .collect();
    let others = ["clean", "no_json", "name_twice"];
    let expected = ids
        .iter()
        .copied()
        .chain(others)
        .map(str::to_owned)
        .collect();
    assert_eq!(files, expected, "fixtures, rules");
}

#[test]
fn what_cannot_be_read_is_said_with_its_line_and_column() {
    let no_json = sagaline(&["schema", "check", &fixture("no_json.json")], &[]);
    check(&no_json, 2, "error[SL0003]: ");
    assert!(
        stderr(&no_json).contains("line 2 column 13"),
        "{}",
        stderr(&no_json)
    );
    let twice = sagaline(
        &["schema", "check", &fixture("name_twice.json"), "--json"],
        &[],
    );
    check(&twice, 2, "error[SL0003]: ");
    let said = stderr(&twice);
    assert!(
        said.contains("\"ticket\" stands twice") && said.contains("line 4 column 12"),
        "{said}"
    );
    assert!(twice.stdout.is_empty(), "no findings of what was not read");
    check(
        &sagaline(&["schema", "check", "/nonexistent.json"], &[]),
        2,
        "error[SL0003]: ",
    );
    check(
        &sagaline(&["schema", "check", "/"], &[]),
        2,
        "error[SL0003]: ",
    );
    check(&sagaline(&["schema", "check"], &[]), 2, "error[SL0001]: ");
}

#[test]
fn every_fault_of_the_shape_is_listed_with_its_path() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(
        &mut file,
        br#"{"transactions": {"t": {"description": "d", "actions": [{"action": "Put", "item": "i", "times": 1e30}]}}, "table": {"name": 1, "description": "d", "partition": {"name": "PK", "type": "X"}}, "parts": {"a b": {"kind": "time", "description": "d"}}, "items": {}, "indexes": [], "patterns": {}}"#,
    )
    .unwrap();
    let (found, output) = lint(file.path().to_str().unwrap());
    assert_eq!(output.status.code(), Some(1));
    let paths: BTreeSet<&str> = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| {
            assert_eq!(finding["rule"], "shape");
            finding["path"].as_str().unwrap()
        })
        .collect();
    let expected = [
        "/transactions/t/actions/0/times",
        "/table/name",
        "/table/partition/type",
        "/parts",
        "/parts/a b",
        "/items",
        "/indexes",
    ];
    assert_eq!(paths, expected.into());
    for text in ["null", "[]", "\"x\"", "{}"] {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        let output = sagaline(&["schema", "check", file.path().to_str().unwrap()], &[]);
        check(&output, 1, "error[SL4001]: ");
    }
}

#[test]
fn people_see_the_rule_the_place_and_the_way_out() {
    let output = sagaline(
        &["schema", "check", &fixture("unsharded-partition.json")],
        &[],
    );
    let said = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(
        said.starts_with("error[unsharded-partition] /items/ticket/indexes/by_day/partition\n  DAY#{day} takes few values"),
        "{said}"
    );
    assert!(said.contains("\n  do: add a part of kind shard"), "{said}");
    let help = sagaline(&["schema", "check", "--help"], &[]);
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(
        help.contains("Examples:\n  sagaline ") && help.contains("Exit codes:"),
        "{help}"
    );
}

#[test]
fn json_schema_of_such_files_is_itself_valid_2020_12_and_knows_no_unknown_members() {
    let printed = sagaline(&["schema", "print"], &[]);
    let meta = json(&printed);
    let file = root().join("infra/schema/table.schema.json");
    let stored: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(meta, stored);
    assert_eq!(
        meta["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    jsonschema::draft202012::meta::validate(&meta).unwrap();
    jsonschema::draft202012::new(&meta).unwrap();
    closed("", &meta);
    let settings = std::fs::read_to_string(root().join(".vscode/settings.json")).unwrap();
    let settings: Value = serde_json::from_str(&settings).unwrap();
    let urls: BTreeSet<&str> = settings["json.schemas"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| entry["url"].as_str()?.strip_prefix("./"))
        .collect();
    for url in urls {
        assert!(root().join(url).is_file(), "{url}");
    }
}

/// Every object says what it may hold, and every member what it is.
fn closed(place: &str, schema: &Value) {
    if let Some(members) = schema["properties"].as_object() {
        assert!(
            schema["additionalProperties"] == false,
            "{place} takes unknown members"
        );
        for (name, member) in members {
            let told = member.get("description").is_some() || member.get("$ref").is_some();
            assert!(told, "{place}/{name} has no description");
            closed(&format!("{place}/{name}"), member);
        }
    }
    if let Some(definitions) = schema["$defs"].as_object() {
        for (name, definition) in definitions {
            assert!(
                definition.get("description").is_some(),
                "{name} has no description"
            );
            closed(&format!("$defs/{name}"), definition);
        }
    }
    if schema["items"].is_object() {
        closed(&format!("{place}/items"), &schema["items"]);
    }
}
