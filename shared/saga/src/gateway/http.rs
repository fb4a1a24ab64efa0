//! The gateway over HTTP.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Method, redirect};
use sagaline_order::OpId;
use sagaline_store::CommittedIntent;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::breaker::Breaker;
use super::{Charge, Enquiry, PaymentGateway, Refund, answer};

/// A connection is there quickly or not at all.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Connections idle for longer are not used again: most servers close theirs after a minute.
const POOL_IDLE: Duration = Duration::from_secs(20);

/// The most that is read of an answer; all that is needed of it stands in the first few hundred bytes.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// The payment gateway at a base URL.
///
/// Clones share connections and breaker.
#[derive(Debug, Clone)]
pub struct HttpGateway {
    client: Client,
    base: Url,
    breaker: Arc<Breaker>,
}

/// Why the gateway cannot be spoken to at all.
#[derive(Debug, thiserror::Error)]
pub enum BadGateway {
    /// Nothing can be put behind the base URL.
    #[error("'{0}' cannot be the base of the gateway's addresses")]
    Base(Url),
    /// No HTTP client could be made.
    #[error("no HTTP client could be made")]
    Client(#[source] reqwest::Error),
}

/// One request. It can be sent twice: posts have their idempotency key.
struct Request<'a> {
    method: Method,
    path: &'a [&'a str],
    key: Option<OpId>,
    body: Option<Value>,
}

/// What came back: status and body, or what was seen instead.
type Answered = Result<(u16, Vec<u8>), String>;

impl HttpGateway {
    /// The gateway at `base` (`PAYMENT_URL`).
    ///
    /// # Errors
    /// [`BadGateway`].
    pub fn new(base: Url) -> Result<Self, BadGateway> {
        if base.cannot_be_a_base() {
            return Err(BadGateway::Base(base));
        }
        // A redirected POST would become a GET, and a proxy of the environment would redirect every call: neither is wanted.
        let client = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(POOL_IDLE)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .user_agent("sagaline")
            .build()
            .map_err(BadGateway::Client)?;
        Ok(Self {
            client,
            base,
            breaker: Arc::default(),
        })
    }

    /// Sends a request within a time-out, and counts for the breaker.
    async fn send(&self, request: Request<'_>, timeout: Duration) -> Answered {
        let until = Instant::now() + timeout;
        let answered = match timeout_at(until, self.send_again_if_cut(&request)).await {
            Ok(Ok(answered)) => Ok(answered),
            Ok(Err(error)) => Err(innermost(&error)),
            Err(_) => Err(format!("no answer within {} ms", timeout.as_millis())),
        };
        match &answered {
            Ok((status, _)) if *status < 500 && *status != 429 => self.breaker.succeeded(),
            Ok(_) | Err(_) => self.breaker.failed(),
        }
        answered
    }

    /// A pooled connection may have been closed while the process was frozen (F-RS-10: the first call then fails once). The second try is safe:
    /// a post carries its key, and the gateway does one thing for it.
    async fn send_again_if_cut(
        &self,
        request: &Request<'_>,
    ) -> Result<(u16, Vec<u8>), reqwest::Error> {
        match self.send_once(request).await {
            Err(error) if error.is_request() && !error.is_connect() && !error.is_timeout() => {
                self.send_once(request).await
            }
            answered => answered,
        }
    }

    async fn send_once(&self, request: &Request<'_>) -> Result<(u16, Vec<u8>), reqwest::Error> {
        let mut url = self.base.clone();
        // `new` has checked that the base can carry a path.
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(request.path);
        }
        let mut builder = self.client.request(request.method.clone(), url);
        if let Some(key) = request.key {
            builder = builder.header("Idempotency-Key", key.to_string());
        }
        if let Some(body) = &request.body {
            builder = builder.json(body);
        }
        let mut response = builder.send().await?;
        let status = response.status().as_u16();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            if body.len() + chunk.len() > MAX_ANSWER_BYTES {
                break;
            }
            body.extend_from_slice(&chunk);
        }
        Ok((status, body))
    }
}

impl PaymentGateway for HttpGateway {
    async fn charge(&self, intent: CommittedIntent, timeout: Duration) -> Charge {
        let mut body = json!({
            "order_id": intent.order_id(),
            "amount_minor": intent.amount(),
            "currency": intent.currency(),
        });
        if let (Some(token), Some(fields)) = (intent.payment_token(), body.as_object_mut()) {
            fields.insert("payment_token".to_owned(), Value::from(token));
        }
        let request = Request {
            method: Method::POST,
            path: &["payments"],
            key: Some(intent.op_id()),
            body: Some(body),
        };
        match self.send(request, timeout).await {
            Ok((status, body)) => answer::charge(status, &body),
            Err(seen) => Charge::Unknown(seen),
        }
    }

    async fn refund(&self, intent: CommittedIntent, timeout: Duration) -> Refund {
        let Some(payment_id) = intent.payment_id() else {
            return Refund::Refused("the intent names no payment".to_owned());
        };
        let body = json!({"amount_minor": intent.amount(), "currency": intent.currency()});
        let path = ["payments", payment_id.as_str(), "refunds"];
        let request = Request {
            method: Method::POST,
            path: &path,
            key: Some(intent.op_id()),
            body: Some(body),
        };
        match self.send(request, timeout).await {
            Ok((status, body)) => answer::refund(status, &body),
            Err(seen) => Refund::Unknown(seen),
        }
    }

    async fn find(&self, payment: OpId, timeout: Duration) -> Enquiry {
        let key = payment.to_string();
        let request = Request {
            method: Method::GET,
            path: &["payments", "by-key", &key],
            key: None,
            body: None,
        };
        match self.send(request, timeout).await {
            Ok((status, body)) => answer::enquiry(status, &body),
            Err(seen) => Enquiry::Unknown(seen),
        }
    }

    fn is_available(&self) -> bool {
        !self.breaker.is_open()
    }
}

/// The last cause of an error: the outer ones repeat the address.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
