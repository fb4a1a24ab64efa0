//! `sagaline explain`, `nudge`, `retry-undo`, `mark-undone`, `park`, `unpark`, `abandon`: what an operator may do to one order.
//!
//! Each is an ordinary event through the same decision as everything else, on the version that is shown. Without `--yes` it is only told what
//! would be recorded.

use crate::args::Global;
use crate::commands::{cancel, submitted};
use crate::error::{Code, CommandError};
use crate::mint;
use crate::output;
use crate::session::{self, Session};
use clap::Args;
use sagaline_order::{
    Decision, Event, Order, PayloadHash, TableEffect, Verdict, decide, request_id,
};
use sagaline_saga::Submission;
use serde_json::{Value, json};

/// Which order, and whether to act.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// The order.
    #[arg(value_name = "ID")]
    order_id: String,
    /// Acts; without it, only what would be done is shown.
    #[arg(long)]
    yes: bool,
}

/// Brings what waits for a later attempt forward to now.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline nudge o-1
  sagaline nudge o-1 --yes")]
pub(crate) struct Nudge {
    #[command(flatten)]
    target: Target,
}

/// Tries a stuck refund again, with its refusals and its deadline counted anew.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline ls --status EXCEPTION
  sagaline retry-undo o-1 --yes")]
pub(crate) struct RetryUndo {
    #[command(flatten)]
    target: Target,
}

/// Records that a payment was given back outside.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline mark-undone o-1 --evidence 'bank statement of 3 March, line 14' --yes")]
pub(crate) struct MarkUndone {
    #[command(flatten)]
    target: Target,
    /// What shows it; stands in the history.
    #[arg(long, value_name = "TEXT")]
    evidence: String,
}

/// Takes an order out of the saga's hands.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline park o-1 --reason 'under review' --yes")]
pub(crate) struct Park {
    #[command(flatten)]
    target: Target,
    /// Why; stands in the history.
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Gives a parked order back to the saga.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline unpark o-1 --yes")]
pub(crate) struct Unpark {
    #[command(flatten)]
    target: Target,
}

/// Ends an order that cannot be undone, and shows what it leaves behind.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline abandon o-1 --comment 'settled by phone with the customer' --yes")]
pub(crate) struct Abandon {
    #[command(flatten)]
    target: Target,
    /// Why, and what was agreed; stands in the history.
    #[arg(long, value_name = "TEXT")]
    comment: String,
}

/// Shows what an event would do to an order, and does nothing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline explain o-1 --event '{\"kind\":\"CancelRequested\",\"reason\":\"late\"}'
  sagaline explain o-1 --event '{\"kind\":\"ShipmentSent\",\"tracking\":\"T-77\"}' --json

docs/saga-matrix.md lists every event and what it does in every state.")]
pub(crate) struct Explain {
    /// The order.
    #[arg(value_name = "ID")]
    order_id: String,
    /// The event, as JSON.
    #[arg(long, value_name = "JSON")]
    event: String,
}

impl Explain {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let event: Event = serde_json::from_str(&self.event)
            .map_err(|error| CommandError::new(Code::BadInput, format!("--event: {error}")))?;
        let target = Target {
            order_id: self.order_id,
            yes: false,
        };
        target.act(event, global).await
    }
}

impl Nudge {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        self.target.act(Event::Nudged, global).await
    }
}

impl RetryUndo {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        self.target.act(Event::UndoRetried, global).await
    }
}

impl MarkUndone {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let evidence = cancel::reason(&self.evidence)?;
        self.target
            .act(Event::UndoMarked { evidence }, global)
            .await
    }
}

impl Park {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let reason = cancel::reason(&self.reason)?;
        self.target.act(Event::Parked { reason }, global).await
    }
}

impl Unpark {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        self.target.act(Event::Unparked, global).await
    }
}

impl Abandon {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let comment = cancel::reason(&self.comment)?;
        self.target.act(Event::Abandoned { comment }, global).await
    }
}

impl Target {
    async fn act(self, event: Event, global: &Global) -> Result<(), CommandError> {
        let order_id = session::order_id(&self.order_id)?;
        let session = Session::open(global).await?;
        let order = session::found(&order_id, session.store.load(&order_id).await?)?;
        let request_id = request_id(&order, &event);
        let recorder = session.into_recorder();
        if !self.yes {
            let decision = decide(&order, &event, &recorder.context().await);
            return foretell(&order, &event, &decision, global.json);
        }
        let operation = event.kind();
        let submission = Submission {
            payload_hash: PayloadHash::of(
                &json!({"order_id": order_id, "version": order.version, "event": event}),
            ),
            event,
            request_id: request_id.clone(),
            operation,
            actor: mint::actor(),
        };
        let submitted = recorder.submit(&order_id, submission).await;
        let submitted = submitted.map_err(|error| CommandError::of_drive(&request_id, &error))?;
        submitted::tell(
            submitted.ok_or_else(|| session::no_order(&order_id))?,
            ("request_id", request_id.as_str()),
            global.json,
        )
    }
}

/// Shows what would be recorded.
fn foretell(
    order: &Order,
    event: &Event,
    decision: &Decision,
    json: bool,
) -> Result<(), CommandError> {
    let Order {
        order_id,
        state,
        version,
        ..
    } = order;
    if decision.verdict == Verdict::Refused {
        return Err(
            CommandError::new(Code::NotAllowed, format!("refused: {}", decision.reason)).advise(
                format!("order {order_id} is {state:?}, see `sagaline show {order_id}`"),
            ),
        );
    }
    let kinds: Vec<Value> = decision.changes.iter().map(kind).collect();
    if json {
        output::json(&json!({
            "result": "dry_run", "event": event.kind(), "verdict": decision.verdict, "reason": decision.reason,
            "changes": decision.changes, "left_behind": left_behind(order, event),
        }));
        return Ok(());
    }
    if decision.verdict == Verdict::NoEffect {
        output::line(&format!(
            "order {order_id} is {state:?}: nothing to do: {}",
            decision.reason
        ));
        return Ok(());
    }
    let names: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
    output::line(&format!(
        "order {order_id}, {state:?}, version {version}: {}; would record {}",
        decision.reason,
        names.join(", ")
    ));
    if decision.effects.contains(&TableEffect::ReturnStock) {
        output::line("the stock of its lines comes back");
    }
    if let Some(left) = left_behind(order, event) {
        output::line(&format!("leaves behind: {left}"));
    }
    output::line("nothing was done; run it again with --yes");
    Ok(())
}

fn kind(change: &sagaline_order::Change) -> Value {
    let value = serde_json::to_value(change).unwrap_or_default();
    value.get("kind").cloned().unwrap_or_default()
}

/// What an abandoned order leaves for people to settle.
fn left_behind(order: &Order, event: &Event) -> Option<String> {
    if !matches!(event, Event::Abandoned { .. }) {
        return None;
    }
    let pay = order.steps.pay.as_ref().filter(|pay| !pay.undone);
    let payment = order
        .payment_id
        .as_ref()
        .map_or("unknown".to_owned(), ToString::to_string);
    let money = pay.map(|pay| {
        let amount = order.currency.display(order.total_minor.get());
        format!(
            "payment {payment} of {amount} ({:?}, not undone)",
            pay.status
        )
    });
    let goods = order
        .tracking
        .as_ref()
        .map(|tracking| format!("goods on their way ({tracking})"));
    let left: Vec<String> = money.into_iter().chain(goods).collect();
    (!left.is_empty()).then(|| left.join("; "))
}
