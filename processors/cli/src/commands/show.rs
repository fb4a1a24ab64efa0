//! `sagaline show`: everything that is known of one order.

use crate::args::Global;
use crate::error::CommandError;
use crate::output;
use crate::session::{self, Session};
use clap::Args;
use sagaline_order::{Order, OrderId, Step, StepStatus, Undo};
use sagaline_store::{HistoryRow, Store, Table};
use serde_json::{Value, json};

/// Rows of history a read.
const PAGE: u32 = 100;

/// Shows an order: state, steps, timeline, next wake.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline show o-1
  sagaline show o-1 --json | jq .order.state")]
pub(crate) struct Show {
    /// The order.
    #[arg(value_name = "ID")]
    order_id: String,
}

impl Show {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let order_id = session::order_id(&self.order_id)?;
        let session = Session::open(global).await?;
        let order = session::found(&order_id, session.store.load(&order_id).await?)?;
        let history = history(&session.store, &order_id).await?;
        if global.json {
            let history: Vec<Value> = history.iter().map(row).collect();
            output::json(&json!({"order": output::order(&order), "history": history}));
        } else {
            output::line(&for_people(&order, &history));
        }
        Ok(())
    }
}

async fn history<T: Table>(
    store: &Store<T>,
    order_id: &OrderId,
) -> Result<Vec<HistoryRow>, CommandError> {
    let mut rows = Vec::new();
    let mut cursor = None;
    loop {
        let page = store
            .history(order_id)
            .page_size(PAGE)
            .after(cursor.as_ref())
            .page()
            .await?;
        rows.extend(page.rows);
        cursor = page.next;
        if cursor.is_none() {
            return Ok(rows);
        }
    }
}

fn row(row: &HistoryRow) -> Value {
    json!({"version": row.version, "at": row.at, "actor": row.actor, "reason": row.reason, "verdict": row.verdict, "events": row.events})
}

fn for_people(order: &Order, history: &[HistoryRow]) -> String {
    let money = |minor: i64| output::amount(minor, order.currency.code());
    let mut text = vec![
        format!(
            "order {}  {:?} ({})  version {}",
            order.order_id,
            order.state,
            order.status().as_str(),
            order.version
        ),
        format!(
            "user {}  total {}  placed {}",
            order.user_id,
            money(order.total_minor.get()),
            order.created_at
        ),
    ];
    text.extend(
        order
            .payment_id
            .as_ref()
            .map(|payment_id| format!("payment {payment_id}")),
    );
    text.extend(
        order
            .tracking
            .as_ref()
            .map(|tracking| format!("tracking {tracking}")),
    );
    text.extend(order.unwind.as_ref().map(|why| {
        format!(
            "unwound because {} (to {:?}, since {})",
            why.reason, why.to, why.since
        )
    }));
    text.extend(
        order
            .cancel_noted
            .as_ref()
            .map(|reason| format!("to be cancelled once it is published: {reason}")),
    );
    text.extend(order.attention.as_ref().map(|why| {
        format!(
            "waits for a person because {} (since {})",
            why.reason, why.since
        )
    }));
    let lines = order.lines.iter().map(|line| {
        [
            line.sku.to_string(),
            line.name.clone().unwrap_or_default(),
            line.qty.get().to_string(),
            money(line.unit_minor.get()),
        ]
    });
    text.extend([
        String::new(),
        output::table(["product", "name", "qty", "price of one"], lines),
    ]);

    text.extend([String::new(), tree(order)]);

    let timeline = history.iter().map(|row| {
        let kinds: Vec<&str> = row
            .events
            .iter()
            .filter_map(|event| event.get("kind")?.as_str())
            .collect();
        [
            row.version.to_string(),
            row.at.to_string(),
            row.actor.clone(),
            kinds.join(", "),
            row.reason.clone(),
        ]
    });
    text.extend([
        String::new(),
        output::table(["version", "at", "by", "what", "why"], timeline),
    ]);
    text.join("\n")
}

/// The steps and their undoing, as a tree; its root says when the order is looked at next.
fn tree(order: &Order) -> String {
    let root = order.wake_at.map_or_else(
        || "steps; next wake: none, it is finished".to_owned(),
        |at| format!("steps; next wake {at}"),
    );
    let all = [
        ("reserve", &order.steps.reserve),
        ("pay", &order.steps.pay),
        ("fulfil", &order.steps.fulfil),
    ];
    let waiting = (!order.notices.is_empty()).then(|| {
        let notices = order.notices.iter();
        let notices =
            notices.map(|notice| format!("{:?} of version {}", notice.kind, notice.version));
        format!("to be told: {}", notices.collect::<Vec<_>>().join(", "))
    });
    let begun = all
        .into_iter()
        .filter_map(|(name, step)| Some((name, step.as_ref()?)));
    let mut branches: Vec<(String, Option<String>)> = begun
        .map(|(name, step)| (of_step(name, step), step.undo.as_ref().map(of_undo)))
        .collect();
    branches.extend(waiting.map(|text| (text, None)));
    let last = branches.len().saturating_sub(1);
    let mut lines = vec![root];
    for (place, (branch, leaf)) in branches.into_iter().enumerate() {
        let (fork, trunk) = if place == last {
            ("└─", "  ")
        } else {
            ("├─", "│ ")
        };
        lines.push(format!("{fork} {branch}"));
        lines.extend(leaf.map(|leaf| format!("{trunk} └─ {leaf}")));
    }
    lines.join("\n")
}

fn of_step(name: &str, step: &Step) -> String {
    let mut parts = vec![format!("{name}  {:?}", step.status)];
    if step.undone {
        parts.push("undone".to_owned());
    }
    parts.push(attempts(step.attempt));
    let open = step.status == StepStatus::Requested;
    let times = [
        ("next", step.retry_at),
        ("last enquiry", step.recheck_at),
        (
            "under way until",
            step.not_after.filter(|_| open && step.retry_at.is_none()),
        ),
    ];
    parts.extend(
        times
            .iter()
            .filter_map(|(what, at)| Some(format!("{what} {}", at.as_ref()?))),
    );
    let settled = matches!(step.status, StepStatus::Succeeded | StepStatus::Failed);
    parts.extend(
        step.deadline_at
            .filter(|_| !settled)
            .map(|at| format!("deadline {at}")),
    );
    parts.extend(
        step.last_error
            .as_ref()
            .map(|error| format!("last error: {error}")),
    );
    parts.join("  ")
}

fn of_undo(undo: &Undo) -> String {
    let mut parts = vec![
        format!("undo  {:?}", undo.status),
        format!("{} ({} refused)", attempts(undo.attempt), undo.refusals),
    ];
    parts.extend(undo.retry_at.map(|at| format!("next {at}")));
    if undo.status != StepStatus::Succeeded {
        parts.push(format!("deadline {}", undo.deadline_at));
    }
    parts.extend(undo.refund_id.as_ref().map(|id| format!("refund {id}")));
    parts.extend(
        undo.last_error
            .as_ref()
            .map(|error| format!("last error: {error}")),
    );
    parts.join("  ")
}

fn attempts(count: u32) -> String {
    if count == 1 {
        "1 attempt".to_owned()
    } else {
        format!("{count} attempts")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sagaline_order::{LineInput, OpId, OrderInput, RequestId, SagaConfig, Timestamp, Version};

    fn at(second: u32) -> Timestamp {
        Timestamp::parse(&format!("2026-01-31T08:30:{second:02}.000Z")).unwrap()
    }

    fn order() -> Order {
        let input = OrderInput {
            order_id: Some("o-1".to_owned()),
            user_id: "u-1".to_owned(),
            request_id: None,
            currency: "EUR".to_owned(),
            lines: vec![LineInput {
                sku: "mug".to_owned(),
                name: Some("Blue mug".to_owned()),
                qty: 2,
                unit_minor: 1250,
            }],
            payment_token: None,
            shipping: None,
            phone: None,
            attributes: std::collections::BTreeMap::new(),
        };
        let context = sagaline_order::Context {
            now: at(0),
            config: SagaConfig::default(),
        };
        let mut order = input
            .check(&RequestId::parse("r-1").unwrap(), "operator:t", &context)
            .unwrap()
            .order;
        order.steps.pay = Some(Step {
            op_id: OpId::derive(&order.order_id, "pay", "do"),
            status: StepStatus::Unknown,
            attempt: 2,
            not_after: Some(at(20)),
            retry_at: Some(at(30)),
            deadline_at: None,
            recheck_at: None,
            last_error: Some("cut off".to_owned()),
            undo: None,
            undone: false,
        });
        order
    }

    #[test]
    fn people_see_state_steps_timeline_and_the_next_wake() {
        let mut order = order();
        let pay = order.steps.pay.as_mut().unwrap();
        pay.undo = Some(Undo {
            op_id: OpId::derive(&order.order_id, "pay", "undo"),
            status: StepStatus::Failed,
            attempt: 3,
            refusals: 2,
            not_after: at(40),
            retry_at: Some(at(50)),
            deadline_at: at(59),
            last_error: Some("account closed".to_owned()),
            refund_id: None,
        });

        let row = HistoryRow {
            version: Version::FIRST,
            at: at(0),
            actor: "operator:t".to_owned(),
            reason: "placed".to_owned(),
            verdict: "Applied".to_owned(),
            events: vec![json!({"kind": "OrderPlaced"})],
        };
        insta::assert_snapshot!(for_people(&order, &[row]));
    }
}
