//! `sagaline ls`: orders of a user, or in a status that is worked on.

use crate::args::Global;
use crate::error::{Code, CommandError};
use crate::output;
use crate::session::Session;
use clap::{Args, ValueEnum};
use sagaline_order::{Status, UserId};
use sagaline_store::{Cursor, Direction, ListedStatus, Span};
use serde_json::{Value, json};

/// Lists orders, the newest first.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline ls --user u-1
  sagaline ls --status EXCEPTION
  sagaline ls --user u-1 --limit 10 --json")]
pub(crate) struct Ls {
    /// The user whose orders are listed.
    #[arg(
        long,
        value_name = "ID",
        required_unless_present = "status",
        conflicts_with = "status"
    )]
    user: Option<String>,
    /// The status of the orders that are listed. The others are not kept in a list: search for them.
    #[arg(long, value_name = "STATUS")]
    status: Option<Listed>,
    /// The most orders to list.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Where the page before ended, as it was printed.
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
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

impl Ls {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let cursor = self.after.as_ref().map(Cursor::from_text);
        let page = (cursor.as_ref(), self.limit);
        let (next, json, table) = match (&self.user, self.status) {
            (Some(user), _) => {
                let user = UserId::parse(user)
                    .map_err(|bad| CommandError::new(Code::BadInput, format!("user id {bad}")))?;
                let session = Session::open(global).await?;
                let rows = session
                    .store
                    .user_orders(&user, Span::ALL, Direction::NewestFirst, page)
                    .await?;
                let json: Vec<Value> = rows
                    .rows
                    .iter()
                    .map(|row| {
                        json!({"order_id": row.order_id, "created_at": row.created_at, "status": row.status, "total_minor": row.total_minor,
                            "currency": row.currency, "first_name": row.first_name, "line_count": row.line_count})
                    })
                    .collect();
                let table = output::table(
                    ["order", "placed", "status", "total", "lines", "first"],
                    rows.rows.iter().map(|row| {
                        let total = output::amount(row.total_minor, &row.currency);
                        let first = row.first_name.clone().unwrap_or_default();
                        [
                            row.order_id.to_string(),
                            row.created_at.to_string(),
                            row.status.clone(),
                            total,
                            row.line_count.to_string(),
                            first,
                        ]
                    }),
                );
                (rows.next, json, table)
            }
            (None, Some(listed)) => {
                let status = Status::from(listed);
                let Some(wanted) = ListedStatus::new(status) else {
                    return Err(CommandError::new(
                        Code::Usage,
                        format!("{} orders are not listed", status.as_str()),
                    ));
                };
                let session = Session::open(global).await?;
                let rows = session
                    .store
                    .by_status(wanted, Span::ALL, Direction::NewestFirst, page)
                    .await?;
                let json: Vec<Value> = rows
                    .rows
                    .iter()
                    .map(|row| {
                        json!({"order_id": row.order_id, "created_at": row.created_at, "status": status.as_str(), "user_id": row.user_id,
                            "total_minor": row.total_minor})
                    })
                    .collect();
                let table = output::table(
                    ["order", "placed", "user", "total (minor units)"],
                    rows.rows.iter().map(|row| {
                        [
                            row.order_id.to_string(),
                            row.created_at.to_string(),
                            row.user_id.to_string(),
                            row.total_minor.to_string(),
                        ]
                    }),
                );
                (rows.next, json, table)
            }
            (None, None) => {
                return Err(CommandError::new(
                    Code::Usage,
                    "--user or --status is needed",
                ));
            }
        };
        let next = next.as_ref().map(Cursor::as_str);
        if global.json {
            output::json(&json!({"orders": json, "next": next}));
        } else {
            output::line(&table);
            if let Some(next) = next {
                eprintln!("more: --after '{next}'");
            }
        }
        Ok(())
    }
}
