//! Reading the archive with Athena: a query in, rows out, page by page.

use crate::views::{inlined, literal};
use aws_sdk_athena::Client;
use aws_sdk_athena::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_athena::types::{QueryExecutionContext, QueryExecutionState};
use sagaline_stream::BoxError;
use std::time::Duration;
use thiserror::Error;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

/// A column of a result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultColumn {
    /// Its name.
    pub name: String,
    /// Its type in Athena's words: `varchar`, `bigint`, `boolean` ...
    pub kind: String,
}

/// A row of a result: every value as text, NULL as `None`.
pub type ResultRow = Vec<Option<String>>;

/// A result as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// The columns' names.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<ResultRow>,
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
pub enum ReadError {
    /// A call failed.
    #[error("Athena did not {what}")]
    Call {
        /// What it was asked to do.
        what: &'static str,
        /// The code of Athena's refusal, as in `InvalidRequestException`; `None` when it did not answer.
        code: Option<String>,
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
            patience: Duration::from_secs(30 * 60),
        }
    }

    /// Another longest time for a query than half an hour, which is Athena's own (Amazon Athena User Guide, Service Quotas: DML queries
    /// end after 30 minutes).
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

    /// Runs a SELECT over the views, which need not exist, and gathers the result.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn query(
        &self,
        select: &str,
        progress: impl FnMut(&Progress) + Send,
    ) -> Result<Table, ReadError> {
        let mut answer = self.ask(&inlined(select), progress).await?;
        let mut rows = Vec::new();
        while let Some(page) = answer.next_page().await? {
            rows.extend(page);
        }
        let columns = answer.columns.into_iter().map(|column| column.name);
        Ok(Table {
            columns: columns.collect(),
            rows,
        })
    }

    /// Runs any statement as it is. Its result is read page by page.
    ///
    /// # Errors
    /// [`ReadError`]. A query that takes too long is told to stop.
    pub async fn ask(
        &self,
        sql: &str,
        mut progress: impl FnMut(&Progress) + Send,
    ) -> Result<Answer, ReadError> {
        let deadline = Instant::now() + self.patience;
        let query_id = self.start(sql).await?;
        let mut ticks = interval(POLL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if timeout_at(deadline, ticks.tick()).await.is_err() {
                let stop = self
                    .client
                    .stop_query_execution()
                    .query_execution_id(&query_id);
                stop.send()
                    .await
                    .map_err(|error| call("stop the query", error))?;
                return Err(ReadError::TooLong {
                    query_id,
                    patience: self.patience,
                });
            }
            let get = self
                .client
                .get_query_execution()
                .query_execution_id(&query_id);
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
                return Answer::open(self.client.clone(), query_id, scanned_bytes).await;
            }
            if matches!(
                state,
                QueryExecutionState::Failed | QueryExecutionState::Cancelled
            ) {
                let reason = status
                    .state_change_reason()
                    .filter(|reason| !reason.is_empty())
                    .unwrap_or("no reason given");
                // Athena's reasons have lines and pictures; an error is one line.
                let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
                return Err(ReadError::Query {
                    state: state.as_str().to_owned(),
                    query_id,
                    reason,
                });
            }
        }
    }

    async fn start(&self, sql: &str) -> Result<String, ReadError> {
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
        started
            .query_execution_id
            .ok_or(ReadError::Incomplete { what: "query id" })
    }
}

/// The result of a statement that has succeeded: one page of it is held at a time (at most 1,000 rows; Amazon Athena API Reference,
/// GetQueryResults).
#[derive(Debug)]
pub struct Answer {
    client: Client,
    query_id: String,
    columns: Vec<ResultColumn>,
    scanned_bytes: Option<i64>,
    page: Option<Vec<ResultRow>>,
    next: Option<String>,
}

impl Answer {
    async fn open(
        client: Client,
        query_id: String,
        scanned_bytes: Option<i64>,
    ) -> Result<Self, ReadError> {
        let mut answer = Self {
            client,
            query_id,
            columns: Vec::new(),
            scanned_bytes,
            page: None,
            next: None,
        };
        let mut rows = answer.fetch().await?;
        // The first row of a SELECT's first page is the header. A statement that is none has no header, and no rows that matter.
        let is_header = rows.first().is_some_and(|first| {
            first.len() == answer.columns.len()
                && first
                    .iter()
                    .zip(&answer.columns)
                    .all(|(value, column)| value.as_deref() == Some(&column.name))
        });
        if is_header {
            rows.remove(0);
        }
        answer.page = Some(rows);
        Ok(answer)
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &[ResultColumn] {
        &self.columns
    }

    /// How many bytes were read for it, as far as Athena says. They are what it costs.
    #[must_use]
    pub const fn scanned_bytes(&self) -> Option<i64> {
        self.scanned_bytes
    }

    /// The next rows; `None` at the end. A page may be empty and not be the last.
    ///
    /// # Errors
    /// [`ReadError`].
    pub async fn next_page(&mut self) -> Result<Option<Vec<ResultRow>>, ReadError> {
        if let Some(first) = self.page.take() {
            return Ok(Some(first));
        }
        if self.next.is_none() {
            return Ok(None);
        }
        self.fetch().await.map(Some)
    }

    async fn fetch(&mut self) -> Result<Vec<ResultRow>, ReadError> {
        let get = self
            .client
            .get_query_results()
            .query_execution_id(&self.query_id)
            .set_next_token(self.next.take());
        let page = get
            .send()
            .await
            .map_err(|error| call("give the results", error))?;
        self.next = page.next_token().map(str::to_owned);
        let set = page
            .result_set()
            .ok_or(ReadError::Incomplete { what: "results" })?;
        if self.columns.is_empty() {
            let columns = set
                .result_set_metadata()
                .map(|metadata| metadata.column_info())
                .unwrap_or_default();
            self.columns = columns
                .iter()
                .map(|column| ResultColumn {
                    name: column.name().to_owned(),
                    kind: column.r#type().to_owned(),
                })
                .collect();
        }
        let rows = set.rows().iter().map(|row| {
            row.data()
                .iter()
                .map(|datum| datum.var_char_value().map(str::to_owned))
                .collect()
        });
        Ok(rows.collect())
    }
}

fn call<E>(what: &'static str, error: SdkError<E>) -> ReadError
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    let refused = error.as_service_error();
    ReadError::Call {
        what,
        code: refused.and_then(|refused| refused.code().map(str::to_owned)),
        source: error.into(),
    }
}
