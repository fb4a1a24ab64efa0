//! The saga's surroundings inside one process: clock, payment gateway and event bus, with calls that can be slow, refused, or the last thing that
//! the process does.
//!
//! The gateway keeps the simulator's book ([`crate::gateway`]) and answers through the same pure functions as the real one, so a test that drives
//! orders in memory exercises the contract of the wire. All of it runs on tokio's time: with paused time, hours pass in no time.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sagaline_order::{OpId, Order, Timestamp};
use sagaline_saga::gateway::{Charge, Enquiry, Refund, answer};
use sagaline_saga::{BusError, Clock, EventBus, Message, PaymentGateway};
use sagaline_store::CommittedIntent;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::gateway::book::{PaymentBody, RefundBody};
use crate::gateway::{Account, Book, Reply};

/// A clock that follows tokio's time: it moves with `tokio::time::advance`, and by itself while everything waits.
#[derive(Debug, Clone, Copy)]
pub struct TokioClock {
    base: Timestamp,
    started: Instant,
}

impl TokioClock {
    /// Shows `base` now.
    #[must_use]
    pub fn starting_at(base: Timestamp) -> Self {
        Self {
            base,
            started: Instant::now(),
        }
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        let elapsed = i64::try_from(self.elapsed().as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(self.base.as_millis().saturating_add(elapsed)).unwrap_or(self.base)
    }
}

/// Where a call is the last thing that the process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// The call is never made.
    Before,
    /// The call is made, and nobody hears of it.
    After,
}

/// Counts calls and ends the process at one of them.
#[derive(Debug, Clone)]
struct Script {
    state: Arc<Mutex<ScriptState>>,
    crashes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct ScriptState {
    calls: usize,
    crash: Option<(usize, Crash)>,
}

impl Script {
    fn new() -> Self {
        Self {
            state: Arc::default(),
            crashes: watch::Sender::new(0),
        }
    }

    fn crash_at(&self, nth: usize, crash: Crash) {
        let mut state = lock(&self.state);
        state.crash = Some((state.calls + nth, crash));
    }

    /// Makes a call, unless the process ends here.
    async fn call<R>(&self, work: impl FnOnce() -> R) -> R {
        let crash = {
            let mut state = lock(&self.state);
            state.calls += 1;
            let calls = state.calls;
            state
                .crash
                .take_if(|(nth, _)| *nth == calls)
                .map(|(_, crash)| crash)
        };
        if crash == Some(Crash::Before) {
            return self.end().await;
        }
        let done = work();
        if crash == Some(Crash::After) {
            return self.end().await;
        }
        done
    }

    async fn end<R>(&self) -> R {
        self.crashes.send_modify(|count| *count += 1);
        std::future::pending().await
    }

    async fn until_crash<F: Future>(&self, work: F) -> Option<F::Output> {
        let mut crashes = self.crashes.subscribe();
        // Boxed: several of these may be nested, and each would hold the work more than once.
        let work = Box::pin(work);
        tokio::select! {
            biased;
            done = work => Some(done),
            _ = crashes.changed() => None,
        }
    }
}

/// A payment gateway in this process. Clones share it.
#[derive(Debug, Clone)]
pub struct ScriptedGateway {
    script: Script,
    clock: TokioClock,
    state: Arc<Mutex<GatewayState>>,
}

#[derive(Debug, Default)]
struct GatewayState {
    book: Book,
    answers_after: Duration,
    unavailable: bool,
}

impl ScriptedGateway {
    /// An empty book.
    #[must_use]
    pub fn new(clock: TokioClock) -> Self {
        Self {
            script: Script::new(),
            clock,
            state: Arc::default(),
        }
    }

    /// What each order was charged, given back, and asked for.
    #[must_use]
    pub fn ledger(&self) -> BTreeMap<String, Account> {
        lock(&self.state).book.ledger(self.clock.elapsed())
    }

    /// Calls so far.
    #[must_use]
    pub fn calls(&self) -> usize {
        lock(&self.script.state).calls
    }

    /// From now on every answer takes this long; what is asked for is done at once.
    pub fn answer_after(&self, delay: Duration) {
        lock(&self.state).answers_after = delay;
    }

    /// Says that the gateway is to be left alone, or no longer.
    pub fn set_available(&self, available: bool) {
        lock(&self.state).unavailable = !available;
    }

    /// A payment for this order comes in under this key, from nobody's call: a gateway that had it queued. The next post of the script.
    pub fn post_by_hand(&self, key: &str, order: &Order) {
        let body = PaymentBody {
            order_id: order.order_id.to_string(),
            amount_minor: order.total_minor.get(),
            currency: order.currency.to_string(),
            payment_token: order.payment_token.clone(),
        };
        lock(&self.state).book.pay(key, &body, self.clock.elapsed());
    }

    /// The process ends at the `nth` call from now (1 = the next).
    pub fn crash_at(&self, nth: usize, crash: Crash) {
        self.script.crash_at(nth, crash);
    }

    /// Runs `work` until it is done or a scripted crash ends it.
    pub async fn until_crash<F: Future>(&self, work: F) -> Option<F::Output> {
        self.script.until_crash(work).await
    }

    /// One call: the reply, or `None` if it did not come within the time-out.
    async fn call(
        &self,
        timeout: Duration,
        work: impl FnOnce(&mut Book, Duration) -> Reply,
    ) -> Result<Reply, String> {
        let now = self.clock.elapsed();
        let (reply, delay) = self
            .script
            .call(|| {
                let mut state = lock(&self.state);
                let reply = work(&mut state.book, now);
                (reply, state.answers_after)
            })
            .await;
        let late = if reply.late { Duration::MAX } else { delay };
        // The time passes either way: until the answer is there, or until nobody waits for it any more.
        let waited = tokio::time::timeout(late.min(timeout), std::future::pending::<()>()).await;
        match waited {
            Err(_) if late < timeout => Ok(reply),
            Ok(()) | Err(_) => Err(format!("no answer within {} ms", timeout.as_millis())),
        }
    }
}

impl PaymentGateway for ScriptedGateway {
    async fn charge(&self, intent: CommittedIntent, timeout: Duration) -> Charge {
        let body = PaymentBody {
            order_id: intent.order_id().to_string(),
            amount_minor: intent.amount().get(),
            currency: intent.currency().to_string(),
            payment_token: intent.payment_token().map(str::to_owned),
        };
        match self
            .call(timeout, |book, now| {
                book.pay(&intent.op_id().to_string(), &body, now)
            })
            .await
        {
            Ok(reply) => answer::charge(reply.status, reply.body.to_string().as_bytes()),
            Err(seen) => Charge::Unknown(seen),
        }
    }

    async fn refund(&self, intent: CommittedIntent, timeout: Duration) -> Refund {
        let payment_id = intent
            .payment_id()
            .map(ToString::to_string)
            .unwrap_or_default();
        let body = RefundBody {
            amount_minor: intent.amount().get(),
            currency: intent.currency().to_string(),
        };
        let key = intent.op_id().to_string();
        match self
            .call(timeout, |book, now| {
                book.refund(&payment_id, &key, &body, now)
            })
            .await
        {
            Ok(reply) => answer::refund(reply.status, reply.body.to_string().as_bytes()),
            Err(seen) => Refund::Unknown(seen),
        }
    }

    async fn find(&self, payment: OpId, timeout: Duration) -> Enquiry {
        match self
            .call(timeout, |book, now| book.find(&payment.to_string(), now))
            .await
        {
            Ok(reply) => answer::enquiry(reply.status, reply.body.to_string().as_bytes()),
            Err(seen) => Enquiry::Unknown(seen),
        }
    }

    fn is_available(&self) -> bool {
        !lock(&self.state).unavailable
    }
}

/// An event bus in this process. Clones share it.
#[derive(Debug, Clone)]
pub struct ScriptedBus {
    script: Script,
    state: Arc<Mutex<BusState>>,
}

#[derive(Debug, Default)]
struct BusState {
    messages: Vec<Message>,
    refusals: usize,
}

impl Default for ScriptedBus {
    fn default() -> Self {
        Self {
            script: Script::new(),
            state: Arc::default(),
        }
    }
}

impl ScriptedBus {
    /// What it took so far, repeats included.
    #[must_use]
    pub fn messages(&self) -> Vec<Message> {
        lock(&self.state).messages.clone()
    }

    /// Calls so far.
    #[must_use]
    pub fn calls(&self) -> usize {
        lock(&self.script.state).calls
    }

    /// It takes none of the next messages.
    pub fn refuse(&self, messages: usize) {
        lock(&self.state).refusals = messages;
    }

    /// The process ends at the `nth` call from now (1 = the next).
    pub fn crash_at(&self, nth: usize, crash: Crash) {
        self.script.crash_at(nth, crash);
    }

    /// Runs `work` until it is done or a scripted crash ends it.
    pub async fn until_crash<F: Future>(&self, work: F) -> Option<F::Output> {
        self.script.until_crash(work).await
    }
}

impl EventBus for ScriptedBus {
    async fn publish(&self, message: &Message) -> Result<(), BusError> {
        self.script
            .call(|| {
                let mut state = lock(&self.state);
                if state.refusals > 0 {
                    state.refusals -= 1;
                    return Err(BusError::Refused {
                        code: "ThrottlingException".to_owned(),
                        message: "scripted".to_owned(),
                    });
                }
                state.messages.push(message.clone());
                Ok(())
            })
            .await
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
