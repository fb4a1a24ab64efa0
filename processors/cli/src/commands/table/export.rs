//! `sagaline table export`: orders found by any access pattern, into a file of rows.

mod heads;
mod pattern;
mod rows;

use super::key::bad;
use crate::args::Global;
use crate::commands::phone;
use crate::error::CommandError;
use crate::output;
use crate::session::Session;
use crate::tabular::{Cell, Column, Format, Writer, unwritable};
use clap::{ArgGroup, Args, ValueEnum};
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use indicatif::{ProgressBar, ProgressStyle};
use pattern::Pattern;
use sagaline_order::{OrderId, Status};
use sagaline_store::{Consistency, Direction, Store, StoreError, Table};
use serde_json::json;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::pin::pin;

/// Rows a read of a list. A page of a query holds 1 MB at most (F-CAP-5).
const PAGE_ROWS: u32 = 1000;
/// Heads that are read together with --heads (F-CAP-5: 100 a batch).
const HEADS: usize = 100;

/// Writes orders to a file: CSV, JSON lines or Parquet; oldest first, however many.
///
/// The file appears under its name when it is whole. Each pattern has the columns of its list; --heads reads each order itself instead and
/// writes all columns of --all. Lists of an index follow the table a little later. Times are UTC; FROM is included, a TO that is a day is
/// the end of that day.
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("which").required(true).args(["user", "status", "product", "phone", "changed_since", "refunds", "overdue", "all"])),
    after_help = "\
Examples:
  sagaline table export --status UNPAID --from 2026-01-24 --out unpaid.csv
  sagaline table export --user u-1 --format ndjson | jq .order_id
  sagaline table export --product mug --from 2026-01-01 --to 2026-01-31 --heads --out mug.parquet
  sagaline table export --changed-since 2026-01-31T08:00:00Z --out changed.ndjson
  sagaline table export --refunds 2026-01-01..2026-01-31 --out refunds.csv
  sagaline table export --all --out orders.parquet")]
pub(super) struct Export {
    /// The orders of a user.
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// The orders in a status that is worked on.
    #[arg(long, value_name = "STATUS")]
    status: Option<Listed>,
    /// The orders of a product.
    #[arg(long, value_name = "SKU")]
    product: Option<String>,
    /// The orders of everyone who gave this phone, in E.164. Needs HASH_KEYS_SECRET.
    #[arg(long, value_name = "PHONE")]
    phone: Option<String>,
    /// The orders that were changed since then.
    #[arg(long, value_name = "TIME")]
    changed_since: Option<String>,
    /// The refunds of a range of days or times.
    #[arg(long, value_name = "FROM..TO")]
    refunds: Option<String>,
    /// The unfinished orders whose wake time has passed.
    #[arg(long)]
    overdue: bool,
    /// Every order: reads the whole table.
    #[arg(long)]
    all: bool,
    /// Only what was placed then or later.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["refunds", "overdue", "all", "changed_since"])]
    from: Option<String>,
    /// Only what was placed before; of --changed-since, changed before.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["refunds", "overdue", "all"])]
    to: Option<String>,
    /// Read each order itself and write all its columns.
    #[arg(long, conflicts_with_all = ["refunds", "all"])]
    heads: bool,
    /// The form; otherwise what the file's name ends with, else csv.
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// The file; otherwise standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Statuses that the index lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "UPPER")]
enum Listed {
    Unpaid,
    Processing,
    Exception,
}

impl From<Listed> for Status {
    fn from(listed: Listed) -> Self {
        match listed {
            Listed::Unpaid => Self::Unpaid,
            Listed::Processing => Self::Processing,
            Listed::Exception => Self::Exception,
        }
    }
}

impl Export {
    pub(super) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let pattern = self.pattern()?;
        let format = self.format()?;
        let columns = self.columns(&pattern);
        // A place that cannot be written is found out before anything is read.
        let out = self.out.as_deref();
        let writer =
            Writer::create(format, columns, out).map_err(|error| unwritable(out, &error))?;
        let session = Session::open(global).await?;
        let mut sink = Sink {
            writer,
            bar: progress(),
            out,
        };
        let done = Box::pin(self.fill(&session, pattern, &mut sink)).await;
        sink.bar.finish_and_clear();
        match done {
            Ok(()) => {}
            // Whoever read has gone (`| head`): that is no error of ours.
            Err(Stopped::Closed) => return Ok(()),
            Err(Stopped::Error(error)) => return Err(error),
        }
        let written = match sink.writer.finish() {
            Ok(written) => written,
            Err(error) if out.is_none() && error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(unwritable(out, &error)),
        };
        let rows = super::shown::counted(written.rows, "row");
        match out {
            Some(path) if global.json => output::json(
                &json!({"out": path.display().to_string(), "rows": written.rows, "bytes": written.bytes, "sha256": written.sha256}),
            ),
            Some(path) => eprintln!("{rows}, {} bytes in {}", written.bytes, path.display()),
            None => eprintln!("{rows}"),
        }
        Ok(())
    }

    fn format(&self) -> Result<Format, CommandError> {
        if let Some(format) = self.format {
            return Ok(format);
        }
        let extension = self
            .out
            .as_deref()
            .and_then(Path::extension)
            .and_then(|end| end.to_str());
        match extension {
            None => Ok(Format::Csv),
            Some(end) => Format::from_str(end, true).map_err(|_| {
                bad(format!("no format is named {end}"))
                    .advise("pass --format csv, ndjson or parquet")
            }),
        }
    }

    fn columns(&self, pattern: &Pattern) -> Vec<Column> {
        if self.heads {
            return heads::columns();
        }
        match pattern {
            Pattern::User(..) | Pattern::Phone(..) => rows::user_columns(),
            Pattern::Status(..) => rows::status_columns(),
            Pattern::Product(..) => rows::product_columns(),
            Pattern::Changed(..) => rows::changed_columns(),
            Pattern::Refunds(..) => rows::refund_columns(),
            Pattern::Overdue(_) => rows::overdue_columns(),
            Pattern::All => heads::columns(),
        }
    }

    async fn fill(
        &self,
        session: &Session,
        pattern: Pattern,
        sink: &mut Sink<'_>,
    ) -> Result<(), Stopped> {
        let store = &session.store;
        let oldest = Direction::OldestFirst;
        match pattern {
            Pattern::User(user, span) => {
                let list = store
                    .user_orders(&user, span)
                    .direction(oldest)
                    .page_size(PAGE_ROWS)
                    .stream();
                self.write(
                    store,
                    list,
                    |row| (row.order_id.clone(), rows::user(row)),
                    sink,
                )
                .await
            }
            Pattern::Phone(phone, span) => {
                let hashes = phone::hashes(session, &phone).await?;
                let list = store
                    .orders_of_phone(&hashes, span)
                    .await
                    .map_err(CommandError::from)?;
                let list = list.direction(oldest).page_size(PAGE_ROWS).stream();
                self.write(
                    store,
                    list,
                    |row| (row.order_id.clone(), rows::user(row)),
                    sink,
                )
                .await
            }
            Pattern::Status(status, span) => {
                let name = self
                    .status
                    .map_or("", |listed| Status::from(listed).as_str());
                let list = store
                    .by_status(status, span)
                    .direction(oldest)
                    .page_size(PAGE_ROWS)
                    .stream();
                self.write(
                    store,
                    list,
                    |row| (row.order_id.clone(), rows::status(row, name)),
                    sink,
                )
                .await
            }
            Pattern::Product(sku, span) => {
                let list = store
                    .product_orders(&sku, span)
                    .direction(oldest)
                    .page_size(PAGE_ROWS)
                    .stream();
                self.write(
                    store,
                    list,
                    |row| (row.order_id.clone(), rows::product(row, &sku)),
                    sink,
                )
                .await
            }
            Pattern::Changed(from, until) => {
                let list = store.updated(from, until).page_size(PAGE_ROWS).stream();
                self.write(
                    store,
                    list,
                    |row| (row.order_id.clone(), rows::changed(row)),
                    sink,
                )
                .await
            }
            Pattern::Refunds(from, until) => {
                let list = store.refunds(from, until).page_size(PAGE_ROWS).stream();
                self.write(
                    store,
                    list,
                    |row| (row.order_id.clone(), rows::refund(row)),
                    sink,
                )
                .await
            }
            Pattern::Overdue(until) => {
                let list = store.overdue(until).page_size(PAGE_ROWS).stream();
                self.write(
                    store,
                    list,
                    |row| (row.order_id.clone(), rows::overdue(row)),
                    sink,
                )
                .await
            }
            Pattern::All => {
                let mut pages = pin!(heads::scan(session));
                while let Some(heads) = pages.try_next().await? {
                    for head in &heads {
                        sink.put(heads::row(head))?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Writes a list as it stands, or the orders that it lists.
    async fn write<T: Table, R>(
        &self,
        store: &Store<T>,
        list: impl Stream<Item = Result<R, StoreError>>,
        row: impl Fn(&R) -> (OrderId, Vec<Cell>),
        sink: &mut Sink<'_>,
    ) -> Result<(), Stopped> {
        let mut list = pin!(list.map_err(CommandError::from).map_ok(|one| row(&one)));
        if !self.heads {
            while let Some((_, cells)) = list.try_next().await? {
                sink.put(cells)?;
            }
            return Ok(());
        }
        let mut chunks = list.try_chunks(HEADS);
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|error| error.1)?;
            let ids: Vec<_> = chunk.into_iter().map(|(id, _)| id).collect();
            let items = store
                .load_items(&ids, Consistency::Strong)
                .await
                .map_err(CommandError::from)?;
            for (id, item) in ids.iter().zip(items) {
                match item {
                    Some(item) => sink.put(heads::row(&item))?,
                    None => eprintln!("order {id} is listed and not there"),
                }
            }
        }
        Ok(())
    }
}

/// Where rows go.
struct Sink<'a> {
    writer: Writer,
    bar: ProgressBar,
    out: Option<&'a Path>,
}

/// Why rows stopped.
enum Stopped {
    /// Nobody reads standard output any more.
    Closed,
    Error(CommandError),
}

impl From<CommandError> for Stopped {
    fn from(error: CommandError) -> Self {
        Self::Error(error)
    }
}

impl Sink<'_> {
    fn put(&mut self, row: Vec<Cell>) -> Result<(), Stopped> {
        self.writer.write(row).map_err(|error| {
            if self.out.is_none() && error.kind() == ErrorKind::BrokenPipe {
                Stopped::Closed
            } else {
                Stopped::Error(unwritable(self.out, &error))
            }
        })?;
        self.bar.inc(1);
        Ok(())
    }
}

/// Progress on standard error; nothing where that is no terminal.
fn progress() -> ProgressBar {
    let bar = ProgressBar::no_length();
    let style = ProgressStyle::with_template("export {spinner} {pos} rows, {per_sec}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar
}

#[cfg(test)]
mod tests;
