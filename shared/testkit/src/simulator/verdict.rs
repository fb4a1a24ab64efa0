//! What a world that came to rest must be like: the invariants of the pipeline that concern table, gateway and bus, and what follows from them
//! for a world whose every message was heard.

use std::collections::{BTreeMap, BTreeSet};

use sagaline_order::{
    Change, Currency, NoticeKind, Order, OrderId, Sku, State, Status, Version, evolve,
};
use sagaline_store::value::{as_integer, to_json};
use sagaline_store::{HEAD_SK, Item, read_head};

use super::world::World;
use crate::gateway::book::PaymentStatus;
use crate::invariants::{self, Commit, Guard, Head, Message, Payment, Refund};

/// What people undid by hand is no doing of the saga's: refunds under these keys are left out.
pub(super) const BY_HAND: &str = "by-hand-";

/// The invariants that concern table, gateway and bus; the others are the sinks'.
const CHECKED: std::ops::RangeInclusive<u8> = 1..=6;

/// What is wrong with the world now. `at_rest` = nothing more will happen, so everything must be finished.
pub(super) fn violations(world: &World, at_rest: bool) -> Vec<String> {
    let seen = match snapshot(world) {
        Ok(seen) => seen,
        Err(reason) => return vec![reason],
    };
    let broken = invariants::check(&seen.world)
        .into_iter()
        .filter(|check| CHECKED.contains(&check.number) && !check.ok)
        .map(|check| {
            format!(
                "invariant {} ({}): {}",
                check.number, check.name, check.detail
            )
        });
    let mut wrong: Vec<String> = broken.collect();
    wrong.extend(histories_lead_to_heads(&seen.world));
    wrong.extend(derived_rows_agree(&seen));
    if at_rest {
        wrong.extend(ends(&seen.world));
    }
    wrong
}

struct Seen {
    world: invariants::World,
    /// User's orders: order and status.
    links: BTreeMap<OrderId, String>,
    /// By user: placements, and orders that are unpaid.
    metrics: BTreeMap<String, (i128, i128)>,
}

fn snapshot(world: &World) -> Result<Seen, String> {
    let (payments, refunds) = ledger(world);
    let messages = world
        .shared
        .outside()
        .messages
        .iter()
        .map(|(kind, id)| Message {
            kind: (*kind).to_owned(),
            id: id.clone(),
        })
        .collect();
    let mut seen = Seen {
        world: invariants::World {
            context: world.context(),
            heads: Vec::new(),
            history: Vec::new(),
            guards: Vec::new(),
            initial_stock: world.setting.stock.iter().cloned().collect(),
            stock: BTreeMap::new(),
            payments,
            refunds,
            messages: Some(messages),
            documents: Vec::new(),
            archived: Vec::new(),
            view: Vec::new(),
            feeds: Vec::new(),
            given_up_records: 0,
            parked_records: 0,
        },
        links: BTreeMap::new(),
        metrics: BTreeMap::new(),
    };
    for item in world.table.items() {
        seen.sort(&item).ok_or_else(|| {
            format!(
                "an item cannot be read: {:?} / {:?}",
                item.get("PK"),
                item.get("SK")
            )
        })?;
    }
    Ok(seen)
}

impl Seen {
    /// Puts an item of the table where it belongs; `None` if it lacks what it must have.
    fn sort(&mut self, item: &Item) -> Option<()> {
        let (pk, sk) = (text(item, "PK")?, text(item, "SK")?);
        if sk == HEAD_SK {
            self.world.heads.push(Head {
                order: read_head(item).ok()?,
                in_due_index: item.contains_key("due_pk"),
            });
        } else if sk.starts_with("HISTORY#") {
            let events = item.get("events")?.as_l().ok()?;
            let changes = events
                .iter()
                .map(|event| serde_json::from_value::<Change>(to_json(event)).ok());
            self.world.history.push(Commit {
                order_id: OrderId::stored(pk.strip_prefix("ORDER#")?),
                version: version(item, "version")?,
                changes: changes.collect::<Option<_>>()?,
            });
        } else if let Some(request) = pk.strip_prefix("REQUEST#") {
            self.world.guards.push(Guard {
                request_id: request.to_owned(),
                order_id: OrderId::stored(text(item, "order_id")?),
                result_version: version(item, "result_version")?,
            });
        } else if sk == "PRODUCT#INVENTORY" {
            let stock = i64::try_from(as_integer(item.get("stock")?)?).ok()?;
            self.world
                .stock
                .insert(Sku::stored(pk.strip_prefix("PRODUCT#")?), stock);
        } else if sk == "USER#METRICS" {
            let count = |name: &str| item.get(name).and_then(as_integer).unwrap_or_default();
            let user = pk.strip_prefix("USER#")?.to_owned();
            self.metrics
                .insert(user, (count("order_count"), count("unpaid_count")));
        } else if let Some(rest) = sk.strip_prefix("USER#ORDERS#") {
            let (_, order_id) = rest.split_once('#')?;
            self.links
                .insert(OrderId::stored(order_id), text(item, "status")?.to_owned());
        }
        Some(())
    }
}

fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}

fn version(item: &Item, name: &str) -> Option<Version> {
    u64::try_from(as_integer(item.get(name)?)?)
        .ok()
        .and_then(Version::new)
}

/// What the gateway wrote into its own book.
fn ledger(world: &World) -> (Vec<Payment>, Vec<Refund>) {
    let (mut payments, mut refunds) = (Vec::new(), Vec::new());
    let now = world.shared.clock.elapsed();
    for (order_id, account) in world.shared.outside().book.ledger(now) {
        for payment in account.payments {
            let saga = payment
                .refunds
                .iter()
                .filter(|refund| !refund.key.starts_with(BY_HAND));
            refunds.extend(saga.map(|refund| Refund {
                key: refund.key.clone(),
                payment_id: payment.payment_id.clone(),
            }));
            let charged = payment.status == PaymentStatus::Approved;
            let Some(currency) = Currency::parse(&payment.currency) else {
                continue;
            };
            payments.push(Payment {
                key: payment.key,
                order_id: OrderId::stored(order_id.clone()),
                payment_id: payment.payment_id,
                amount_minor: payment.amount_minor,
                currency,
                charged_minor: if charged { payment.amount_minor } else { 0 },
                refunded_minor: payment.refunded_minor,
            });
        }
    }
    (payments, refunds)
}

/// The recorded changes, one after another, give the head.
fn histories_lead_to_heads(world: &invariants::World) -> Vec<String> {
    let mut histories: BTreeMap<&OrderId, Vec<&Commit>> = BTreeMap::new();
    for commit in &world.history {
        histories.entry(&commit.order_id).or_default().push(commit);
    }
    let mut wrong = Vec::new();
    for Head { order: head, .. } in &world.heads {
        let mut commits = histories.remove(&head.order_id).unwrap_or_default();
        commits.sort_by_key(|commit| commit.version);
        let mut order: Option<Order> = None;
        for commit in commits {
            for change in &commit.changes {
                order = match (order, change) {
                    (_, Change::OrderPlaced { order }) => Some(order.as_ref().clone()),
                    (Some(order), change) => Some(evolve(order, change)),
                    (None, _) => None,
                };
            }
            if let Some(order) = &mut order {
                order.version = commit.version;
            }
        }
        let told = |order: &Order| {
            (
                order.state,
                order.steps.clone(),
                order.payment_id.clone(),
                order.tracking.clone(),
                order.confirmed_version,
                order.unwind.clone(),
                (
                    order.cancel_noted.clone(),
                    order.notices.clone(),
                    order.attention.clone(),
                ),
            )
        };
        if order.as_ref().map(told) != Some(told(head)) {
            wrong.push(format!(
                "the history of {} does not lead to its head",
                head.order_id
            ));
        }
    }
    wrong
}

/// What customers see and what is counted agrees with the heads.
fn derived_rows_agree(seen: &Seen) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut counted: BTreeMap<String, (i128, i128)> = BTreeMap::new();
    for Head { order, .. } in &seen.world.heads {
        let status = order.status();
        if seen.links.get(&order.order_id).map(String::as_str) != Some(status.as_str()) {
            wrong.push(format!(
                "{} is {} and its user is told otherwise",
                order.order_id,
                status.as_str()
            ));
        }
        let metrics = counted.entry(order.user_id.to_string()).or_default();
        metrics.0 += 1;
        metrics.1 += i128::from(status == Status::Unpaid);
    }
    for (user, counted) in counted {
        let stored = seen.metrics.get(&user).copied().unwrap_or_default();
        if stored != counted {
            wrong.push(format!(
                "{user} has {counted:?} orders and unpaid ones, and {stored:?} are on record"
            ));
        }
    }
    wrong
}

/// Every order has ended, and whoever is to hear of its end has heard.
fn ends(world: &invariants::World) -> Vec<String> {
    let told: BTreeSet<(&str, &str)> = world
        .messages
        .iter()
        .flatten()
        .map(|message| (message.kind.as_str(), message.id.as_str()))
        .collect();
    let mut wrong = Vec::new();
    let mut raised: BTreeMap<&OrderId, Vec<(&'static str, Version)>> = BTreeMap::new();
    for commit in &world.history {
        for change in &commit.changes {
            if let Change::NoticeRaised {
                notice: NoticeKind::OrderCancelled,
            } = change
            {
                raised
                    .entry(&commit.order_id)
                    .or_default()
                    .push(("OrderCancelled", commit.version));
            }
        }
    }
    for Head { order, .. } in &world.heads {
        if order.wake_at.is_some() {
            wrong.push(format!(
                "{} never ends: it is {:?}, {}",
                order.order_id, order.state, order.last_event.reason
            ));
        }
        let mut expected = raised.remove(&order.order_id).unwrap_or_default();
        if order.state == State::Confirmed {
            expected.extend(
                order
                    .confirmed_version
                    .map(|version| ("OrderConfirmed", version)),
            );
        }
        for (kind, version) in expected {
            let id = format!("{}#{version}", order.order_id);
            if !told.contains(&(kind, id.as_str())) {
                wrong.push(format!("{kind} {id} was never told"));
            }
        }
    }
    wrong
}
