//! `sagaline nudge`, `retry-step`, `retry-undo`, `mark-undone`, `park`, `unpark`, `abandon`, and `explain`: what an operator may do to one order.
//!
//! Each is an ordinary event through the same decision as everything else, on the version that is shown. Without `--yes` it is only told what
//! would be recorded and written.

use crate::args::Global;
use crate::commands::{cancel, foretold, retry_all, submitted};
use crate::error::{Code, CommandError};
use crate::mint;
use crate::session::{self, Session};
use clap::Args;
use sagaline_order::{Event, Order, OrderId, RequestId, Version, request_id};
use sagaline_saga::Submission;
use sagaline_store::PayloadHash;
use serde_json::json;

/// Which order, and whether to act.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// The order.
    #[arg(value_name = "ID")]
    order_id: String,
    #[command(flatten)]
    how: How,
}

/// Whether to act, and on what.
#[derive(Debug, Args)]
pub(crate) struct How {
    /// Acts; without it, only what would be done is shown.
    #[arg(long)]
    yes: bool,
    /// The version that the decision was made on, as the dry run shows it; on another one nothing is done.
    #[arg(long, value_name = "VERSION", value_parser = version)]
    expect: Option<Version>,
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

/// Tries the step that an order stands in again at once, also out of the hands of a person.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline retry-step o-1
  sagaline retry-step o-1 --yes --expect 7

The payment or the publication is tried again; the time to pay is not begun anew. What is being undone is retried by retry-undo.")]
pub(crate) struct RetryStep {
    #[command(flatten)]
    target: Target,
}

/// Tries a stuck undo again, with its refusals and its deadline counted anew.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline retry-undo o-1 --yes
  sagaline retry-undo --all
  sagaline retry-undo --all --yes --rate 2

With --all: every order that waits for a person because its undo is stuck, as after an outage of the gateway. It can be stopped and run again:
what was retried is no longer among them.")]
pub(crate) struct RetryUndo {
    /// The order.
    #[arg(
        value_name = "ID",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    order_id: Option<String>,
    /// Every order whose undo is stuck.
    #[arg(long, conflicts_with = "expect")]
    all: bool,
    #[command(flatten)]
    how: How,
    /// With --all: the most orders a second.
    #[arg(long, value_name = "N", default_value_t = 5, requires = "all", value_parser = clap::value_parser!(u32).range(1..=100))]
    rate: u32,
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

docs/saga.md lists every event and what it does in every state.")]
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
        let order_id = session::order_id(&self.order_id)?;
        let session = Session::open(global).await?;
        let order = session::found(&order_id, session.store.load(&order_id).await?)?;
        let submission = Submission {
            request_id: request_id(&order, &event),
            payload_hash: PayloadHash::of(&json!(event)),
            operation: event.kind(),
            event,
            actor: mint::actor(),
            expected: None,
        };
        let foreseen = session.into_recorder().foresee(&order, &submission).await;
        let foreseen =
            foreseen.map_err(|error| CommandError::of_drive(&submission.request_id, &error))?;
        foretold::explain(&order, &submission.event, &foreseen, global.json);
        Ok(())
    }
}

impl Nudge {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        self.target.act(Event::Nudged, global).await
    }
}

impl RetryStep {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        self.target.act(Event::StepRetried, global).await
    }
}

impl RetryUndo {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        match self.order_id {
            Some(order_id) => {
                let target = Target {
                    order_id,
                    how: self.how,
                };
                target.act(Event::UndoRetried, global).await
            }
            None => retry_all::run(self.how.yes, self.rate, global).await,
        }
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
        let left_behind = foretold::left_behind(&order, &event);
        let submission = submission(&order_id, self.how.expect.unwrap_or(order.version), event);
        let recorder = session.into_recorder();
        if !self.how.yes {
            return foretold::dry_run(&recorder, &order, &submission, global.json).await;
        }
        let request_id = submission.request_id.clone();
        let submitted = recorder.submit(&order_id, submission).await;
        let submitted = submitted.map_err(|error| CommandError::of_drive(&request_id, &error))?;
        let mut said = vec![("request_id", request_id.as_str())];
        said.extend(left_behind.as_deref().map(|left| ("left_behind", left)));
        submitted::tell(
            submitted.ok_or_else(|| session::no_order(&order_id))?,
            &said,
            global.json,
        )
    }
}

/// An operator's event on one version of an order: the same again is the same request.
pub(super) fn submission(order_id: &OrderId, version: Version, event: Event) -> Submission {
    Submission {
        request_id: RequestId::of_event(order_id, version, event.kind()),
        payload_hash: PayloadHash::of(
            &json!({"order_id": order_id, "version": version, "event": event}),
        ),
        operation: event.kind(),
        event,
        actor: mint::actor(),
        expected: Some(version),
    }
}

/// A version as it is shown.
pub(super) fn version(text: &str) -> Result<Version, String> {
    let number = text.parse::<u64>().ok().and_then(Version::new);
    number.ok_or_else(|| "a version is a number from 1".to_owned())
}

/// A version that was expected and is not there.
pub(super) fn moved(order: &Order) -> CommandError {
    let Order {
        order_id,
        state,
        version,
        ..
    } = order;
    CommandError::new(
        Code::NotExpected,
        format!(
            "order {order_id} is {state:?} at version {version}, not at the one that was expected"
        ),
    )
    .advise(format!(
        "look with `sagaline show {order_id}` and decide again"
    ))
}
