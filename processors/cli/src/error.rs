//! Errors as an operator sees them: a code with a page, what happened, what to do.

mod code;

pub(crate) use code::Code;

use sagaline_lambda::{TableError as Contact, one_line};
use sagaline_order::{BadInput, OrderId, RequestId};
use sagaline_saga::DriveError;
use sagaline_search::ClientError;
use sagaline_search::admin::AdminError;
use sagaline_store::{CommitError, Disposition, StockError, StoreError};
use std::fmt;

/// One error, ready to be shown. Its first line is its Display.
#[derive(Debug)]
pub(crate) struct CommandError {
    code: Code,
    what: String,
    advice: Option<String>,
    details: Vec<String>,
}

impl CommandError {
    pub(crate) fn new(code: Code, what: impl Into<String>) -> Self {
        Self {
            code,
            what: what.into(),
            advice: None,
            details: Vec::new(),
        }
    }

    /// With other advice than the code's own.
    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// With lines that follow the first.
    pub(crate) fn with_details(mut self, details: Vec<String>) -> Self {
        self.details = details;
        self
    }

    pub(crate) const fn code(&self) -> Code {
        self.code
    }

    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    /// Whether the next of many would fail for the same reason.
    pub(crate) fn stops_everything(&self) -> bool {
        matches!(self.code, Code::Unavailable | Code::Refused)
    }

    pub(crate) fn details(&self) -> &[String] {
        &self.details
    }

    /// What a commit's refusal means to a caller. Of another request's data nothing is said.
    pub(crate) fn of_commit(
        order_id: &OrderId,
        request_id: &RequestId,
        error: &CommitError,
    ) -> Self {
        match error {
            CommitError::RequestIdReused => Self::new(
                Code::RequestIdReused,
                format!("request id {request_id} was used for something else"),
            ),
            CommitError::OrderIdUsed => Self::new(
                Code::OrderIdUsed,
                format!("order id {order_id} is or was in use"),
            ),
            CommitError::StockShort { sku, have, want } => Self::new(
                Code::StockShort,
                format!("{want} of {sku} wanted, {have} there; order {order_id} is not stored"),
            )
            .advise(Code::StockShort.advice()),
            CommitError::Poison { reason } => {
                Self::new(Code::BadInput, format!("order {order_id}: {reason}"))
            }
            CommitError::Moved => {
                Self::new(Code::Unavailable, format!("order {order_id} kept changing"))
            }
            CommitError::PaymentIdClash { payment_id } => Self::new(
                Code::NotAllowed,
                format!("payment {payment_id} belongs to another order"),
            ),
            CommitError::Unavailable { .. } => Self::new(Code::Unavailable, one_line(error))
                .advise(format!(
                    "run the same command again with --request-id {request_id}: it happens once"
                )),
            CommitError::Refused { .. } => Self::new(Code::Refused, one_line(error)),
        }
    }

    /// As [`CommandError::of_commit`], for what a drive recorded.
    pub(crate) fn of_drive(request_id: &RequestId, error: &DriveError) -> Self {
        match error {
            DriveError::Commit { order_id, source } => {
                Self::of_commit(order_id, request_id, source)
            }
            DriveError::Read { source, .. } => Self::of_store(source),
            DriveError::NoWayOn { .. } => Self::new(Code::BadData, one_line(error)),
        }
    }

    pub(crate) fn of_store(error: &StoreError) -> Self {
        if error.is_newer_schema() {
            return Self::new(Code::BadData, one_line(error))
                .advise("use the release that wrote it; nothing was changed");
        }
        if matches!(error, StoreError::Cursor { .. }) {
            return Self::new(Code::BadInput, one_line(error))
                .advise("give the cursor to the same command with the same options, or list from the beginning");
        }
        Self::of_disposition(error.disposition(), one_line(error))
    }

    pub(crate) fn of_stock(error: &StockError) -> Self {
        match error {
            StockError::NotAsExpected { sku, have } => Self::new(
                Code::NotExpected,
                format!("the stock of {sku} is {have}, not as expected"),
            ),
            StockError::NotEnough { sku, have, want } => Self::new(
                Code::StockShort,
                format!("the stock of {sku} is {have}, {want} cannot be taken"),
            )
            .advise("take less"),
            StockError::Write { sku, .. } => Self::of_disposition(
                error.disposition(),
                one_line(error),
            )
            .advise(format!(
                "look with `sagaline stock get {sku}` before repeating it: it may have been done"
            )),
            StockError::Store(error) => Self::of_store(error),
        }
    }

    fn of_disposition(disposition: Disposition, what: String) -> Self {
        Self::new(
            match disposition {
                Disposition::Retry | Disposition::Conflict => Code::Unavailable,
                Disposition::Poison => Code::BadData,
                Disposition::Fatal => Code::Refused,
            },
            what,
        )
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "error[{}]: {}; {}",
            self.code.name(),
            self.what,
            self.advice.as_deref().unwrap_or_else(|| self.code.advice())
        )
    }
}

impl From<BadInput> for CommandError {
    fn from(bad: BadInput) -> Self {
        Self::new(Code::BadInput, bad.to_string())
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        Self::of_store(&error)
    }
}

impl From<Contact> for CommandError {
    fn from(error: Contact) -> Self {
        let code = match &error {
            Contact::NoRegion | Contact::NoCredentials { .. } | Contact::BadCredentials { .. } => {
                Code::Credentials
            }
            Contact::Unreachable { .. } => Code::Unreachable,
            Contact::NoTable { .. } => Code::NoTable,
            // A reason that this program does not know yet is still one of configuration.
            _ => Code::BadConfiguration,
        };
        Self::new(code, one_line(&error))
    }
}

impl From<ClientError> for CommandError {
    fn from(error: ClientError) -> Self {
        Self::new(Code::Search, one_line(&error))
    }
}

impl From<AdminError> for CommandError {
    fn from(error: AdminError) -> Self {
        let what = one_line(&error);
        match error {
            AdminError::Refused {
                status: 401 | 403, ..
            } => Self::new(Code::Refused, what),
            AdminError::Refused {
                status: 429 | 500..,
                ..
            } => Self::new(Code::Unavailable, what),
            AdminError::Client(_) | AdminError::Refused { .. } | AdminError::Unreadable { .. } => {
                Self::new(Code::Search, what)
            }
            _ => Self::new(Code::Search, what),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_with_code_fact_and_advice() {
        let error = CommandError::new(Code::NoOrder, "there is no order o-1");
        assert_eq!(
            error.to_string(),
            "error[SL2001]: there is no order o-1; check the id, or find it with `sagaline ls --user` or `sagaline search`"
        );
    }
}
