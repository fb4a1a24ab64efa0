//! Messages of SQS, one at a time, through the same lanes, verdicts and arithmetic.

use super::Engine;
use super::board::{Board, Slot};
use super::close::{Fact, close_queue};
use super::desk::{Desk, key_of};
use super::lanes::{Plan, Work, drive};
use crate::budget::{Budget, Invocation};
use crate::outcome::{InvocationError, Outcome};
use crate::parking::Parking;
use crate::sqs::{BadMessage, Message, SqsBatch};
use crate::verdict::{Failure, Verdict};
use std::borrow::Cow;
use std::future::Future;

/// A consumer of a queue.
///
/// ```
/// use sagaline_stream::{
///     Budget, Engine, EpochMillis, Failure, Invocation, MemoryParking, Message, MessageHandler, Remaining, SqsBatch, Verdict,
/// };
///
/// struct Mailer;
///
/// impl MessageHandler for Mailer {
///     async fn handle(&self, message: &Message<'_>, _: &Budget) -> Result<Verdict, Failure> {
///         match message.body() {
///             "later" if message.receive_count() > Some(20) => Err(Failure::poison("failed too often")),
///             "later" => Err(Failure::retry("the mail server is away")),
///             _ => Ok(Verdict::Done),
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let payload = br#"{"Records":[
///     {"messageId":"m-1","body":"hello","attributes":{"ApproximateReceiveCount":"1"},"eventSource":"aws:sqs"},
///     {"messageId":"m-2","body":"later","attributes":{"ApproximateReceiveCount":"1"},"eventSource":"aws:sqs"},
///     {"messageId":"m-3","body":"later","attributes":{"ApproximateReceiveCount":"21"},"eventSource":"aws:sqs"}
/// ]}"#;
/// let invocation = Invocation {
///     function: "mailer".into(),
///     request_id: "r-1".into(),
///     received_at: EpochMillis::new(1_764_500_000_000),
///     remaining: Remaining::Unknown,
/// };
/// let engine = Engine::new("mailer", MemoryParking::default());
/// let outcome = engine.run_messages(&SqsBatch::parse(payload)?, &Mailer, &invocation).await?;
/// assert_eq!(serde_json::to_string(&outcome.response)?, r#"{"batchItemFailures":[{"itemIdentifier":"m-2"}]}"#);
/// assert_eq!(engine.parking().kept()[0].event_id.as_deref(), Some("m-3"));
/// # Ok(())
/// # }
/// ```
///
/// # Contract
/// As for [`RecordHandler`](crate::RecordHandler). What fails comes again after its visibility time-out, with a receive count one
/// higher ([`Message::receive_count`], F-SQS-2).
pub trait MessageHandler: Sync {
    /// The lane of a message; `None` runs it alone. By default the message group of a FIFO queue: order is kept per group, so a failure
    /// reports what is behind it in its group too (F-SQS-4).
    fn key<'r>(&self, message: &'r Message<'_>) -> Option<Cow<'r, str>> {
        message.group_id().map(Cow::Borrowed)
    }

    /// Handles the message. The future may be dropped at any `await` when the time is up; the message then comes again.
    ///
    /// # Errors
    /// [`Failure`] says whether the message is retried, parked, or fails the invocation.
    fn handle(
        &self,
        message: &Message<'_>,
        budget: &Budget,
    ) -> impl Future<Output = Result<Verdict, Failure>> + Send;
}

impl<P: Parking> Engine<P> {
    /// Runs a batch of SQS messages. The response names every message that failed, and only those come again (F-RSP-11).
    ///
    /// # Errors
    /// [`InvocationError`] when the whole invocation must fail: see its variants.
    pub async fn run_messages<H: MessageHandler>(
        &self,
        batch: &SqsBatch<'_>,
        handler: &H,
        invocation: &Invocation,
    ) -> Result<Outcome, InvocationError> {
        let budget = Budget::start(invocation, &self.limits);
        let board = Board::new(batch.messages().len());
        let desk = self.desk(&budget);

        let mut plan = Plan::default();
        for (place, message) in batch.messages().iter().enumerate() {
            let Ok(message) = message else {
                plan.add_alone(place);
                continue;
            };
            match key_of(|| handler.key(message)) {
                Ok(Some(key)) => plan.add(place, key),
                Ok(None) => plan.add_alone(place),
                Err(failure) => board.end(place, desk.settle(message.origin(), Err(failure)).await),
            }
        }
        let work = MessageWork {
            messages: batch.messages(),
            handler,
            desk,
        };
        drive(&work, &plan, &board, &budget, self.limits.concurrency).await;
        let facts: Vec<Fact<'_>> = batch
            .messages()
            .iter()
            .map(|message| {
                let (message_id, created_at) = match message {
                    Ok(message) => (Some(message.message_id()), message.sent_at()),
                    Err(bad) => (bad.message_id(), bad.sent_at()),
                };
                Fact {
                    sequence: None,
                    message_id,
                    created_at,
                }
            })
            .collect();
        close_queue(board.into_slots(), &facts, plan.len(), &budget)
    }
}

struct MessageWork<'w, 'a, H, P> {
    messages: &'w [Result<Message<'a>, Box<BadMessage<'a>>>],
    handler: &'w H,
    desk: Desk<'w, P>,
}

impl<H: MessageHandler, P: Parking> Work for MessageWork<'_, '_, H, P> {
    async fn run(&self, place: usize) -> Slot {
        match self.messages.get(place) {
            Some(Ok(message)) => {
                let handling = async { self.handler.handle(message, self.desk.budget).await };
                self.desk.run(message.origin(), handling).await
            }
            Some(Err(bad)) => self.desk.reject(bad.origin(), bad.error()).await,
            None => Slot::failed("the engine lost the message"),
        }
    }
}
