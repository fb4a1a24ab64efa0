//! Reports from outside: what gateway and fulfilment tell us of their own accord. Over HTTP they come signed; here they are already believed.

use sagaline_order::{Event, OrderId, PaymentId, RequestId};
use sagaline_store::PayloadHash;
use serde::{Deserialize, Serialize};

/// A report, as it comes in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Callback {
    /// Makes it happen once.
    pub event_id: String,
    /// What it says.
    #[serde(rename = "type")]
    pub kind: CallbackKind,
    /// Of which order.
    pub order_id: OrderId,
    /// Of which operation, for reports on payments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op_id: Option<String>,
    /// Of which payment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payment_id: Option<String>,
    /// How to follow the goods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracking: Option<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When the sender saw it. Told, not used: our own clock says when a report was taken in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// What a report says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallbackKind {
    /// The payment was charged.
    #[serde(rename = "payment.approved")]
    PaymentApproved,
    /// The payment was refused.
    #[serde(rename = "payment.declined")]
    PaymentDeclined,
    /// The payment was given back.
    #[serde(rename = "payment.refunded")]
    PaymentRefunded,
    /// The goods are on their way.
    #[serde(rename = "shipment.sent")]
    ShipmentSent,
    /// Fulfilment cannot deliver.
    #[serde(rename = "fulfilment.refused")]
    FulfilmentRefused,
}

/// A report that lacks what its type needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {rule}")]
pub struct BadCallback {
    /// The field.
    pub field: &'static str,
    /// The rule it breaks.
    pub rule: String,
}

impl CallbackKind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::PaymentApproved,
        Self::PaymentDeclined,
        Self::PaymentRefunded,
        Self::ShipmentSent,
        Self::FulfilmentRefused,
    ];

    /// The type on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PaymentApproved => "payment.approved",
            Self::PaymentDeclined => "payment.declined",
            Self::PaymentRefunded => "payment.refunded",
            Self::ShipmentSent => "shipment.sent",
            Self::FulfilmentRefused => "fulfilment.refused",
        }
    }

    /// Who sends it, for the history.
    #[must_use]
    pub fn actor(self) -> &'static str {
        match self {
            Self::PaymentApproved | Self::PaymentDeclined | Self::PaymentRefunded => "gateway",
            Self::ShipmentSent | Self::FulfilmentRefused => "fulfilment",
        }
    }
}

impl std::str::FromStr for CallbackKind {
    type Err = BadCallback;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| {
                let known = Self::ALL.map(Self::as_str).join(", ");
                bad("type", format!("'{text}' is none of {known}"))
            })
    }
}

impl Callback {
    /// What it means for the order.
    ///
    /// # Errors
    /// [`BadCallback`] names the field that is missing or unusable.
    pub fn event(&self) -> Result<Event, BadCallback> {
        let reason = || {
            self.reason
                .clone()
                .unwrap_or_else(|| "no reason given".to_owned())
        };
        Ok(match self.kind {
            CallbackKind::PaymentApproved => {
                let text = self
                    .payment_id
                    .as_deref()
                    .ok_or_else(|| bad("payment_id", "is needed for payment.approved"))?;
                let payment_id =
                    PaymentId::parse(text).map_err(|error| bad("payment_id", error.to_string()))?;
                Event::PaymentApproved { payment_id }
            }
            CallbackKind::PaymentDeclined => Event::PaymentDeclined { reason: reason() },
            CallbackKind::PaymentRefunded => Event::PaymentRefunded,
            CallbackKind::ShipmentSent => {
                let tracking = self
                    .tracking
                    .clone()
                    .filter(|tracking| !tracking.trim().is_empty());
                Event::ShipmentSent {
                    tracking: tracking
                        .ok_or_else(|| bad("tracking", "is needed for shipment.sent"))?,
                }
            }
            CallbackKind::FulfilmentRefused => Event::FulfilmentRefused { reason: reason() },
        })
    }

    /// The request id under which it is committed.
    #[must_use]
    pub fn request_id(&self) -> RequestId {
        RequestId::of_callback(&self.event_id)
    }

    /// Covers what the sender says, without the time: a sender may stamp a repeat anew.
    #[must_use]
    pub fn payload_hash(&self) -> PayloadHash {
        PayloadHash::of(&serde_json::json!({
            "type": self.kind, "order_id": self.order_id, "op_id": self.op_id, "payment_id": self.payment_id,
            "tracking": self.tracking, "reason": self.reason,
        }))
    }
}

fn bad(field: &'static str, rule: impl Into<String>) -> BadCallback {
    BadCallback {
        field,
        rule: rule.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn callback(text: &str) -> Callback {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn each_type_needs_its_own_fields() {
        let approved = callback(
            r#"{"event_id":"e-1","type":"payment.approved","order_id":"o-1","payment_id":"p-1","at":"2026-01-31T08:30:00Z"}"#,
        );
        assert!(matches!(
            approved.event(),
            Ok(Event::PaymentApproved { .. })
        ));
        assert_eq!(approved.request_id().as_str(), "callback#e-1");
        let nameless = callback(r#"{"event_id":"e-1","type":"payment.approved","order_id":"o-1"}"#);
        assert_eq!(
            nameless.event().unwrap_err().to_string(),
            "payment_id: is needed for payment.approved"
        );
        let untracked = callback(
            r#"{"event_id":"e-2","type":"shipment.sent","order_id":"o-1","tracking":" "}"#,
        );
        assert_eq!(untracked.event().unwrap_err().field, "tracking");
        assert!(
            "payment.lost"
                .parse::<CallbackKind>()
                .unwrap_err()
                .to_string()
                .contains("payment.approved, payment.declined")
        );
    }

    #[test]
    fn a_repeat_with_another_time_is_the_same_report() {
        let first = callback(
            r#"{"event_id":"e-1","type":"payment.refunded","order_id":"o-1","at":"2026-01-31T08:30:00Z"}"#,
        );
        let again = callback(r#"{"event_id":"e-1","type":"payment.refunded","order_id":"o-1"}"#);
        assert_eq!(first.payload_hash(), again.payload_hash());
    }
}
