//! The drive loop: load, decide, commit, effect, until there is nothing to do now.
//!
//! # Theory of operation
//!
//! A stream record, the sweeper, an operator: each only says *which* order to look at. [`Driver::drive`] reads its head consistently and asks
//! [`pending`](sagaline_order::pending) what is next. Each round is one command and one commit: an event whose time has come is recorded; a
//! call to the gateway or the bus is made and its outcome recorded. A straight order takes one read and one commit a transition.
//!
//! **Crashes.** Wherever the process stops, the head says what was to be done, and the next driver begins there. A call is made only with the
//! [`CommittedIntent`] that the store hands out for a commit of this very drive, or for a consistent read that still shows the operation as
//! requested; in the second case somebody else may have called, so the gateway is asked first.
//!
//! **Two drivers at once.** Commits are conditioned on the version, so one wins and the other decides anew or stops. Calls carry the same key.
//! The sweeper keeps off what the stream path may be doing: it begins only when the head's wake time has come, and takes up an intent that it
//! did not commit itself only after its `not_after`.
//!
//! **Time.** A drive ends when its caller must answer; a call in flight is dropped with it, never left running. The budget for a call is
//! therefore part of the question whether it may start.
//!
//! It knows nothing of the table's layout and has no rule of the saga: no `match` on an order's state.

use std::time::Duration;

use sagaline_order::{Command, Event, Order, OrderId, Pending, Timestamp, pending};
use sagaline_store::{CommittedIntent, IntentKind, Table};
use sagaline_stream::chain;
use tokio::time::{Instant, timeout, timeout_at};

use crate::bus::{self, EventBus, Message};
use crate::gateway::attempt;
use crate::record::{Origin, Recorded};
use crate::{Clock, DriveError, Path, PaymentGateway, Recorder};

/// The most rounds of one drive. A straight order takes four; what needs more than this is taken up again at its wake time.
const MOST_ROUNDS: usize = 24;

/// A message is on the bus within this, or is sent again later.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(5);

/// How far a drive came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Driven {
    /// Commits made.
    pub commits: u32,
    /// Among them those that call for a person, anew or again.
    pub alarms: u32,
    /// Why it ended.
    pub rest: Rest,
}

/// Why a drive ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rest {
    /// There is no such order.
    #[default]
    Absent,
    /// The order is finished.
    Finished,
    /// Nothing before this time, when the sweeper looks at it.
    Until(Timestamp),
    /// The gateway is left alone for a while: the sweeper goes on.
    Deferred,
    /// There was no time left. The order must come again.
    OutOfTime,
}

/// Drives orders.
#[derive(Debug)]
pub struct Driver<T, C, G, B> {
    recorder: Recorder<T, C>,
    gateway: G,
    bus: B,
}

/// What one command came to.
enum Step {
    Record(Event),
    Rest(Rest),
    /// What was to be done is done already: look again.
    Look(Option<Box<Seen>>),
}

/// An order as read, or as committed, with the intent it gives permission for.
type Seen = (Order, Option<CommittedIntent>);

impl<T: Table, C: Clock, G: PaymentGateway, B: EventBus> Driver<T, C, G, B> {
    /// From its parts.
    pub fn new(recorder: Recorder<T, C>, gateway: G, bus: B) -> Self {
        Self {
            recorder,
            gateway,
            bus,
        }
    }

    /// Where events are recorded.
    pub fn recorder(&self) -> &Recorder<T, C> {
        &self.recorder
    }

    /// Does everything that can be done for an order now. Ends before `until`.
    ///
    /// # Errors
    /// [`DriveError`]. What was committed stays, and the order's wake time brings it back.
    pub async fn drive(
        &self,
        order_id: &OrderId,
        path: Path,
        until: Instant,
    ) -> Result<Driven, DriveError> {
        let mut driven = Driven {
            rest: Rest::OutOfTime,
            ..Driven::default()
        };
        // Boxed: the loop's future holds an order or two.
        match timeout_at(
            until,
            Box::pin(self.run(order_id, path, until, &mut driven)),
        )
        .await
        {
            Ok(Ok(rest)) => Ok(Driven { rest, ..driven }),
            Ok(Err(error)) => Err(error),
            Err(_) => Ok(driven),
        }
    }

    async fn run(
        &self,
        order_id: &OrderId,
        path: Path,
        until: Instant,
        driven: &mut Driven,
    ) -> Result<Rest, DriveError> {
        let Some((mut head, mut intent)) = self.reread(order_id).await? else {
            return Ok(Rest::Absent);
        };
        if path == Path::Sweeper {
            // The index is a little behind. And what was read may be under way elsewhere.
            intent = None;
            match head.wake_at {
                None => return Ok(Rest::Finished),
                Some(at) if at > self.recorder.clock().now() => return Ok(Rest::Until(at)),
                Some(_) => {}
            }
        }
        for _ in 0..MOST_ROUNDS {
            let context = self.recorder.context().await;
            let command = match pending(&head, &context) {
                Pending::Nothing => return Ok(Rest::Finished),
                Pending::Until(at) => return Ok(Rest::Until(at)),
                Pending::Now(command) => command,
            };
            let event = match self
                .carry_out(&head, command, intent.take(), path, until)
                .await?
            {
                Step::Record(event) => event,
                Step::Rest(rest) => return Ok(rest),
                Step::Look(None) => return Ok(Rest::Absent),
                Step::Look(Some(seen)) => {
                    (head, intent) = *seen;
                    continue;
                }
            };
            match self.record(head, event, path, driven).await? {
                Ok((order, fresh)) => (head, intent) = (order, fresh),
                Err(rest) => return Ok(rest),
            }
        }
        tracing::warn!(%order_id, rounds = MOST_ROUNDS, "the order was not finished in one drive");
        Ok(head.wake_at.map_or(Rest::Finished, Rest::Until))
    }

    /// Does what a command says, up to the event that tells of it.
    async fn carry_out(
        &self,
        head: &Order,
        command: Command,
        intent: Option<CommittedIntent>,
        path: Path,
        until: Instant,
    ) -> Result<Step, DriveError> {
        let window = path.window(until);
        let called = match command {
            // A new attempt would only spend the order's budget: the deadline, which comes first, still runs.
            Command::Record(Event::PaymentDue | Event::RefundDue) | Command::AskPayment
                if !self.gateway.is_available() =>
            {
                return Ok(Step::Rest(Rest::Deferred));
            }
            Command::Record(event) => return Ok(Step::Record(event)),
            Command::Charge { not_after } => match self
                .permission(head, IntentKind::Charge, intent, path, not_after)
                .await?
            {
                Ok(intent) => attempt::charge(&self.gateway, self.recorder.clock(), intent, window)
                    .await
                    .ok_or(not_after),
                Err(step) => return Ok(step),
            },
            Command::Refund { not_after } => match self
                .permission(head, IntentKind::Refund, intent, path, not_after)
                .await?
            {
                Ok(intent) => attempt::refund(&self.gateway, self.recorder.clock(), intent, window)
                    .await
                    .ok_or(not_after),
                Err(step) => return Ok(step),
            },
            Command::AskPayment => match &head.steps.pay {
                Some(pay) => match attempt::enquire(&self.gateway, pay.op_id, head, window).await {
                    Some(event) => Ok(event),
                    None => return Ok(Step::Rest(Rest::OutOfTime)),
                },
                None => {
                    return Ok(Step::Record(poisoned(
                        "a payment is asked about that was never requested",
                    )));
                }
            },
            Command::PublishConfirmation => {
                let delayed = |reason| Event::ConfirmationDelayed { reason };
                let Some(message) = bus::confirmation(head) else {
                    return Ok(Step::Record(poisoned(
                        "a confirmation is due that never happened",
                    )));
                };
                Ok(self
                    .publish(&message)
                    .await
                    .map_or_else(delayed, |()| Event::ConfirmationPublished))
            }
            Command::PublishNotice => {
                let delayed = |reason| Event::NoticeDelayed { reason };
                let Some(notice) = head.notices.first() else {
                    return Ok(Step::Record(poisoned("a notice is due that is not there")));
                };
                Ok(self
                    .publish(&bus::notice(head, notice))
                    .await
                    .map_or_else(delayed, |()| Event::NoticePublished))
            }
        };
        Ok(match called {
            Ok(event) => Step::Record(event),
            // No call could be started: our time is short, or the intent's.
            Err(not_after) if window.is_open() => Step::Rest(Rest::Until(not_after)),
            Err(_) => Step::Rest(Rest::OutOfTime),
        })
    }

    /// The intent to call with, or what else to do.
    async fn permission(
        &self,
        head: &Order,
        kind: IntentKind,
        intent: Option<CommittedIntent>,
        path: Path,
        not_after: Timestamp,
    ) -> Result<Result<CommittedIntent, Step>, DriveError> {
        if !self.gateway.is_available() {
            return Ok(Err(Step::Rest(Rest::Deferred)));
        }
        match intent.filter(|intent| intent.kind() == kind) {
            Some(intent) => Ok(Ok(intent)),
            // Somebody committed it and may be calling this moment.
            None if path == Path::Sweeper => Ok(Err(Step::Rest(Rest::Until(not_after)))),
            None => match self.reread(&head.order_id).await? {
                Some((order, Some(intent)))
                    if order.version == head.version && intent.kind() == kind =>
                {
                    Ok(Ok(intent))
                }
                Some((order, None)) if order.version == head.version => Ok(Err(Step::Record(
                    poisoned("a call is due whose intent cannot be found"),
                ))),
                present => Ok(Err(Step::Look(present.map(Box::new)))),
            },
        }
    }

    /// Commits an event and says how to go on: with this order, or not at all.
    async fn record(
        &self,
        head: Order,
        event: Event,
        path: Path,
        driven: &mut Driven,
    ) -> Result<Result<Seen, Rest>, DriveError> {
        let order_id = head.order_id.clone();
        let (seen, attention) = (head.version, head.attention.clone());
        let (kind, was_poison) = (event.kind(), matches!(event, Event::CommitPoisoned { .. }));
        let origin = Origin::Internal {
            actor: path.actor(),
        };
        let stuck = match self.recorder.record(head, event, &origin).await? {
            Recorded::Written { order, intent, .. } => {
                driven.commits += 1;
                if order.attention.is_some() && order.attention != attention {
                    driven.alarms += 1;
                    tracing::warn!(%order_id, version = %order.version, reason = %order.last_event.reason, "needs a person");
                }
                return Ok(Ok((order, intent)));
            }
            Recorded::Known { head } if head.version > seen => {
                return Ok(self.overtaken(Some(head), path));
            }
            Recorded::Nothing { head, .. } if head.version > seen => {
                return Ok(self.overtaken(Some(head), path));
            }
            Recorded::Overtaken { head } => return Ok(self.overtaken(head, path)),
            Recorded::Known { head } => (
                head,
                format!("{kind} was recorded in an earlier life of this order"),
            ),
            Recorded::Nothing { head, reason, .. } => {
                (head, format!("{kind} is due and changes nothing: {reason}"))
            }
        };
        // What is due must change the order, or it would come up for ever. A person must look at it.
        let (head, reason) = stuck;
        if was_poison {
            return Err(DriveError::NoWayOn { order_id, reason });
        }
        tracing::error!(%order_id, version = %seen, reason, "stuck");
        match self
            .recorder
            .record(head, poisoned(reason.clone()), &origin)
            .await?
        {
            Recorded::Written { order, intent, .. } => {
                driven.commits += 1;
                driven.alarms += 1;
                Ok(Ok((order, intent)))
            }
            Recorded::Overtaken { head } => Ok(self.overtaken(head, path)),
            Recorded::Known { .. } | Recorded::Nothing { .. } => {
                Err(DriveError::NoWayOn { order_id, reason })
            }
        }
    }

    /// Somebody else moved the order: the sweeper leaves it to them, the others go on from there.
    fn overtaken(&self, head: Option<Order>, path: Path) -> Result<Seen, Rest> {
        match head {
            None => Err(Rest::Absent),
            Some(head) if path == Path::Sweeper => {
                Err(head.wake_at.map_or(Rest::Finished, Rest::Until))
            }
            Some(head) => Ok((head, None)),
        }
    }

    async fn publish(&self, message: &Message) -> Result<(), String> {
        match timeout(PUBLISH_TIMEOUT, self.bus.publish(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(chain(&error)),
            Err(_) => Err(format!(
                "the event bus did not answer within {} s",
                PUBLISH_TIMEOUT.as_secs()
            )),
        }
    }

    async fn reread(&self, order_id: &OrderId) -> Result<Option<Seen>, DriveError> {
        let reread = self.recorder.store().reread_intent(order_id).await;
        reread.map_err(|source| DriveError::Read {
            order_id: order_id.clone(),
            source,
        })
    }
}

fn poisoned(reason: impl Into<String>) -> Event {
    Event::CommitPoisoned {
        reason: reason.into(),
    }
}
