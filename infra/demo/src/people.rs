//! What people do: place the orders, cancel some of them, settle payments by hand. All through the command line and the gateway's own door.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::future::{try_join_all, try_join3};
use sagaline_order::{Order, OrderId, State, StepStatus};
use serde_json::json;
use tokio::process::Command;
use tokio::time::interval;

use crate::input::{Cancel, Input, Settle, When};
use crate::parts::Parts;

/// How often somebody looks whether their moment has come.
const LOOK: Duration = Duration::from_millis(300);

/// Imports the orders and plays the script meanwhile. Ends when everybody has done their part; the first failure ends it too.
pub(crate) async fn act(parts: &Parts, input: &Input) -> Result<()> {
    let orders = input
        .orders
        .to_str()
        .context("the orders file has a name that is no UTF-8")?;
    let stage = Stage {
        parts,
        all_placed: AtomicBool::new(false),
    };
    let import = async {
        sagaline(parts, &["import", orders]).await?;
        stage.all_placed.store(true, Ordering::Release);
        Ok(())
    };
    let cancels = input
        .script
        .cancel
        .iter()
        .map(|cancel| stage.cancel(cancel));
    let settles = input
        .script
        .settle
        .iter()
        .map(|settle| stage.settle(settle));
    try_join3(import, try_join_all(cancels), try_join_all(settles))
        .await
        .map(drop)
}

/// Where the people stand.
struct Stage<'a> {
    parts: &'a Parts,
    all_placed: AtomicBool,
}

impl Stage<'_> {
    async fn cancel(&self, cancel: &Cancel) -> Result<()> {
        let moment = |order: &Order| match cancel.when {
            When::Pending => is_pending(order),
            When::Confirmed => order.is_published(),
        };
        match self.wait_for(&cancel.order_id, moment).await? {
            Some(_) => {
                sagaline(
                    self.parts,
                    &[
                        "cancel",
                        cancel.order_id.as_str(),
                        "--reason",
                        &cancel.reason,
                    ],
                )
                .await
            }
            None => Ok(()),
        }
    }

    /// Late: the gateway has been asked about it in vain.
    async fn settle(&self, settle: &Settle) -> Result<()> {
        let asked = |order: &Order| {
            is_pending(order) && order.steps.pay.as_ref().is_some_and(|pay| pay.attempt > 1)
        };
        let Some(order) = self.wait_for(&settle.order_id, asked).await? else {
            return Ok(());
        };
        let payment = order.payment_id.context("a pending payment has an id")?;
        let url = format!("{}/payments/{payment}/settle", self.parts.gateway.url());
        let answer = reqwest::Client::new()
            .post(&url)
            .json(&json!({"status": settle.status}))
            .send()
            .await;
        let answer = answer.and_then(reqwest::Response::error_for_status);
        answer
            .with_context(|| format!("cannot settle the payment of {}", settle.order_id))
            .map(drop)
    }

    /// The order at its moment; `None` if it ended otherwise or was never placed, which the checks will show.
    async fn wait_for(
        &self,
        order_id: &OrderId,
        moment: impl Fn(&Order) -> bool,
    ) -> Result<Option<Order>> {
        let mut look = interval(LOOK);
        loop {
            look.tick().await;
            // Asked before the order is: one that is not there although all are placed is not coming.
            let all_placed = self.all_placed.load(Ordering::Acquire);
            let order = self
                .parts
                .store
                .load(order_id)
                .await
                .with_context(|| format!("cannot read {order_id}"))?;
            match order {
                Some(order) if moment(&order) => return Ok(Some(order)),
                Some(Order {
                    state: State::Cancelled | State::Rejected | State::NeedsOperator,
                    ..
                }) => return Ok(None),
                None if all_placed => return Ok(None),
                Some(_) | None => {}
            }
        }
    }
}

fn is_pending(order: &Order) -> bool {
    order.state == State::Paying
        && order
            .steps
            .pay
            .as_ref()
            .is_some_and(|pay| pay.status == StepStatus::Pending)
}

/// Runs the command line as an operator would.
async fn sagaline(parts: &Parts, args: &[&str]) -> Result<()> {
    let mut command = Command::new(parts.sagaline());
    command
        .args(args)
        .envs(parts.stack.env())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let said = command
        .output()
        .await
        .with_context(|| format!("cannot run sagaline {}", args.join(" ")))?;
    if said.status.success() {
        return Ok(());
    }
    bail!(
        "sagaline {} failed ({}):\n{}",
        args.join(" "),
        said.status,
        String::from_utf8_lossy(&said.stderr).trim_end()
    )
}
