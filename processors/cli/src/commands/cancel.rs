//! `sagaline cancel`: the customer, or an operator for them, wants an order cancelled.

use crate::args::Global;
use crate::commands::submitted;
use crate::error::{Code, CommandError};
use crate::mint;
use crate::session::{self, Session};
use clap::Args;
use sagaline_order::{Event, PayloadHash, RequestId};
use sagaline_saga::Submission;

/// The longest reason: it stands in the head, the history and the archive.
const MAX_REASON: usize = 500;

/// Cancels an order; one that is confirmed and not yet shipped is returned.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
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
}

impl Cancel {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let order_id = session::order_id(&self.order_id)?;
        let reason = reason(&self.reason)?;
        let given = self.request_id.as_deref().map(RequestId::parse).transpose();
        let given =
            given.map_err(|bad| CommandError::new(Code::BadInput, format!("request id {bad}")))?;

        let session = Session::open(global).await?;
        let request_id = match given {
            Some(given) => given,
            None => {
                let order = session::found(&order_id, session.store.load(&order_id).await?)?;
                RequestId::of_event(&order_id, order.version, "cancel")
            }
        };
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
        };
        let submitted = session.into_recorder().submit(&order_id, submission).await;
        let submitted = submitted.map_err(|error| CommandError::of_drive(&request_id, &error))?;
        submitted::tell(
            submitted.ok_or_else(|| session::no_order(&order_id))?,
            ("request_id", request_id.as_str()),
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
