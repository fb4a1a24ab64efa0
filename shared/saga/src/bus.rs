//! The event bus: what is told to the world, and how it gets there.
//!
//! A message is made from the order alone, so the same message comes out however often it is sent: its id is the order's and the version that
//! caused it, and receivers drop repeats by it.

use std::future::Future;

use aws_sdk_eventbridge::Client;
use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use sagaline_order::{Notice, NoticeKind, Order, Version};
use serde_json::{Map, Value, json};

/// The `source` of every message.
pub const SOURCE: &str = "sagaline";

/// A detail above this is sent without its lines and address. EventBridge counts 256 KB for a whole request, detail and envelope together
/// (EventBridge API Reference, PutEvents).
const MAX_DETAIL_BYTES: usize = 240 * 1024;

/// A message for the bus.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// `OrderConfirmed`, `OrderCancelled` or `OrderNeedsAttention`.
    pub detail_type: &'static str,
    /// One JSON object; its `id` tells repeats.
    pub detail: Value,
}

/// Takes messages.
pub trait EventBus: Send + Sync {
    /// Sends one. `Ok` = the bus has it.
    ///
    /// # Errors
    /// Whatever else happened: it may be sent again.
    fn publish(&self, message: &Message) -> impl Future<Output = Result<(), BusError>> + Send;
}

/// The bus did not take a message, or did not say so.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// The call failed.
    #[error("the event bus cannot be reached")]
    Call(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The call went through and the entry was refused: `PutEvents` reports failures per entry with status 200 (F-RS-8).
    #[error("the event bus refused the message: {code} {message}")]
    Refused {
        /// Of the entry.
        code: String,
        /// Of the entry.
        message: String,
    },
}

/// `OrderConfirmed`: all that fulfilment needs. `None` before the pivot.
#[must_use]
pub fn confirmation(order: &Order) -> Option<Message> {
    let version = order.confirmed_version?;
    let mut detail = facts(order, version);
    detail.insert("lines".to_owned(), json!(order.lines));
    if let Some(shipping) = &order.shipping {
        detail.insert("shipping".to_owned(), json!(shipping));
    }
    if let Some(payment_id) = &order.payment_id {
        detail.insert("payment_id".to_owned(), json!(payment_id));
    }
    Some(message("OrderConfirmed", detail))
}

/// The message of a notice.
#[must_use]
pub fn notice(order: &Order, notice: &Notice) -> Message {
    let mut detail = facts(order, notice.version);
    match notice.kind {
        NoticeKind::OrderCancelled => {
            if let Some(unwind) = &order.unwind {
                detail.insert("reason".to_owned(), json!(unwind.reason));
                detail.insert("returned".to_owned(), json!(unwind.returned));
            }
            message("OrderCancelled", detail)
        }
        NoticeKind::OrderNeedsAttention => {
            if let Some(attention) = &order.attention {
                detail.insert("reason".to_owned(), json!(attention.reason));
                detail.insert("since".to_owned(), json!(attention.since));
            }
            message("OrderNeedsAttention", detail)
        }
    }
}

fn facts(order: &Order, version: Version) -> Map<String, Value> {
    let mut detail = Map::new();
    detail.insert(
        "id".to_owned(),
        json!(format!("{}#{version}", order.order_id)),
    );
    detail.insert("order_id".to_owned(), json!(order.order_id));
    detail.insert("user_id".to_owned(), json!(order.user_id));
    detail.insert("version".to_owned(), json!(version));
    detail.insert("total_minor".to_owned(), json!(order.total_minor));
    detail.insert("currency".to_owned(), json!(order.currency));
    detail
}

/// Leaves out what is large if it is too large; `truncated` tells the receiver to read the order itself.
fn message(detail_type: &'static str, mut detail: Map<String, Value>) -> Message {
    if Value::from(detail.clone()).to_string().len() > MAX_DETAIL_BYTES {
        detail.remove("lines");
        detail.remove("shipping");
        detail.insert("truncated".to_owned(), Value::from(true));
    }
    Message {
        detail_type,
        detail: Value::from(detail),
    }
}

/// An EventBridge bus.
#[derive(Debug, Clone)]
pub struct EventBridge {
    client: Client,
    bus: String,
}

impl EventBridge {
    /// The bus of that name or ARN (`EVENT_BUS`).
    #[must_use]
    pub fn new(client: Client, bus: impl Into<String>) -> Self {
        Self {
            client,
            bus: bus.into(),
        }
    }
}

impl EventBus for EventBridge {
    async fn publish(&self, message: &Message) -> Result<(), BusError> {
        let entry = PutEventsRequestEntry::builder()
            .event_bus_name(&self.bus)
            .source(SOURCE)
            .detail_type(message.detail_type)
            .detail(message.detail.to_string())
            .build();
        let answer = self
            .client
            .put_events()
            .entries(entry)
            .send()
            .await
            .map_err(|error| BusError::Call(error.into()))?;
        let refused = answer
            .entries()
            .iter()
            .find(|entry| entry.error_code().is_some());
        if refused.is_none() && answer.failed_entry_count() == 0 {
            return Ok(());
        }
        Err(BusError::Refused {
            code: refused
                .and_then(|entry| entry.error_code())
                .unwrap_or("FailedEntryCount")
                .to_owned(),
            message: refused
                .and_then(|entry| entry.error_message())
                .unwrap_or_default()
                .to_owned(),
        })
    }
}
