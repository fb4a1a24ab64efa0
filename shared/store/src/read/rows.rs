//! What the lists show of an order: their rows, and how they are read. A row that is not as it must be is an error that names its key.

use sagaline_order::{OrderId, Quantity, RefundId, Timestamp, UserId, Version};

use crate::error::StoreError;
use crate::key::{Index, PRODUCT_ORDERS_PREFIX, SK, USER_ORDERS_PREFIX, split_at_time};
use crate::row::Row;
use crate::table::Item;

/// A user's order, as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserOrder {
    /// Whose it is.
    pub user_id: UserId,
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

impl UserOrder {
    pub(crate) fn read(item: &Item) -> Result<Self, StoreError> {
        let row = Row(item);
        let (created_at, order_id) = at_time(&row, SK, USER_ORDERS_PREFIX)?;
        let user = row.pk()?.strip_prefix("USER#");
        Ok(Self {
            user_id: UserId::stored(user.ok_or_else(|| row.bad("it is no user's"))?),
            order_id,
            created_at,
            status: row.text("status")?.to_owned(),
            total_minor: row.number("total_minor")?,
            currency: row.text("currency")?.to_owned(),
            first_name: row.optional_text("first_name").map(str::to_owned),
            line_count: row.number("line_count")?,
        })
    }
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

impl StatusRow {
    pub(crate) fn read(item: &Item) -> Result<Self, StoreError> {
        let row = Row(item);
        let (created_at, order_id) = at_time(&row, Index::ByStatus.sort(), "")?;
        Ok(Self {
            order_id,
            created_at,
            user_id: UserId::stored(row.text("user_id")?),
            total_minor: row.number("total_minor")?,
        })
    }
}

/// An unfinished order and when it is to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueRow {
    /// Its id.
    pub order_id: OrderId,
    /// When; `None` if the row does not say it in our form. The order is due all the same: one odd row must not hide the others.
    pub wake_at: Option<Timestamp>,
}

impl DueRow {
    pub(crate) fn read(item: &Item) -> Result<Self, StoreError> {
        let row = Row(item);
        let order_id = row.pk()?.strip_prefix("ORDER#");
        let wake_at = row
            .optional_text(Index::Due.sort())
            .and_then(|key| split_at_time(key, ""))
            .map(|(at, _)| at);
        Ok(Self {
            order_id: OrderId::stored(order_id.ok_or_else(|| row.bad("it is no order"))?),
            wake_at,
        })
    }
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

impl UpdatedRow {
    pub(crate) fn read(item: &Item) -> Result<Self, StoreError> {
        let row = Row(item);
        let (updated_at, order_id) = at_time(&row, Index::ByUpdated.sort(), "")?;
        Ok(Self {
            order_id,
            updated_at,
            version: row.version("version")?,
            status: row.text("status")?.to_owned(),
        })
    }
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

impl ProductOrder {
    pub(crate) fn read(item: &Item) -> Result<Self, StoreError> {
        let row = Row(item);
        let (created_at, order_id) = at_time(&row, SK, PRODUCT_ORDERS_PREFIX)?;
        let qty = row.number("qty")?;
        Ok(Self {
            order_id,
            created_at,
            qty: Quantity::new(qty).ok_or_else(|| row.bad(format!("its qty is {qty}")))?,
        })
    }
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

impl Refund {
    pub(crate) fn read(item: &Item) -> Result<Self, StoreError> {
        let row = Row(item);
        let (at, _) = at_time(&row, SK, "")?;
        Ok(Self {
            refund_id: RefundId::stored(row.text("refund_id")?),
            order_id: OrderId::stored(row.text("order_id")?),
            at,
            amount_minor: row.number("amount_minor")?,
            currency: row.text("currency")?.to_owned(),
        })
    }
}

/// Time and id in the sort key `<prefix><time>#<id>`.
fn at_time(
    row: &Row<'_>,
    attribute: &str,
    prefix: &str,
) -> Result<(Timestamp, OrderId), StoreError> {
    let key = row.text(attribute)?;
    let (at, rest) = split_at_time(key, prefix)
        .ok_or_else(|| row.bad(format!("its {attribute} {key} holds no time in our form")))?;
    Ok((at, OrderId::stored(rest)))
}
