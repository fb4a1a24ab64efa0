//! The glue to AWS Lambda: start, invocations, errors.
//!
//! The payload stays raw JSON: typed event structs lose a whole batch to one record (F-RS-1). A handler that fails or panics is an
//! invocation error, which sends the whole batch again (F-RSP-10); what goes wrong with one record is the batch engine's business.

use crate::clock;
use crate::config::Vars;
use crate::telemetry;
use lambda_runtime::{Context, Diagnostic, LambdaEvent, service_fn};
use sagaline_stream::{EpochMillis, Invocation, Remaining};
use serde::Serialize;
use serde_json::value::RawValue;
use std::future::Future;
use std::process::ExitCode;

/// Any error, as a cause.
pub type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// Answers the invocations of a function, one after another.
pub trait Handler {
    /// What goes back to the mapping.
    type Answer: Serialize;

    /// Answers one invocation. `payload` is one JSON value, exactly as it was sent.
    ///
    /// # Errors
    /// Any error is the invocation's: the whole batch comes again.
    fn handle(
        &self,
        payload: &[u8],
        invocation: &Invocation,
    ) -> impl Future<Output = Result<Self::Answer, BoxError>>;
}

/// What Lambda itself sets for a function; its absence means that nobody feeds this process.
const SET_BY_LAMBDA: [&str; 4] = [
    "AWS_LAMBDA_RUNTIME_API",
    "AWS_LAMBDA_FUNCTION_NAME",
    "AWS_LAMBDA_FUNCTION_VERSION",
    "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
];

/// Runs a processor: `build` reads the environment and wires the handler, which then answers until Lambda ends the process.
///
/// Returns only when something is wrong: one line on standard error says what, and the exit code is not 0.
pub fn start<H: Handler>(
    processor: &str,
    build: impl AsyncFnOnce(&Vars) -> Result<H, BoxError>,
) -> ExitCode {
    telemetry::init_lambda();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return stopped(processor, &error),
    };
    runtime.block_on(async {
        let vars = Vars::of_process();
        let handler = match build(&vars).await {
            Ok(handler) => handler,
            Err(error) => return stopped(processor, error.as_ref()),
        };
        if let Some(missing) = SET_BY_LAMBDA.iter().find(|name| !vars.is_set(name)) {
            return stopped(processor, &NotUnderLambda { missing });
        }
        tracing::info!(processor, "started");
        match run(&handler).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => stopped(processor, error.as_ref()),
        }
    })
}

#[derive(Debug, thiserror::Error)]
#[error(
    "{missing} is not set: this is a Lambda bootstrap, fed by Lambda or by `sagaline local run`"
)]
struct NotUnderLambda {
    missing: &'static str,
}

async fn run<H: Handler>(handler: &H) -> Result<(), BoxError> {
    let service = service_fn(
        async |event: LambdaEvent<Box<RawValue>>| -> Result<H::Answer, Diagnostic> {
            let invocation = invocation(&event.context, clock::now_millis());
            handler
                .handle(event.payload.get().as_bytes(), &invocation)
                .await
                .map_err(|error| diagnostic(error.as_ref()))
        },
    );
    lambda_runtime::run(service).await
}

/// What the engine needs to know of a call.
fn invocation(context: &Context, now: EpochMillis) -> Invocation {
    let deadline = i64::try_from(context.deadline)
        .ok()
        .filter(|deadline| *deadline > 0)
        .map(EpochMillis::new);
    Invocation {
        function: context.env_config.function_name.clone(),
        request_id: context.request_id.clone(),
        received_at: now,
        remaining: deadline.map_or(Remaining::Unknown, |deadline| {
            Remaining::until(deadline, now)
        }),
    }
}

/// The invocation error as Lambda shows it.
fn diagnostic(error: &(dyn std::error::Error + 'static)) -> Diagnostic {
    Diagnostic {
        error_type: "Sagaline.InvocationFailed".to_owned(),
        error_message: one_line(error),
    }
}

fn stopped(processor: &str, error: &(dyn std::error::Error + 'static)) -> ExitCode {
    // A process that never answers has no log worth searching: this is for whoever reads the first line.
    eprintln!("{processor}: {}", one_line(error));
    ExitCode::FAILURE
}

/// An error and its causes in one line.
#[must_use]
pub fn one_line(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        // Some SDK errors repeat their cause.
        if !text.ends_with(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = error.source();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_deadline_of_the_context_is_the_time_that_is_left() {
        let mut context = Context::default();
        context.request_id = "r-1".to_owned();
        context.deadline = 1_764_500_003_000;
        let now = EpochMillis::new(1_764_500_000_000);
        assert_eq!(
            invocation(&context, now).remaining,
            Remaining::Known(Duration::from_secs(3))
        );
        assert_eq!(
            invocation(&context, EpochMillis::new(1_764_500_009_000)).remaining,
            Remaining::Known(Duration::ZERO)
        );
        context.deadline = 0;
        assert_eq!(invocation(&context, now).remaining, Remaining::Unknown);
        assert_eq!(invocation(&context, now).request_id, "r-1");
    }

    #[test]
    fn an_error_is_one_line_with_its_causes() {
        #[derive(Debug, thiserror::Error)]
        #[error("the outer\nfailure")]
        struct Outer(#[source] std::io::Error);
        let error = Outer(std::io::Error::other("the inner one"));
        assert_eq!(one_line(&error), "the outer failure: the inner one");
        assert_eq!(
            diagnostic(&error).error_message,
            "the outer failure: the inner one"
        );
    }
}
