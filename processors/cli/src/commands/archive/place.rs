//! Where the archive is, how far a query is, and what Athena's refusals mean.

use crate::args::Global;
use crate::error::{Code, CommandError};
use crate::session;
use clap::Args;
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use sagaline_archive::{Archive, Progress, ReadError};
use sagaline_lambda::one_line;
use std::time::Duration;

/// What the template's names end with: `<stack>-orders` is the table, and so on.
const TABLE: &str = "-orders";

/// The database and the workgroup.
#[derive(Debug, Clone, Args)]
pub(super) struct Place {
    /// The Glue database of the archive [default: `<stack>_archive` for a table `<stack>-orders`].
    #[arg(long, global = true, env = "ARCHIVE_DATABASE", hide_env_values = true, value_name = "NAME", value_parser = name)]
    database: Option<String>,
    /// The Athena workgroup that keeps the results [default: `<stack>-audit` for a table `<stack>-orders`].
    #[arg(long, global = true, env = "ARCHIVE_WORKGROUP", hide_env_values = true, value_name = "NAME", value_parser = name)]
    workgroup: Option<String>,
}

impl Place {
    /// The archive, once there are a Region and credentials.
    pub(super) async fn open(&self, global: &Global) -> Result<Archive, CommandError> {
        let stack = global
            .table
            .as_deref()
            .and_then(|table| table.strip_suffix(TABLE));
        let named = |given: &Option<String>,
                     variable: &str,
                     flag: &str,
                     default: &dyn Fn(&str) -> String| {
            given.clone().or_else(|| stack.map(default)).ok_or_else(|| {
                CommandError::new(
                    Code::BadConfiguration,
                    format!("{variable} is not set, and ORDERS_TABLE is no name of the template's, which ends with {TABLE}"),
                )
                .advise(format!("set it, or pass {flag} NAME"))
            })
        };
        let database = named(&self.database, "ARCHIVE_DATABASE", "--database", &|stack| {
            // As the template joins them: Athena's names have no hyphens without quotes.
            format!("{stack}-archive").replace('-', "_")
        })?;
        let workgroup = named(
            &self.workgroup,
            "ARCHIVE_WORKGROUP",
            "--workgroup",
            &|stack| format!("{stack}-audit"),
        )?;
        let aws = session::aws(global).await?;
        aws.check_credentials().await?;
        let client = aws_sdk_athena::Client::new(aws.sdk());
        Ok(Archive::new(client, &database, &workgroup))
    }
}

/// An empty variable is none at all elsewhere; here it would hide the default.
fn name(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(char::is_whitespace) {
        Err("must be a name".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

/// A line on standard error that says how far a query is; nothing where that is no terminal.
pub(super) struct Watch(ProgressBar);

impl Watch {
    pub(super) fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("archive {spinner} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    /// What a query reports to.
    pub(super) fn query(&self) -> impl FnMut(&Progress) + Send + '_ {
        |progress| {
            let scanned = scanned(progress.scanned_bytes);
            self.0
                .set_message(format!("{}, {scanned}", progress.state.to_lowercase()));
        }
    }

    pub(super) fn say(&self, what: String) {
        self.0.set_message(what);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Bytes that a query has read, in words.
pub(super) fn scanned(bytes: Option<i64>) -> String {
    let bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
    format!("{} scanned", HumanBytes(bytes.unwrap_or_default()))
}

impl From<ReadError> for CommandError {
    fn from(error: ReadError) -> Self {
        let code = match &error {
            ReadError::Call { code, .. } => match code.as_deref() {
                Some("AccessDeniedException") => Code::Refused,
                Some(
                    "UnrecognizedClientException"
                    | "InvalidSignatureException"
                    | "ExpiredTokenException",
                ) => Code::Credentials,
                Some(
                    "TooManyRequestsException" | "ThrottlingException" | "InternalServerException",
                ) => Code::Unavailable,
                Some(_) => Code::Archive,
                None => Code::Unreachable,
            },
            ReadError::TooLong { .. } => Code::Unavailable,
            // Athena has answered: what it says is about the query, or about the tables.
            ReadError::Query { .. } | ReadError::Incomplete { .. } => Code::Archive,
        };
        Self::new(code, one_line(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_athena_says_is_passed_on_with_the_code_of_its_kind() {
        let failed = CommandError::from(ReadError::Query {
            query_id: "q-1".to_owned(),
            state: "FAILED".to_owned(),
            reason: "COLUMN_NOT_FOUND: line 1:8: nope".to_owned(),
        });
        assert_eq!(
            failed.to_string(),
            "error[SL1008]: the query q-1 ended as FAILED: COLUMN_NOT_FOUND: line 1:8: nope; read what Athena says, and check the query, ARCHIVE_DATABASE and ARCHIVE_WORKGROUP"
        );
        let call = |code: Option<&str>| {
            CommandError::from(ReadError::Call {
                what: "start the query",
                code: code.map(str::to_owned),
                source: "why".into(),
            })
            .code()
        };
        assert_eq!(call(None), Code::Unreachable);
        assert_eq!(call(Some("InvalidRequestException")), Code::Archive);
        assert_eq!(call(Some("AccessDeniedException")), Code::Refused);
        assert_eq!(call(Some("TooManyRequestsException")), Code::Unavailable);
    }
}
