//! `sagaline archive timeline`: what happened to one order.

use super::place::{Place, Watch, scanned};
use crate::args::Global;
use crate::error::{Code, CommandError};
use crate::output;
use clap::Args;
use sagaline_archive::views::{literal, readable};
use serde_json::{Value, json};

/// The columns that are asked for, in order.
const COLUMNS: &str = "version, event_time, event_name, cause_kind, cause_actor, cause_reason, previous_status, status, state, \
     total_minor, currency, ttl_expired, event_id";

/// Shows every version of an order: when, what, who and why.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline archive timeline o-1
  sagaline archive timeline o-1 --json

It is read from the archive, so it is also there when the order is not in the table any more. `archive query` shows the images as well.")]
pub(super) struct Timeline {
    /// The order.
    #[arg(value_name = "ID")]
    order_id: String,
}

impl Timeline {
    pub(super) async fn run(self, place: &Place, global: &Global) -> Result<(), CommandError> {
        // Whatever a key can hold: the archive keeps orders of others as well.
        let order_id = &self.order_id;
        let archive = place.open(global).await?;
        let watch = Watch::new();
        let sql = format!(
            "SELECT {COLUMNS} FROM order_timeline WHERE order_id = {} ORDER BY version",
            literal(order_id)
        );
        let sql = readable(&sql).unwrap_or(sql);
        let mut answer = archive.ask(&sql, watch.query()).await?;
        let mut steps = Vec::new();
        while let Some(page) = answer.next_page().await? {
            steps.extend(page.into_iter().filter_map(Step::read));
        }
        drop(watch);
        if steps.is_empty() {
            return Err(CommandError::new(
                Code::NoOrder,
                format!("the archive has no change of order {order_id}"),
            )
            .advise("check the id; what was written in the last minutes is on its way"));
        }
        if global.json {
            let steps: Vec<Value> = steps.into_iter().map(Step::json).collect();
            output::json(&json!({"order_id": order_id, "timeline": steps}));
            return Ok(());
        }
        output::line(&output::table(
            ["v", "when", "what", "who", "why", "status", "total"],
            steps.iter().map(Step::line),
        ));
        eprintln!(
            "{} versions, {}",
            steps.len(),
            scanned(answer.scanned_bytes())
        );
        Ok(())
    }
}

/// One version.
struct Step {
    version: i64,
    at: Option<String>,
    event: String,
    kind: Option<String>,
    actor: Option<String>,
    reason: Option<String>,
    before: Option<String>,
    status: Option<String>,
    state: Option<String>,
    total_minor: Option<i64>,
    currency: Option<String>,
    ttl_expired: bool,
    event_id: Option<String>,
}

impl Step {
    fn read(row: Vec<Option<String>>) -> Option<Self> {
        let mut columns = row.into_iter();
        let mut next = || columns.next().flatten();
        Some(Self {
            version: next()?.parse().ok()?,
            at: next(),
            event: next()?,
            kind: next(),
            actor: next(),
            reason: next(),
            before: next(),
            status: next(),
            state: next(),
            total_minor: next().and_then(|total| total.parse().ok()),
            currency: next(),
            ttl_expired: next().is_some_and(|expired| expired == "true"),
            event_id: next(),
        })
    }

    fn line(&self) -> [String; 7] {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let what = match &self.kind {
            Some(kind) => kind.clone(),
            None if self.ttl_expired => "expired".to_owned(),
            None => self.event.to_lowercase(),
        };
        let status = match (&self.before, &self.status) {
            (Some(before), Some(now)) if before != now => format!("{before} -> {now}"),
            (_, now) => text(now),
        };
        let total = self.total_minor.zip(self.currency.as_deref());
        [
            self.version.to_string(),
            text(&self.at),
            what,
            text(&self.actor),
            text(&self.reason),
            status,
            total.map_or_else(String::new, |(minor, currency)| {
                output::amount(minor, currency)
            }),
        ]
    }

    fn json(self) -> Value {
        json!({
            "version": self.version, "event_time": self.at, "event_name": self.event, "cause_kind": self.kind, "cause_actor": self.actor,
            "cause_reason": self.reason, "previous_status": self.before, "status": self.status, "state": self.state,
            "total_minor": self.total_minor, "currency": self.currency, "ttl_expired": self.ttl_expired, "event_id": self.event_id,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_says_what_changed_and_a_removal_what_it_was() {
        let row = |event: &str, kind: Option<&str>, ttl: &str| {
            let text = |text: &str| Some(text.to_owned());
            Step::read(vec![
                text("3"),
                None,
                text(event),
                kind.map(str::to_owned),
                None,
                None,
                text("UNPAID"),
                text("CONFIRMED"),
                None,
                text("1250"),
                text("EUR"),
                text(ttl),
                None,
            ])
            .unwrap()
            .line()
        };
        let [_, _, what, _, _, status, total] = row("MODIFY", Some("PaymentApproved"), "false");
        assert_eq!(
            [what.as_str(), status.as_str(), total.as_str()],
            ["PaymentApproved", "UNPAID -> CONFIRMED", "12.50 EUR"]
        );
        assert_eq!(row("REMOVE", None, "false")[2], "remove");
        assert_eq!(row("REMOVE", None, "true")[2], "expired");
    }
}
