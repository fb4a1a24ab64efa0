//! Reading the archive with Athena: a query in, a table out.

use crate::views::{inlined, literal};
use aws_sdk_athena::Client;
use aws_sdk_athena::types::{QueryExecutionContext, QueryExecutionState};
use sagaline_stream::BoxError;
use std::time::Duration;
use thiserror::Error;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

/// A result: every value as text, NULL as `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// The columns' names.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Option<String>>>,
}

/// How far a query is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// `QUEUED`, `RUNNING`, `SUCCEEDED`.
    pub state: String,
    /// How many bytes have been read, as far as Athena says.
    pub scanned_bytes: Option<i64>,
}

/// Why there is no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A call failed.
    #[error("Athena did not {what}")]
    Call {
        /// What it was asked to do.
        what: &'static str,
        /// Why it did not.
        #[source]
        source: BoxError,
    },
    /// The query failed or was cancelled.
    #[error("the query {query_id} ended as {state}: {reason}")]
    Query {
        /// Its id.
        query_id: String,
        /// `FAILED` or `CANCELLED`.
        state: String,
        /// What Athena says.
        reason: String,
    },
    /// It took too long, and was told to stop.
    #[error("the query {query_id} took longer than {} s", .patience.as_secs())]
    TooLong {
        /// Its id.
        query_id: String,
        /// How long it was waited for.
        patience: Duration,
    },
    /// An answer without something that it always has.
    #[error("Athena's answer has no {what}")]
    Incomplete {
        /// What is missing.
        what: &'static str,
    },
}

/// How often the state of a query is asked for.
const POLL: Duration = Duration::from_millis(250);

/// The archive, to be read.
#[derive(Debug, Clone)]
pub struct Archive {
    client: Client,
    database: String,
    workgroup: String,
    patience: Duration,
}

impl Archive {
    /// The archive in that Glue database. The workgroup says where results are kept.
    #[must_use]
    pub fn new(client: Client, database: &str, workgroup: &str) -> Self {
        Self {
            client,
            database: database.to_owned(),
            workgroup: workgroup.to_owned(),
            patience: Duration::from_secs(600),
        }
    }

    /// Another longest time for a query than ten minutes.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Everything that happened to an order, its first version first.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn timeline(&self, order_id: &str) -> Result<Table, ReadError> {
        let order = literal(order_id);
        self.query(
            &format!("SELECT * FROM order_timeline WHERE order_id = {order} ORDER BY version"),
            |_| {},
        )
        .await
    }

    /// The rows of an order with both images, its first version first.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn changes(&self, order_id: &str) -> Result<Table, ReadError> {
        let order = literal(order_id);
        self.query(
            &format!("SELECT * FROM order_changes WHERE order_id = {order} ORDER BY version"),
            |_| {},
        )
        .await
    }

    /// How many versions of how many orders each day has, in `YYYY-MM-DD` from `from` to `to`.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn counts(&self, from: &str, to: &str) -> Result<Table, ReadError> {
        let (from, to) = (literal(from), literal(to));
        let select =
            "SELECT dt, COUNT(*) AS changes, COUNT(DISTINCT order_id) AS orders FROM order_changes";
        self.query(
            &format!("{select} WHERE dt BETWEEN {from} AND {to} GROUP BY dt ORDER BY dt"),
            |_| {},
        )
        .await
    }

    /// Runs a SELECT over the views, which need not exist.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn query(
        &self,
        select: &str,
        progress: impl FnMut(&Progress) + Send,
    ) -> Result<Table, ReadError> {
        self.run(&inlined(select), progress).await
    }

    /// Runs any statement as it is.
    ///
    /// # Errors
    /// [`ReadError`]. A query that takes too long is told to stop.
    pub async fn run(
        &self,
        sql: &str,
        mut progress: impl FnMut(&Progress) + Send,
    ) -> Result<Table, ReadError> {
        let deadline = Instant::now() + self.patience;
        let context = QueryExecutionContext::builder()
            .database(&self.database)
            .build();
        let start = self
            .client
            .start_query_execution()
            .query_string(sql)
            .query_execution_context(context)
            .work_group(&self.workgroup);
        let started = start
            .send()
            .await
            .map_err(|error| call("start the query", error))?;
        let query_id = started
            .query_execution_id()
            .ok_or(ReadError::Incomplete { what: "query id" })?;
        let mut ticks = interval(POLL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if timeout_at(deadline, ticks.tick()).await.is_err() {
                let stop = self
                    .client
                    .stop_query_execution()
                    .query_execution_id(query_id);
                stop.send()
                    .await
                    .map_err(|error| call("stop the query", error))?;
                return Err(ReadError::TooLong {
                    query_id: query_id.to_owned(),
                    patience: self.patience,
                });
            }
            let get = self
                .client
                .get_query_execution()
                .query_execution_id(query_id);
            let answer = get
                .send()
                .await
                .map_err(|error| call("say how far the query is", error))?;
            let execution = answer
                .query_execution()
                .ok_or(ReadError::Incomplete { what: "query" })?;
            let status = execution
                .status()
                .ok_or(ReadError::Incomplete { what: "status" })?;
            let state = status
                .state()
                .ok_or(ReadError::Incomplete { what: "state" })?;
            let scanned_bytes = execution
                .statistics()
                .and_then(|statistics| statistics.data_scanned_in_bytes());
            progress(&Progress {
                state: state.as_str().to_owned(),
                scanned_bytes,
            });
            if *state == QueryExecutionState::Succeeded {
                return self.results(query_id).await;
            }
            if matches!(
                state,
                QueryExecutionState::Failed | QueryExecutionState::Cancelled
            ) {
                let reason = status
                    .state_change_reason()
                    .unwrap_or("no reason given")
                    .to_owned();
                return Err(ReadError::Query {
                    query_id: query_id.to_owned(),
                    state: state.as_str().to_owned(),
                    reason,
                });
            }
        }
    }

    async fn results(&self, query_id: &str) -> Result<Table, ReadError> {
        let mut table = Table::default();
        let mut next: Option<String> = None;
        loop {
            let get = self
                .client
                .get_query_results()
                .query_execution_id(query_id)
                .set_next_token(next.clone());
            let page = get
                .send()
                .await
                .map_err(|error| call("give the results", error))?;
            let set = page
                .result_set()
                .ok_or(ReadError::Incomplete { what: "results" })?;
            let mut rows = set.rows().iter().map(|row| {
                row.data()
                    .iter()
                    .map(|datum| datum.var_char_value().map(str::to_owned))
                    .collect::<Vec<_>>()
            });
            if next.is_none() {
                let columns = set
                    .result_set_metadata()
                    .map(|metadata| metadata.column_info())
                    .unwrap_or_default();
                table.columns = columns
                    .iter()
                    .map(|column| column.name().to_owned())
                    .collect();
                // The first row of a SELECT's first page is the header. A statement that is none has no header, and no rows that matter.
                let header: Vec<Option<String>> = table.columns.iter().cloned().map(Some).collect();
                table
                    .rows
                    .extend(rows.next().filter(|first| *first != header));
            }
            table.rows.extend(rows);
            next = page.next_token().map(str::to_owned);
            if next.is_none() {
                return Ok(table);
            }
        }
    }
}

fn call(what: &'static str, error: impl Into<BoxError>) -> ReadError {
    ReadError::Call {
        what,
        source: error.into(),
    }
}
