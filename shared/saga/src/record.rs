//! Decide and commit: an event becomes the order's next version, or nothing.
//!
//! The one place where an order is written after its placement. Saga and sweeper record through it what the gateway said, operators and callbacks
//! what they want ([`Recorder::submit`]); all of them go through the same [`decide`](sagaline_order::decide) and the same commit.
//!
//! What the commit finds out is an event again: too little stock, a payment that belongs to another order, a commit that can never be written.
//! When the order moved on in between, it is read and decided again, a few times with growing, jittered waits; but only for events that are true
//! whatever happened meanwhile. The others (an attempt that told nothing, a notice sent for an older version) are dropped: whoever moved the
//! order saw more.

use std::time::Duration;

use backon::{ExponentialBuilder, RetryableWithContext as _};
use sagaline_order::{
    Cause, Context, Decision, Event, Order, OrderId, Verdict, apply, decide, request_id,
};
use sagaline_store::{
    Action, Commit, CommitError, Committed, CommittedIntent, PayloadHash, Store, Table,
};

use crate::{Clock, DriveError, Submission};

/// Decides and commits.
#[derive(Debug)]
pub struct Recorder<T, C> {
    store: Store<T>,
    clock: C,
    waits: ExponentialBuilder,
}

/// What became of an event of the pipeline's own.
#[derive(Debug)]
pub(crate) enum Recorded {
    /// Written, by this call.
    Written {
        order: Order,
        intent: Option<CommittedIntent>,
        reason: String,
    },
    /// Written before. No intent comes of it.
    Known { head: Order },
    /// It changes nothing.
    Nothing {
        head: Order,
        verdict: Verdict,
        reason: String,
    },
    /// The order moved on, and the event is not to be decided again. `None` = the order is gone.
    Overtaken { head: Option<Order> },
}

/// What an event would do.
#[derive(Debug, Clone, PartialEq)]
pub struct Foreseen {
    /// What would be decided.
    pub decision: Decision,
    /// The order as it would be; absent if nothing would be written.
    pub after: Option<Order>,
    /// The transaction, action by action.
    pub writes: Vec<Action>,
}

/// Under which name an event is recorded.
pub(crate) enum Origin<'a> {
    /// The pipeline's own; the id is derived from order and event.
    Internal { actor: &'a str },
    /// From outside.
    Submitted(&'a Submission),
}

impl Origin<'_> {
    /// False for a submission that was decided on another version by whoever sends it.
    fn is_meant_for(&self, head: &Order) -> bool {
        match self {
            Self::Internal { .. } => true,
            Self::Submitted(submission) => submission
                .expected
                .is_none_or(|version| version == head.version),
        }
    }
}

/// Where the trying stands: the order as last read, and what is to be recorded.
struct Trying {
    head: Option<Order>,
    event: Event,
}

/// Why one try did not settle it.
enum Unsettled {
    Moved,
    Failed(DriveError),
}

impl<T: Table, C: Clock> Recorder<T, C> {
    /// Over a store, with a clock.
    pub fn new(store: Store<T>, clock: C) -> Self {
        let waits = ExponentialBuilder::new()
            .with_jitter()
            .with_min_delay(Duration::from_millis(20))
            .with_max_delay(Duration::from_millis(500))
            .with_max_times(8);
        Self {
            store,
            clock,
            waits,
        }
    }

    /// With a seed for the jitter of the waits before an order that moved is decided anew: the only chance in here.
    #[must_use]
    pub fn with_jitter_seed(mut self, seed: u64) -> Self {
        self.waits = self.waits.with_jitter_seed(seed);
        self
    }

    /// The store.
    pub fn store(&self) -> &Store<T> {
        &self.store
    }

    /// The clock.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// The present and the settings in force.
    pub async fn context(&self) -> Context {
        let now = self.clock.now();
        Context {
            now,
            config: self.store.saga_config(now).await,
        }
    }

    /// Reads an order, consistently.
    ///
    /// # Errors
    /// [`DriveError::Read`].
    pub async fn load(&self, order_id: &OrderId) -> Result<Option<Order>, DriveError> {
        self.store
            .load(order_id)
            .await
            .map_err(|source| DriveError::Read {
                order_id: order_id.clone(),
                source,
            })
    }

    /// What a submission would do to an order as it was read. Nothing is written.
    ///
    /// # Errors
    /// [`DriveError::Commit`] if its commit could never be written.
    pub async fn foresee(
        &self,
        head: &Order,
        submission: &Submission,
    ) -> Result<Foreseen, DriveError> {
        let context = self.context().await;
        let decision = decide(head, &submission.event, &context);
        if decision.verdict != Verdict::Applied {
            return Ok(Foreseen {
                decision,
                after: None,
                writes: Vec::new(),
            });
        }
        let origin = Origin::Submitted(submission);
        let commit = commit(head, &submission.event, decision, &origin, &context);
        let writes = commit.writes().map_err(|source| DriveError::Commit {
            order_id: head.order_id.clone(),
            source,
        })?;
        Ok(Foreseen {
            decision: commit.decision,
            after: Some(commit.after),
            writes,
        })
    }

    /// Records an event on an order as it was read.
    pub(crate) async fn record(
        &self,
        head: Order,
        event: Event,
        origin: &Origin<'_>,
    ) -> Result<Recorded, DriveError> {
        let order_id = head.order_id.clone();
        let (_, settled) = (|trying: Trying| async {
            let mut trying = trying;
            let settled = Box::pin(self.attempt(&order_id, &mut trying, origin)).await;
            (trying, settled)
        })
        .retry(self.waits)
        .context(Trying {
            head: Some(head),
            event,
        })
        .when(|unsettled| matches!(unsettled, Unsettled::Moved))
        .await;
        settled.map_err(|unsettled| match unsettled {
            Unsettled::Moved => DriveError::Commit {
                order_id: order_id.clone(),
                source: CommitError::Moved,
            },
            Unsettled::Failed(error) => error,
        })
    }

    /// Decides and commits once. On [`Unsettled::Moved`] the head is forgotten, so that the next try reads it.
    async fn attempt(
        &self,
        order_id: &OrderId,
        trying: &mut Trying,
        origin: &Origin<'_>,
    ) -> Result<Recorded, Unsettled> {
        let head = match trying.head.take() {
            Some(head) => head,
            None => match self.load(order_id).await.map_err(Unsettled::Failed)? {
                Some(head) if outlives_a_move(&trying.event, origin) => head,
                head => return Ok(Recorded::Overtaken { head }),
            },
        };
        if !origin.is_meant_for(&head) {
            return Ok(Recorded::Overtaken { head: Some(head) });
        }
        loop {
            let context = self.context().await;
            let decision = decide(&head, &trying.event, &context);
            if decision.verdict != Verdict::Applied {
                let Decision {
                    verdict, reason, ..
                } = decision;
                return Ok(Recorded::Nothing {
                    head,
                    verdict,
                    reason,
                });
            }
            let reason = decision.reason.clone();
            let commit = commit(&head, &trying.event, decision, origin, &context);
            log(&commit, origin);
            match self.store.commit(commit).await {
                Ok(Committed::Applied { order, intent }) => {
                    return Ok(Recorded::Written {
                        order,
                        intent,
                        reason,
                    });
                }
                Ok(Committed::AlreadyApplied { head }) => return Ok(Recorded::Known { head }),
                Err(CommitError::Moved) => return Err(Unsettled::Moved),
                Err(error) => {
                    trying.event = as_event(error, &trying.event, origin).map_err(|source| {
                        Unsettled::Failed(DriveError::Commit {
                            order_id: order_id.clone(),
                            source,
                        })
                    })?;
                }
            }
        }
    }
}

fn commit(
    head: &Order,
    event: &Event,
    decision: Decision,
    origin: &Origin<'_>,
    context: &Context,
) -> Commit {
    let (id, operation, payload_hash, actor) = match origin {
        Origin::Internal { actor } => {
            let content = PayloadHash::of(&serde_json::to_value(event).unwrap_or_default());
            (request_id(head, event), event.kind(), content, *actor)
        }
        Origin::Submitted(submission) => (
            submission.request_id.clone(),
            submission.operation,
            submission.payload_hash.clone(),
            submission.actor.as_str(),
        ),
    };
    let cause = Cause {
        id: id.to_string(),
        actor: actor.to_owned(),
    };
    let after = apply(head, event, &decision, &cause, context);
    Commit {
        before: head.clone(),
        after,
        decision,
        request_id: id,
        operation,
        payload_hash,
    }
}

/// What the commit found out, as an event; or the error that stays one.
fn as_event(error: CommitError, tried: &Event, origin: &Origin<'_>) -> Result<Event, CommitError> {
    match (error, origin) {
        (CommitError::StockShort { sku, have, want }, _)
            if !matches!(tried, Event::StockShort { .. }) =>
        {
            Ok(Event::StockShort { sku, have, want })
        }
        (CommitError::PaymentIdClash { payment_id }, _)
            if !matches!(tried, Event::PaymentIdClash { .. }) =>
        {
            Ok(Event::PaymentIdClash { payment_id })
        }
        // A caller whose input can never be written hears of it; the order is none the worse.
        (CommitError::Poison { reason }, Origin::Internal { .. })
            if !matches!(tried, Event::CommitPoisoned { .. }) =>
        {
            Ok(Event::CommitPoisoned { reason })
        }
        (error, _) => Err(error),
    }
}

/// True for what stays true however the order moved meanwhile.
fn outlives_a_move(event: &Event, origin: &Origin<'_>) -> bool {
    match event {
        _ if matches!(origin, Origin::Submitted(_)) => true,
        Event::PaymentApproved { .. }
        | Event::PaymentPending { .. }
        | Event::PaymentDeclined { .. }
        | Event::PaymentRefunded
        | Event::PaymentIdClash { .. }
        | Event::RefundSucceeded { .. }
        | Event::ConfirmationPublished
        | Event::ShipmentSent { .. }
        | Event::FulfilmentRefused { .. }
        | Event::CancelRequested { .. } => true,
        Event::StockReserved
        | Event::StockShort { .. }
        | Event::PaymentDue
        | Event::PaymentUnknown { .. }
        | Event::PaymentNotFound
        | Event::RefundDue
        | Event::RefundRefused { .. }
        | Event::RefundUnknown { .. }
        | Event::UnwindDue
        | Event::ConfirmationDelayed { .. }
        | Event::NoticePublished
        | Event::NoticeDelayed { .. }
        | Event::DeadlinePassed
        | Event::AttentionDue
        | Event::Nudged
        | Event::StepRetried
        | Event::UndoRetried
        | Event::UndoMarked { .. }
        | Event::Parked { .. }
        | Event::Unparked
        | Event::Abandoned { .. }
        | Event::CommitPoisoned { .. } => false,
    }
}

/// One line a decision.
fn log(commit: &Commit, origin: &Origin<'_>) {
    let actor = match origin {
        Origin::Internal { actor } => actor,
        Origin::Submitted(submission) => submission.actor.as_str(),
    };
    tracing::info!(
        order_id = %commit.after.order_id,
        version = %commit.after.version,
        from = ?commit.before.state,
        to = ?commit.after.state,
        event = %commit.after.last_event.kind,
        request_id = %commit.request_id,
        actor,
        reason = %commit.decision.reason,
        "decided"
    );
}
