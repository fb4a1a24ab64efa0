//! What differs between table and index: found, repaired, and measured by the schedule.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use reqwest::Method;
use sagaline_local::{DeployOptions, bootstraps_in};
use sagaline_mapping::{Config, Options, Output, Runner};
use serde_json::{Value, json};

use super::load::{Life, head};
use crate::support::{Index, Place, SOON, built, stack, unique, until};

/// An index and a table that agree on so many orders.
async fn agreed(place: &Place, orders: u64) -> (Index, Life) {
    let index = Index::at(
        stack().await.opensearch_url(),
        place.var("OPENSEARCH_ALIAS"),
    )
    .made()
    .await;
    let mut life = Life::new(place, &index);
    for n in 0..orders {
        life.write(&format!("o-{n}"), 3).await;
    }
    (index, life)
}

async fn store(index: &Index, id: &str, version: u64, document: Value) {
    let path = format!(
        "{}/_doc/{id}?version={version}&version_type=external_gte",
        index.names.index(1)
    );
    index.send(Method::PUT, &path, &document).await;
}

#[tokio::test]
async fn verify_finds_exactly_the_eight_documents_that_were_corrupted_and_repairs_them() {
    let place = Place::fresh("corrupted").await;
    let (index, life) = agreed(&place, 40).await;
    for id in ["o-1", "o-2"] {
        let path = format!(
            "{}/_doc/{id}?version=3&version_type=external_gte",
            index.names.index(1)
        );
        index.send(Method::DELETE, &path, &json!({})).await;
    }
    // Commits whose records never came.
    for id in ["o-3", "o-4"] {
        life.put(head(id, 4, &[])).await;
    }
    store(
        &index,
        "o-5",
        3,
        json!({"order_id": "o-5", "version": 3, "deleted": false, "status": "UNPAID"}),
    )
    .await;
    store(
        &index,
        "o-6",
        3,
        json!({"order_id": "o-6", "version": 3, "deleted": true}),
    )
    .await;
    store(&index, "o-7", 3, json!({})).await;
    store(
        &index,
        "o-8",
        3,
        json!({"order_id": "another", "version": 3, "deleted": false}),
    )
    .await;
    index.refresh().await;

    let expected = json!({"missing": 2, "stale": 2, "damaged": 4, "extra": 0, "ahead": 0});
    let said = place
        .sagaline(&["search", "verify", "--since", "1h", "--json"])
        .await
        .refused(1, "SL4001");
    let found = said.json();
    assert_eq!(
        (&found["counts"], &found["left"], &found["heads"]),
        (&expected, &json!(8), &json!(40))
    );
    let mut ids: Vec<&str> = found["found"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["order_id"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(
        ids,
        ["o-1", "o-2", "o-3", "o-4", "o-5", "o-6", "o-7", "o-8"]
    );

    let repaired = place.json(&["search", "verify", "--all", "--repair"]).await;
    assert_eq!(
        (&repaired["counts"], &repaired["left"]),
        (&expected, &json!(0)),
        "{repaired}"
    );
    let after = place.json(&["search", "verify", "--all"]).await;
    assert_eq!(after["found"], json!([]));
    assert_eq!(index.versions().await.len(), 40);
}

#[tokio::test]
async fn the_schedule_of_the_redrive_function_measures_the_drift() {
    let programs = built("sagaline-redrive").parent().unwrap().to_path_buf();
    let place = Place::fresh_with(DeployOptions {
        name: unique("measured"),
        bootstraps: bootstraps_in(&programs),
        parameters: BTreeMap::new(),
        ..DeployOptions::default()
    })
    .await;
    let (_index, life) = agreed(&place, 5).await;
    // In the table, and never projected.
    life.put(head("lost-1", 1, &[])).await;
    life.put(head("lost-2", 1, &[])).await;

    // The template's own schedule, only faster; nothing else runs.
    let mut config = place.deployment.runner.clone();
    let mappings = config["mappings"].as_array_mut().unwrap();
    mappings.retain(|mapping| {
        mapping.get("schedule").is_some()
            && mapping["function"].as_str().unwrap().ends_with("redrive")
    });
    assert_eq!(mappings.len(), 1, "the template schedules it");
    assert_eq!(mappings[0]["schedule"], "rate(1 hour)");
    mappings[0]["schedule"] = "rate(1 second)".into();
    let config = Config::parse(&config.to_string(), Path::new(".")).unwrap();
    let lines = Arc::new(Mutex::new(Vec::<String>::new()));
    let kept = Arc::clone(&lines);
    let options = Options {
        output: Output::new(move |_: &str, line: &str| kept.lock().unwrap().push(line.to_owned())),
        endpoint_url: Some(place.var("AWS_ENDPOINT_URL").to_owned()),
        ..Options::default()
    };
    let runner = Runner::start(&config, &options, &place.sdk).await.unwrap();
    let metrics = until("a measurement", SOON, async || {
        let lines = lines.lock().unwrap();
        let mut objects = lines
            .iter()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        objects.find(|object| object.get("SearchDriftCount").is_some())
    })
    .await;
    runner.stop().await;
    let of = |name: &str| metrics[name].as_u64();
    assert_eq!(
        (
            of("SearchDriftCount"),
            of("SearchDriftChecked"),
            of("SearchDriftUnfinished")
        ),
        (Some(2), Some(7), Some(0))
    );
}
