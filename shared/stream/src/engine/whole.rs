//! All records at once: for sinks that write in bulk.

use super::Engine;
use super::board::{Board, Slot};
use super::close::close_stream;
use super::desk::{Desk, caught};
use super::lanes::{Work, finish};
use super::sorted::{Entry, Sorted};
use crate::batch::Batch;
use crate::budget::{Budget, Invocation};
use crate::outcome::{InvocationError, Outcome};
use crate::parking::Parking;
use crate::record::{Record, Undecodable};
use crate::verdict::{Failure, Verdict};
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Mutex, PoisonError};

/// A consumer that handles all records of a batch at once.
///
/// ```
/// use sagaline_stream::{
///     Answers, Batch, BatchHandler, Budget, Engine, EpochMillis, Failure, Invocation, MemoryParking, Record, Remaining, Verdict,
/// };
///
/// /// A sink that takes many documents a call and answers for each.
/// struct Bulk;
///
/// impl Bulk {
///     async fn send(&self, documents: &[&str]) -> Vec<u16> {
///         documents.iter().map(|document| if document.contains("busy") { 429 } else { 201 }).collect()
///     }
/// }
///
/// impl BatchHandler for Bulk {
///     async fn handle_batch(&self, records: &[Record<'_>], answers: &Answers, budget: &Budget) -> Result<(), Failure> {
///         let mut sent = Vec::new();
///         for (index, record) in records.iter().enumerate() {
///             match record.require_new_image() {
///                 Ok(image) => sent.push((index, image.s("id").unwrap_or_default())),
///                 Err(failure) => answers.set(index, Err(failure)),
///             }
///         }
///         let documents: Vec<&str> = sent.iter().map(|(_, document)| *document).collect();
///         // Dropped when the time is up; what has no answer then comes again.
///         let statuses = budget.within(self.send(&documents)).await?;
///         for ((index, _), status) in sent.into_iter().zip(statuses) {
///             answers.set(index, match status {
///                 201 => Ok(Verdict::Done),
///                 409 => Ok(Verdict::Stale),
///                 429 => Err(Failure::retry("the sink is busy")),
///                 other => Err(Failure::poison(format!("the sink refuses it with {other}"))),
///             });
///         }
///         Ok(())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let payload = br#"{"Records":[
///     {"eventName":"INSERT","dynamodb":{"SequenceNumber":"1100","NewImage":{"id":{"S":"o-1"}}}},
///     {"eventName":"INSERT","dynamodb":{"SequenceNumber":"1200","NewImage":{"id":{"S":"busy"}}}},
///     {"eventName":"MODIFY","dynamodb":{"SequenceNumber":"1300"}}
/// ]}"#;
/// let invocation = Invocation {
///     function: "indexer".into(),
///     request_id: "r-1".into(),
///     received_at: EpochMillis::new(1_764_500_000_000),
///     remaining: Remaining::Unknown,
/// };
/// let engine = Engine::new("indexer", MemoryParking::default());
/// let outcome = engine.run_batch(&Batch::parse(payload)?, &Bulk, &invocation).await?;
/// assert_eq!(outcome.response.identifiers().collect::<Vec<_>>(), ["1200"]);
/// assert_eq!((outcome.counts().done(), outcome.counts().parked(), outcome.counts().failed()), (1, 1, 1));
/// # Ok(())
/// # }
/// ```
///
/// # Contract
/// As for [`RecordHandler`](crate::RecordHandler). The order of the records is the order of the stream; keeping it per item is the
/// handler's business.
pub trait BatchHandler: Sync {
    /// Handles the decodable records, without repeats, and answers for each by its index in `records`.
    ///
    /// Answers count as soon as they are given, also when the future is dropped afterwards because the time is up. A record without an
    /// answer has failed and comes again.
    ///
    /// # Errors
    /// A failure here is the failure of every record that has no answer yet.
    fn handle_batch(
        &self,
        records: &[Record<'_>],
        answers: &Answers,
        budget: &Budget,
    ) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// The answers of a batch handler, one a record.
#[derive(Debug)]
pub struct Answers {
    given: Mutex<Vec<Option<Result<Verdict, Failure>>>>,
}

impl Answers {
    /// Room for the answers of that many records. The engine makes it; a handler's own tests may.
    #[must_use]
    pub fn new(records: usize) -> Self {
        Self {
            given: Mutex::new((0..records).map(|_| None).collect()),
        }
    }

    /// Answers for the record at `index`; a later answer replaces an earlier one.
    pub fn set(&self, index: usize, answer: Result<Verdict, Failure>) {
        match self
            .given
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_mut(index)
        {
            Some(slot) => *slot = Some(answer),
            None => tracing::error!(
                index,
                "a batch handler answered for a record that it was not given"
            ),
        }
    }

    /// All answers so far, by index.
    #[must_use]
    pub fn into_inner(self) -> Vec<Option<Result<Verdict, Failure>>> {
        self.given
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P: Parking> Engine<P> {
    /// Runs a batch, all decodable records at once.
    ///
    /// # Errors
    /// [`InvocationError`] when the whole invocation must fail: see its variants.
    pub async fn run_batch<H: BatchHandler>(
        &self,
        batch: &Batch<'_>,
        handler: &H,
        invocation: &Invocation,
    ) -> Result<Outcome, InvocationError> {
        let budget = Budget::start(invocation, &self.limits);
        let sorted = Sorted::new(batch);
        let board = Board::new(batch.len());
        let desk = self.desk(&budget);
        let answers = Answers::new(sorted.records.len());
        let mut whole = None;

        if !budget.is_over() {
            let work = WholeWork {
                sorted: &sorted,
                desk: &desk,
                answers: Mutex::default(),
            };
            let handling = async {
                if !sorted.records.is_empty() {
                    sorted
                        .records
                        .iter()
                        .for_each(|record| board.start(record.place()));
                    whole = Some(
                        caught(async {
                            handler
                                .handle_batch(&sorted.records, &answers, &budget)
                                .await
                        })
                        .await,
                    );
                }
            };
            let broken: Vec<usize> = sorted.broken.iter().map(Undecodable::place).collect();
            let rejecting = finish(&work, broken, &board, self.limits.concurrency);
            budget
                .bound(futures::future::join(handling, rejecting))
                .await;

            // Settling is no new work: an answer that was given counts, and poison may still be parked while the margin lasts.
            let answers = by_place(&sorted.records, answers, whole);
            let places: Vec<usize> = answers.keys().copied().collect();
            let work = WholeWork {
                answers: Mutex::new(answers),
                ..work
            };
            budget
                .bound(finish(&work, places, &board, self.limits.concurrency))
                .await;
        }
        close_stream(
            sorted.close(board),
            &sorted.facts(),
            sorted.records.len(),
            &budget,
        )
    }
}

/// The answers by place. What has none gets the failure of the whole, or, if the handler was dropped, stays unfinished on the board.
fn by_place(
    records: &[Record<'_>],
    answers: Answers,
    whole: Option<Result<(), Failure>>,
) -> BTreeMap<usize, Result<Verdict, Failure>> {
    let mut whole = whole.map(|result| match result {
        Ok(()) => Failure::retry("the handler gave no answer for the record"),
        Err(failure) => failure,
    });
    let answers = records.iter().zip(answers.into_inner());
    answers
        .filter_map(|(record, answer)| {
            let answer = answer.or_else(|| {
                let failure = whole.take()?;
                whole = Some(Failure::new(failure.disposition(), failure.chain()));
                Some(Err(failure))
            });
            Some((record.place(), answer?))
        })
        .collect()
}

struct WholeWork<'w, 'a, P> {
    sorted: &'w Sorted<'a>,
    desk: &'w Desk<'w, P>,
    answers: Mutex<BTreeMap<usize, Result<Verdict, Failure>>>,
}

impl<P: Parking> Work for WholeWork<'_, '_, P> {
    async fn run(&self, place: usize) -> Slot {
        match self.sorted.at(place) {
            Some(Entry::Record(record)) => {
                let answer = self
                    .answers
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .remove(&place);
                let answer =
                    answer.unwrap_or_else(|| Err(Failure::retry("the engine lost the answer")));
                self.desk.settle(record.origin(), answer).await
            }
            other => self.desk.turn_away(other).await,
        }
    }
}
