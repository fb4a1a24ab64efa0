//! The command line, as clap reads it.

use crate::commands;
use clap::{Args, Parser, Subcommand};

/// Operates an order pipeline: orders, stock, search, what was put aside.
#[derive(Debug, Parser)]
#[command(name = "sagaline", version, disable_help_subcommand = true, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  sagaline create --order-id o-1 --user u-1 --currency EUR --line mug:2:1250:'Blue mug'
  sagaline show o-1
  sagaline ls --user u-1
  sagaline import orders.ndjson
  sagaline parked ls

Exit codes: 0 done; 1 a check failed; 2 usage, configuration or input; 3 not found;
4 refused by the state of things; 5 unavailable after retries.
Each error has a page in docs/errors/.";

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// One JSON document on standard output instead of text for people.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The orders table.
    #[arg(
        long,
        global = true,
        env = "ORDERS_TABLE",
        hide_env_values = true,
        value_name = "NAME"
    )]
    pub(crate) table: Option<String>,
    /// Where AWS is, instead of AWS itself.
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) endpoint_url: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Places an order.
    Create(commands::create::Create),
    /// Shows an order: state, steps, timeline, next wake.
    Show(commands::show::Show),
    /// Lists orders: of a user, in a status, stuck, overdue, of a product, refunded, changed.
    Ls(commands::ls::Ls),
    /// Cancels an order, or returns it before it is shipped.
    Cancel(commands::cancel::Cancel),
    /// Records what the payment gateway or fulfilment reports.
    Report(commands::report::Report),
    /// Reads and changes the stock of a product.
    Stock(commands::stock::Stock),
    /// Searches orders; also makes and checks the index.
    Search(commands::search::Search),
    /// Reads the archive: what happened to an order, and proof of it.
    Archive(commands::archive::ArchiveArgs),
    /// Looks into the table: items, queries, sizes, exports, settings.
    Table(commands::table::TableArgs),
    /// Checks the description of a table.
    Schema(commands::schema::SchemaArgs),
    /// Places the orders of a file, one JSON object a line.
    Import(commands::import::Import),
    /// Shows what an event would do to an order.
    Explain(commands::operate::Explain),
    /// Brings what an order waits for forward to now.
    Nudge(commands::operate::Nudge),
    /// Tries the step that an order stands in again at once.
    RetryStep(commands::operate::RetryStep),
    /// Tries the stuck undo of an order again, or of all orders that have one.
    RetryUndo(commands::operate::RetryUndo),
    /// Records that the payment of an order was given back outside.
    MarkUndone(commands::operate::MarkUndone),
    /// Takes an order out of the saga's hands.
    Park(commands::operate::Park),
    /// Gives a parked order back to the saga.
    Unpark(commands::operate::Unpark),
    /// Ends an order that cannot be undone.
    Abandon(commands::operate::Abandon),
    /// Shows, redrives and drops records that were put aside.
    Parked(commands::parked::ParkedArgs),
    /// Shows, redrives and drops what mappings and retry queues gave up on.
    Dlq(commands::dlq::Dlq),
    /// Feeds a file of stream records to a handler.
    Replay(commands::replay::Replay),
    /// Runs Lambda functions on this machine.
    Local(commands::local::Local),
}
