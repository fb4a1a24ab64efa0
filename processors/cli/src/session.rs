//! The way to the table, opened when a command has checked all that it can check without it.

use crate::args::Global;
use crate::error::{Code, CommandError};
use sagaline_lambda::Aws;
use sagaline_lambda::config::Vars;
use sagaline_order::{Order, OrderId, Timestamp};
use sagaline_saga::Recorder;
use sagaline_store::{DynamoTable, Store};

/// The clock of the command line.
pub(crate) type Clock = fn() -> Timestamp;

/// A table that answers.
pub(crate) struct Session {
    pub(crate) store: Store<DynamoTable>,
    pub(crate) aws: Aws,
    pub(crate) table: String,
}

impl Session {
    /// Opens it: within five seconds there is a table, or one line that says what is missing.
    pub(crate) async fn open(global: &Global) -> Result<Self, CommandError> {
        let table = table(global)?;
        let aws = aws(global).await?;
        aws.check_table(table).await?;
        Ok(Self {
            store: Store::new(DynamoTable::new(aws.dynamodb(), table)),
            aws,
            table: table.to_owned(),
        })
    }

    /// The same table once more, for a part that owns its store.
    pub(crate) fn another_store(&self) -> Store<DynamoTable> {
        Store::new(DynamoTable::new(self.aws.dynamodb(), &self.table))
    }

    /// What records events from outside.
    pub(crate) fn into_recorder(self) -> Recorder<DynamoTable, Clock> {
        Recorder::new(self.store, sagaline_lambda::now as Clock)
    }
}

/// The AWS configuration, with an endpoint that is checked for being one.
pub(crate) async fn aws(global: &Global) -> Result<Aws, CommandError> {
    if let Some(url) = &global.endpoint_url {
        let is_url = url
            .strip_prefix("http://")
            .or_else(|| url.strip_prefix("https://"))
            .is_some_and(|host| !host.is_empty());
        if !is_url {
            return Err(CommandError::new(
                Code::BadConfiguration,
                format!("--endpoint-url '{url}' is no http or https URL"),
            ));
        }
    }
    Ok(Aws::load_for_command(global.endpoint_url.as_deref()).await)
}

/// The environment, for what is not an option.
pub(crate) fn vars() -> Vars {
    Vars::of_process()
}

/// A bad variable as an error of the command line.
impl From<sagaline_lambda::config::BadVariable> for CommandError {
    fn from(bad: sagaline_lambda::config::BadVariable) -> Self {
        Self::new(Code::BadConfiguration, bad.to_string())
    }
}

/// An id as a caller gives it.
pub(crate) fn order_id(text: &str) -> Result<OrderId, CommandError> {
    OrderId::parse(text).map_err(|bad| CommandError::new(Code::BadInput, format!("order id {bad}")))
}

/// An order that must be there.
pub(crate) fn found(order_id: &OrderId, order: Option<Order>) -> Result<Order, CommandError> {
    order.ok_or_else(|| no_order(order_id))
}

pub(crate) fn no_order(order_id: &OrderId) -> CommandError {
    CommandError::new(Code::NoOrder, format!("there is no order {order_id}"))
}

fn table(global: &Global) -> Result<&str, CommandError> {
    match global.table.as_deref().filter(|table| !table.is_empty()) {
        Some(table) => Ok(table),
        None => Err(
            CommandError::new(Code::BadConfiguration, "ORDERS_TABLE is not set")
                .advise("set it, or pass --table NAME"),
        ),
    }
}
