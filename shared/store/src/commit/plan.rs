//! The actions of a commit, always in this order: head, request guard, history, then what the event needs. Each action has a slot that says
//! what its failure means.

use aws_sdk_dynamodb::types::AttributeValue;
use sagaline_order::{
    Change, Decision, NewOrder, OpId, Order, OrderId, PaymentId, RefundId, RequestId, Sku, Status,
    TableEffect, Verdict, evolve,
};
use sagaline_stream::guard::{Marker, PayloadHash};

use super::{Commit, Placement};
use crate::error::CommitError;
use crate::guard::{Claim, Guard};
use crate::head::{ATTRIBUTES, PLACED_BY_STATE, attributes_of, write_head};
use crate::key::{Key, PK, SK};
use crate::row;
use crate::size;
use crate::table::{Action, Condition, Item, Update};
use crate::value::{from_json, n, s};

/// The operation that stands in the guard of a placement.
const PLACE: &str = "place";

/// What the failure of an action means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Slot {
    /// The head.
    Head,
    /// The request guard.
    Guard,
    /// The history row.
    History,
    /// Stock taken.
    Stock {
        /// Of which product.
        sku: Sku,
        /// How many.
        want: i64,
    },
    /// The payment look-up.
    Payment(PaymentId),
    /// Cannot fail by a condition.
    Unconditional,
}

/// Whether a commit creates the order or moves it on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Placement,
    Step,
}

/// A commit, ready to be sent.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) kind: Kind,
    pub(crate) guard: Guard,
    pub(crate) actions: Vec<Action>,
    pub(crate) slots: Vec<Slot>,
}

impl Plan {
    /// Head, guard and history: what every commit begins with.
    fn begin(
        kind: Kind,
        head: Action,
        after: &Order,
        decision: &Decision,
        guard: Guard,
    ) -> Result<Self, CommitError> {
        let mut plan = Self {
            kind,
            guard,
            actions: Vec::new(),
            slots: Vec::new(),
        };
        plan.push(Slot::Head, head);
        plan.push(
            Slot::Guard,
            put(
                plan.guard.item(after.updated_at),
                Some(Condition::NotExists),
            ),
        );
        plan.push(
            Slot::History,
            put(history(after, decision)?, Some(Condition::NotExists)),
        );
        Ok(plan)
    }

    fn push(&mut self, slot: Slot, action: Action) {
        self.slots.push(slot);
        self.actions.push(action);
    }

    fn take_stock(&mut self, order: &Order) {
        for line in &order.lines {
            let want = i64::from(line.qty.get());
            let update = Update::of(Key::stock(&line.sku))
                .add("stock", -want)
                .when(Condition::AtLeast("stock", want));
            self.push(
                Slot::Stock {
                    sku: line.sku.clone(),
                    want,
                },
                Action::Update(update),
            );
        }
    }

    fn return_stock(&mut self, order: &Order) {
        for line in &order.lines {
            let update = Update::of(Key::stock(&line.sku)).add("stock", i64::from(line.qty.get()));
            self.push(Slot::Unconditional, Action::Update(update));
        }
    }
}

/// The plan of a placement, and the order as it will stand: version 1, its stock taken if asked for.
pub(crate) fn placement(
    new: &NewOrder,
    placement: &Placement,
) -> Result<(Plan, Order), CommitError> {
    let mut changes = vec![Change::OrderPlaced {
        order: Box::new(without_token(&new.order)),
    }];
    let mut order = new.order.clone();
    if placement.reserve_now {
        let reserved = Change::StockReserved {
            op_id: OpId::derive(&order.order_id, "reserve", "do"),
        };
        order = evolve(order, &reserved);
        order.transitions = order.transitions.saturating_add(1);
        changes.push(reserved);
    }
    let decision = Decision {
        verdict: Verdict::Applied,
        reason: order.last_event.reason.clone(),
        changes,
        effects: Vec::new(),
    };
    let payload_hash = PayloadHash::of(&new.input.payload());
    let guard = guard_of(&order, &new.request_id, PLACE, &payload_hash);
    let head = put(
        write_head(&order).map_err(CommitError::poison)?,
        Some(Condition::NotExists),
    );
    let mut plan = Plan::begin(Kind::Placement, head, &order, &decision, guard)?;
    plan.push(Slot::Unconditional, put(user_order(&order), None));
    let counters = Update::of(Key::metrics(&order.user_id))
        .add("order_count", 1)
        .add("unpaid_count", 1);
    plan.push(Slot::Unconditional, Action::Update(counters));
    for line in &order.lines {
        let key = Key::product_order(&line.sku, order.created_at, &order.order_id);
        let row = row::item(
            &key,
            [
                ("order_id", s(order.order_id.as_str())),
                ("qty", n(line.qty.get())),
            ],
        );
        plan.push(Slot::Unconditional, put(row, None));
    }
    if placement.reserve_now {
        plan.take_stock(&order);
    }
    if let Some(hash) = &placement.phone_lookup {
        let row = row::item(
            &Key::phone(hash, &order.user_id),
            [("user_id", s(order.user_id.as_str()))],
        );
        plan.push(Slot::Unconditional, put(row, None));
    }
    Ok((plan, order))
}

/// The plan of a step.
pub(crate) fn step(commit: &Commit) -> Result<Plan, CommitError> {
    let Commit {
        before,
        after,
        decision,
        request_id,
        operation,
        payload_hash,
    } = commit;
    let follows = after.order_id == before.order_id && after.version == before.version.next();
    if decision.verdict != Verdict::Applied || !follows {
        return Err(CommitError::poison(format!(
            "version {} of order {} does not follow from an applied decision on version {} of {}",
            after.version, after.order_id, before.version, before.order_id
        )));
    }
    let guard = guard_of(after, request_id, operation, payload_hash);
    let mut plan = Plan::begin(
        Kind::Step,
        head_update(before, after)?,
        after,
        decision,
        guard,
    )?;
    if before.status() != after.status() {
        plan.push(Slot::Unconditional, put(user_order(after), None));
    }
    let unpaid = |order: &Order| i64::from(order.status() == Status::Unpaid);
    let change = unpaid(after) - unpaid(before);
    if change != 0 {
        let counters = Update::of(Key::metrics(&after.user_id)).add("unpaid_count", change);
        plan.push(Slot::Unconditional, Action::Update(counters));
    }
    for effect in &decision.effects {
        match effect {
            TableEffect::TakeStock => plan.take_stock(after),
            TableEffect::ReturnStock => plan.return_stock(after),
            TableEffect::LinkPayment(payment) => plan.push(
                Slot::Payment(payment.clone()),
                payment_lookup(payment, &after.order_id),
            ),
            TableEffect::RecordRefund(refund) => {
                plan.push(Slot::Unconditional, put(refund_row(after, refund), None))
            }
        }
    }
    Ok(plan)
}

/// Only what changed, but always what places the head in the indexes; all of it where the head had an older shape.
fn head_update(before: &Order, after: &Order) -> Result<Action, CommitError> {
    let old = attributes_of(before).map_err(CommitError::poison)?;
    let new = write_head(after).map_err(CommitError::poison)?;
    let fixed = |name: &str| matches!(name, PK | SK | ATTRIBUTES);
    let placed = |name: &str| PLACED_BY_STATE.contains(&name);
    let reshaped = before.schema != after.schema;
    let mut update =
        Update::of(Key::head(&after.order_id)).when(Condition::VersionIs(before.version));
    let gone = |name: &&str| !new.contains_key(*name) && !fixed(name);
    update.remove = old
        .keys()
        .map(String::as_str)
        .filter(|name| !placed(name))
        .chain(PLACED_BY_STATE)
        .filter(gone)
        .map(str::to_owned)
        .collect();
    update.remove.sort_unstable();
    update.set = new
        .into_iter()
        .filter(|(name, value)| {
            !fixed(name) && (placed(name) || reshaped || old.get(name) != Some(value))
        })
        .collect();
    Ok(Action::Update(update))
}

fn guard_of(
    order: &Order,
    request_id: &RequestId,
    operation: &str,
    payload_hash: &PayloadHash,
) -> Guard {
    Guard {
        marker: Marker {
            request_id: request_id.clone(),
            what: Claim {
                order_id: order.order_id.clone(),
                user_id: order.user_id.clone(),
                operation: operation.to_owned(),
            },
            payload_hash: payload_hash.clone(),
        },
        result_version: order.version,
    }
}

fn history(after: &Order, decision: &Decision) -> Result<Item, CommitError> {
    let json = |value: serde_json::Result<serde_json::Value>| {
        value.map_err(|error| CommitError::poison(error.to_string()))
    };
    let events = decision
        .changes
        .iter()
        .map(|change| json(serde_json::to_value(change)).map(|change| from_json(&change)));
    let item = row::item(
        &Key::history(&after.order_id, after.version),
        [
            ("version", n(after.version)),
            ("at", s(after.updated_at.rfc3339())),
            ("actor", s(after.last_event.actor.as_str())),
            ("reason", s(decision.reason.as_str())),
            (
                "verdict",
                from_json(&json(serde_json::to_value(decision.verdict))?),
            ),
            (
                "events",
                AttributeValue::L(events.collect::<Result<_, _>>()?),
            ),
        ],
    );
    match size::refusal(&item) {
        Some(why) => Err(CommitError::poison(format!(
            "the history row of order {} {why}",
            after.order_id
        ))),
        None => Ok(item),
    }
}

fn user_order(order: &Order) -> Item {
    let mut item = row::item(
        &Key::user_order(&order.user_id, order.created_at, &order.order_id),
        [
            ("status", s(order.status().as_str())),
            ("total_minor", n(order.total_minor.get())),
            ("currency", s(order.currency.code())),
            ("line_count", n(order.lines.len())),
        ],
    );
    if let Some(name) = order.lines.first().and_then(|line| line.name.as_deref()) {
        item.insert("first_name".to_owned(), s(name));
    }
    item
}

fn payment_lookup(payment: &PaymentId, order: &OrderId) -> Action {
    let order = s(order.as_str());
    put(
        row::item(&Key::payment(payment), [("order_id", order.clone())]),
        Some(Condition::NotExistsOr("order_id", order)),
    )
}

fn refund_row(order: &Order, refund: &RefundId) -> Item {
    row::item(
        &Key::refund(order.updated_at, &order.order_id, refund),
        [
            ("refund_id", s(refund.as_str())),
            ("order_id", s(order.order_id.as_str())),
            ("amount_minor", n(order.total_minor.get())),
            ("currency", s(order.currency.code())),
        ],
    )
}

/// The history outlives the token's use, and is read by more people.
fn without_token(order: &Order) -> Order {
    Order {
        payment_token: None,
        ..order.clone()
    }
}

fn put(item: Item, condition: Option<Condition>) -> Action {
    Action::Put { item, condition }
}
