//! Identifiers. Each kind is a type of its own, checked when it is made.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The namespace of every derived UUID of this system; the parts of a name are joined with LF.
pub const NAMESPACE: Uuid = uuid::uuid!("5b0f0f2e-6c1d-4d1b-9a57-3d2a8e4c7f10");

/// Why an identifier was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to {max} characters of A-Z a-z 0-9 . _ : -")]
pub struct BadId {
    max: usize,
}

fn check(text: &str, max: usize) -> Result<(), BadId> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'-');
    if (1..=max).contains(&text.len()) && text.bytes().all(allowed) {
        Ok(())
    } else {
        Err(BadId { max })
    }
}

/// UUIDv5 over the parts, joined with LF.
#[must_use]
pub fn derived_uuid(parts: &[&str]) -> Uuid {
    Uuid::new_v5(&NAMESPACE, parts.join("\n").as_bytes())
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $max:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Checks an identifier that a caller gives.
            ///
            /// # Errors
            /// [`BadId`] if it is empty, too long or holds another character.
            pub fn parse(text: &str) -> Result<Self, BadId> {
                check(text, $max).map(|()| Self(text.to_owned()))
            }

            /// Takes an identifier as it stands in a stored row or a stream record, whatever it holds.
            #[must_use]
            pub fn stored(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// An order: 1 to 100 of `A-Za-z0-9._:-`.
    OrderId,
    100
);
text_id!(
    /// A user: 1 to 100 of `A-Za-z0-9._:-`.
    UserId,
    100
);
text_id!(
    /// A stock keeping unit: 1 to 64 of `A-Za-z0-9._:-`.
    Sku,
    64
);
text_id!(
    /// A payment, named by the gateway.
    PaymentId,
    100
);
text_id!(
    /// A refund, named by the gateway.
    RefundId,
    100
);

impl OrderId {
    /// The id of an order whose caller gave none: the same request always names the same order.
    #[must_use]
    pub fn derived(user: &UserId, request: &RequestId) -> Self {
        Self(derived_uuid(&[user.as_str(), request.as_str()]).to_string())
    }

    /// The shard of this order among `count`: CRC-32 of the id modulo the count.
    #[must_use]
    pub fn shard(&self, count: u32) -> u32 {
        crc32fast::hash(self.0.as_bytes())
            .checked_rem(count)
            .unwrap_or(0)
    }
}

/// The id that makes a commit happen once. A caller's holds no `#`; the pipeline's own always do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(String);

impl RequestId {
    /// Checks a request id that a caller gives: 1 to 100 of `A-Za-z0-9._:-`.
    ///
    /// # Errors
    /// [`BadId`] if it is empty, too long or holds another character (so also `#`).
    pub fn parse(text: &str) -> Result<Self, BadId> {
        check(text, 100).map(|()| Self(text.to_owned()))
    }

    /// The id of line `line` (from 1) of an imported file, so that a repeated import places nothing twice.
    #[must_use]
    pub fn of_line(file_sha256_hex: &str, line: usize) -> Self {
        Self(derived_uuid(&[file_sha256_hex, &line.to_string()]).to_string())
    }

    /// `<op_id>#<attempt>#<outcome>`: the outcome of one attempt of a step.
    #[must_use]
    pub fn of_outcome(op: OpId, attempt: u32, outcome: &str) -> Self {
        Self(format!("{op}#{attempt}#{outcome}"))
    }

    /// `<order_id>#<version seen>#<kind>`: any other commit of the pipeline; kinds `deadline` and `cancel` among them.
    #[must_use]
    pub fn of_event(order: &OrderId, seen: Version, kind: &str) -> Self {
        Self(format!("{order}#{seen}#{kind}"))
    }

    /// `callback#<event_id>`: a report from outside.
    #[must_use]
    pub fn of_callback(event_id: &str) -> Self {
        Self(format!("callback#{event_id}"))
    }

    /// True for the ids that the pipeline makes itself. A report's id is its sender's word, as a caller's is: it has one `#`, the others have two.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        let of_a_report = self
            .0
            .strip_prefix("callback#")
            .is_some_and(|event_id| !event_id.contains('#'));
        self.0.contains('#') && !of_a_report
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for RequestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// One operation of a step against the outside, the same on every retry: the idempotency key of the payment gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OpId(Uuid);

impl OpId {
    /// Of order, step and direction (`do` or `undo`).
    #[must_use]
    pub fn derive(order: &OrderId, step: &str, direction: &str) -> Self {
        Self(derived_uuid(&[order.as_str(), step, direction]))
    }

    /// Parses the hyphenated form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Uuid::parse_str(text).ok().map(Self)
    }
}

impl std::fmt::Display for OpId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The version of an order head: 1 at placement, +1 at every commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(u64);

impl Version {
    /// The version of a placement.
    pub const FIRST: Self = Self(1);

    /// `None` for 0 and for what a signed 64-bit number (an OpenSearch version) cannot hold.
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        (number >= 1 && i64::try_from(number).is_ok()).then_some(Self(number))
    }

    /// The version of the next commit.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callers_id_holds_no_hash_sign_and_has_a_length() {
        for bad in ["", "a#b", "a b", "ä", &"x".repeat(101)] {
            assert!(OrderId::parse(bad).is_err(), "{bad}");
            assert!(RequestId::parse(bad).is_err(), "{bad}");
        }
        assert!(OrderId::parse(&"x".repeat(100)).is_ok());
        assert!(Sku::parse(&"x".repeat(65)).is_err());
    }

    #[test]
    fn derived_ids_are_stable_and_apart() {
        let order = OrderId::parse("o-1").unwrap();
        assert_eq!(
            OpId::derive(&order, "pay", "do"),
            OpId::derive(&order, "pay", "do")
        );
        assert_ne!(
            OpId::derive(&order, "pay", "do"),
            OpId::derive(&order, "pay", "undo")
        );
        assert_eq!(order.shard(16), crc32fast::hash(b"o-1") % 16);
    }
}
