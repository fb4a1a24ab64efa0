//! Sending to a retry queue: batches within the limits of SQS, entries that failed again, one answer a message.
//!
//! A 200 of `SendMessageBatch` says nothing about its entries: each is named as successful or failed (Amazon SQS API Reference). An entry
//! that is named as neither counts as failed.

use crate::retry::RetryPolicy;
use crate::runtime::{BoxError, one_line};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use futures::StreamExt as _;
use std::borrow::Cow;
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use tokio::time::Instant;

/// Entries a call (Amazon SQS API Reference, SendMessageBatch).
pub const MAX_BATCH_ENTRIES: usize = 10;
/// Bytes a call and a message. SQS takes 1,048,576 (F-SQS-7); the rest is for what surrounds the bodies.
pub const MAX_BATCH_BYTES: usize = 1_000_000;
/// Calls at the same time. A sink that is down sends whole batches of records this way.
const CONCURRENT_CALLS: usize = 8;

/// Why a message is not in the queue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// No queue takes it.
    #[error("the message has {bytes} bytes, a queue takes {MAX_BATCH_BYTES}")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// The queue refused this message for what it is.
    #[error("the queue refused the message: {reason}")]
    Refused {
        /// What the queue said.
        reason: String,
    },
    /// The queue, or the way to it, failed until the retries ended. The message may be there all the same.
    #[error("the queue did not take the message: {reason}")]
    Unavailable {
        /// What was seen last.
        reason: String,
    },
}

/// An entry that the queue did not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its place in the batch.
    pub place: usize,
    /// Why.
    pub reason: String,
    /// True when sending it again cannot help.
    pub for_good: bool,
}

/// One call: sends bodies, answers with those that were not taken.
///
/// # Contract
/// A body that is not named in the answer is in the queue. `Err` says nothing about any of them.
pub trait SendBatch: Sync {
    /// Sends at most [`MAX_BATCH_ENTRIES`] bodies of at most [`MAX_BATCH_BYTES`] together.
    ///
    /// # Errors
    /// Any failure of the call as a whole.
    fn send_batch(
        &self,
        bodies: &[&str],
    ) -> impl Future<Output = Result<Vec<Refused>, BoxError>> + Send;
}

/// An SQS queue.
#[derive(Debug, Clone)]
pub struct Sqs {
    client: Client,
    url: String,
}

impl SendBatch for Sqs {
    async fn send_batch(&self, bodies: &[&str]) -> Result<Vec<Refused>, BoxError> {
        let entries = bodies
            .iter()
            .enumerate()
            .map(|(place, body)| {
                SendMessageBatchRequestEntry::builder()
                    .id(place.to_string())
                    .message_body(*body)
                    .build()
            })
            .collect::<Result<Vec<_>, _>>()?;
        let answer = self
            .client
            .send_message_batch()
            .queue_url(&self.url)
            .set_entries(Some(entries))
            .send()
            .await?;
        let taken: Vec<&str> = answer.successful().iter().map(|entry| entry.id()).collect();
        let refused = (0..bodies.len())
            .filter(|place| !taken.contains(&place.to_string().as_str()))
            .map(|place| {
                let said = answer
                    .failed()
                    .iter()
                    .find(|entry| entry.id() == place.to_string());
                Refused {
                    place,
                    reason: said.map_or_else(
                        || "the answer does not name the entry".to_owned(),
                        |entry| {
                            format!("{} {}", entry.code(), entry.message().unwrap_or_default())
                                .trim_end()
                                .to_owned()
                        },
                    ),
                    for_good: said.is_some_and(|entry| {
                        entry.sender_fault() && !entry.code().contains("Throttl")
                    }),
                }
            });
        Ok(refused.collect())
    }
}

/// A retry queue.
#[derive(Debug, Clone)]
pub struct RetryQueue<S = Sqs> {
    sender: S,
    policy: RetryPolicy,
}

impl RetryQueue {
    /// The SQS queue at that URL.
    #[must_use]
    pub fn new(client: Client, url: impl Into<String>) -> Self {
        Self::over(
            Sqs {
                client,
                url: url.into(),
            },
            RetryPolicy::INVOCATION,
        )
    }
}

impl<S: SendBatch> RetryQueue<S> {
    /// A queue over any sender.
    #[must_use]
    pub const fn over(sender: S, policy: RetryPolicy) -> Self {
        Self { sender, policy }
    }

    /// Sends every body, each one JSON value; the answers are in the order of the bodies. Nothing is begun after the deadline.
    pub async fn send(&self, bodies: &[String], deadline: Instant) -> Vec<Result<(), QueueError>> {
        let bodies: Vec<Cow<'_, str>> = bodies.iter().map(|body| printable(body)).collect();
        let states: Vec<State> = bodies.iter().map(|body| State::of(body)).collect();
        let states = Mutex::new(states);
        // What remains unsettled after the last round keeps what it was told.
        let _unsettled = self
            .policy
            .run(
                Some(deadline),
                |()| true,
                || self.round(&bodies, &states, deadline),
            )
            .await;
        let states = states.into_inner().unwrap_or_else(PoisonError::into_inner);
        states.into_iter().map(State::into_answer).collect()
    }

    /// Sends what is not settled, once. `Err` when something is worth another round.
    async fn round(
        &self,
        bodies: &[Cow<'_, str>],
        states: &Mutex<Vec<State>>,
        deadline: Instant,
    ) -> Result<(), ()> {
        let open: Vec<usize> = {
            let states = states.lock().unwrap_or_else(PoisonError::into_inner);
            states
                .iter()
                .enumerate()
                .filter(|(_, state)| state.is_open())
                .map(|(place, _)| place)
                .collect()
        };
        // Places, not texts: a closure over borrowed texts is not general enough to be sent between threads.
        let calls = chunks(open, |place| bodies.get(place).map_or(0, |body| body.len()))
            .into_iter()
            .map(|chunk| async move {
                let texts: Vec<&str> = chunk
                    .iter()
                    .filter_map(|place| bodies.get(*place))
                    .map(AsRef::as_ref)
                    .collect();
                let answer =
                    tokio::time::timeout_at(deadline, self.sender.send_batch(&texts)).await;
                (chunk, answer)
            });
        let mut calls = futures::stream::iter(calls).buffer_unordered(CONCURRENT_CALLS);
        let mut again = false;
        while let Some((chunk, answer)) = calls.next().await {
            let mut states = states.lock().unwrap_or_else(PoisonError::into_inner);
            for (place, whole) in chunk.iter().enumerate() {
                let next = match &answer {
                    Err(_) => State::Open("the invocation's time was up".to_owned()),
                    Ok(Err(error)) => State::Open(one_line(error.as_ref())),
                    Ok(Ok(refused)) => {
                        State::after(refused.iter().find(|refused| refused.place == place))
                    }
                };
                again |= next.is_open();
                if let Some(state) = states.get_mut(*whole) {
                    *state = next;
                }
            }
        }
        if again { Err(()) } else { Ok(()) }
    }
}

/// How a message stands.
#[derive(Debug)]
enum State {
    Open(String),
    Sent,
    Never(QueueError),
}

impl State {
    fn of(body: &str) -> Self {
        if body.len() > MAX_BATCH_BYTES {
            return Self::Never(QueueError::TooLarge { bytes: body.len() });
        }
        Self::Open("no time was left to send it".to_owned())
    }

    fn after(refused: Option<&Refused>) -> Self {
        match refused {
            None => Self::Sent,
            Some(Refused {
                reason,
                for_good: true,
                ..
            }) => Self::Never(QueueError::Refused {
                reason: reason.clone(),
            }),
            Some(Refused {
                reason,
                for_good: false,
                ..
            }) => Self::Open(reason.clone()),
        }
    }

    const fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }

    fn into_answer(self) -> Result<(), QueueError> {
        match self {
            Self::Sent => Ok(()),
            Self::Never(error) => Err(error),
            Self::Open(reason) => Err(QueueError::Unavailable { reason }),
        }
    }
}

/// SQS takes `#x9 #xA #xD`, `#x20` to `#xD7FF`, `#xE000` to `#xFFFD` and above (Amazon SQS API Reference, SendMessage). JSON escapes the
/// control characters, which leaves U+FFFE and U+FFFF; both can only stand inside a string, where their escape means the same.
fn printable(json: &str) -> Cow<'_, str> {
    if json.contains(['\u{fffe}', '\u{ffff}']) {
        Cow::Owned(
            json.replace('\u{fffe}', "\\ufffe")
                .replace('\u{ffff}', "\\uffff"),
        )
    } else {
        Cow::Borrowed(json)
    }
}

/// Cuts messages, each by its place, into batches within the limits, in order.
fn chunks(places: Vec<usize>, size: impl Fn(usize) -> usize) -> Vec<Vec<usize>> {
    let mut chunks: Vec<Vec<usize>> = Vec::new();
    let mut bytes = 0;
    for place in places {
        let more = size(place);
        match chunks.last_mut() {
            Some(chunk) if chunk.len() < MAX_BATCH_ENTRIES && bytes + more <= MAX_BATCH_BYTES => {
                chunk.push(place);
                bytes += more;
            }
            Some(_) | None => {
                chunks.push(vec![place]);
                bytes = more;
            }
        }
    }
    chunks
}

#[cfg(test)]
mod tests;
