//! `sagaline archive`: asks the archive, checks it against the table, and takes a whole table into it.
//!
//! Each action has its file. `place.rs` says where the archive is and how its errors are shown, `answers.rs` how rows are.

mod answers;
mod place;

mod init;
mod query;
mod timeline;

mod export;

mod repair;
mod verify;

mod export_table;

use crate::args::Global;
use crate::error::CommandError;
use clap::{Args, Subcommand};
use place::Place;

/// Reads the archive: every change of every order, once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline archive timeline o-1
  sagaline archive query 'SELECT * FROM daily_totals ORDER BY dt'
  sagaline archive export --from 2026-01-01 --to 2026-01-31 --format parquet --out january.parquet
  sagaline archive verify --date 2026-01-31 --repair
  sagaline archive export-table --state export.json

The names of the database and the workgroup are those of the template, by the name of the table: for `shop-orders` they are `shop_archive` and
`shop-audit`.")]
pub(crate) struct ArchiveArgs {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Creates the views in Athena, or brings them up to date.
    Init,
    /// Runs a query over the archive's tables and views.
    Query(query::Query),
    /// Shows what happened to an order, who did it and why.
    Timeline(timeline::Timeline),
    /// Writes the changes of some days to a file.
    Export(export::Export),
    /// Checks that the changes of a day are all there and fit; exit code 1 if not.
    Verify(verify::Verify),
    /// Takes every item of the table into the archive's bucket, and proves it.
    ExportTable(export_table::ExportTable),
}

impl ArchiveArgs {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let place = &self.place;
        match self.action {
            Action::Init => init::run(place, global).await,
            Action::Query(command) => command.run(place, global).await,
            Action::Timeline(command) => command.run(place, global).await,
            Action::Export(command) => command.run(place, global).await,
            Action::Verify(command) => Box::pin(command.run(place, global)).await,
            Action::ExportTable(command) => Box::pin(command.run(global)).await,
        }
    }
}
