//! The description of the table, and a table that holds an item of every type.
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    clippy::large_futures,
    reason = "each test binary uses its part of this module"
)]

use std::collections::BTreeMap;

use sagaline_order::{
    Attention, End, Event, LastEvent, Notice, NoticeKind, Order, PaymentId, RefundId, Shipping,
    State, Step, StepStatus, Steps, Undo, Unwind, Version,
};
use sagaline_store::{Item, Key, Placement, Store};
use sagaline_testkit::MemoryTable;
use sagaline_testkit::contract::orders::{input, new_order};
use serde_json::{Value, json};

use crate::common::{applied, approved, cancel, step};
use sagaline_testkit::contract::orders::{commit, context};

/// `infra/schema/orders.schema.json`.
pub fn schema() -> Value {
    serde_json::from_str(include_str!("../../../../infra/schema/orders.schema.json")).unwrap()
}

/// A template with values for its parts.
pub fn expand(template: &str, values: &BTreeMap<&str, String>) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((text, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').unwrap();
        out.push_str(text);
        out.push_str(
            values
                .get(name)
                .unwrap_or_else(|| panic!("no value for {name}")),
        );
        rest = after;
    }
    out + rest
}

/// Whether a text can be a key of a template: its literal pieces stand in it in their order, from its beginning to its end, and what stands
/// between them holds no separator unless the part is opaque.
fn fits(schema: &Value, template: &str, text: &str) -> bool {
    let Some((literal, after)) = template.split_once('{') else {
        return template == text;
    };
    let Some(text) = text.strip_prefix(literal) else {
        return false;
    };
    let (name, after) = after.split_once('}').unwrap();
    let part = &schema["parts"][name];
    (1..=text.len())
        .filter(|end| text.is_char_boundary(*end))
        .any(|end| {
            let (value, rest) = text.split_at(end);
            let is_shard = value
                .parse::<u64>()
                .is_ok_and(|n| Some(n) < part["shards"].as_u64());
            let allowed = match part["kind"].as_str().unwrap() {
                "shard" => is_shard,
                "choice" => part["values"]
                    .as_array()
                    .unwrap()
                    .contains(&Value::from(value)),
                _ => part["opaque"] == true || !value.contains('#'),
            };
            allowed && fits(schema, after, rest)
        })
}

/// The one item type that a key is of.
pub fn item_type<'s>(schema: &'s Value, key: &Key) -> &'s str {
    let of = |item: &Value| {
        fits(schema, item["key"]["partition"].as_str().unwrap(), &key.pk)
            && fits(schema, item["key"]["sort"].as_str().unwrap(), &key.sk)
    };
    let items = schema["items"].as_object().unwrap();
    let found: Vec<&str> = items
        .iter()
        .filter(|(_, item)| of(item))
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(found.len(), 1, "{key} is of {found:?}");
    found[0]
}

/// The input of an order that leaves nothing out.
pub fn full_input(order: &str, lines: usize) -> Value {
    let mut input = input(order, USER, &format!("req-{order}"), "tea");
    input["shipping"] = json!({
        "name": "Ada Byron", "street": "12 St James's Square", "city": "London", "region": "London",
        "postal_code": "SW1Y 4JH", "country": "GB",
    });
    input["phone"] = json!("+442079460958");
    input["attributes"] = json!({"channel": "web", "gift": true});
    input["lines"] = (0..lines)
        .map(|line| json!({"sku": format!("mug-blue-{line:02}"), "name": format!("Blue mug, size {line}"), "qty": 2, "unit_minor": 1250}))
        .collect();
    input
}

/// A placement that writes all it can.
pub fn with_phone(reserve_now: bool) -> Placement {
    Placement {
        reserve_now,
        phone_lookup: Some(PHONE_HASH.to_owned()),
    }
}

/// The order whose life is shown, and its user: as long as real ones.
pub const ORDER: &str = "0b6cbd4e-2f6a-4d0e-9a2b-5a4c8d1e7f30";
pub const USER: &str = "6f0d3c1a-84b7-4f5e-b1c9-0e2a7d9f4b58";
/// As long as a real one: HMAC-SHA256.
pub const PHONE_HASH: &str = "k1.5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef";

/// The commits that an order goes through until its money is back, each by name with the changes that it made.
pub async fn life(lines: usize) -> (MemoryTable, Vec<(&'static str, usize)>) {
    let table = MemoryTable::new();
    let store = Store::new(table.clone());
    let new = new_order(&full_input(ORDER, lines));
    for line in &new.order.lines {
        store.set_stock(&line.sku, 100, None).await.unwrap();
    }
    let mut begun = vec![("place", table.changes(0).len())];
    store.place(new.clone(), with_phone(false)).await.unwrap();
    let mut order = store.load(&new.order.order_id).await.unwrap().unwrap();
    let steps = [
        ("take_stock", Event::StockReserved),
        ("confirm", approved("pay_5f70bf18a0860070")),
        ("publish", Event::ConfirmationPublished),
        ("cancel", cancel("changed my mind")),
        ("notice", Event::NoticePublished),
        ("refund", Event::RefundDue),
        (
            "undo",
            Event::RefundSucceeded {
                refund_id: RefundId::stored("re_16e948b04aed3b82"),
            },
        ),
    ];
    for (name, event) in steps {
        begun.push((name, table.changes(0).len()));
        order = step(&store, &order, &event).await;
    }
    assert_eq!(order.state, State::Cancelled);
    (table, begun)
}

/// A table that has seen every item type, and a head with every attribute.
pub async fn one_of_each() -> (MemoryTable, Item) {
    let (table, _) = life(2).await;
    let store = Store::new(table.clone());
    let saga = json!({
        "pay_deadline_s": 1800, "step_deadline_s": 60, "unknown_grace_s": 30, "recheck_s": 86400, "undo_attempts": 3,
        "undo_deadline_s": 86400, "transition_budget": 64,
    });
    store
        .put_config("saga", saga.as_object().unwrap())
        .await
        .unwrap();
    let search = json!({"targets": ["orders-write"]});
    store
        .put_config("search", search.as_object().unwrap())
        .await
        .unwrap();
    let mut whole = new_order(&full_input("o-2", 2));
    whole.order = everything(whole.order);
    let order = whole.order.order_id.clone();
    store.place(whole, with_phone(false)).await.unwrap();
    let whole = table.item(&Key::head(&order)).unwrap();
    // An intent, so that a payment under way is among the heads.
    let next = new_order(&full_input("o-3", 1));
    store.place(next.clone(), with_phone(true)).await.unwrap();
    let placed = store.load(&next.order.order_id).await.unwrap().unwrap();
    applied(&store, commit(&placed, &cancel("not now"), &context(9))).await;
    (table, whole)
}

/// Every field by name, so that a new one does not compile until it is here.
fn everything(order: Order) -> Order {
    let at = order.created_at;
    let op_id = sagaline_order::OpId::derive(&order.order_id, "pay", "do");
    let undo = Undo {
        op_id,
        status: StepStatus::Requested,
        attempt: 1,
        refusals: 0,
        not_after: at,
        retry_at: Some(at),
        deadline_at: at,
        last_error: Some("503".to_owned()),
        refund_id: Some(RefundId::stored("rf-1")),
    };
    let step = Step {
        op_id,
        status: StepStatus::Succeeded,
        attempt: 1,
        not_after: Some(at),
        retry_at: Some(at),
        deadline_at: Some(at),
        recheck_at: Some(at),
        last_error: Some("503".to_owned()),
        undo: Some(undo),
        undone: true,
    };
    Order {
        order_id: order.order_id,
        user_id: order.user_id,
        version: order.version,
        schema: order.schema,
        state: order.state,
        lines: order.lines,
        currency: order.currency,
        total_minor: order.total_minor,
        created_at: at,
        updated_at: at,
        shipping: order.shipping.or(Some(Shipping {
            name: "n".to_owned(),
            street: "s".to_owned(),
            city: "c".to_owned(),
            region: Some("r".to_owned()),
            postal_code: Some("p".to_owned()),
            country: "GB".to_owned(),
        })),
        phone_masked: Some("+44*****0958".to_owned()),
        payment_token: Some("tok_approve".to_owned()),
        attributes: order.attributes,
        payment_id: Some(PaymentId::stored("p-1")),
        tracking: Some("t-1".to_owned()),
        confirmed_version: Some(Version::FIRST),
        steps: Steps {
            reserve: Some(step.clone()),
            pay: Some(step.clone()),
            fulfil: Some(step),
        },
        unwind: Some(Unwind {
            to: End::Cancelled,
            reason: "changed my mind".to_owned(),
            since: at,
            returned: true,
        }),
        cancel_noted: Some("changed my mind".to_owned()),
        notices: vec![Notice {
            kind: NoticeKind::OrderCancelled,
            version: Version::FIRST,
            attempt: 1,
            retry_at: Some(at),
        }],
        attention: Some(Attention {
            reason: "stuck".to_owned(),
            since: at,
            alarm_at: at,
            from: State::Unwinding,
        }),
        wake_at: Some(at),
        transitions: 1,
        last_event: LastEvent {
            id: "r".to_owned(),
            kind: "OrderPlaced".to_owned(),
            actor: "customer".to_owned(),
            reason: "placed".to_owned(),
            at,
        },
    }
}
