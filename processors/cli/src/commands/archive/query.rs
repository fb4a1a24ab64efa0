//! `sagaline archive query`: any question.

use super::answers;
use super::place::{Place, Watch};
use crate::args::Global;
use crate::error::{Code, CommandError};
use crate::tabular::Format;
use clap::Args;
use sagaline_archive::views::readable;
use std::path::PathBuf;

/// Runs a query in Athena's SQL.
///
/// Tables: changes, oversize_changes, undated_changes. Views: order_changes (each version of each order once), order_timeline, daily_totals,
/// refunds_by_day; they need not have been created. Name a day in a query over `changes`: only its files are read then.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline archive query 'SELECT * FROM daily_totals ORDER BY dt, currency'
  sagaline archive query \"SELECT order_id, cause_reason FROM changes WHERE dt = '2026-01-31' AND cause_actor = 'operator'\" --json
  sagaline archive query 'SELECT * FROM refunds_by_day' --format csv --out refunds.csv")]
pub(super) struct Query {
    /// A SELECT, or SHOW, DESCRIBE, EXPLAIN.
    #[arg(value_name = "SQL")]
    sql: String,
    /// The form of the rows, instead of a table for people.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The file they go to; without it standard output.
    #[arg(long, value_name = "FILE", requires = "format")]
    out: Option<PathBuf>,
}

impl Query {
    pub(super) async fn run(self, place: &Place, global: &Global) -> Result<(), CommandError> {
        let sql = readable(&self.sql).ok_or_else(|| {
            CommandError::new(
                Code::BadInput,
                "this is no query: only statements that read are run",
            )
            .advise("begin it with SELECT, WITH, VALUES, SHOW, DESCRIBE or EXPLAIN")
        })?;
        let archive = place.open(global).await?;
        let watch = Watch::new();
        let answer = archive.ask(&sql, watch.query()).await?;
        drop(watch);
        match self.format {
            Some(format) => answers::write(answer, format, self.out.as_deref(), global.json).await,
            None => answers::show(answer, global.json).await,
        }
    }
}
