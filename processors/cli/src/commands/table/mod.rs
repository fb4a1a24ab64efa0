//! `sagaline table`: the single table as it stands: items, queries, sizes, files of orders, and whether the table is what the template says.
//!
//! All of it reads. An order is written by the commit of `shared/store` and by nothing else, so no command here can write.
//!
//! Start reading at `key.rs` and `kind.rs` (what a key means), then `advice.rs` (why nothing came back); then one file a command.

mod key;
mod kind;
mod sdk;
mod shown;
mod typed;

mod advice;
mod explain;
mod moment;

mod doctor;
mod export;
mod get;
mod partiql;
mod query;
mod raw;
mod size;

pub(in crate::commands) use moment::instant;

use crate::args::Global;
use crate::error::CommandError;
use clap::{Args, Subcommand};

/// Looks into the table: items, queries, sizes, exports, settings.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline table get ORDER#o-1
  sagaline table query --pk USER#u-1 --sk-prefix USER#ORDERS#202601
  sagaline table size ORDER#o-1
  sagaline table export --status UNPAID --format csv --out unpaid.csv
  sagaline table doctor

A KEY is PK/SK, or PK alone where it says which item is meant: ORDER#ID is the head, USER#ID the counters, PRODUCT#SKU the stock,
REQUEST#ID the guard, INDEX#PAYMENT#ID the look-up, CONFIG#NAME a configuration item. Put it in quotes: # begins a comment in some shells.")]
pub(crate) struct TableArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    // Each is described where it is: what is said here would take the place of its long help.
    Get(get::Get),
    Query(query::Query),
    Raw(raw::Raw),
    Partiql(partiql::Partiql),
    Size(size::Size),
    Export(export::Export),
    Doctor(doctor::Doctor),
}

impl TableArgs {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        match self.action {
            Action::Get(command) => Box::pin(command.run(global)).await,
            Action::Query(command) => Box::pin(command.run(global)).await,
            Action::Raw(command) => Box::pin(command.run(global)).await,
            Action::Partiql(command) => Box::pin(command.run(global)).await,
            Action::Size(command) => Box::pin(command.run(global)).await,
            Action::Export(command) => Box::pin(command.run(global)).await,
            Action::Doctor(command) => Box::pin(command.run(global)).await,
        }
    }
}
