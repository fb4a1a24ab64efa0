//! One record at a time: for consumers whose work is per item.

use super::Engine;
use super::board::{Board, Slot};
use super::close::close_stream;
use super::desk::{Desk, key_of};
use super::lanes::{Plan, Work, drive};
use super::sorted::{Entry, Sorted};
use crate::batch::Batch;
use crate::budget::{Budget, Invocation};
use crate::outcome::{InvocationError, Outcome};
use crate::parking::Parking;
use crate::record::Record;
use crate::verdict::{Failure, Verdict};
use std::borrow::Cow;
use std::future::Future;

/// A consumer that handles one record at a time.
///
/// # Contract
/// Delivery is at least once: a record may come again, late, and after newer ones (F-STR-1). The handler compares versions and answers
/// [`Verdict::Stale`] to old news. It must not block its thread, or no deadline can be kept.
pub trait RecordHandler: Sync {
    /// The lane of a record: records with the same key run in order. By default the item (F-STR-2).
    fn key<'r>(&self, record: &'r Record<'_>) -> Cow<'r, str> {
        Cow::Owned(record.item_key())
    }

    /// Handles the record. The future may be dropped at any `await` when the time is up; the record then comes again.
    ///
    /// # Errors
    /// [`Failure`] says whether the record is retried, parked, or fails the invocation.
    fn handle(
        &self,
        record: &Record<'_>,
        budget: &Budget,
    ) -> impl Future<Output = Result<Verdict, Failure>> + Send;
}

impl<P: Parking> Engine<P> {
    /// Runs a batch, record by record.
    ///
    /// # Errors
    /// [`InvocationError`] when the whole invocation must fail: see its variants.
    pub async fn run<H: RecordHandler>(
        &self,
        batch: &Batch<'_>,
        handler: &H,
        invocation: &Invocation,
    ) -> Result<Outcome, InvocationError> {
        let budget = Budget::start(invocation, &self.limits);
        let sorted = Sorted::new(batch);
        let board = Board::new(batch.len());
        let desk = self.desk(&budget);

        let mut plan = Plan::default();
        for place in 0..batch.len() {
            match sorted.at(place) {
                Some(Entry::Record(record)) => match key_of(|| handler.key(record)) {
                    Ok(key) => plan.add(place, key),
                    Err(failure) => {
                        board.end(place, desk.settle(record.origin(), Err(failure)).await)
                    }
                },
                Some(Entry::Broken(_)) => plan.add_alone(place),
                Some(Entry::Twin) | None => {}
            }
        }
        let work = RecordWork {
            sorted: &sorted,
            handler,
            desk,
        };
        drive(&work, &plan, &board, &budget, self.limits.concurrency).await;
        close_stream(sorted.close(board), &sorted.facts(), plan.len(), &budget)
    }
}

struct RecordWork<'w, 'a, H, P> {
    sorted: &'w Sorted<'a>,
    handler: &'w H,
    desk: Desk<'w, P>,
}

impl<H: RecordHandler, P: Parking> Work for RecordWork<'_, '_, H, P> {
    async fn run(&self, place: usize) -> Slot {
        match self.sorted.at(place) {
            // The call itself is inside the future: a handler may also panic before its first await.
            Some(Entry::Record(record)) => {
                let handling = async { self.handler.handle(record, self.desk.budget).await };
                self.desk.run(record.origin(), handling).await
            }
            other => self.desk.turn_away(other).await,
        }
    }
}
