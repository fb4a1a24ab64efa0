//! What the SDK's errors mean. Everything that leaves open whether a write happened is `Unavailable`.

use aws_sdk_dynamodb::error::{BuildError, ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::CancellationReason;

use sagaline_stream::guard::ReasonCode;

use crate::table::{Cause, Reason, TableError, TransactError, WriteError};

pub(super) fn unbuilt(error: BuildError) -> TableError {
    TableError::Invalid(error.into())
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the SDK's enum is open")]
pub(super) fn of_read<E>(error: SdkError<E>) -> TableError
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    match &error {
        SdkError::ConstructionFailure(_) => TableError::Invalid(error.into()),
        SdkError::ServiceError(context) => {
            let code = context.err().code().unwrap_or("no code");
            let status = context.raw().status().as_u16();
            classify(
                code,
                context.err().message().unwrap_or("no message"),
                status,
            )
        }
        // Cut, late or unreadable: it may have happened.
        _ => TableError::Unavailable(error.into()),
    }
}

pub(super) fn of_transaction(error: SdkError<TransactWriteItemsError>) -> TransactError {
    match error.as_service_error() {
        Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
            TransactError::Cancelled(
                cancelled
                    .cancellation_reasons()
                    .iter()
                    .map(reason)
                    .collect(),
            )
        }
        Some(TransactWriteItemsError::TransactionInProgressException(_)) => {
            TransactError::InProgress
        }
        _ => TransactError::Table(of_read(error)),
    }
}

pub(super) fn of_put(error: SdkError<PutItemError>) -> WriteError {
    match error.as_service_error() {
        Some(PutItemError::ConditionalCheckFailedException(failed)) => {
            WriteError::ConditionFailed(failed.item().cloned())
        }
        Some(PutItemError::TransactionConflictException(_)) => WriteError::Conflict,
        _ => WriteError::Table(of_read(error)),
    }
}

pub(super) fn of_update(error: SdkError<UpdateItemError>) -> WriteError {
    match error.as_service_error() {
        Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
            WriteError::ConditionFailed(failed.item().cloned())
        }
        Some(UpdateItemError::TransactionConflictException(_)) => WriteError::Conflict,
        _ => WriteError::Table(of_read(error)),
    }
}

fn reason(reason: &CancellationReason) -> Reason {
    let code = ReasonCode::parse(
        reason.code().unwrap_or_default(),
        reason.message().unwrap_or_default(),
    );
    Reason {
        code,
        item: reason.item().filter(|item| !item.is_empty()).cloned(),
    }
}

/// By the code of the error (DynamoDB developer guide, "Error handling", and "Common errors").
fn classify(code: &str, message: &str, status: u16) -> TableError {
    let cause: Cause = format!("{code}: {message}").into();
    match code {
        "ProvisionedThroughputExceededException"
        | "ThrottlingException"
        | "Throttling"
        | "RequestLimitExceeded" => TableError::Throttled(cause),
        "ValidationException"
        | "SerializationException"
        | "IdempotentParameterMismatchException"
        | "ItemCollectionSizeLimitExceededException" => TableError::Invalid(cause),
        "InternalServerError"
        | "InternalFailure"
        | "ServiceUnavailable"
        | "RequestTimeout"
        | "RequestTimeoutException"
        | "ReplicatedWriteConflictException"
        // A transaction holds an item of the request (F-TX-7), or still runs (F-TX-6): later it does not.
        | "TransactionConflictException"
        | "TransactionInProgressException" => TableError::Unavailable(cause),
        // 429 is no code of DynamoDB, but of what may stand in front of it.
        _ if status == 429 => TableError::Throttled(cause),
        _ if status >= 500 || status == 408 => TableError::Unavailable(cause),
        _ => TableError::Refused(cause),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Disposition;

    #[test]
    fn each_error_says_what_to_do_about_it() {
        let check = |code: &str, status: u16, expected: Disposition| {
            assert_eq!(
                classify(code, "message", status).disposition(),
                expected,
                "{code} {status}"
            );
        };
        check(
            "ProvisionedThroughputExceededException",
            400,
            Disposition::Retry,
        );
        check("ThrottlingException", 400, Disposition::Retry);
        check("InternalServerError", 500, Disposition::Retry);
        // Of a batch: a single write and a transaction have answers of their own for it.
        check("TransactionConflictException", 400, Disposition::Retry);
        check("no code", 503, Disposition::Retry);
        check("ValidationException", 400, Disposition::Poison);
        check("ResourceNotFoundException", 400, Disposition::Fatal);
        check("AccessDeniedException", 400, Disposition::Fatal);
    }
}
