//! The request guard: the row that makes a commit happen once, and tells a repeat from another request under the same id. What is not of
//! orders in it is [`sagaline_stream::guard`]; here is the row.

use std::time::Duration;

use sagaline_order::{OrderId, RequestId, Timestamp, UserId, Version};
use sagaline_stream::guard::{Marker, PayloadHash};
use sagaline_stream::{EpochMillis, EpochSeconds};

use crate::error::StoreError;
use crate::key::Key;
use crate::row::{self, Row};
use crate::table::Item;
use crate::value::{n, s};

/// How long a request id is remembered: 30 days.
pub const GUARD_KEPT: Duration = Duration::from_secs(30 * 86_400);

/// What a request id stands for besides its payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The order it wrote.
    pub order_id: OrderId,
    /// Whose.
    pub user_id: UserId,
    /// What was asked for.
    pub operation: String,
}

/// A request guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// What must agree for a repeat.
    pub marker: Marker<RequestId, Claim>,
    /// The version it made. A repeat is decided anew, so this need not agree.
    pub result_version: Version,
}

impl Guard {
    pub(crate) fn item(&self, written: Timestamp) -> Item {
        let Marker {
            request_id,
            what: claim,
            payload_hash,
        } = &self.marker;
        let mut item = row::item(
            &Key::guard(request_id),
            [
                ("order_id", s(claim.order_id.as_str())),
                ("user_id", s(claim.user_id.as_str())),
                ("operation", s(claim.operation.as_str())),
                ("payload_hash", s(payload_hash.as_str())),
                ("result_version", n(self.result_version)),
            ],
        );
        // A time that is none makes a guard that stays: too long is better than not at all.
        let expires = EpochMillis::new(written.as_millis()).expiry_after(GUARD_KEPT);
        item.extend(
            expires.map(|expires: EpochSeconds| ("expires_at".to_owned(), n(expires.as_seconds()))),
        );
        item
    }

    pub(crate) fn read(request_id: &RequestId, item: &Item) -> Result<Self, StoreError> {
        let row = Row(item);
        Ok(Self {
            marker: Marker {
                request_id: request_id.clone(),
                what: Claim {
                    order_id: OrderId::stored(row.text("order_id")?),
                    user_id: UserId::stored(row.text("user_id")?),
                    operation: row.text("operation")?.to_owned(),
                },
                payload_hash: PayloadHash::stored(row.text("payload_hash")?),
            },
            result_version: row.version("result_version")?,
        })
    }
}
