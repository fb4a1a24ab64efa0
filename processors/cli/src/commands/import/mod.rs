//! `sagaline import`: places the orders of a file, one JSON object a line.
//!
//! The whole file is checked first ([`check`]), without a connection; then its orders are placed ([`place`]). The request id of an order that
//! names none comes from the file's content and the line's number, so importing again places nothing twice.

mod check;
mod place;

use crate::args::Global;
use crate::commands::phone;
use crate::error::{Code, CommandError};
use crate::session::{Session, vars};
use crate::{mint, output};
use check::{Checked, InvalidLine};
use clap::Args;
use place::{Outcome, Placing};
use sagaline_order::Context;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Places the orders of a file, one JSON object a line.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline import orders.ndjson
  sagaline import orders.ndjson --skip-invalid --json

A line: {\"user_id\":\"u-1\",\"currency\":\"EUR\",\"lines\":[{\"sku\":\"mug\",\"qty\":2,\"unit_minor\":1250}]}
The whole file is checked before anything is placed. Importing it again places nothing twice.")]
pub(crate) struct Import {
    /// The file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Place the valid lines of a file that has invalid ones.
    #[arg(long)]
    skip_invalid: bool,
}

/// What became of the lines.
#[derive(Debug, Default)]
struct Totals {
    placed: usize,
    already_applied: usize,
    refused: Vec<Value>,
    /// The first error after which going on would have been pointless.
    stopped: Option<CommandError>,
}

impl Import {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let name = self.file.display().to_string();
        let bytes = std::fs::read(&self.file).map_err(|error| {
            CommandError::new(
                Code::UnreadableFile,
                format!("{name} cannot be read: {error}"),
            )
        })?;
        let checked = Checked::read(&bytes, &mint::actor(), &mint::offline_context());
        if !checked.invalid.is_empty() && !self.skip_invalid {
            if global.json {
                output::json(&summary(&checked, &Totals::default()));
            }
            let (bad, all) = (
                checked.invalid.len(),
                checked.invalid.len() + checked.orders.len(),
            );
            return Err(CommandError::new(
                Code::InvalidLines,
                format!("{bad} of {all} lines of {name} are invalid"),
            )
            .with_details(checked.invalid.iter().map(ToString::to_string).collect()));
        }
        if checked.orders.is_empty() && checked.invalid.is_empty() {
            return Err(
                CommandError::new(Code::BadInput, format!("{name} holds no orders"))
                    .advise("check the path"),
            );
        }

        let session = Session::open(global).await?;
        let phones = phone::keys(&vars(), &session.aws).await?;
        let now = sagaline_lambda::now();
        let context = Context {
            now,
            config: session.store.saga_config(now).await,
        };
        let placing = Placing {
            store: &session.store,
            phones: phones.as_ref(),
            actor: mint::actor(),
            context,
        };
        // Lines about single orders are data: errors have standard error to themselves.
        let say = |text: &str| {
            if !global.json {
                output::line(text)
            }
        };
        checked
            .invalid
            .iter()
            .for_each(|line| say(&format!("skipped: {line}")));
        let bar = place::progress(checked.orders.len());
        let mut totals = Totals::default();
        Box::pin(placing.run(&checked, |line, order_id, outcome| {
            bar.inc(1);
            let error = match outcome {
                Outcome::Placed => return totals.placed += 1,
                Outcome::AlreadyApplied => return totals.already_applied += 1,
                Outcome::Refused(error) => error,
            };
            let text = format!("refused: line {line}: order {order_id}: [{}] {}", error.code().name(), error.what());
            bar.suspend(|| say(&text));
            totals.refused.push(json!({"line": line, "order_id": order_id, "code": error.code().name(), "reason": error.what()}));
            if error.stops_everything() {
                totals.stopped.get_or_insert(error);
            }
        }))
        .await;
        bar.finish_and_clear();
        self.tell(&name, &checked, totals, global)
    }

    fn tell(
        &self,
        name: &str,
        checked: &Checked<'_>,
        totals: Totals,
        global: &Global,
    ) -> Result<(), CommandError> {
        let Totals {
            placed,
            already_applied,
            refused,
            ..
        } = &totals;
        if global.json {
            output::json(&summary(checked, &totals));
        } else {
            let (refused, skipped) = (refused.len(), checked.invalid.len());
            output::line(&format!(
                "{name}: {placed} placed, {already_applied} placed before, {refused} refused, {skipped} skipped"
            ));
        }
        if let Some(stopped) = totals.stopped {
            return Err(CommandError::new(
                stopped.code(),
                format!("the import stopped: {}", stopped.what()),
            )
            .advise("import the same file again: nothing is placed twice"));
        }
        if !totals.refused.is_empty() {
            return Err(CommandError::new(
                Code::OrdersRefused,
                format!("{} orders of {name} were refused", totals.refused.len()),
            ));
        }
        Ok(())
    }
}

fn summary(checked: &Checked<'_>, totals: &Totals) -> Value {
    let invalid: Vec<Value> = checked
        .invalid
        .iter()
        .map(
            |InvalidLine { line, bad }| json!({"line": line, "field": bad.field, "rule": bad.rule}),
        )
        .collect();
    json!({
        "file_sha256": checked.sha256,
        "placed": totals.placed,
        "already_applied": totals.already_applied,
        "refused": totals.refused,
        "invalid": invalid,
    })
}
