//! `sagaline table partiql`: a SELECT in PartiQL, with a warning before it reads the whole table.

mod statement;

use super::query::halves;
use super::{sdk, shown};
use crate::args::Global;
use crate::error::{Code, CommandError};
use crate::output;
use crate::session::Session;
use clap::Args;
use sagaline_lambda::Aws;
use sagaline_store::Item;
use sagaline_store::size::{self, Units};
use sagaline_store::value::map_to_json;
use serde_json::{Value, json};
use statement::{Reads, Statement};

/// Runs a PartiQL SELECT on the table or one of its indexes.
///
/// One that names no partition key with = or IN reads everything, and pays for everything: it is refused without --yes. Only SELECT: a write past
/// the commit would leave an order without its version, history, guard and copies.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline table partiql \"SELECT * FROM orders WHERE PK = 'ORDER#o-1'\" --table orders
  sagaline table partiql \"SELECT order_id, total_minor FROM \\\"shop-orders\\\".\\\"by_status\\\" WHERE status_pk = 'STATUS#UNPAID#0'\"
  sagaline table partiql \"SELECT PK FROM orders WHERE total_minor > 100000\" --table orders --yes --limit 10 --json

Names with a dash need double quotes. The strings are in single quotes.")]
pub(super) struct Partiql {
    /// The statement.
    #[arg(value_name = "STATEMENT")]
    statement: String,
    /// Run it although it reads the whole table or index.
    #[arg(long)]
    yes: bool,
    /// The most items to show; a scan stops once it has them.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// See every write that was acknowledged before. Of an index that is not to be had.
    #[arg(long)]
    strong: bool,
}

/// What a statement gave.
#[derive(Default)]
struct Found {
    items: Vec<Item>,
    /// As DynamoDB says; `None` if it does not.
    units: Option<f64>,
    more: bool,
}

impl Partiql {
    pub(super) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let statement = Statement::parse(&self.statement)?;
        if self.strong && statement.index.is_some() {
            return Err(CommandError::new(
                Code::BadInput,
                "an index cannot be read strongly consistent",
            )
            .advise("leave --strong out, or read the table"));
        }
        let session = Session::open(global).await?;
        let reads = statement.reads(&session.table)?;
        if let Reads::Everything { why } = reads {
            let size = size_of(&session).await;
            if !self.yes {
                return Err(CommandError::new(
                    Code::BadInput,
                    format!("the statement would scan: {why}{size}"),
                )
                .advise("name the partition key with = or IN, or pass --yes"));
            }
            eprintln!("warning: this scans: {why}{size}");
        }
        let found = self.execute(&session.aws).await?;
        self.show(&found, global.json);
        Ok(())
    }

    async fn execute(&self, aws: &Aws) -> Result<Found, CommandError> {
        let client = aws.dynamodb();
        let mut found = Found::default();
        let mut token = None;
        loop {
            let answer = client
                .execute_statement()
                .statement(&self.statement)
                .consistent_read(self.strong)
                .return_consumed_capacity(aws_sdk_dynamodb::types::ReturnConsumedCapacity::Total)
                .set_next_token(token)
                .send()
                .await
                .map_err(|error| sdk::failed("the statement", &error))?;
            let units = answer
                .consumed_capacity()
                .and_then(|used| used.capacity_units());
            if let Some(units) = units {
                *found.units.get_or_insert(0.0) += units;
            }
            found.items.extend(answer.items.unwrap_or_default());
            token = answer.next_token.filter(|token| !token.is_empty());
            let most = usize::try_from(self.limit).unwrap_or(usize::MAX);
            if found.items.len() >= most || token.is_none() {
                found.more = token.is_some() || found.items.len() > most;
                found.items.truncate(most);
                return Ok(found);
            }
        }
    }

    fn show(&self, found: &Found, json: bool) {
        let bytes: usize = found.items.iter().map(size::item_bytes).sum();
        if json {
            let items: Vec<Value> = found
                .items
                .iter()
                .map(|item| Value::Object(map_to_json(item)))
                .collect();
            output::json(
                &json!({"items": items, "count": items.len(), "bytes": bytes, "read_units": found.units, "more": found.more}),
            );
            return;
        }
        for item in &found.items {
            output::line(&Value::Object(map_to_json(item)).to_string());
        }
        let charged = match found.units {
            Some(units) => format!("{} as DynamoDB says", shown::counted(units, "read unit")),
            None => format!(
                "at least {}",
                shown::counted(halves(Units::of(bytes).strong_read), "read unit")
            ),
        };
        eprintln!(
            "{}, {bytes} bytes shown: {charged}",
            shown::counted(found.items.len(), "item")
        );
        if found.more {
            eprintln!("more: raise --limit");
        }
    }
}

/// How much a scan reads, from the table's description, which follows every six hours or so.
async fn size_of(session: &Session) -> String {
    let described = session
        .aws
        .dynamodb()
        .describe_table()
        .table_name(&session.table)
        .send()
        .await;
    let table = described.ok().and_then(|answer| answer.table);
    match table.and_then(|table| table.item_count.zip(table.table_size_bytes)) {
        Some((items, bytes)) if items > 0 => {
            let units = Units::of(usize::try_from(bytes).unwrap_or(usize::MAX)).strong_read;
            format!(
                " ({items} items, {bytes} bytes: about {})",
                shown::counted(halves(units), "read unit")
            )
        }
        Some(_) | None => String::new(),
    }
}
