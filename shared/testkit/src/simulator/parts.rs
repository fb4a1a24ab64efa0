//! The saga's surroundings inside a world: table, gateway, bus and clock. Each call waits for its turn on the [`Floor`] and does what its fate
//! says; the answers themselves come from the memory table and the gateway's book, the same as everywhere else.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sagaline_order::{OpId, Timestamp};
use sagaline_saga::gateway::{Charge, Enquiry, Refund, answer};
use sagaline_saga::{BusError, Clock, EventBus, Message, PaymentGateway};
use sagaline_store::{
    Action, CommittedIntent, Item, Key, Page, Query, Table, TableError, TransactError, WriteError,
};
use tokio::time::{Instant, timeout_at};

use super::Mutation;
use super::call::{Call, Fate};
use super::floor::Floor;
use super::mutation;
use crate::MemoryTable;
use crate::gateway::book::{PaymentBody, RefundBody};
use crate::gateway::{Book, Reply};
use crate::memory::Fault;

/// The clock of one process: the world's time and its own deviation.
#[derive(Debug, Clone, Copy)]
pub(super) struct SimClock {
    pub(super) base: Timestamp,
    pub(super) started: Instant,
    /// How old the world was then.
    pub(super) age: Duration,
    pub(super) skew_ms: i64,
    /// How finely it shows the time, in milliseconds.
    pub(super) tick_ms: i64,
}

impl SimClock {
    pub(super) fn elapsed(&self) -> Duration {
        self.age + self.started.elapsed()
    }

    pub(super) fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        let elapsed = i64::try_from(self.elapsed_ms()).unwrap_or(i64::MAX);
        let now = self
            .base
            .as_millis()
            .saturating_add(elapsed)
            .saturating_add(self.skew_ms);
        let shown = now - now.rem_euclid(self.tick_ms.max(1));
        Timestamp::from_millis(shown).unwrap_or(self.base)
    }
}

/// A post that is still under way although nobody waits for it any more.
#[derive(Debug, Clone)]
pub(super) enum Post {
    Pay {
        key: String,
        body: PaymentBody,
    },
    Refund {
        payment_id: String,
        key: String,
        body: RefundBody,
    },
}

/// What is outside: the gateway's book, and what came out of the bus.
#[derive(Debug, Clone, Default)]
pub(super) struct Outside {
    pub(super) book: Book,
    /// Kind and id of each message, repeats included.
    pub(super) messages: Vec<(&'static str, String)>,
    pub(super) wandering: Vec<Post>,
    /// Says that the gateway is to be left alone.
    pub(super) unavailable: bool,
}

/// What all parts of a world share.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    pub(super) floor: Floor,
    pub(super) outside: Arc<Mutex<Outside>>,
    pub(super) clock: SimClock,
    pub(super) mutation: Option<Mutation>,
}

impl Shared {
    pub(super) fn outside(&self) -> MutexGuard<'_, Outside> {
        self.outside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A wandering post arrives.
    pub(super) fn arrive(&self, post: &Post) {
        let now = self.clock.elapsed();
        self.outside().post(post, now);
    }
}

impl Outside {
    fn post(&mut self, post: &Post, now: Duration) -> Reply {
        match post {
            Post::Pay { key, body } => self.book.pay(key, body, now),
            Post::Refund {
                payment_id,
                key,
                body,
            } => self.book.refund(payment_id, key, body, now),
        }
    }
}

/// The table of one world.
#[derive(Debug, Clone)]
pub(super) struct SimTable {
    pub(super) memory: MemoryTable,
    pub(super) shared: Shared,
}

fn no_answer() -> TableError {
    TableError::Unavailable("simulated: no answer".into())
}

fn throttled() -> TableError {
    TableError::Throttled("simulated: throttled".into())
}

/// The failure of a single read or write, if its fate is one.
fn failure(fate: Fate) -> Option<TableError> {
    match fate {
        Fate::Fair | Fate::Behind => None,
        Fate::Throttled => Some(throttled()),
        Fate::NotSent | Fate::Unheard | Fate::Wanders | Fate::Conflict | Fate::StillRuns => {
            Some(no_answer())
        }
    }
}

impl Table for SimTable {
    async fn get(&self, key: Key, _consistent: bool) -> Result<Option<Item>, TableError> {
        // The settings: read by everybody, written by nobody.
        if key.pk != "GLOBAL#CONFIG" {
            let fate = self.shared.floor.turn(Call::Get, key.pk.clone()).await;
            if let Some(failure) = failure(fate) {
                return Err(failure);
            }
        }
        Ok(self.memory.item(&key))
    }

    async fn transact(&self, mut actions: Vec<Action>) -> Result<(), TransactError> {
        let about = actions.first().map(key_text).unwrap_or_default();
        let fate = self.shared.floor.turn(Call::Transact, about).await;
        let length = actions.len();
        if let Some(mutation) = self.shared.mutation {
            mutation::of_transaction(mutation, &mut actions);
        }
        let refusal =
            |fault: Fault| Err(fault.refusal(length).unwrap_or_else(|| no_answer().into()));
        match fate {
            Fate::Fair | Fate::Behind => self.memory.transact_now(&actions),
            Fate::Throttled => Err(throttled().into()),
            Fate::NotSent | Fate::Wanders => Err(no_answer().into()),
            Fate::Unheard => {
                // Done or refused, nobody hears of it.
                let _unheard = self.memory.transact_now(&actions);
                Err(no_answer().into())
            }
            Fate::Conflict => refusal(Fault::Conflict),
            Fate::StillRuns => refusal(Fault::InProgress),
        }
    }

    async fn query(&self, query: Query) -> Result<Page, TableError> {
        // What is empty depends on nobody's turn.
        let page = self.memory.query_now(&query)?;
        if page.items.is_empty() {
            return Ok(page);
        }
        let fate = self
            .shared
            .floor
            .turn(Call::Query, query.partition.clone())
            .await;
        if let Some(failure) = failure(fate) {
            return Err(failure);
        }
        let mut page = self.memory.query_now(&query)?;
        if fate == Fate::Behind {
            let mut place = 0_usize;
            page.items.retain(|_| {
                place += 1;
                place.is_multiple_of(2)
            });
        }
        Ok(page)
    }

    async fn write(&self, action: Action) -> Result<Item, WriteError> {
        self.memory.write_now(&action)
    }
}

fn key_text(action: &Action) -> String {
    match action {
        Action::Update(update) => update.key.pk.clone(),
        Action::Put { item, .. } => item
            .get(sagaline_store::PK)
            .and_then(|pk| pk.as_s().ok())
            .cloned()
            .unwrap_or_default(),
    }
}

/// The gateway of one world.
#[derive(Debug, Clone)]
pub(super) struct SimGateway(pub(super) Shared);

impl SimGateway {
    /// One call: the reply, or what is seen without one.
    async fn call(
        &self,
        (call, about): (Call, String),
        timeout: Duration,
        work: impl FnOnce(&mut Outside, Duration, Fate) -> Option<Reply> + Send,
    ) -> Result<Reply, String> {
        let begun = Instant::now();
        let fate = self.0.floor.turn(call, about).await;
        let reply = {
            let now = self.0.clock.elapsed();
            work(&mut self.0.outside(), now, fate)
        };
        if let Some(reply) = reply
            && fate == Fate::Fair
            && !reply.late
            && begun.elapsed() < timeout
        {
            return Ok(reply);
        }
        // The time passes either way: nobody waits longer.
        let _ = timeout_at(begun + timeout, std::future::pending::<()>()).await;
        Err(format!("no answer within {} ms", timeout.as_millis()))
    }

    async fn post(
        &self,
        call: (Call, String),
        timeout: Duration,
        post: Post,
    ) -> Result<Reply, String> {
        let mutation = self.0.mutation;
        self.call(call, timeout, move |outside, now, fate| match fate {
            Fate::Fair | Fate::Unheard | Fate::Behind => {
                if let Some(reply) =
                    mutation.and_then(|mutation| mutation::of_post(mutation, outside, &post, now))
                {
                    return Some(reply);
                }
                Some(outside.post(&post, now))
            }
            Fate::Wanders => {
                outside.wandering.push(post);
                None
            }
            Fate::NotSent | Fate::Throttled | Fate::Conflict | Fate::StillRuns => None,
        })
        .await
    }
}

impl PaymentGateway for SimGateway {
    async fn charge(&self, intent: CommittedIntent, timeout: Duration) -> Charge {
        let body = PaymentBody {
            order_id: intent.order_id().to_string(),
            amount_minor: intent.amount().get(),
            currency: intent.currency().to_string(),
            payment_token: intent.payment_token().map(str::to_owned),
        };
        let key = intent.op_id().to_string();
        let call = (Call::Charge, intent.order_id().to_string());
        match self.post(call, timeout, Post::Pay { key, body }).await {
            Ok(reply) => answer::charge(reply.status, reply.body.to_string().as_bytes()),
            Err(seen) => Charge::Unknown(seen),
        }
    }

    async fn refund(&self, intent: CommittedIntent, timeout: Duration) -> Refund {
        let post = Post::Refund {
            payment_id: intent
                .payment_id()
                .map(ToString::to_string)
                .unwrap_or_default(),
            key: intent.op_id().to_string(),
            body: RefundBody {
                amount_minor: intent.amount().get(),
                currency: intent.currency().to_string(),
            },
        };
        let call = (Call::Refund, intent.order_id().to_string());
        match self.post(call, timeout, post).await {
            Ok(reply) => answer::refund(reply.status, reply.body.to_string().as_bytes()),
            Err(seen) => Refund::Unknown(seen),
        }
    }

    async fn find(&self, payment: OpId, timeout: Duration) -> Enquiry {
        let key = payment.to_string();
        let found = self
            .call(
                (Call::Find, key.clone()),
                timeout,
                move |outside, now, fate| {
                    matches!(fate, Fate::Fair | Fate::Unheard).then(|| outside.book.find(&key, now))
                },
            )
            .await;
        match found {
            Ok(reply) => answer::enquiry(reply.status, reply.body.to_string().as_bytes()),
            Err(seen) => Enquiry::Unknown(seen),
        }
    }

    fn is_available(&self) -> bool {
        !self.0.outside().unavailable
    }
}

/// The event bus of one world.
#[derive(Debug, Clone)]
pub(super) struct SimBus(pub(super) Shared);

impl EventBus for SimBus {
    async fn publish(&self, message: &Message) -> Result<(), BusError> {
        let id = message
            .detail
            .get("id")
            .and_then(|id| id.as_str())
            .unwrap_or_default()
            .to_owned();
        let fate = self.0.floor.turn(Call::Publish, id.clone()).await;
        match fate {
            Fate::Fair | Fate::Unheard | Fate::Behind => {
                if self.0.mutation != Some(Mutation::MessageSwallowed) {
                    self.0.outside().messages.push((message.detail_type, id));
                }
            }
            Fate::Throttled | Fate::Conflict | Fate::StillRuns => {
                return Err(BusError::Refused {
                    code: "ThrottlingException".to_owned(),
                    message: "simulated".to_owned(),
                });
            }
            Fate::NotSent | Fate::Wanders => {}
        }
        if matches!(fate, Fate::Fair | Fate::Behind) {
            return Ok(());
        }
        Err(BusError::Call("simulated: no answer".into()))
    }
}
