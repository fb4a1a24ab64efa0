//! `sagaline report`: what the payment gateway or fulfilment tells of its own accord, taken in by hand.

use crate::args::Global;
use crate::commands::{cancel, submitted};
use crate::error::{Code, CommandError};
use crate::mint;
use crate::session::{self, Session};
use clap::Args;
use sagaline_order::{OpId, RequestId};
use sagaline_saga::{BadCallback, Callback, CallbackKind, Submission};

/// Records what the payment gateway or fulfilment reports.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline report o-1 --type payment.approved --payment-id p-1
  sagaline report o-1 --type shipment.sent --tracking 1Z999
  sagaline report o-1 --type fulfilment.refused --reason 'out of stock at the warehouse'")]
pub(crate) struct Report {
    /// The order.
    #[arg(value_name = "ID")]
    order_id: String,
    /// payment.approved, payment.declined, payment.refunded, shipment.sent or fulfilment.refused.
    #[arg(long = "type", value_name = "TYPE")]
    kind: String,
    /// The gateway's payment id.
    #[arg(long, value_name = "ID")]
    payment_id: Option<String>,
    /// The idempotency key of the operation.
    #[arg(long, value_name = "ID")]
    op_id: Option<String>,
    /// How to follow the goods.
    #[arg(long, value_name = "TEXT")]
    tracking: Option<String>,
    /// Why, in words.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Makes it happen once, however often it is sent; without it one is made and printed.
    #[arg(long, value_name = "ID")]
    event_id: Option<String>,
}

impl Report {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let order_id = session::order_id(&self.order_id)?;
        let kind: CallbackKind = self.kind.parse()?;
        let event_id = self.event_id.unwrap_or_else(mint::id);
        RequestId::parse(&event_id)
            .map_err(|bad| CommandError::new(Code::BadInput, format!("event id {bad}")))?;
        if let Some(op_id) = &self.op_id {
            OpId::parse(op_id).ok_or_else(|| {
                CommandError::new(Code::BadInput, format!("op id '{op_id}' is no UUID"))
            })?;
        }
        let callback = Callback {
            event_id,
            kind,
            order_id: order_id.clone(),
            op_id: self.op_id,
            payment_id: self.payment_id,
            tracking: self.tracking,
            reason: self.reason.as_deref().map(cancel::reason).transpose()?,
            at: Some(sagaline_lambda::now().rfc3339()),
        };
        let submission = Submission {
            event: callback.event()?,
            request_id: callback.request_id(),
            payload_hash: callback.payload_hash(),
            operation: "report",
            actor: kind.actor().to_owned(),
            expected: None,
        };
        let request_id = submission.request_id.clone();
        let session = Session::open(global).await?;
        let submitted = session.into_recorder().submit(&order_id, submission).await;
        let submitted = submitted.map_err(|error| CommandError::of_drive(&request_id, &error))?;
        submitted::tell(
            submitted.ok_or_else(|| session::no_order(&order_id))?,
            &[("event_id", &callback.event_id)],
            global.json,
        )
    }
}

impl From<BadCallback> for CommandError {
    fn from(bad: BadCallback) -> Self {
        Self::new(Code::BadInput, bad.to_string())
    }
}
