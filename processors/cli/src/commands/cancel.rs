//! `sagaline cancel`: the customer, or an operator for them, wants an order cancelled.

use crate::args::Global;
use crate::commands::{foretold, operate, submitted};
use crate::error::{Code, CommandError};
use crate::mint;
use crate::session::{self, Session};
use clap::Args;
use sagaline_order::{Event, RequestId, Version};
use sagaline_saga::Submission;
use sagaline_store::PayloadHash;

/// The longest reason: it stands in the head, the history and the archive.
const MAX_REASON: usize = 500;

/// Cancels an order; one that is confirmed and not yet shipped is returned.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline cancel o-1 --reason 'changed my mind' --dry-run
  sagaline cancel o-1 --reason 'changed my mind'
  sagaline cancel o-1 --reason 'changed my mind' --request-id r-7 --json")]
pub(crate) struct Cancel {
    /// The order.
    #[arg(value_name = "ID")]
    order_id: String,
    /// Why, in words.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Makes it happen once, however often it is sent; without it the version that is seen does.
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
    /// Only shows what would be done.
    #[arg(long)]
    dry_run: bool,
    /// The version that the decision was made on; on another one nothing is done.
    #[arg(long, value_name = "VERSION", value_parser = operate::version)]
    expect: Option<Version>,
}

impl Cancel {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let order_id = session::order_id(&self.order_id)?;
        let reason = reason(&self.reason)?;
        let given = self.request_id.as_deref().map(RequestId::parse).transpose();
        let given =
            given.map_err(|bad| CommandError::new(Code::BadInput, format!("request id {bad}")))?;

        let session = Session::open(global).await?;
        // Without an id of the caller's, the version that is seen names the request.
        let order = match (&given, self.expect, self.dry_run) {
            (None, None, _) | (_, _, true) => Some(session::found(
                &order_id,
                session.store.load(&order_id).await?,
            )?),
            (Some(_), _, false) | (None, Some(_), false) => None,
        };
        let seen = self.expect.or(order.as_ref().map(|order| order.version));
        let named = seen.map(|seen| RequestId::of_event(&order_id, seen, "cancel"));
        let request_id = given
            .or(named)
            .ok_or_else(|| session::no_order(&order_id))?;
        let submission = Submission {
            event: Event::CancelRequested {
                reason: reason.clone(),
            },
            request_id: request_id.clone(),
            payload_hash: PayloadHash::of(
                &serde_json::json!({"order_id": order_id, "reason": reason}),
            ),
            operation: "cancel",
            actor: mint::actor(),
            expected: self.expect,
        };
        let recorder = session.into_recorder();
        if let Some(order) = order.filter(|_| self.dry_run) {
            return foretold::dry_run(&recorder, &order, &submission, global.json).await;
        }
        let submitted = recorder.submit(&order_id, submission).await;
        let submitted = submitted.map_err(|error| CommandError::of_drive(&request_id, &error))?;
        submitted::tell(
            submitted.ok_or_else(|| session::no_order(&order_id))?,
            &[("request_id", request_id.as_str())],
            global.json,
        )
    }
}

/// A reason in words.
pub(crate) fn reason(text: &str) -> Result<String, CommandError> {
    let text = text.trim();
    let length = text.chars().count();
    if (1..=MAX_REASON).contains(&length) {
        Ok(text.to_owned())
    } else {
        Err(CommandError::new(
            Code::BadInput,
            format!("reason: must be 1 to {MAX_REASON} characters, not {length}"),
        ))
    }
}
