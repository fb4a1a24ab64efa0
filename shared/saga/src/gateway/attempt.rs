//! One attempt of a step at the gateway, from its intent to the event that says how it went.
//!
//! Two rules, the same for charge and refund. A fresh first attempt posts at once; every other one asks first, and posts only if the gateway
//! definitely has not done it. And no call starts unless its time-out ends before `not_after` and before the caller must have answered: after
//! `not_after` the step belongs to whoever asks next, so a process that stalled must find out here that it is too late. The clock is therefore
//! read before every single call, not once.

use std::time::Duration;

use sagaline_order::{Event, Minor, OpId, Order, Timestamp};
use sagaline_store::CommittedIntent;
use tokio::time::Instant;

use super::{Charge, Enquiry, FoundPayment, PaymentGateway, PaymentStatus, Refund};
use crate::Clock;

/// A call that gets less time than this tells nothing and is not started.
const SHORTEST_CALL: Duration = Duration::from_millis(200);

/// With less time than this before the caller must answer, nothing is begun: a gateway that works would look like one that does not.
const LAST_START: Duration = Duration::from_secs(3);

/// The time one attempt has.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// For one call.
    pub call: Duration,
    /// For all calls of the attempt.
    pub attempt: Duration,
    /// When the caller must have answered: no call outlasts it.
    pub until: Instant,
}

/// The calls of one attempt, each fitted into what is left.
struct Calls<'a, C> {
    clock: &'a C,
    window: Window,
    attempt_ends: Instant,
    not_after: Timestamp,
}

impl<C: Clock> Calls<'_, C> {
    /// The time-out of the next call; `None` if there is no room for one.
    fn next(&self) -> Option<Duration> {
        let attempt_left = self.attempt_ends.saturating_duration_since(Instant::now());
        let intent_left = self
            .not_after
            .as_millis()
            .saturating_sub(self.clock.now().as_millis());
        // A call ends strictly before `not_after`.
        let intent_left =
            Duration::from_millis(u64::try_from(intent_left).unwrap_or(0).saturating_sub(1));
        self.window.fit(attempt_left.min(intent_left))
    }
}

impl Window {
    /// True if there is time to begin a call before the caller must answer.
    pub fn is_open(&self) -> bool {
        self.until.saturating_duration_since(Instant::now()) >= LAST_START.min(self.call)
    }

    /// The time-out of a call that has this much time at most.
    fn fit(&self, left: Duration) -> Option<Duration> {
        let timeout = self
            .call
            .min(left)
            .min(self.until.saturating_duration_since(Instant::now()));
        (self.is_open() && timeout >= SHORTEST_CALL).then_some(timeout)
    }

    fn calls<'a, C: Clock>(self, clock: &'a C, intent: &CommittedIntent) -> Calls<'a, C> {
        Calls {
            clock,
            window: self,
            attempt_ends: Instant::now() + self.attempt,
            not_after: intent.not_after(),
        }
    }
}

/// Charges. `None` if no call could be started in time: nothing was learnt.
pub async fn charge<G: PaymentGateway, C: Clock>(
    gateway: &G,
    clock: &C,
    intent: CommittedIntent,
    window: Window,
) -> Option<Event> {
    let calls = window.calls(clock, &intent);
    if intent.asks_first() {
        match gateway.find(intent.payment_op_id(), calls.next()?).await {
            Enquiry::NotFound => {}
            found @ (Enquiry::Found(_) | Enquiry::Unknown(_)) => {
                return Some(enquired(found, intent.amount()));
            }
        }
    }
    Some(match gateway.charge(intent, calls.next()?).await {
        Charge::Approved(payment_id) => Event::PaymentApproved { payment_id },
        Charge::Pending(payment_id) => Event::PaymentPending { payment_id },
        Charge::Declined(reason) => Event::PaymentDeclined { reason },
        Charge::Unknown(reason) => Event::PaymentUnknown { reason },
    })
}

/// Refunds. `None` if no call could be started in time: nothing was learnt.
pub async fn refund<G: PaymentGateway, C: Clock>(
    gateway: &G,
    clock: &C,
    intent: CommittedIntent,
    window: Window,
) -> Option<Event> {
    let calls = window.calls(clock, &intent);
    if intent.asks_first() {
        match gateway.find(intent.payment_op_id(), calls.next()?).await {
            Enquiry::Found(found) if holds_nothing(&found, intent.amount()) => {
                return Some(match found.refund_id {
                    Some(refund_id) => Event::RefundSucceeded { refund_id },
                    None => Event::PaymentRefunded,
                });
            }
            // Not found: the post decides. The gateway refuses a refund of what it does not know.
            Enquiry::Found(_) | Enquiry::NotFound => {}
            Enquiry::Unknown(reason) => return Some(Event::RefundUnknown { reason }),
        }
    }
    Some(match gateway.refund(intent, calls.next()?).await {
        Refund::Succeeded(refund_id) => Event::RefundSucceeded { refund_id },
        Refund::Refused(reason) => Event::RefundRefused { reason },
        Refund::Unknown(reason) => Event::RefundUnknown { reason },
    })
}

/// Asks about the payment of an order. `None` if the call could not be started in time.
pub async fn enquire<G: PaymentGateway>(
    gateway: &G,
    payment: OpId,
    order: &Order,
    window: Window,
) -> Option<Event> {
    let timeout = window.fit(window.attempt)?;
    Some(enquired(
        gateway.find(payment, timeout).await,
        order.total_minor,
    ))
}

/// What an enquiry says of the payment itself.
fn enquired(enquiry: Enquiry, total: Minor) -> Event {
    match enquiry {
        Enquiry::Found(found) if holds_nothing(&found, total) => Event::PaymentDeclined {
            reason: format!("the gateway holds no money of it: {}", words(found.status)),
        },
        Enquiry::Found(FoundPayment {
            status: PaymentStatus::Pending,
            payment_id,
            ..
        }) => Event::PaymentPending { payment_id },
        Enquiry::Found(FoundPayment { payment_id, .. }) => Event::PaymentApproved { payment_id },
        Enquiry::NotFound => Event::PaymentNotFound,
        Enquiry::Unknown(reason) => Event::PaymentUnknown { reason },
    }
}

/// True if nothing is charged and nothing will be: there is nothing to give back.
fn holds_nothing(found: &FoundPayment, total: Minor) -> bool {
    match found.status {
        PaymentStatus::Declined | PaymentStatus::Voided => true,
        PaymentStatus::Approved => found.refunded_minor >= total.get(),
        PaymentStatus::Pending => false,
    }
}

fn words(status: PaymentStatus) -> &'static str {
    match status {
        PaymentStatus::Approved => "refunded",
        PaymentStatus::Declined => "declined",
        PaymentStatus::Pending => "pending",
        PaymentStatus::Voided => "voided",
    }
}
