//! What an item is, recognised from its key alone, and what its key says.
//!
//! The keys themselves are spelled by `shared/store`; a test here asks it for one of each kind.

use sagaline_order::Timestamp;
use sagaline_store::HEAD_SK;

/// The kinds of items of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Head,
    History,
    Guard,
    UserOrder,
    Metrics,
    ProductOrder,
    Stock,
    Payment,
    Phone,
    Refund,
    Config,
    /// None of ours.
    Unknown,
}

impl Kind {
    /// For programs.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Head => "order_head",
            Self::History => "history",
            Self::Guard => "request_guard",
            Self::UserOrder => "user_order",
            Self::Metrics => "user_metrics",
            Self::ProductOrder => "product_order",
            Self::Stock => "inventory",
            Self::Payment => "payment_lookup",
            Self::Phone => "phone_lookup",
            Self::Refund => "refund",
            Self::Config => "configuration",
            Self::Unknown => "unknown",
        }
    }

    /// For people.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Head => "order head",
            Self::History => "history",
            Self::Guard => "request guard",
            Self::UserOrder => "user's order",
            Self::Metrics => "user's metrics",
            Self::ProductOrder => "product's order",
            Self::Stock => "inventory",
            Self::Payment => "payment look-up",
            Self::Phone => "phone look-up",
            Self::Refund => "refund",
            Self::Config => "configuration",
            Self::Unknown => "no item of this table's schema",
        }
    }
}

/// A key that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Recognised {
    pub(super) kind: Kind,
    /// What its parts say, times as RFC 3339.
    pub(super) parts: Vec<(&'static str, String)>,
}

/// What the item under this key is.
pub(super) fn recognise(pk: &str, sk: &str) -> Recognised {
    let known = of_order(pk, sk)
        .or_else(|| of_user(pk, sk))
        .or_else(|| of_product(pk, sk))
        .or_else(|| of_lookup(pk, sk))
        .or_else(|| of_refund(pk, sk));
    let (kind, parts) = known.unwrap_or((Kind::Unknown, Vec::new()));
    Recognised { kind, parts }
}

type Known = (Kind, Vec<(&'static str, String)>);

fn of_order(pk: &str, sk: &str) -> Option<Known> {
    let order = ("order", pk.strip_prefix("ORDER#")?.to_owned());
    if sk == HEAD_SK {
        return Some((Kind::Head, vec![order]));
    }
    let digits = sk.strip_prefix("HISTORY#")?;
    let version: u64 = digits.parse().ok().filter(|_| digits.len() == 10)?;
    Some((Kind::History, vec![order, ("version", version.to_string())]))
}

fn of_user(pk: &str, sk: &str) -> Option<Known> {
    let user = ("user", pk.strip_prefix("USER#")?.to_owned());
    if sk == "USER#METRICS" {
        return Some((Kind::Metrics, vec![user]));
    }
    let (placed, order) = at(sk.strip_prefix("USER#ORDERS#")?)?;
    Some((
        Kind::UserOrder,
        vec![user, ("placed", placed), ("order", order)],
    ))
}

fn of_product(pk: &str, sk: &str) -> Option<Known> {
    let product = pk.strip_prefix("PRODUCT#")?;
    if sk == "PRODUCT#INVENTORY" {
        return Some((Kind::Stock, vec![("sku", product.to_owned())]));
    }
    let (placed, order) = at(sk.strip_prefix("PRODUCT#ORDERS#")?)?;
    let (sku, shard) = sharded(product)?;
    let parts = vec![
        ("sku", sku),
        ("shard", shard),
        ("placed", placed),
        ("order", order),
    ];
    Some((Kind::ProductOrder, parts))
}

fn of_lookup(pk: &str, sk: &str) -> Option<Known> {
    if let Some(request) = pk.strip_prefix("REQUEST#").filter(|_| sk == "REQUEST") {
        return Some((Kind::Guard, vec![("request", request.to_owned())]));
    }
    if let Some(payment) = pk.strip_prefix("INDEX#PAYMENT#").filter(|_| pk == sk) {
        return Some((Kind::Payment, vec![("payment", payment.to_owned())]));
    }
    if let (Some(hash), Some(user)) = (pk.strip_prefix("INDEX#PHONE#"), sk.strip_prefix("USER#")) {
        let parts = vec![("hash", hash.to_owned()), ("user", user.to_owned())];
        return Some((Kind::Phone, parts));
    }
    let name = sk
        .strip_prefix("CONFIG#")
        .filter(|_| pk == "GLOBAL#CONFIG")?;
    Some((Kind::Config, vec![("name", name.to_owned())]))
}

fn of_refund(pk: &str, sk: &str) -> Option<Known> {
    let (day, shard) = sharded(pk.strip_prefix("REFUND#")?)?;
    let (at, refund) = at(sk)?;
    let parts = vec![
        ("day", day),
        ("shard", shard),
        ("at", at),
        ("refund", refund),
    ];
    Some((Kind::Refund, parts))
}

/// `<time>#<rest>`, the time as RFC 3339.
fn at(text: &str) -> Option<(String, String)> {
    let (time, rest) = text.split_once('#')?;
    Some((Timestamp::parse_basic(time)?.rfc3339(), rest.to_owned()))
}

fn sharded(text: &str) -> Option<(String, String)> {
    let (name, shard) = text.rsplit_once('#')?;
    let shard: u32 = shard.parse().ok()?;
    Some((name.to_owned(), shard.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sagaline_order::{OrderId, PaymentId, RefundId, RequestId, Sku, UserId, Version};
    use sagaline_store::Key;

    #[test]
    fn every_key_that_the_store_spells_is_recognised_with_its_parts() {
        let (order, user) = (OrderId::stored("o-1"), UserId::stored("u-1"));
        let sku = Sku::stored("tea");
        let at = Timestamp::parse("2026-01-31T08:30:00Z").unwrap();
        let check = |key: &Key, kind: Kind, parts: &[(&'static str, &str)]| {
            let known = recognise(&key.pk, &key.sk);
            let expected: Vec<_> = parts
                .iter()
                .map(|(name, text)| (*name, (*text).to_owned()))
                .collect();
            assert_eq!((known.kind, known.parts), (kind, expected), "{key}");
        };
        let time = "2026-01-31T08:30:00.000Z";
        let shard = order.shard(4).to_string();
        let shard = shard.as_str();
        check(&Key::head(&order), Kind::Head, &[("order", "o-1")]);
        let history = Key::history(&order, Version::new(12).unwrap());
        check(
            &history,
            Kind::History,
            &[("order", "o-1"), ("version", "12")],
        );
        let guard = Key::guard(&RequestId::parse("r-1").unwrap());
        check(&guard, Kind::Guard, &[("request", "r-1")]);
        let row = Key::user_order(&user, at, &order);
        check(
            &row,
            Kind::UserOrder,
            &[("user", "u-1"), ("placed", time), ("order", "o-1")],
        );
        check(&Key::metrics(&user), Kind::Metrics, &[("user", "u-1")]);
        let row = Key::product_order(&sku, at, &order);
        let parts = [
            ("sku", "tea"),
            ("shard", shard),
            ("placed", time),
            ("order", "o-1"),
        ];
        check(&row, Kind::ProductOrder, &parts);
        check(&Key::stock(&sku), Kind::Stock, &[("sku", "tea")]);
        let payment = Key::payment(&PaymentId::stored("p-1"));
        check(&payment, Kind::Payment, &[("payment", "p-1")]);
        let phone = Key::phone("k1.ab", &user);
        check(&phone, Kind::Phone, &[("hash", "k1.ab"), ("user", "u-1")]);
        let refund = Key::refund(at, &order, &RefundId::stored("rf-1"));
        let parts = [
            ("day", "2026-01-31"),
            ("shard", shard),
            ("at", time),
            ("refund", "rf-1"),
        ];
        check(&refund, Kind::Refund, &parts);
        check(&Key::config("saga"), Kind::Config, &[("name", "saga")]);
    }

    #[test]
    fn what_is_none_of_ours_is_said_to_be_none() {
        for (pk, sk) in [
            ("order#o-1", "ORDER#DETAIL"),
            ("ORDER#o-1", "HISTORY#1"),
            ("USER#u-1", "USER#ORDERS#2026-01-31 08:30#o-1"),
            ("PRODUCT#tea", "PRODUCT#ORDERS#20260131T083000.000Z#o-1"),
            ("INDEX#PAYMENT#p-1", "INDEX#PAYMENT#p-2"),
            ("CUSTOMER#1", "CUSTOMER#1"),
            ("", ""),
        ] {
            assert_eq!(recognise(pk, sk).kind, Kind::Unknown, "{pk} / {sk}");
        }
    }
}
