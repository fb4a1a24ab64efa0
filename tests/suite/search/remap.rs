//! A new index in the place of the old one: under load, killed at every step, given up at every step.

use std::process::Stdio;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use reqwest::Method;
use sagaline_search::SearchInput;
use sagaline_search::admin::doctor;
use sagaline_sinks::Written;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use super::load::{Expected, Life, Load, head};
use crate::support::{Index, Place, SOON, built, stack, until};

/// The sentences of the steps, in their order. Each is said before the step is done.
const STEPS: [&str; 9] = [
    "from ",
    "making ",
    "waiting ",
    "copying ",
    "comparing ",
    "are right",
    "comparing what was written meanwhile",
    "giving up ",
    "waiting ",
];

/// A table of one's own, and an index that somebody changed by hand.
async fn old_index(what: &str) -> (Place, Index) {
    let place = Place::fresh(what).await;
    let index = Index::at(
        stack().await.opensearch_url(),
        place.var("OPENSEARCH_ALIAS"),
    )
    .made()
    .await;
    let surprise = json!({"properties": {"surprise": {"type": "text"}}});
    let mapping = format!("{}/_mapping", index.names.index(1));
    index.send(Method::PUT, &mapping, &surprise).await;
    (place, index)
}

/// Writers follow at once here: they read the configuration for every write.
const QUICK: [&str; 4] = ["search", "remap", "--settle", "1"];

async fn remap(place: &Place, more: &[&str]) -> Value {
    place.json(&[&QUICK[..], &["--yes"], more].concat()).await
}

/// Runs a remap and kills it when it says the nth sentence. False if it ended before.
async fn killed_at(place: &Place, nth: usize) -> bool {
    let mut child = Command::new(built("sagaline"))
        .args([&QUICK[..], &["--yes"]].concat())
        .env_clear()
        .envs(&place.deployment.env)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        said.push(line);
        if said.len() > nth {
            // SIGKILL: it cannot tidy up.
            child.kill().await.unwrap();
            return true;
        }
    }
    assert!(child.wait().await.unwrap().success(), "{said:?}");
    false
}

async fn on(index: &Index, alias: &str) -> Vec<String> {
    let (status, found) = index
        .answer(Method::GET, &format!("_alias/{alias}"), None)
        .await;
    match status {
        200 => found.as_object().unwrap().keys().cloned().collect(),
        _ => Vec::new(),
    }
}

/// Reads and writes go to one index, that one, and nothing is left of a remap.
async fn settled_on(index: &Index, generation: u32) {
    let name = index.names.index(generation);
    for alias in [&index.names.read, &index.names.write] {
        assert_eq!(on(index, alias).await, std::slice::from_ref(&name));
    }
    assert!(on(index, &index.names.next).await.is_empty());
    assert!(on(index, &index.names.old).await.is_empty());
}

async fn holds(index: &Index, expected: &Expected) {
    let mut seen = index.versions().await;
    // A tombstone that has only been seen by the index that is gone is none's loss: no head is there, and no document.
    seen.retain(|id, _| expected.contains_key(id));
    assert_eq!(&seen, expected);
}

#[tokio::test]
async fn a_remap_under_load_loses_no_read_no_update_and_no_deletion() {
    let (place, index) = old_index("remap").await;
    let load = Load::begin(&place, &index, 7).await;
    until("orders were removed", SOON, async || {
        (load.done() > 150).then_some(())
    })
    .await;

    let plan = place.json(&QUICK).await;
    assert_eq!(
        (&plan["result"], &plan["to"]),
        (&json!("dry_run"), &json!(index.names.index(2)))
    );
    assert!(
        plan["differences"][0]
            .as_str()
            .unwrap()
            .contains("surprise"),
        "{plan}"
    );
    settled_on(&index, 1).await;

    let before = load.done();
    let said = remap(&place, &["--drop-old"]).await;
    assert_eq!(
        (&said["result"], &said["dropped"]),
        (&json!("done"), &json!(true)),
        "{said}"
    );
    assert!(load.done() > before, "life went on");
    let expected = load.end().await;
    settled_on(&index, 2).await;
    holds(&index, &expected).await;
    let (status, _) = index.answer(Method::GET, &index.names.index(1), None).await;
    assert_eq!(status, 404, "the old index is deleted");
    assert_eq!(
        doctor(&index.client, &index.names).await.unwrap(),
        Vec::<String>::new()
    );
    let verified = place.json(&["search", "verify", "--all"]).await;
    assert_eq!(verified["left"], 0, "{verified}");
    let nothing = place
        .json(&[&QUICK[..], &["--abort", "--yes"]].concat())
        .await;
    assert_eq!(nothing["result"], "nothing");
}

#[tokio::test]
async fn a_remap_that_is_killed_at_any_step_goes_on_where_it_was() {
    let (place, index) = old_index("killed").await;
    let load = Load::begin(&place, &index, 11).await;
    // Each run dies at its nth sentence; a run that goes on has less to say, so later steps are reached by later sentences.
    for nth in [0, 1, 2, 3, 0, 4, 1, 5, 2, 0, 1] {
        if !killed_at(&place, nth).await {
            break;
        }
    }
    let said = place.json(&["search", "remap"]).await;
    if said["from"] == json!(index.names.index(1)) {
        remap(&place, &[]).await;
    }
    let expected = load.end().await;
    settled_on(&index, 2).await;
    holds(&index, &expected).await;
    let verified = place.json(&["search", "verify", "--all"]).await;
    assert_eq!(verified["left"], 0, "{verified}");
}

#[tokio::test]
async fn a_remap_is_given_up_at_any_step_and_the_old_index_is_as_it_should_be() {
    let (place, index) = old_index("aborted").await;
    let load = Load::begin(&place, &index, 13).await;
    for nth in 0..STEPS.len() {
        assert!(
            killed_at(&place, nth).await,
            "it says at least {} sentences",
            STEPS.len()
        );
        let said = remap(&place, &["--abort"]).await;
        // It says what it does before it does it: killed at its first sentence, it may have done nothing.
        let nothing = nth == 0 && said["result"] == "nothing";
        assert!(nothing || said["result"] == "aborted", "{nth}: {said}");
        settled_on(&index, 1).await;
        // A name that was used and is free again is used again.
        let (status, _) = index.answer(Method::GET, &index.names.index(2), None).await;
        assert_eq!(status, 404, "{nth}: the new index is deleted");
    }
    let expected = load.end().await;
    holds(&index, &expected).await;
    let verified = place.json(&["search", "verify", "--all"]).await;
    assert_eq!(verified["left"], 0, "{verified}");
}

#[tokio::test]
async fn what_only_the_new_index_refuses_fails_the_remap_and_parks_nothing() {
    let place = Place::fresh("refused").await;
    let index = Index::at(
        stack().await.opensearch_url(),
        place.var("OPENSEARCH_ALIAS"),
    )
    .made()
    .await;
    // An old index that does not look into the lines takes more of them than one that does.
    let (read, write) = (&index.names.read, &index.names.write);
    let first = index.names.index(1);
    index.answer(Method::DELETE, &first, None).await;
    let lax = json!({
        "mappings": {"dynamic": "false", "properties": {"order_id": {"type": "keyword"}, "deleted": {"type": "boolean"}, "lines": {"type": "object", "enabled": false}}},
        "aliases": {read: {"filter": {"term": {"deleted": false}}}, write: {"is_write_index": true}},
    });
    let template = format!("_index_template/{read}");
    index.answer(Method::DELETE, &template, None).await;
    index.send(Method::PUT, &first, &lax).await;
    let many = AttributeValue::L(vec![AttributeValue::M([].into()); 10_001]);
    let large = head("large", 1, &[("lines", many.clone())]);
    let mut life = Life::new(&place, &index);
    life.put(large.clone()).await;
    assert_eq!(
        life.project(SearchInput::from_item(&large).unwrap()).await,
        Written::Done
    );

    let said = place
        .sagaline(&[&QUICK[..], &["--yes"]].concat())
        .await
        .ended(1);
    assert!(
        said.err.contains("error[SL4001]: 1 documents")
            && said.err.contains("missing large: 400")
            && said.err.contains("--abort"),
        "{}",
        said.err
    );
    assert_eq!(on(&index, read).await, std::slice::from_ref(&first));
    // While it stands there, documents go to both, and what the new one refuses is no refusal.
    let larger = head("larger", 1, &[("lines", many)]);
    life.put(larger.clone()).await;
    assert_eq!(
        life.project(SearchInput::from_item(&larger).unwrap()).await,
        Written::Done
    );
    assert_eq!(index.document("larger").await["_version"], 1);

    remap(&place, &["--abort"]).await;
    settled_on(&index, 1).await;
}

#[tokio::test]
async fn an_index_that_is_ahead_of_a_restored_table_is_repaired_by_a_remap_alone() {
    let place = Place::fresh("restored").await;
    let index = Index::at(
        stack().await.opensearch_url(),
        place.var("OPENSEARCH_ALIAS"),
    )
    .made()
    .await;
    let mut life = Life::new(&place, &index);
    life.write("same", 4).await;
    // What was written after the moment that the table was set back to.
    life.put(head("ahead", 3, &[])).await;
    life.project(SearchInput::from_item(&head("ahead", 9, &[])).unwrap())
        .await;
    life.put(head("alive-again", 2, &[])).await;
    life.project(SearchInput::tombstone("alive-again", 8)).await;
    life.project(SearchInput::from_item(&head("unknown", 1, &[])).unwrap())
        .await;
    life.project(SearchInput::tombstone("gone", 5)).await;
    index.refresh().await;

    let said = place
        .sagaline(&["search", "verify", "--all", "--repair"])
        .await
        .refused(1, "SL4001");
    assert!(
        said.err.contains("repaired by a remap only"),
        "{}",
        said.err
    );
    assert!(
        said.out.contains("2 ahead") && said.out.contains("1 extra"),
        "{}",
        said.out
    );

    remap(&place, &[]).await;
    let verified = place.json(&["search", "verify", "--all"]).await;
    assert_eq!(verified["left"], 0, "{verified}");
    let seen = index.versions().await;
    assert_eq!(
        (seen["ahead"], seen["alive-again"], seen["gone"]),
        ((3, false), (2, false), (5, true))
    );
    assert!(!seen.contains_key("unknown"));
}

#[tokio::test]
async fn a_remap_says_what_is_in_its_way() {
    let place = Place::fresh("blocked").await;
    let index = Index::at(
        stack().await.opensearch_url(),
        place.var("OPENSEARCH_ALIAS"),
    );
    place
        .sagaline(&["search", "remap"])
        .await
        .refused(2, "SL1006");
    let index = index.made().await;
    let next =
        json!({"actions": [{"add": {"index": index.names.index(1), "alias": index.names.next}}]});
    index.send(Method::POST, "_aliases", &next).await;
    let said = place
        .sagaline(&["search", "remap", "--yes"])
        .await
        .refused(2, "SL1006");
    assert!(said.err.contains("no remap is recorded"), "{}", said.err);
    place
        .sagaline(&["search", "remap", "--abort", "--drop-old"])
        .await
        .refused(2, "SL0001");
    assert!(said.took < Duration::from_secs(20));
}
