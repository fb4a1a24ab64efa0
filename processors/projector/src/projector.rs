//! One batch: which records are ours, both sinks at once, one verdict each.
//!
//! The mapping filters by `SK = ORDER#DETAIL`; the filter is checked again ([`ours`]), since a mapping may be made without it. Nothing here knows
//! what an order is, beyond where its version stands.

use crate::route::{Piece, Route};
use crate::sinks::Sink;
use futures::FutureExt as _;
use sagaline_lambda::{BoxError, Handler, SendBatch, telemetry};
use sagaline_sinks::{Ours, ours};
use sagaline_stream::{
    Answers, Batch, BatchHandler, BatchResponse, Budget, Dimensions, Disposition, Engine,
    EpochMillis, Failure, Invocation, InvocationError, Parking, Record, Report, Verdict, combine,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

/// The consumer's name, also of what it parks itself.
pub(crate) const CONSUMER: &str = "projector";

/// Takes every change of a head to both sinks.
#[derive(Debug)]
pub(crate) struct Projector<S, A, Q, P> {
    pub(crate) engine: Engine<P>,
    pub(crate) search: Route<S, Q>,
    pub(crate) archive: Route<A, Q>,
}

impl<S: Sink, A: Sink, Q: SendBatch, P: Parking> Handler for Projector<S, A, Q, P> {
    type Answer = BatchResponse;

    async fn handle(
        &self,
        payload: &[u8],
        invocation: &Invocation,
    ) -> Result<BatchResponse, BoxError> {
        let batch = Batch::parse(payload).map_err(InvocationError::NotAnEvent)?;
        let run = Run {
            projector: self,
            unchanged: AtomicU64::new(0),
        };
        let result = Box::pin(self.engine.run_batch(&batch, &run, invocation)).await;
        let report = match &result {
            Ok(outcome) => Some(&outcome.report),
            Err(error) => error.report(),
        };
        if let Some(report) = report {
            telemetry::emit(&metrics(
                report,
                &run,
                &invocation.function,
                invocation.received_at,
            ));
        }
        Ok(result?.response)
    }
}

fn metrics<S, A, Q, P>(
    report: &Report,
    run: &Run<'_, S, A, Q, P>,
    function: &str,
    at: EpochMillis,
) -> String {
    let metrics = report.emf(
        Dimensions {
            function,
            consumer: CONSUMER,
        },
        at,
    );
    telemetry::with_count(
        &metrics,
        "VersionUnchanged",
        run.unchanged.load(Ordering::Relaxed),
    )
}

/// One batch on its way.
struct Run<'p, S, A, Q, P> {
    projector: &'p Projector<S, A, Q, P>,
    /// Changes of a head that left its version as it was.
    unchanged: AtomicU64,
}

impl<S: Sink, A: Sink, Q: SendBatch, P: Parking> BatchHandler for Run<'_, S, A, Q, P> {
    async fn handle_batch(
        &self,
        records: &[Record<'_>],
        answers: &Answers,
        budget: &Budget,
    ) -> Result<(), Failure> {
        let Projector {
            engine,
            search,
            archive,
        } = self.projector;
        let (mut indexes, mut to_search, mut to_archive) = (Vec::new(), Vec::new(), Vec::new());
        for (index, record) in records.iter().enumerate() {
            match ours(record) {
                Ok(Ours::Yes) => {}
                Ok(Ours::No) => {
                    answers.set(index, Ok(Verdict::Skipped));
                    continue;
                }
                Ok(Ours::Unchanged) => {
                    self.unchanged.fetch_add(1, Ordering::Relaxed);
                    tracing::error!(key = record.item_key(), sequence = ?record.sequence(), "a head changed without its version: skipped");
                    answers.set(index, Ok(Verdict::Skipped));
                    continue;
                }
                Err(failure) => {
                    answers.set(index, Err(failure));
                    continue;
                }
            }
            match (
                guarded(|| search.project(record)),
                guarded(|| archive.project(record)),
            ) {
                (Err(failure), _) | (_, Err(failure))
                    if failure.disposition() != Disposition::Poison =>
                {
                    answers.set(index, Err(failure));
                }
                // Neither sink can make anything of it: the record itself is bad, and the engine parks it once.
                (Err(failure), Err(_)) => answers.set(index, Err(failure)),
                (for_search, for_archive) => {
                    indexes.push(index);
                    to_search.push(Piece {
                        record,
                        input: for_search,
                    });
                    to_archive.push(Piece {
                        record,
                        input: for_archive,
                    });
                }
            }
        }
        let searched = isolated(
            S::WHO,
            to_search.len(),
            search.deliver(to_search, engine.parking(), budget),
        );
        let archived = isolated(
            A::WHO,
            to_archive.len(),
            archive.deliver(to_archive, engine.parking(), budget),
        );
        let (searched, archived) = futures::join!(searched, archived);
        for (index, (searched, archived)) in
            indexes.into_iter().zip(searched.into_iter().zip(archived))
        {
            answers.set(index, combine(searched, archived));
        }
        Ok(())
    }
}

/// A panic in one record is that record's failure.
fn guarded<T>(project: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(project))
        .unwrap_or_else(|_| Err(Failure::retry("the projection panicked")))
}

/// A panic in one sink is that sink's failure of its records, and costs the other nothing.
async fn isolated(
    who: &'static str,
    records: usize,
    delivery: impl Future<Output = Vec<Result<Verdict, Failure>>>,
) -> Vec<Result<Verdict, Failure>> {
    match AssertUnwindSafe(delivery).catch_unwind().await {
        Ok(verdicts) => verdicts,
        Err(_) => (0..records)
            .map(|_| Err(Failure::retry(format!("the {who} sink panicked"))))
            .collect(),
    }
}

#[cfg(test)]
mod tests;
