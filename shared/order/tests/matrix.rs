//! The generated parts of docs/saga.md: the state diagram, the settings, and the state x event matrix. A changed cell fails here until the page is
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

use sagaline_order::{SagaConfig, State, Verdict, decide};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/saga.md");

#[test]
fn the_page_shows_what_the_code_decides() {
    let stored = std::fs::read_to_string(PAGE).unwrap();
    let parts = [
        ("diagram", diagram()),
        ("settings", settings()),
        ("matrix", matrix()),
    ];
    let page = parts
        .iter()
        .fold(stored.clone(), |page, (name, text)| with(&page, name, text));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, &page).unwrap();
        return;
    }
    assert!(
        stored == page,
        "docs/saga.md differs from the code: run with UPDATE_DOCS=1 and review the difference"
    );
}

/// The page with a generated part replaced.
fn with(page: &str, name: &str, text: &str) -> String {
    let (begin, end) = (
        format!("<!-- generated: {name} -->\n"),
        format!("<!-- end of {name} -->\n"),
    );
    let (before, rest) = page
        .split_once(&begin)
        .unwrap_or_else(|| panic!("no {begin}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("no {end}"));
    format!("{before}{begin}{text}{end}{after}")
}

fn settings() -> String {
    let defaults = serde_json::to_value(SagaConfig::default()).unwrap();
    let meaning = |name: &str| match name {
        "pay_deadline_s" => "from the first payment intent until the order gives up on the payment",
        "step_deadline_s" => "how long an intent holds: no call of it starts that might end later",
        "unknown_grace_s" => "how long an unknown outcome is left alone before it is asked about",
        "recheck_s" => "from \"no such payment\" until the last enquiry",
        "undo_attempts" => "definite refusals of a refund before a person must look at it",
        "undo_deadline_s" => {
            "how long unknown outcomes of a refund, or of enquiries while unwinding, are tried again"
        }
        "transition_budget" => {
            "commits that change the state or a step before a person must look at it"
        }
        other => panic!("{other} has no words"),
    };
    let mut text = String::from("| setting | default | meaning |\n|---|---|---|\n");
    for (name, value) in defaults.as_object().unwrap() {
        writeln!(text, "| `{name}` | {value} | {} |", meaning(name)).unwrap();
    }
    text
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

fn matrix() -> String {
    let mut page = String::new();
    for (name, order) in common::situations() {
        write!(
            page,
            "\n### {name}\n\n| event | verdict | leads to | why |\n|---|---|---|---|\n"
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
    text.push_str("```\n");
    text
}
