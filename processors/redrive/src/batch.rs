//! One batch of one retry queue: resolve, write, answer for each message.
//!
//! Messages are written a few at a time. When none of such a few is taken, it is the sink that fails, not they: the rest of the batch is
//! reported without calling, and nothing is held against its messages. When others around it are taken, a message fails alone; one that does
//! so too often is parked, so that it does not come again for the queue's fourteen days.

use crate::retried::Retried;
use futures::stream::{self, StreamExt as _};
use sagaline_sinks::Written;
use sagaline_stream::{Budget, Disposition, Failure, Message, MessageHandler, SqsBatch, Verdict};
use std::borrow::Cow;
use std::collections::HashMap;
use tokio::sync::OnceCell;

/// How often a message may fail alone: its receive count (F-SQS-2) may be this and it still comes again.
pub(crate) const MAX_RECEIVES: u32 = 20;
/// Messages written together.
const TOGETHER: usize = 25;
/// Messages resolved at the same time: reads of the table or the bucket.
const CONCURRENT_READS: usize = 8;

/// The batch as the engine runs it. The engine asks for one message at a time; the first asks for all of them.
pub(crate) struct Run<'r, 'a, R> {
    side: &'r R,
    messages: Vec<&'r Message<'a>>,
    answers: OnceCell<HashMap<String, Answer>>,
}

/// A verdict or a failure that can be given out more than once: a queue may deliver a message twice in one batch.
#[derive(Debug, Clone)]
enum Answer {
    Settled(Verdict),
    Failed(Disposition, String),
}

impl Answer {
    fn later(reason: impl Into<String>) -> Self {
        Self::Failed(Disposition::Retry, reason.into())
    }
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure.disposition(), failure.chain())
    }
}

impl<'r, 'a, R: Retried> Run<'r, 'a, R> {
    /// The batch for that queue's sink.
    pub(crate) fn new(side: &'r R, batch: &'r SqsBatch<'a>) -> Self {
        Self {
            side,
            messages: batch
                .messages()
                .iter()
                .filter_map(|message| message.as_ref().ok())
                .collect(),
            answers: OnceCell::new(),
        }
    }

    async fn work(&self, budget: &Budget) -> HashMap<String, Answer> {
        // By place: a closure over borrowed messages is not general enough to be sent between threads.
        let resolved = stream::iter(0..self.messages.len())
            .map(|place| async move {
                let message = *self.messages.get(place)?;
                Some((message, self.side.resolve(message.body()).await))
            })
            .buffered(CONCURRENT_READS)
            .filter_map(std::future::ready);
        let resolved: Vec<_> = resolved.collect().await;
        let mut answers = HashMap::with_capacity(resolved.len());
        let mut waiting = Vec::new();
        for (message, input) in resolved {
            match input {
                Ok(Some(input)) => waiting.push((message, input)),
                Ok(None) => drop(answers.insert(
                    message.message_id().to_owned(),
                    Answer::Settled(Verdict::Stale),
                )),
                Err(failure) => {
                    drop(answers.insert(message.message_id().to_owned(), failure.into()))
                }
            }
        }
        let mut waiting = waiting.into_iter().peekable();
        let mut down = None;
        while waiting.peek().is_some() {
            let (messages, inputs): (Vec<_>, Vec<_>) = waiting.by_ref().take(TOGETHER).unzip();
            let given = match &down {
                Some(reason) => vec![
                    Answer::later(format!("not sent, the sink is down: {reason}"));
                    messages.len()
                ],
                None => {
                    let written = self.side.write(inputs, budget).await;
                    let (given, whole) = self.judge(&messages, written).await;
                    down = whole;
                    given
                }
            };
            answers.extend(
                messages
                    .iter()
                    .map(|message| message.message_id().to_owned())
                    .zip(given),
            );
        }
        answers
    }

    /// Answers for messages that were written together; with the reason if the sink as a whole failed.
    async fn judge(
        &self,
        messages: &[&Message<'a>],
        written: Vec<Written>,
    ) -> (Vec<Answer>, Option<String>) {
        let taken = |verdict: &Written| {
            matches!(
                verdict,
                Written::Done | Written::Stale | Written::Refused(_)
            )
        };
        let reason = written.iter().find_map(|verdict| {
            if let Written::NotNow(reason) = verdict {
                Some(reason.clone())
            } else {
                None
            }
        });
        let any_taken = written.iter().any(taken);
        // Several that share one order are one write.
        let writes = written
            .iter()
            .filter(|verdict| !matches!(verdict, Written::Behind(_)))
            .count();
        let whole = if any_taken {
            None
        } else if writes > 1 || !self.side.is_up().await {
            reason
        } else {
            None
        };
        let answer = |(place, message): (usize, &&Message<'a>)| {
            let mut verdict = written.get(place);
            // Bounded: a chain cannot be longer than the batch.
            for _ in 0..messages.len() {
                let Some(Written::Behind(newer)) = verdict else {
                    break;
                };
                verdict = match written.get(*newer) {
                    Some(Written::Done | Written::Stale | Written::Refused(_)) => {
                        Some(&Written::Stale)
                    }
                    other => other,
                };
            }
            match verdict {
                Some(Written::Done) => Answer::Settled(Verdict::Done),
                Some(Written::Stale) => Answer::Settled(Verdict::Stale),
                Some(Written::Refused(reason)) => Answer::Failed(
                    Disposition::Poison,
                    format!("the sink refused it: {reason}"),
                ),
                Some(Written::NotNow(reason)) => {
                    let times = message.receive_count().unwrap_or(0);
                    if whole.is_none() && times > MAX_RECEIVES {
                        return Answer::Failed(
                            Disposition::Poison,
                            format!("failed alone, received {times} times: {reason}"),
                        );
                    }
                    Answer::later(reason.clone())
                }
                Some(Written::Behind(_)) | None => Answer::later("the sink gave no verdict"),
            }
        };
        (messages.iter().enumerate().map(answer).collect(), whole)
    }
}

impl<R: Retried> MessageHandler for Run<'_, '_, R> {
    /// Every message by itself: the queues have no order to keep.
    fn key<'m>(&self, _: &'m Message<'_>) -> Option<Cow<'m, str>> {
        None
    }

    async fn handle(&self, message: &Message<'_>, budget: &Budget) -> Result<Verdict, Failure> {
        match self
            .answers
            .get_or_init(|| self.work(budget))
            .await
            .get(message.message_id())
        {
            Some(Answer::Settled(verdict)) => Ok(*verdict),
            Some(Answer::Failed(disposition, reason)) => {
                Err(Failure::new(*disposition, reason.clone()))
            }
            None => Err(Failure::retry("no answer was given for the message")),
        }
    }
}

#[cfg(test)]
mod tests;
