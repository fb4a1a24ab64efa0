//! One line about an AWS error, for a person: the service's code and words, or why the service was not reached.

use std::error::Error;

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};

/// `code: message` of a service's answer, else the chain of causes. Debug output stays out of it.
pub(crate) fn short<E: Error + ProvideErrorMetadata + 'static, R: std::fmt::Debug + 'static>(
    error: &SdkError<E, R>,
) -> String {
    match (error.code(), error.message()) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(text), None) | (None, Some(text)) => text.to_owned(),
        (None, None) => chain(error),
    }
}

fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let line = error.to_string();
        // Some layers repeat what the next one says.
        if !text.contains(&line) {
            text = format!("{text}: {line}");
        }
        cause = error.source();
    }
    text
}
