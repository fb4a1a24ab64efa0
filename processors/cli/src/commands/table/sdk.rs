//! What the table says when it is asked through the SDK itself, for what the store does not do.

use crate::error::{Code, CommandError};
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use sagaline_lambda::one_line;
use std::error::Error;
use std::fmt::Debug;

/// A failed call as an error of the command line.
pub(super) fn failed<E, R>(what: &str, error: &SdkError<E, R>) -> CommandError
where
    E: ProvideErrorMetadata + Error + 'static,
    R: Debug + 'static,
{
    let SdkError::ServiceError(refused) = error else {
        return CommandError::new(Code::Unavailable, format!("{what}: {}", one_line(error)));
    };
    let refused = refused.err();
    let code = refused.code().unwrap_or("no code");
    let said = format!("{what}: {}", refused.message().unwrap_or(code));
    match code {
        "ValidationException" => CommandError::new(Code::BadInput, said).advise("correct it"),
        "AccessDeniedException" => CommandError::new(Code::Refused, said),
        "ResourceNotFoundException" => CommandError::new(Code::NoTable, said),
        _ => CommandError::new(Code::Unavailable, said),
    }
}
