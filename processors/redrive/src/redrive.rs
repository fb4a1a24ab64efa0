//! One invocation: which queue it is of, and its report.

use crate::batch::Run;
use crate::retried::Retried;
use sagaline_lambda::{BoxError, Handler, telemetry};
use sagaline_stream::{
    BatchResponse, Dimensions, Engine, Invocation, InvocationError, Parking, SqsBatch,
};
use serde::Deserialize;
use std::borrow::Cow;

/// The consumer's name in the metrics. What is parked goes under the name of its sink.
pub(crate) const CONSUMER: &str = "redrive";

/// Drains both retry queues.
#[derive(Debug)]
pub(crate) struct Redrive<S, A, P> {
    search: (Engine<P>, S),
    archive: (Engine<P>, A),
}

impl<S: Retried, A: Retried, P: Parking + Clone> Redrive<S, A, P> {
    pub(crate) fn new(search: S, archive: A, parking: P) -> Self {
        Self {
            search: (Engine::new("search", parking.clone()), search),
            archive: (Engine::new("archive", parking), archive),
        }
    }
}

impl<S: Retried, A: Retried, P: Parking> Handler for Redrive<S, A, P> {
    type Answer = BatchResponse;

    async fn handle(
        &self,
        payload: &[u8],
        invocation: &Invocation,
    ) -> Result<BatchResponse, BoxError> {
        let batch = SqsBatch::parse(payload).map_err(InvocationError::NotAnEvent)?;
        // A mapping delivers the messages of one queue.
        let result = if is_of_search(&batch) {
            let (engine, side) = &self.search;
            Box::pin(engine.run_messages(&batch, &Run::new(side, &batch), invocation)).await
        } else {
            let (engine, side) = &self.archive;
            Box::pin(engine.run_messages(&batch, &Run::new(side, &batch), invocation)).await
        };
        let report = match &result {
            Ok(outcome) => Some(&outcome.report),
            Err(error) => error.report(),
        };
        if let Some(report) = report {
            let dimensions = Dimensions {
                function: &invocation.function,
                consumer: CONSUMER,
            };
            telemetry::emit(&report.emf(dimensions, invocation.received_at));
        }
        Ok(result?.response)
    }
}

#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
}

/// By what the messages say they are; if none says so, by the name of their queue.
fn is_of_search(batch: &SqsBatch<'_>) -> bool {
    let mut messages = batch
        .messages()
        .iter()
        .filter_map(|message| message.as_ref().ok());
    let first = messages
        .clone()
        .find_map(|message| serde_json::from_str::<Kind<'_>>(message.body()).ok());
    match first {
        Some(kind) => kind.kind == "search",
        None => messages.any(|message| {
            message
                .queue_arn()
                .is_some_and(|arn| arn.contains("search"))
        }),
    }
}
