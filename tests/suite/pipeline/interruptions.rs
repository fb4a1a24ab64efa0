//! Bootstraps that are killed, and a runner that is stopped, in the middle of their work.

use std::collections::BTreeSet;
use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use sagaline_order::{OrderId, State, Version};
use serde_json::json;
use tempfile::TempDir;

use crate::support::{Pipeline, SOON, until};

#[tokio::test]
async fn killing_every_bootstrap_in_the_middle_changes_no_result() {
    let mut pipeline = Pipeline::start("killed").await;
    pipeline.shelve("tea", 1_000).await;
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("orders.ndjson");
    let order = |n: u32| {
        let token = ["tok_visa", "decline", "fail:1", "pending-then-approve:1s"][n as usize % 4];
        json!({"order_id": format!("o-{n}"), "user_id": "u-1", "request_id": format!("r-{n}"), "currency": "JPY",
            "lines": [{"sku": "tea", "qty": 1, "unit_minor": 100 + n}], "payment_token": token,
            "shipping": {"name": "Ada", "street": "Baker Street 1", "city": "London", "country": "GB"}})
    };
    let lines: Vec<_> = (0..24).map(|n| order(n).to_string()).collect();
    fs::write(&file, lines.join("\n")).unwrap();
    pipeline
        .place
        .sagaline(&["import", file.to_str().unwrap()])
        .await
        .ok();

    let mut killed = BTreeSet::new();
    let functions = |killed: &BTreeSet<(u32, String)>| {
        killed
            .iter()
            .map(|(_, name)| name.rsplit('-').next().unwrap().to_owned())
            .collect::<BTreeSet<_>>()
    };
    // Each function that works on orders is killed at least twice, whatever it does at that moment.
    until(
        "saga, projector and sweeper were killed",
        SOON,
        async || {
            for (pid, function) in pipeline.runner.as_ref().unwrap().pids() {
                let times = killed.iter().filter(|(_, name)| *name == function).count();
                if times < 2 && killed.insert((pid, function)) {
                    // It may have ended by itself just now.
                    let _ = kill_process(
                        Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(),
                        Signal::KILL,
                    );
                }
            }
            (functions(&killed).len() >= 3 && killed.len() >= 6).then_some(())
        },
    )
    .await;
    pipeline.at_rest().await;
    for n in 0..24 {
        let order = pipeline.order(&format!("o-{n}")).await;
        let expected = if n % 4 == 1 {
            State::Rejected
        } else {
            State::Confirmed
        };
        assert_eq!(order.state, expected, "{order:?}");
    }
    pipeline.check_invariants().await;

    let select = "SELECT count(*) AS n FROM changes WHERE new_image LIKE '%Baker%' OR old_image LIKE '%Baker%'";
    let found = pipeline
        .place
        .archive()
        .query(select, |_| {})
        .await
        .unwrap();
    assert_eq!(
        found.rows,
        [[Some("0".to_owned())]],
        "no address is archived"
    );
    pipeline.stop().await;
}

// C-55
#[tokio::test]
async fn orders_written_while_the_mappings_are_restarted_are_not_missed() {
    let mut pipeline = Pipeline::start("restart").await;
    pipeline.shelve("tea", 10).await;
    pipeline.place_order("o-0", "tea:1:100", "tok_visa").await;
    pipeline.at_rest().await;
    let runner = pipeline.runner.take().unwrap();
    let placed = async {
        for id in ["o-1", "o-2", "o-3"] {
            pipeline.place_order(id, "tea:1:100", "tok_visa").await;
        }
    };
    tokio::join!(runner.stop(), placed);
    pipeline.start_runner().await;
    pipeline.at_rest().await;
    let expected = (0..4).map(|n| (format!("o-{n}"), (4, false))).collect();
    assert_eq!(pipeline.index.versions().await, expected);
    let versions = (0..4).flat_map(|n| {
        (1..=4).map(move |version| {
            (
                OrderId::stored(format!("o-{n}")),
                Version::new(version).unwrap(),
            )
        })
    });
    assert_eq!(
        pipeline.archived("order_changes").await,
        versions.collect::<Vec<_>>()
    );
    pipeline.check_invariants().await;
    pipeline.stop().await;
}
