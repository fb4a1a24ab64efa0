//! What the lists show of an order: their rows.

use sagaline_order::{OrderId, Quantity, RefundId, Timestamp, UserId, Version};

/// A user's order, as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserOrder {
    /// Its id.
    pub order_id: OrderId,
    /// Of the placement.
    pub created_at: Timestamp,
    /// What the customer sees; the text as it is stored.
    pub status: String,
    /// The total in minor units.
    pub total_minor: i64,
    /// Its currency.
    pub currency: String,
    /// The name on the first line.
    pub first_name: Option<String>,
    /// How many lines.
    pub line_count: i64,
}

/// An order in a status that is worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusRow {
    /// Its id.
    pub order_id: OrderId,
    /// Of the placement.
    pub created_at: Timestamp,
    /// Whose it is.
    pub user_id: UserId,
    /// The total in minor units.
    pub total_minor: i64,
}

/// An unfinished order and when it is to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueRow {
    /// Its id.
    pub order_id: OrderId,
    /// When; `None` if the row does not say it in our form. The order is due all the same: one odd row must not hide the others.
    pub wake_at: Option<Timestamp>,
}

/// An order that was written at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdatedRow {
    /// Its id.
    pub order_id: OrderId,
    /// When it was written last.
    pub updated_at: Timestamp,
    /// Its version then.
    pub version: Version,
    /// Its status then; the text as it is stored.
    pub status: String,
}

/// A line of an order, seen from its product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductOrder {
    /// The order.
    pub order_id: OrderId,
    /// Of the placement.
    pub created_at: Timestamp,
    /// How many.
    pub qty: Quantity,
}

/// A refund that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refund {
    /// The gateway's name for it.
    pub refund_id: RefundId,
    /// Of which order.
    pub order_id: OrderId,
    /// When it was recorded.
    pub at: Timestamp,
    /// How much, in minor units.
    pub amount_minor: i64,
    /// In which currency.
    pub currency: String,
}
