//! The way of a batch into one sink, and out of it again when the sink refuses or is away.
//!
//! Every record gets a verdict from here, whatever happens: written, parked for this sink, deferred to its retry queue, or, only when the
//! queue fails too, failed. The other sink is not known here, and so cannot be harmed.

use crate::sinks::Sink;
use futures::stream::{self, StreamExt as _};
use sagaline_lambda::{RetryQueue, SendBatch, one_line};
use sagaline_sinks::Written;
use sagaline_stream::{Budget, Failure, Parked, Parking, Record, Verdict};
use tokio::time::Instant;

/// Objects written to the park bucket at the same time.
const CONCURRENT_OBJECTS: usize = 8;

/// A sink and the queue behind it.
#[derive(Debug)]
pub(crate) struct Route<S, Q> {
    sink: S,
    queue: RetryQueue<Q>,
}

/// A record and what it is to the sink.
pub(crate) struct Piece<'r, 'a, I> {
    pub(crate) record: &'r Record<'a>,
    pub(crate) input: Result<I, Failure>,
}

impl<S: Sink, Q: SendBatch> Route<S, Q> {
    /// A sink with its retry queue.
    pub(crate) const fn new(sink: S, queue: RetryQueue<Q>) -> Self {
        Self { sink, queue }
    }

    /// What a record is to the sink.
    pub(crate) fn project(&self, record: &Record<'_>) -> Result<S::Input, Failure> {
        self.sink.project(record)
    }

    /// Takes pieces to the sink; the verdicts are in their order.
    pub(crate) async fn deliver<P: Parking>(
        &self,
        pieces: Vec<Piece<'_, '_, S::Input>>,
        parking: &P,
        budget: &Budget,
    ) -> Vec<Result<Verdict, Failure>> {
        let mut records = Vec::with_capacity(pieces.len());
        let mut inputs = Vec::with_capacity(pieces.len());
        let mut written =
            vec![Written::NotNow("the sink gave no verdict".to_owned()); pieces.len()];
        let mut places = Vec::with_capacity(pieces.len());
        for (place, Piece { record, input }) in pieces.into_iter().enumerate() {
            records.push(record);
            match input {
                Ok(input) => {
                    inputs.push(input);
                    places.push(place);
                }
                Err(failure) => put(&mut written, place, Written::Refused(failure.chain())),
            }
        }
        if !inputs.is_empty() {
            for (place, verdict) in places.iter().zip(self.sink.write(inputs, budget).await) {
                // The sink counts its inputs, this function all pieces.
                let behind = if let Written::Behind(input) = verdict {
                    places.get(input)
                } else {
                    None
                };
                let verdict = behind.map_or(verdict, |place| Written::Behind(*place));
                put(&mut written, *place, verdict);
            }
        }
        self.settle(&records, written, parking, budget).await
    }

    /// Parks what was refused, defers what was not taken, and answers for everything.
    async fn settle<P: Parking>(
        &self,
        records: &[&Record<'_>],
        written: Vec<Written>,
        parking: &P,
        budget: &Budget,
    ) -> Vec<Result<Verdict, Failure>> {
        let mut verdicts: Vec<Option<Result<Verdict, Failure>>> = Vec::with_capacity(written.len());
        let mut refused = Vec::new();
        let mut not_now = Vec::new();
        let mut behind = Vec::new();
        for (place, verdict) in written.into_iter().enumerate() {
            verdicts.push(match verdict {
                Written::Done => Some(Ok(Verdict::Done)),
                Written::Stale => Some(Ok(Verdict::Stale)),
                Written::Refused(reason) => {
                    refused.push((place, reason));
                    None
                }
                Written::NotNow(reason) => {
                    not_now.push((place, reason));
                    None
                }
                Written::Behind(newer) => {
                    behind.push((place, newer));
                    None
                }
            });
        }
        for (place, verdict) in self.park(records, refused, parking, budget).await {
            put(&mut verdicts, place, Some(verdict));
        }
        for (place, verdict) in self.defer(records, not_now, budget).await {
            put(&mut verdicts, place, Some(verdict));
        }
        // One may stand behind another that stands behind a third: the newest is settled first.
        for _ in 0..behind.len() {
            behind.retain(|(place, newer)| match verdicts.get(*newer) {
                Some(Some(settled)) => {
                    let verdict = match settled {
                        Ok(_) => Ok(Verdict::Stale),
                        Err(_) => Err(Failure::retry(
                            "the newest version of the order is not settled",
                        )),
                    };
                    put(&mut verdicts, *place, Some(verdict));
                    false
                }
                Some(None) | None => true,
            });
        }
        let unsettled = || {
            Err(Failure::retry(format!(
                "the {} sink did not settle the record",
                S::WHO
            )))
        };
        verdicts
            .into_iter()
            .map(|verdict| verdict.unwrap_or_else(unsettled))
            .collect()
    }

    async fn park<P: Parking>(
        &self,
        records: &[&Record<'_>],
        refused: Vec<(usize, String)>,
        parking: &P,
        budget: &Budget,
    ) -> Vec<(usize, Result<Verdict, Failure>)> {
        let parks = refused.into_iter().filter_map(|(place, reason)| {
            let record = *records.get(place)?;
            Some(async move {
                let failure =
                    Failure::poison(format!("{} refused it", S::WHO)).because(reason.clone());
                let parked = Parked::new(S::WHO, &failure, record.origin(), budget);
                let verdict = match parking.park(&parked).await {
                    Ok(()) => {
                        let (sequence, event_id) = (record.sequence(), record.event_id());
                        tracing::warn!(
                            sink = S::WHO,
                            ?sequence,
                            event_id,
                            reason,
                            "parked for the sink"
                        );
                        Ok(Verdict::Parked)
                    }
                    Err(error) => Err(Failure::retry(format!(
                        "{} refused it, and it could not be parked",
                        S::WHO
                    ))
                    .because(error)),
                };
                (place, verdict)
            })
        });
        stream::iter(parks)
            .buffer_unordered(CONCURRENT_OBJECTS)
            .collect()
            .await
    }

    async fn defer(
        &self,
        records: &[&Record<'_>],
        not_now: Vec<(usize, String)>,
        budget: &Budget,
    ) -> Vec<(usize, Result<Verdict, Failure>)> {
        let Some((_, first_reason)) = not_now.first() else {
            return Vec::new();
        };
        tracing::warn!(
            sink = S::WHO,
            records = not_now.len(),
            reason = first_reason,
            "not taken: to the retry queue"
        );
        let messages = not_now.into_iter().filter_map(|(place, reason)| {
            let record = *records.get(place)?;
            Some(async move { (place, reason, self.sink.message(record, budget).await) })
        });
        let messages: Vec<_> = stream::iter(messages)
            .buffer_unordered(CONCURRENT_OBJECTS)
            .collect()
            .await;
        let mut verdicts = Vec::with_capacity(messages.len());
        let (mut places, mut bodies) = (Vec::new(), Vec::new());
        for (place, reason, message) in messages {
            match message {
                Ok(body) => {
                    places.push((place, reason));
                    bodies.push(body);
                }
                Err(error) => {
                    let failure = Failure::retry(format!(
                        "{} did not take it ({reason}), and its row could not be kept",
                        S::WHO
                    ));
                    verdicts.push((place, Err(failure.because(error))));
                }
            }
        }
        let sent = self
            .queue
            .send(&bodies, Instant::now() + budget.remaining())
            .await;
        verdicts.extend(
            places
                .into_iter()
                .zip(sent)
                .map(|((place, reason), sent)| match sent {
                    Ok(()) => (place, Ok(Verdict::Deferred)),
                    Err(error) => {
                        let both = format!(
                            "{} did not take it ({reason}), nor did its retry queue ({})",
                            S::WHO,
                            one_line(&error)
                        );
                        (place, Err(Failure::retry(both)))
                    }
                }),
        );
        verdicts
    }
}

fn put<T>(slots: &mut [T], place: usize, value: T) {
    if let Some(slot) = slots.get_mut(place) {
        *slot = value;
    }
}
