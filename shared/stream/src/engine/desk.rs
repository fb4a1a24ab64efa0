//! From a handler's result to an ending: the one place where a disposition becomes an action.

use super::board::Slot;
use super::sorted::Entry;
use crate::budget::Budget;
use crate::parking::{Parked, Parking};
use crate::record::Origin;
use crate::typed::DecodeError;
use crate::verdict::{Disposition, Ending, Failure, Verdict, panic_text};
use futures::FutureExt as _;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The reason on what could not be read at all.
const NOT_DECODABLE: &str = "not decodable";

/// Settles results for one consumer in one invocation.
#[derive(Debug)]
pub(super) struct Desk<'d, P> {
    pub(super) consumer: &'d str,
    pub(super) parking: &'d P,
    pub(super) budget: &'d Budget,
}

impl<P: Parking> Desk<'_, P> {
    /// Runs a handler and settles what it says.
    pub(super) async fn run(
        &self,
        origin: Origin<'_>,
        handler: impl Future<Output = Result<Verdict, Failure>> + Send,
    ) -> Slot {
        self.settle(origin, caught(handler).await).await
    }

    pub(super) async fn settle(
        &self,
        origin: Origin<'_>,
        result: Result<Verdict, Failure>,
    ) -> Slot {
        let failure = match result {
            Ok(verdict) => return Slot::settled(Ending::from(verdict)),
            Err(failure) => failure,
        };
        match failure.disposition() {
            Disposition::Poison => {
                self.park(
                    Parked::new(self.consumer, &failure, origin, self.budget),
                    origin,
                )
                .await
            }
            Disposition::Retry => {
                let why = failure.chain();
                tracing::warn!(
                    consumer = self.consumer,
                    sequence = origin.sequence(),
                    event_id = origin.event_id,
                    why,
                    "record failed"
                );
                Slot::failed(why)
            }
            Disposition::Fatal => {
                let why = failure.chain();
                tracing::error!(
                    consumer = self.consumer,
                    sequence = origin.sequence(),
                    event_id = origin.event_id,
                    why,
                    "record failed fatally"
                );
                Slot {
                    fatal: Some(failure),
                    ..Slot::failed(why)
                }
            }
        }
    }

    /// Settles what stands at a place without being a record to run.
    pub(super) async fn turn_away(&self, entry: Option<Entry<'_, '_>>) -> Slot {
        match entry {
            Some(Entry::Broken(broken)) => self.reject(broken.origin(), broken.error()).await,
            Some(Entry::Record(_) | Entry::Twin) | None => {
                Slot::failed("the engine lost the record")
            }
        }
    }

    /// Parks what could not be decoded.
    pub(super) async fn reject(&self, origin: Origin<'_>, error: &DecodeError) -> Slot {
        self.park(
            Parked::because(
                self.consumer,
                NOT_DECODABLE,
                &error.to_string(),
                origin,
                self.budget,
            ),
            origin,
        )
        .await
    }

    async fn park(&self, parked: Parked, origin: Origin<'_>) -> Slot {
        let kept = caught(async {
            self.parking
                .park(&parked)
                .await
                .map_err(|error| Failure::retry("parking failed").because(error))
        });
        let (sequence, event_id) = (origin.sequence(), origin.event_id);
        match kept.await {
            Ok(()) => {
                tracing::warn!(
                    consumer = self.consumer,
                    sequence,
                    event_id,
                    why = parked.error,
                    "record parked"
                );
                Slot::parked(parked.error)
            }
            Err(failure) => {
                let why = format!("{} (the record itself: {})", failure.chain(), parked.error);
                tracing::error!(
                    consumer = self.consumer,
                    sequence,
                    event_id,
                    why,
                    "record could not be parked"
                );
                Slot::failed(why)
            }
        }
    }
}

impl<'r> Origin<'r> {
    fn sequence(&self) -> Option<&'r str> {
        self.sequence.map(crate::SequenceNumber::as_str)
    }
}

/// Runs foreign code so that its panic is a failure to be retried, and no more.
pub(super) async fn caught<T>(
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    // A handler that panics may leave its own state half changed; that is its affair, as with any error. The engine's state is on the
    // board and is not touched while a handler runs.
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(result) => result,
        Err(payload) => Err(Failure::retry(format!(
            "the handler panicked: {}",
            panic_text(payload.as_ref())
        ))),
    }
}

/// Asks a handler for a key, with the same care.
pub(super) fn key_of<T>(ask: impl FnOnce() -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(ask)).map_err(|payload| {
        Failure::retry(format!(
            "the handler's key panicked: {}",
            panic_text(payload.as_ref())
        ))
    })
}
