//! The request guard: the row that makes a commit happen once, and tells a repeat from another request under the same id.

use sagaline_order::{
    EpochSeconds, OrderId, PayloadHash, RequestId, Seconds, Timestamp, UserId, Version,
};

use crate::error::StoreError;
use crate::key::Key;
use crate::row::{self, Row};
use crate::table::Item;
use crate::value::{n, s};

/// How long a request id is remembered.
pub const GUARD_KEPT: Seconds = Seconds(30 * 86_400);

/// What a request id stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// The id.
    pub request_id: RequestId,
    /// The order it wrote.
    pub order_id: OrderId,
    /// Whose.
    pub user_id: UserId,
    /// What was asked for.
    pub operation: String,
    /// Over what was asked for.
    pub payload_hash: PayloadHash,
    /// The version it made.
    pub result_version: Version,
}

impl Guard {
    /// True if both stand for the same request: a repeat, not another one under the same id.
    #[must_use]
    pub fn is_same_request(&self, other: &Self) -> bool {
        // The version it made and the time it was made do not matter: a repeat is decided anew.
        (
            &self.request_id,
            &self.order_id,
            &self.user_id,
            &self.operation,
            &self.payload_hash,
        ) == (
            &other.request_id,
            &other.order_id,
            &other.user_id,
            &other.operation,
            &other.payload_hash,
        )
    }

    pub(crate) fn item(&self, written: Timestamp) -> Item {
        let expires: EpochSeconds = written.expiry_after(GUARD_KEPT);
        row::item(
            &Key::guard(&self.request_id),
            [
                ("order_id", s(self.order_id.as_str())),
                ("user_id", s(self.user_id.as_str())),
                ("operation", s(self.operation.as_str())),
                ("payload_hash", s(self.payload_hash.as_str())),
                ("result_version", n(self.result_version)),
                ("expires_at", n(expires.as_seconds())),
            ],
        )
    }

    pub(crate) fn read(request_id: &RequestId, item: &Item) -> Result<Self, StoreError> {
        let row = Row(item);
        Ok(Self {
            request_id: request_id.clone(),
            order_id: OrderId::stored(row.text("order_id")?),
            user_id: UserId::stored(row.text("user_id")?),
            operation: row.text("operation")?.to_owned(),
            payload_hash: PayloadHash::stored(row.text("payload_hash")?),
            result_version: row.version("result_version")?,
        })
    }
}
