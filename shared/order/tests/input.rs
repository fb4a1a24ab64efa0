//! Bad input: refused before any write, with the field and the rule.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod common;

use sagaline_order::{OrderInput, RequestId};
use serde_json::{Value, json};

fn good() -> Value {
    json!({"order_id": "o-1", "user_id": "u-1", "currency": "EUR", "lines": [{"sku": "a", "qty": 1, "unit_minor": 100}]})
}

fn with(path: &str, value: Value) -> Value {
    let mut order = good();
    *order.pointer_mut(path).unwrap_or(&mut Value::Null) = value.clone();
    if let Some(name) = path.strip_prefix('/').filter(|name| !name.contains('/')) {
        order[name] = value;
    }
    order
}

fn verdict(order: &Value) -> Result<String, String> {
    let fallback = RequestId::parse("r-fallback").unwrap();
    OrderInput::from_json(&order.to_string())
        .and_then(|input| input.check(&fallback, "customer", &common::context()))
        .map(|new| new.order.order_id.to_string())
        .map_err(|bad| bad.to_string())
}

#[track_caller]
fn refused(order: Value, field: &str, word: &str) {
    let error = verdict(&order).unwrap_err();
    assert!(error.starts_with(field) && error.contains(word), "{error}");
}

#[test]
fn each_broken_rule_names_its_field() {
    refused(with("/lines/0/qty", json!(0)), "lines[0].qty", "not 0");
    refused(with("/lines/0/qty", json!(-3)), "lines[0].qty", "not -3");
    refused(
        with("/lines/0/qty", json!(1_000_001)),
        "lines[0].qty",
        "1,000,000",
    );
    refused(
        with("/lines/0/unit_minor", json!(-1)),
        "lines[0].unit_minor",
        "negative",
    );
    refused(with("/lines", json!([])), "lines", "not 0");
    let many: Vec<_> = (0..41)
        .map(|i| json!({"sku": format!("s-{i}"), "qty": 1, "unit_minor": 1}))
        .collect();
    refused(with("/lines", json!(many)), "lines", "not 41");
    let twice =
        json!([{"sku": "a", "qty": 1, "unit_minor": 1}, {"sku": "a", "qty": 2, "unit_minor": 1}]);
    refused(with("/lines", twice), "lines[1].sku", "once");
    refused(with("/currency", json!("ABC")), "currency", "ABC");
    let huge = json!([{"sku": "a", "qty": 1_000_000, "unit_minor": i64::MAX / 2}]);
    refused(with("/lines", huge), "lines[0].unit_minor", "64 bits");
    refused(with("/order_id", json!("")), "order_id", "1 to 100");
    refused(
        with("/order_id", json!("x".repeat(300))),
        "order_id",
        "1 to 100",
    );
    refused(with("/order_id", json!("o#1")), "order_id", "characters");
    refused(
        with("/request_id", json!("r#1")),
        "request_id",
        "characters",
    );
    refused(with("/phone", json!("0171 555")), "phone", "E.164");
    refused(
        with("/payment_token", json!("t".repeat(201))),
        "payment_token",
        "200",
    );
    refused(
        with("/attributes", json!({"note": "x".repeat(9_000)})),
        "attributes",
        "bytes",
    );
    refused(with("/colour", json!("red")), "colour", "unknown field");
    refused(with("/currency", json!(null)), "currency", "null");
    refused(with("/lines/0/qty", json!("two")), "lines[0].qty", "two");
    refused(with("/lines/0/qty", json!(1.5)), "lines[0].qty", "1.5");
    let address = json!({"name": "Mira Okafor", "street": "Elm Row 4", "city": "Leith", "country": "GB", "floor": 2});
    refused(
        with("/shipping", address.clone()),
        "shipping.floor",
        "unknown field",
    );
    assert!(
        serde_json::from_value::<sagaline_order::Shipping>(address).is_ok(),
        "a stored address may have more fields"
    );
    refused(json!(["o-1", "u-1"]), "order", "object");
    let cut = good().to_string();
    assert!(OrderInput::from_json(&cut[..cut.len() - 1]).is_err());
    assert!(OrderInput::from_json(&format!("{cut} {cut}")).is_err());
}

#[test]
fn a_missing_order_id_is_derived_from_user_and_request() {
    let mut order = good();
    order.as_object_mut().unwrap().remove("order_id");
    let first = verdict(&order).unwrap();
    assert_eq!(first, verdict(&order).unwrap());
    order["user_id"] = json!("u-2");
    assert_ne!(first, verdict(&order).unwrap());
}

#[test]
fn the_phone_is_masked_and_the_hash_covers_what_was_given() {
    let fallback = RequestId::parse("r-1").unwrap();
    let check = |order: Value| {
        common::input(order)
            .check(&fallback, "customer", &common::context())
            .unwrap()
    };
    let a = check(with("/phone", json!("+4917012345678")));
    assert_eq!(a.order.phone_masked.as_deref(), Some("+***********78"));
    let b = check(with("/phone", json!("+4917012345679")));
    assert_ne!(a.input.payload(), b.input.payload());
    let mut named = with("/phone", json!("+4917012345678"));
    named["request_id"] = json!("r-1");
    assert_eq!(
        a.input.payload(),
        check(named).input.payload(),
        "the request id itself is not part of the payload"
    );
}
