//! What the gateway remembers: payments, refunds, the answer of every idempotency key. No IO; time comes in as a value.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::script::{Answer, Script, Settlement};

mod ledger;

pub use ledger::{Account, Calls, Payment, PaymentStatus, Refund};

/// The body of `POST /payments`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PaymentBody {
    /// Whose payment.
    pub order_id: String,
    /// How much.
    pub amount_minor: i64,
    /// Of what.
    pub currency: String,
    /// The script.
    #[serde(default)]
    pub payment_token: Option<String>,
}

/// The body of `POST /payments/<id>/refunds`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RefundBody {
    /// How much.
    pub amount_minor: i64,
    /// Of what.
    pub currency: String,
}

/// What the caller gets.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The JSON body.
    pub body: Value,
    /// True if the answer comes later than any caller waits.
    pub late: bool,
}

/// The gateway's memory.
#[derive(Debug, Clone, Default)]
pub struct Book {
    payments: Vec<Payment>,
    keys: BTreeMap<String, KeyEntry>,
    orders: BTreeMap<String, Seen>,
}

/// A key that was used, and what was done under it. A request that created nothing (503, a refusal) leaves no answer.
#[derive(Debug, Clone)]
struct KeyEntry {
    request: Value,
    order_id: String,
    answer: Option<(u16, Value)>,
    payment: Option<usize>,
}

#[derive(Debug, Clone, Default)]
struct Seen {
    script: Option<Script>,
    calls: Calls,
}

impl Book {
    /// `POST /payments` with its key.
    pub fn pay(&mut self, key: &str, body: &PaymentBody, now: Duration) -> Reply {
        self.settle_due(now);
        let seen = self.orders.entry(body.order_id.clone()).or_default();
        seen.calls.payments += 1;
        let request =
            json!({"pay": body.order_id, "amount": body.amount_minor, "currency": body.currency});
        if let Some(reply) = self.repeat(key, &request) {
            return reply;
        }
        if body.amount_minor <= 0 {
            return refuse(422, "amount_minor must be positive");
        }
        let script = self.script(&body.order_id, body.payment_token.as_deref());
        let (fails, late, processed) = if take(&mut script.failures) {
            (true, false, false)
        } else if take(&mut script.timeouts_not_charged) {
            (false, true, false)
        } else {
            (false, take(&mut script.timeouts_charged), true)
        };
        let (answer, wanted_id) = (script.answer.clone(), script.payment_id.clone());
        let entry = KeyEntry {
            request,
            order_id: body.order_id.clone(),
            answer: None,
            payment: None,
        };
        let entry = self.keys.entry(key.to_owned()).or_insert(entry);
        if !processed {
            return if fails {
                refuse(503, "scripted failure")
            } else {
                Reply {
                    late,
                    ..refuse(503, "scripted time-out")
                }
            };
        }
        let payment_id = wanted_id.unwrap_or_else(|| named("pay", key));
        let (status, settles) = match &answer {
            Answer::Approve => (PaymentStatus::Approved, None),
            Answer::Decline(_) => (PaymentStatus::Declined, None),
            Answer::Pending(Settlement::ByHand) => (PaymentStatus::Pending, None),
            Answer::Pending(Settlement::ApproveAfter(time)) => (
                PaymentStatus::Pending,
                Some((now + *time, PaymentStatus::Approved)),
            ),
            Answer::Pending(Settlement::DeclineAfter(time)) => (
                PaymentStatus::Pending,
                Some((now + *time, PaymentStatus::Declined)),
            ),
        };
        let answer = match &answer {
            Answer::Decline(reason) => (
                402,
                json!({"payment_id": payment_id, "status": status, "reason": reason}),
            ),
            Answer::Approve | Answer::Pending(_) => {
                (201, json!({"payment_id": payment_id, "status": status}))
            }
        };
        entry.answer = Some(answer.clone());
        entry.payment = Some(self.payments.len());
        self.payments.push(Payment {
            key: key.to_owned(),
            payment_id,
            order_id: body.order_id.clone(),
            status,
            amount_minor: body.amount_minor,
            currency: body.currency.clone(),
            refunded_minor: 0,
            refunds: Vec::new(),
            settles,
        });
        Reply {
            status: answer.0,
            body: answer.1,
            late,
        }
    }

    /// `GET /payments/by-key/<key>`.
    pub fn find(&mut self, key: &str, now: Duration) -> Reply {
        self.settle_due(now);
        let Some(entry) = self.keys.get(key) else {
            return refuse(404, "no payment was made under this key");
        };
        self.orders
            .entry(entry.order_id.clone())
            .or_default()
            .calls
            .enquiries += 1;
        match entry.payment.and_then(|place| self.payments.get(place)) {
            Some(payment) => Reply {
                status: 200,
                body: found(payment),
                late: false,
            },
            None => refuse(404, "no payment was made under this key"),
        }
    }

    /// `POST /payments/<id>/refunds` with its key.
    pub fn refund(
        &mut self,
        payment_id: &str,
        key: &str,
        body: &RefundBody,
        now: Duration,
    ) -> Reply {
        self.settle_due(now);
        // A scripted id may be shared: the refund goes to the one that still has money in it.
        let of_id = |p: &&mut Payment| p.payment_id == payment_id;
        let Some(payment) = self
            .payments
            .iter_mut()
            .filter(of_id)
            .max_by_key(|p| p.amount_minor - p.refunded_minor)
        else {
            return refuse(404, "there is no such payment");
        };
        let order_id = payment.order_id.clone();
        let seen = self.orders.entry(order_id.clone()).or_default();
        seen.calls.refunds += 1;
        let request =
            json!({"refund": payment_id, "amount": body.amount_minor, "currency": body.currency});
        if let Some(entry) = self.keys.get(key) {
            return answer_again(entry, &request)
                .unwrap_or_else(|| refuse(409, "the key is in use"));
        }
        let mut late = false;
        if let Some(script) = &mut seen.script {
            if take(&mut script.refund_failures) {
                return refuse(503, "scripted failure");
            }
            if take(&mut script.refund_refusals) {
                return refuse(422, "scripted refusal");
            }
            late = take(&mut script.refund_timeouts);
        }
        let left = payment.amount_minor - payment.refunded_minor;
        match payment.status {
            PaymentStatus::Approved
                if body.currency == payment.currency && (1..=left).contains(&body.amount_minor) =>
            {
                payment.refunded_minor += body.amount_minor;
            }
            PaymentStatus::Pending => {
                payment.status = PaymentStatus::Voided;
                payment.settles = None;
            }
            PaymentStatus::Approved | PaymentStatus::Declined | PaymentStatus::Voided => {
                return refuse(422, "there is not that much to give back");
            }
        }
        let refund_id = named("ref", key);
        payment.refunds.push(Refund {
            key: key.to_owned(),
            refund_id: refund_id.clone(),
            amount_minor: body.amount_minor,
        });
        let body = json!({"refund_id": refund_id, "payment_id": payment_id, "status": payment.status, "refunded_minor": payment.refunded_minor});
        let answer = Some((201, body.clone()));
        self.keys.insert(
            key.to_owned(),
            KeyEntry {
                request,
                order_id,
                answer,
                payment: None,
            },
        );
        Reply {
            status: 201,
            body,
            late,
        }
    }

    /// Settles a pending payment by hand.
    pub fn settle(&mut self, payment_id: &str, approve: bool, now: Duration) -> Reply {
        self.settle_due(now);
        let Some(payment) = self
            .payments
            .iter_mut()
            .find(|payment| payment.payment_id == payment_id)
        else {
            return refuse(404, "there is no such payment");
        };
        if payment.status != PaymentStatus::Pending {
            return refuse(409, "the payment is settled");
        }
        payment.status = if approve {
            PaymentStatus::Approved
        } else {
            PaymentStatus::Declined
        };
        payment.settles = None;
        Reply {
            status: 200,
            body: found(payment),
            late: false,
        }
    }

    /// The ledger of every order that was heard of.
    pub fn ledger(&mut self, now: Duration) -> BTreeMap<String, Account> {
        self.settle_due(now);
        let mut ledger: BTreeMap<String, Account> = BTreeMap::new();
        for (order_id, seen) in &self.orders {
            ledger.insert(
                order_id.clone(),
                Account {
                    calls: seen.calls.clone(),
                    ..Account::default()
                },
            );
        }
        for payment in &self.payments {
            let account = ledger.entry(payment.order_id.clone()).or_default();
            if payment.status == PaymentStatus::Approved {
                account.charged_minor += payment.amount_minor;
            }
            account.refunded_minor += payment.refunded_minor;
            account.payments.push(payment.clone());
        }
        ledger
    }

    /// All that decides what it answers from now on, as text. Two books with the same answer alike.
    pub(crate) fn state(&self) -> String {
        let scripts: Vec<_> = self
            .orders
            .iter()
            .map(|(order_id, seen)| (order_id, &seen.script))
            .collect();
        format!("{:?} {:?} {scripts:?}", self.payments, self.keys)
    }

    fn script(&mut self, order_id: &str, token: Option<&str>) -> &mut Script {
        self.orders
            .entry(order_id.to_owned())
            .or_default()
            .script
            .get_or_insert_with(|| Script::parse(token))
    }

    fn repeat(&self, key: &str, request: &Value) -> Option<Reply> {
        answer_again(self.keys.get(key)?, request)
    }

    fn settle_due(&mut self, now: Duration) {
        for payment in &mut self.payments {
            if let Some((_, status)) = payment.settles.take_if(|(at, _)| *at <= now) {
                payment.status = status;
            }
        }
    }
}

/// The answer that the key already has; 409 if the key was used for something else; `None` if nothing was done under it.
fn answer_again(entry: &KeyEntry, request: &Value) -> Option<Reply> {
    if entry.request != *request {
        return Some(refuse(409, "the key is in use for another request"));
    }
    entry.answer.clone().map(|(status, body)| Reply {
        status,
        body,
        late: false,
    })
}

fn found(payment: &Payment) -> Value {
    json!({
        "payment_id": payment.payment_id, "order_id": payment.order_id, "status": payment.status, "amount_minor": payment.amount_minor,
        "currency": payment.currency, "refunded_minor": payment.refunded_minor,
        "refund_id": payment.refunds.last().map(|refund| &refund.refund_id),
    })
}

fn refuse(status: u16, error: &str) -> Reply {
    Reply {
        status,
        body: json!({"error": error}),
        late: false,
    }
}

/// An id that repeats with its key, so that a seed reproduces a run.
fn named(kind: &str, key: &str) -> String {
    let id = Uuid::new_v5(&Uuid::NAMESPACE_OID, key.as_bytes())
        .simple()
        .to_string();
    format!("{kind}-{}", id.get(..16).unwrap_or_default())
}

fn take(count: &mut u32) -> bool {
    let some = *count > 0;
    *count = count.saturating_sub(1);
    some
}

#[cfg(test)]
mod tests;
