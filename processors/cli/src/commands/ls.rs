//! `sagaline ls`: orders by any list that the table keeps, read as a stream and printed as it comes.
//!
//! What the lists do not hold is read from the heads: only for the rows that are shown, 100 in a request. A state is not in any list; those that
//! share a status with another one are told apart by the head.

mod heads;
mod printer;
mod rows;
mod which;

use crate::args::Global;
use crate::commands::phone;
use crate::error::CommandError;
use crate::output;
use crate::session::{Session, vars};
use clap::{ArgGroup, Args, ValueEnum};
use printer::Printer;
use sagaline_lambda::now;
use sagaline_order::{State, Status};
use sagaline_store::{Consistency, Cursor, CursorKey, Direction};
use serde_json::json;
use which::Which;

/// Lists orders: of a user, in a status, stuck, overdue, of a product, refunded, changed.
///
/// Lists by user, status, phone and product begin with the newest; the others with the oldest. Times are UTC; FROM is included, a TO that is a
/// day is the end of that day. Lists of an index (status, state, stuck, overdue, changed) follow the table a little later.
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("which").required(true).args(["user", "status", "state", "stuck", "overdue", "phone", "payment_id", "product", "refunds", "changed_since"])),
    after_help = "\
Examples:
  sagaline ls --user u-1 --from 2026-01-01 --to 2026-01-31
  sagaline ls --status UNPAID --from 2026-01-24 --limit 1000
  sagaline ls --stuck
  sagaline ls --overdue --json
  sagaline ls --state Paying
  sagaline ls --phone +4915112345678
  sagaline ls --payment-id p-17
  sagaline ls --product mug --totals --from 2026-01-01
  sagaline ls --refunds 2026-01-01..2026-01-31
  sagaline ls --changed-since 2026-01-31T08:00:00Z --limit 100000 --json

A cursor goes on behind the last row of the same list and is refused by any other. It is signed with a key from HASH_KEYS_SECRET; without that
secret a check sum over the table's name takes its place: it finds mistakes, and protects against nothing.")]
pub(crate) struct Ls {
    /// The orders of a user.
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// The orders in a status that is worked on. The others are not kept in a list: search for them.
    #[arg(long, value_name = "STATUS")]
    status: Option<Listed>,
    /// The orders in a state that is worked on.
    #[arg(long, value_name = "STATE")]
    state: Option<InState>,
    /// The orders that wait for a person, the oldest first, and why.
    #[arg(long)]
    stuck: bool,
    /// The unfinished orders whose wake time has passed, the longest overdue first.
    #[arg(long)]
    overdue: bool,
    /// The orders of everyone who gave this phone, in E.164. Needs HASH_KEYS_SECRET.
    #[arg(long, value_name = "PHONE")]
    phone: Option<String>,
    /// The order of a payment.
    #[arg(long, value_name = "ID")]
    payment_id: Option<String>,
    /// The orders of a product.
    #[arg(long, value_name = "SKU")]
    product: Option<String>,
    /// With --product: how many orders and pieces, instead of the list.
    #[arg(long, requires = "product", conflicts_with_all = ["limit", "cursor"])]
    totals: bool,
    /// The refunds of a day or a range, both ends included.
    #[arg(long, value_name = "DAY[..DAY]")]
    refunds: Option<String>,
    /// The orders that were changed since then.
    #[arg(long, value_name = "TIME")]
    changed_since: Option<String>,
    /// Only what was placed then or later.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["overdue", "payment_id", "refunds", "changed_since"])]
    from: Option<String>,
    /// Only what was placed before; of --changed-since, changed before.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["overdue", "payment_id", "refunds"])]
    to: Option<String>,
    /// The most rows to list. They are printed as they come.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000_000), conflicts_with = "payment_id")]
    limit: u32,
    /// Where the list before ended, as it was printed.
    #[arg(
        long,
        visible_alias = "after",
        value_name = "CURSOR",
        conflicts_with = "payment_id"
    )]
    cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "UPPER")]
enum Listed {
    /// Placed, not yet paid.
    Unpaid,
    /// Being undone.
    Processing,
    /// Waits for a person.
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

/// Every state, so that one without a list is answered with where to look instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
enum InState {
    Placed,
    Paying,
    Confirmed,
    Unwinding,
    Cancelled,
    Rejected,
    NeedsOperator,
}

impl From<InState> for State {
    fn from(state: InState) -> Self {
        match state {
            InState::Placed => Self::Placed,
            InState::Paying => Self::Paying,
            InState::Confirmed => Self::Confirmed,
            InState::Unwinding => Self::Unwinding,
            InState::Cancelled => Self::Cancelled,
            InState::Rejected => Self::Rejected,
            InState::NeedsOperator => Self::NeedsOperator,
        }
    }
}

impl Ls {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let which = self.which()?;
        let mut session = Session::open(global).await?;
        let key = cursor_key(&session).await?;
        session.store = session.store.with_cursor_key(key);
        let store = &session.store;
        let cursor = self.cursor.as_ref().map(Cursor::from_text);
        let cursor = cursor.as_ref();
        let mut printer = Printer::new(global.json, self.limit);
        let next = match which {
            Which::User(user, span) => {
                let list = store.user_orders(&user, span).after(cursor);
                printer.list(list, rows::USER, rows::user_order).await?
            }
            Which::Phone(phone, span) => {
                let hashes = phone::hashes(&session, &phone).await?;
                let list = store.orders_of_phone(&hashes, span).await?.after(cursor);
                printer.list(list, rows::PHONE, rows::phone_order).await?
            }
            Which::Status(listed, status, span) => {
                let list = store.by_status(listed, span).after(cursor);
                let row = |row: &_| rows::in_status(row, status);
                printer.list(list, rows::STATUS, row).await?
            }
            Which::State(listed, state, span) => {
                let list = store.by_status(listed, span).after(cursor);
                let wanted = |order: &_| heads::in_state(order, state);
                printer
                    .heads(store, list, heads::STATE, |row| &row.order_id, wanted)
                    .await?
            }
            Which::Stuck(listed, span) => {
                let list = store.by_status(listed, span).after(cursor);
                let list = list.direction(Direction::OldestFirst);
                printer
                    .heads(store, list, heads::STUCK, |row| &row.order_id, heads::stuck)
                    .await?
            }
            Which::Overdue => {
                let now = now();
                let list = store.overdue(now).after(cursor);
                let wanted = |order: &_| heads::overdue(order, now);
                printer
                    .heads(store, list, heads::OVERDUE, |row| &row.order_id, wanted)
                    .await?
            }
            Which::Product(sku, span) if self.totals => {
                let totals = store
                    .product_totals(&sku, span, Consistency::Eventual)
                    .await?;
                if global.json {
                    output::json(&json!({"sku": sku, "orders": totals.orders, "qty": totals.qty}));
                } else {
                    let text = format!("{sku}: {} orders, {} pieces", totals.orders, totals.qty);
                    output::line(&format!(
                        "{text}; of every order placed, whatever became of it"
                    ));
                }
                return Ok(());
            }
            Which::Product(sku, span) => {
                let list = store.product_orders(&sku, span).after(cursor);
                printer
                    .list(list, rows::PRODUCT, rows::product_order)
                    .await?
            }
            Which::Refunds(from, until) => {
                let list = store.refunds(from, until).after(cursor);
                printer.list(list, rows::REFUNDS, rows::refund).await?
            }
            Which::Changed(from, until) => {
                let list = store.updated(from, until).after(cursor);
                printer.list(list, rows::CHANGED, rows::changed).await?
            }
            Which::Payment(payment) => {
                let order = store.order_by_payment(&payment).await?;
                let order = order.ok_or_else(|| which::no_payment(&payment))?;
                printer.only(heads::STATE, heads::of_order(&order));
                None
            }
        };
        printer.finish(next.as_ref());
        Ok(())
    }
}

/// The key of cursors: made of the current hash key, if there is one.
async fn cursor_key(session: &Session) -> Result<CursorKey, CommandError> {
    let keys = phone::keys(&vars(), &session.aws).await?;
    Ok(keys.map_or_else(
        || CursorKey::of_table(&session.table),
        |keys| CursorKey::secret(keys.hash(b"cursors of the command line").as_bytes()),
    ))
}
