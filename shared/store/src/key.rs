//! The key schema: where every item lives, and which index lists it. Nobody else spells a key.
//!
//! Text order is time order: times inside keys are UTC, basic ISO 8601, fixed width. A `#` ends each part, and no id that we hand out
//! holds one, so the range from `prefix#` to `prefix$` (the next character) is exactly what lies under the prefix.

use sagaline_order::{
    OrderId, PaymentId, RefundId, RequestId, Sku, Status, Timestamp, UserId, Version,
};

/// Partition key of the table.
pub const PK: &str = "PK";
/// Sort key of the table.
pub const SK: &str = "SK";
/// The sort key of every order head; stream filters look for it.
pub const HEAD_SK: &str = "ORDER#DETAIL";

/// Shards of the index `due`.
pub const DUE_SHARDS: u32 = 16;
/// Shards of each status in the index `by_status`.
pub const STATUS_SHARDS: u32 = 4;
/// Shards of each day in the index `by_updated`.
pub const UPDATED_SHARDS: u32 = 16;
/// Shards of each product's orders.
pub const PRODUCT_SHARDS: u32 = 4;
/// Shards of each day's refunds.
pub const REFUND_SHARDS: u32 = 4;

/// The full primary key of one item.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Partition.
    pub pk: String,
    /// Place in the partition.
    pub sk: String,
}

impl Key {
    fn new(pk: String, sk: impl Into<String>) -> Self {
        Self { pk, sk: sk.into() }
    }

    /// The order head.
    #[must_use]
    pub fn head(order: &OrderId) -> Self {
        Self::new(order_pk(order), HEAD_SK)
    }

    /// The history row of one version. Ten digits, so that text order is version order.
    #[must_use]
    pub fn history(order: &OrderId, version: Version) -> Self {
        Self::new(
            order_pk(order),
            format!("{HISTORY_PREFIX}{:010}", version.get()),
        )
    }

    /// The guard that makes a request happen once.
    #[must_use]
    pub fn guard(request: &RequestId) -> Self {
        Self::new(format!("REQUEST#{request}"), "REQUEST")
    }

    /// The user's row of one order.
    #[must_use]
    pub fn user_order(user: &UserId, created: Timestamp, order: &OrderId) -> Self {
        Self::new(
            user_pk(user),
            format!("{USER_ORDERS_PREFIX}{}#{order}", created.basic()),
        )
    }

    /// The user's counters.
    #[must_use]
    pub fn metrics(user: &UserId) -> Self {
        Self::new(user_pk(user), "USER#METRICS")
    }

    /// The product's row of one order.
    #[must_use]
    pub fn product_order(sku: &Sku, created: Timestamp, order: &OrderId) -> Self {
        let pk = product_orders_pk(sku, order.shard(PRODUCT_SHARDS));
        Self::new(
            pk,
            format!("{PRODUCT_ORDERS_PREFIX}{}#{order}", created.basic()),
        )
    }

    /// The product's stock.
    #[must_use]
    pub fn stock(sku: &Sku) -> Self {
        Self::new(format!("PRODUCT#{sku}"), "PRODUCT#INVENTORY")
    }

    /// The look-up from a payment to its order.
    #[must_use]
    pub fn payment(payment: &PaymentId) -> Self {
        let key = format!("INDEX#PAYMENT#{payment}");
        Self::new(key.clone(), key)
    }

    /// The look-up from the keyed hash of a phone to a user.
    #[must_use]
    pub fn phone(hash: &str, user: &UserId) -> Self {
        Self::new(phone_pk(hash), format!("{PHONE_USER_PREFIX}{user}"))
    }

    /// The row of one refund.
    #[must_use]
    pub fn refund(at: Timestamp, order: &OrderId, refund: &RefundId) -> Self {
        Self::new(
            refund_pk(&at.day(), order.shard(REFUND_SHARDS)),
            format!("{}#{refund}", at.basic()),
        )
    }

    /// A configuration item.
    #[must_use]
    pub fn config(name: &str) -> Self {
        Self::new("GLOBAL#CONFIG".to_owned(), format!("CONFIG#{name}"))
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} / {}", self.pk, self.sk)
    }
}

/// A global secondary index of the table. All are sparse: an item without the keys is not in it (F-GSI-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Index {
    /// Unfinished orders by wake time; keys only.
    Due,
    /// Orders in `UNPAID`, `PROCESSING` or `EXCEPTION` by time of placement.
    ByStatus,
    /// Orders by time of the last commit.
    ByUpdated,
}

impl Index {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Due, Self::ByStatus, Self::ByUpdated];

    /// Its name in the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::ByStatus => "by_status",
            Self::ByUpdated => "by_updated",
        }
    }

    /// The attribute that is its partition key.
    #[must_use]
    pub fn partition(self) -> &'static str {
        match self {
            Self::Due => "due_pk",
            Self::ByStatus => "status_pk",
            Self::ByUpdated => "updated_pk",
        }
    }

    /// The attribute that is its sort key.
    #[must_use]
    pub fn sort(self) -> &'static str {
        match self {
            Self::Due => "due_sk",
            Self::ByStatus => "status_sk",
            Self::ByUpdated => "updated_sk",
        }
    }

    /// What a query returns besides the keys of index and table (F-GSI-3).
    #[must_use]
    pub fn included(self) -> &'static [&'static str] {
        match self {
            Self::Due => &[],
            Self::ByStatus => &["created_at", "user_id", "total_minor"],
            Self::ByUpdated => &["version", "status"],
        }
    }
}

pub(crate) const HISTORY_PREFIX: &str = "HISTORY#";
pub(crate) const USER_ORDERS_PREFIX: &str = "USER#ORDERS#";
pub(crate) const PRODUCT_ORDERS_PREFIX: &str = "PRODUCT#ORDERS#";
pub(crate) const PHONE_USER_PREFIX: &str = "USER#";

pub(crate) fn order_pk(order: &OrderId) -> String {
    format!("ORDER#{order}")
}

pub(crate) fn user_pk(user: &UserId) -> String {
    format!("USER#{user}")
}

pub(crate) fn phone_pk(hash: &str) -> String {
    format!("INDEX#PHONE#{hash}")
}

pub(crate) fn product_orders_pk(sku: &Sku, shard: u32) -> String {
    format!("PRODUCT#{sku}#{shard}")
}

pub(crate) fn refund_pk(day: &str, shard: u32) -> String {
    format!("REFUND#{day}#{shard}")
}

pub(crate) fn due_pk(shard: u32) -> String {
    format!("DUE#{shard}")
}

pub(crate) fn status_pk(status: Status, shard: u32) -> String {
    format!("STATUS#{}#{shard}", status.as_str())
}

pub(crate) fn updated_pk(day: &str, shard: u32) -> String {
    format!("DAY#{day}#{shard}")
}

/// `<time>#<order id>`, the sort key of every list by time.
pub(crate) fn at_order(at: Timestamp, order: &OrderId) -> String {
    format!("{}#{order}", at.basic())
}

/// Takes `<prefix><time>#<rest>` apart; `None` if it is not of that form.
pub(crate) fn split_at_time<'a>(sort_key: &'a str, prefix: &str) -> Option<(Timestamp, &'a str)> {
    let (time, rest) = sort_key.strip_prefix(prefix)?.split_once('#')?;
    Some((Timestamp::parse_basic(time)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_has_the_key_that_the_table_prescribes() {
        let (order, user) = (
            OrderId::parse("o-1").unwrap(),
            UserId::parse("u-1").unwrap(),
        );
        let sku = Sku::parse("tea").unwrap();
        let at = Timestamp::parse("2026-01-31T08:30:00Z").unwrap();
        let shard = crc32fast_of(b"o-1");
        let check =
            |key: Key, pk: &str, sk: &str| assert_eq!((key.pk.as_str(), key.sk.as_str()), (pk, sk));
        check(Key::head(&order), "ORDER#o-1", "ORDER#DETAIL");
        check(
            Key::history(&order, Version::new(12).unwrap()),
            "ORDER#o-1",
            "HISTORY#0000000012",
        );
        check(
            Key::guard(&RequestId::parse("r-1").unwrap()),
            "REQUEST#r-1",
            "REQUEST",
        );
        check(
            Key::user_order(&user, at, &order),
            "USER#u-1",
            "USER#ORDERS#20260131T083000.000Z#o-1",
        );
        check(Key::metrics(&user), "USER#u-1", "USER#METRICS");
        check(
            Key::product_order(&sku, at, &order),
            &format!("PRODUCT#tea#{}", shard % 4),
            "PRODUCT#ORDERS#20260131T083000.000Z#o-1",
        );
        check(Key::stock(&sku), "PRODUCT#tea", "PRODUCT#INVENTORY");
        check(
            Key::payment(&PaymentId::stored("p-1")),
            "INDEX#PAYMENT#p-1",
            "INDEX#PAYMENT#p-1",
        );
        check(Key::phone("k1.ab", &user), "INDEX#PHONE#k1.ab", "USER#u-1");
        let refund = Key::refund(at, &order, &RefundId::stored("rf-1"));
        check(
            refund,
            &format!("REFUND#2026-01-31#{}", shard % 4),
            "20260131T083000.000Z#rf-1",
        );
        check(Key::config("saga"), "GLOBAL#CONFIG", "CONFIG#saga");
    }

    /// CRC-32 (IEEE), bit by bit: an independent check of the shard numbers.
    fn crc32fast_of(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(u32::MAX, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                if crc & 1 == 1 {
                    (crc >> 1) ^ 0xEDB8_8320
                } else {
                    crc >> 1
                }
            })
        })
    }

    #[test]
    fn a_sort_key_comes_apart_at_its_time() {
        let at = Timestamp::parse("2026-01-31T08:30:00Z").unwrap();
        assert_eq!(
            split_at_time("USER#ORDERS#20260131T083000.000Z#o-1", USER_ORDERS_PREFIX),
            Some((at, "o-1"))
        );
        assert_eq!(
            split_at_time("20260131T083000.000Z#a#b", ""),
            Some((at, "a#b"))
        );
        assert_eq!(split_at_time("2026-01-31T08:30:00Z#o-1", ""), None);
        assert_eq!(split_at_time("o-1", ""), None);
    }
}
