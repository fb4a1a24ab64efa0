//! The state x event matrix and the state diagram, generated from the code and checked in. A changed cell fails here until the page is
//! written anew (`UPDATE_DOCS=1 cargo test -p sagaline-order --test matrix`) and reviewed.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use sagaline_order::{State, Verdict, decide};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/saga-matrix.md");

#[test]
fn the_page_shows_what_the_code_decides() {
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, &page).unwrap();
    }
    let stored = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        stored == page,
        "docs/saga-matrix.md differs from the code: run with UPDATE_DOCS=1 and review the difference"
    );
}

#[test]
fn every_state_and_every_event_stand_in_the_matrix() {
    let states: BTreeSet<State> = common::situations()
        .into_iter()
        .map(|(_, order)| order.state)
        .collect();
    assert_eq!(states, State::ALL.into_iter().collect());
    let kinds: BTreeSet<&str> = common::events()
        .iter()
        .map(sagaline_order::Event::kind)
        .collect();
    assert_eq!(kinds.len(), common::events().len());
}

fn page() -> String {
    let mut page = String::from(
        "# The saga: every state, every event\n\nGenerated from `sagaline_order::decide` by `UPDATE_DOCS=1 cargo test -p sagaline-order --test matrix`; \
         do not edit.\n`deadline` and `AttentionDue` are asked two days later, so that they are due.\n\n",
    );
    page.push_str(&diagram());
    for (name, order) in common::situations() {
        write!(
            page,
            "\n## {name}\n\n| event | verdict | leads to | why |\n|---|---|---|---|\n"
        )
        .unwrap();
        for event in common::events() {
            let decision = decide(&order, &event, &moment(event.kind()));
            let after = common::record(&order, &event, &decision, &moment(event.kind()));
            let (verdict, to) = match decision.verdict {
                Verdict::Applied => ("**applied**", format!("{:?}", after.state)),
                Verdict::NoEffect => ("no effect", "-".to_owned()),
                Verdict::Refused => ("refused", "-".to_owned()),
            };
            writeln!(
                page,
                "| {} | {verdict} | {to} | {} |",
                event.kind(),
                decision.reason
            )
            .unwrap();
        }
    }
    page
}

fn moment(kind: &str) -> sagaline_order::Context {
    let late = matches!(kind, "deadline" | "AttentionDue");
    common::later(&common::context(), if late { 2 * 86_400 } else { 1 })
}

fn diagram() -> String {
    let mut edges: BTreeMap<(State, State), BTreeSet<&'static str>> = BTreeMap::new();
    for (_, order) in common::situations() {
        for event in common::events() {
            let decision = decide(&order, &event, &moment(event.kind()));
            let after = common::record(&order, &event, &decision, &moment(event.kind()));
            if decision.verdict == Verdict::Applied
                && after.state != order.state
                && event.kind() != "CommitPoisoned"
            {
                edges
                    .entry((order.state, after.state))
                    .or_default()
                    .insert(event.kind());
            }
        }
    }
    let mut text = String::from("```mermaid\nstateDiagram-v2\n    [*] --> Placed\n");
    for ((from, to), kinds) in edges {
        writeln!(
            text,
            "    {from:?} --> {to:?}: {}",
            kinds.into_iter().collect::<Vec<_>>().join(", ")
        )
        .unwrap();
    }
    text.push_str("```\n\nLeft out: from every state but itself, `CommitPoisoned` leads to `NeedsOperator`.\n");
    text
}
