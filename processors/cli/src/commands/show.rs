//! `sagaline show`: everything that is known of one order.

use crate::args::Global;
use crate::error::CommandError;
use crate::output;
use crate::session::{self, Session};
use clap::Args;
use sagaline_order::{Order, OrderId, Step, StepStatus};
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
        let page = store.history(order_id, (cursor.as_ref(), PAGE)).await?;
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
    text.push(order.wake_at.map_or_else(
        || "next wake: none, it is finished".to_owned(),
        |at| format!("next wake {at}"),
    ));

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

    let all = [
        ("reserve", &order.steps.reserve),
        ("pay", &order.steps.pay),
        ("fulfil", &order.steps.fulfil),
    ];
    let begun = all
        .into_iter()
        .filter_map(|(name, step)| step.as_ref().map(|step| (name, step)));
    let rows: Vec<[String; 5]> = begun.flat_map(|(name, step)| steps(name, step)).collect();
    if !rows.is_empty() {
        text.extend([
            String::new(),
            output::table(["step", "status", "attempts", "next", "last error"], rows),
        ]);
    }

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

/// A step, and its undoing if there is one.
fn steps(name: &str, step: &Step) -> Vec<[String; 5]> {
    let next =
        |at: Option<sagaline_order::Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    let status = if step.undone {
        format!("{:?}, undone", step.status)
    } else {
        format!("{:?}", step.status)
    };
    let waiting = step.retry_at.or(step.recheck_at).or(step
        .not_after
        .filter(|_| step.status == StepStatus::Requested));
    let mut rows = vec![[
        name.to_owned(),
        status,
        step.attempt.to_string(),
        next(waiting),
        step.last_error.clone().unwrap_or_default(),
    ]];
    if let Some(undo) = &step.undo {
        let attempts = format!("{} ({} refused)", undo.attempt, undo.refusals);
        let error = undo.last_error.clone().unwrap_or_default();
        rows.push([
            format!("undo {name}"),
            format!("{:?}", undo.status),
            attempts,
            next(undo.retry_at),
            error,
        ]);
    }
    rows
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
        let row = HistoryRow {
            version: Version::FIRST,
            at: at(0),
            actor: "operator:t".to_owned(),
            reason: "placed".to_owned(),
            verdict: "Applied".to_owned(),
            events: vec![json!({"kind": "OrderPlaced"})],
        };
        insta::assert_snapshot!(for_people(&order(), &[row]));
    }
}
