//! What the saga did to the world outside, held against what it had committed before.

use std::collections::{BTreeMap, BTreeSet};

use sagaline_order::{Change, Order, OrderId, State, StepStatus, Version};

use super::{Check, World, answer};

/// 4. No effect without a committed intent.
pub(super) fn no_effect_without_intent(world: &World) -> Check {
    let mut wrong = Vec::new();
    let changes = world.changes();
    let of = |order_id| changes.get(order_id).map(Vec::as_slice).unwrap_or_default();
    let mut refund_keys = BTreeSet::new();
    for (_, change) in changes.values().flatten() {
        if let Change::RefundRequested { op_id, .. } = change {
            refund_keys.insert(op_id.to_string());
        }
    }
    let orders: BTreeMap<_, _> = world
        .heads
        .iter()
        .map(|head| (&head.order.order_id, &head.order))
        .collect();
    for payment in &world.payments {
        let intended = of(&payment.order_id)
            .iter()
            .any(|(_, change)| matches!(change, Change::PaymentRequested { op_id, .. } if op_id.to_string() == payment.key));
        if !intended {
            wrong.push(format!(
                "payment {} of {} was asked for without an intent",
                payment.payment_id, payment.order_id
            ));
        }
        if let Some(order) = orders.get(&payment.order_id)
            && (order.total_minor.get(), order.currency) != (payment.amount_minor, payment.currency)
        {
            wrong.push(format!(
                "payment {} of {} is not over the order's total",
                payment.payment_id, payment.order_id
            ));
        }
    }
    for refund in &world.refunds {
        if !refund_keys.contains(&refund.key) {
            wrong.push(format!(
                "a refund of payment {} was asked for without an intent",
                refund.payment_id
            ));
        }
    }
    if let Some(messages) = &world.messages {
        let sent: BTreeSet<_> = messages
            .iter()
            .map(|message| (message.kind.clone(), message.id.clone()))
            .collect();
        let mut caused = BTreeSet::new();
        for (order_id, changes) in &changes {
            caused.extend(changes.iter().filter_map(|(version, change)| {
                Some((message_kind(change)?, format!("{order_id}#{version}")))
            }));
        }
        wrong.extend(
            sent.difference(&caused)
                .map(|(kind, id)| format!("{kind} {id} was sent and nothing caused it")),
        );
        wrong.extend(never_announced(world, &sent));
    }
    let messages = world
        .messages
        .as_ref()
        .map_or(String::new(), |all| format!(", {} messages", all.len()));
    let counted = format!(
        "{} payments, {} refunds{messages}: each had its intent first",
        world.payments.len(),
        world.refunds.len()
    );
    answer(4, "no effect without a committed intent", wrong, counted)
}

/// The message that a recorded change asks for.
fn message_kind(change: &Change) -> Option<String> {
    if let Change::NoticeRaised { notice } = change {
        return Some(format!("{notice:?}"));
    }
    matches!(change, Change::OrderConfirmed { .. }).then(|| "OrderConfirmed".to_owned())
}

/// Orders that say they were announced, and whose announcement nobody got.
fn never_announced(world: &World, sent: &BTreeSet<(String, String)>) -> Vec<String> {
    let published = world
        .heads
        .iter()
        .map(|head| &head.order)
        .filter(|order| order.is_published());
    let missing = published.filter_map(|order| {
        let id = format!("{}#{}", order.order_id, order.confirmed_version?);
        (!sent.contains(&("OrderConfirmed".to_owned(), id.clone())))
            .then(|| format!("OrderConfirmed {id} is recorded as sent and never came"))
    });
    missing.collect()
}

/// 5. Undone = succeeded-or-unknown steps, reversed, each once.
pub(super) fn undone_in_reverse_each_once(world: &World) -> Check {
    let mut wrong = Vec::new();
    let mut undone = (0_u64, 0_u64);
    let changes = world.changes();
    for head in &world.heads {
        let mut steps = Steps::default();
        for (version, change) in changes
            .get(&head.order.order_id)
            .map(Vec::as_slice)
            .unwrap_or_default()
        {
            if let Some(fault) = steps.record(*version, change) {
                wrong.push(format!("{}: {fault}", head.order.order_id));
            }
        }
        wrong.extend(
            steps
                .at_the_end(&head.order, world.is_finished(&head.order))
                .map(|fault| format!("{}: {fault}", head.order.order_id)),
        );
        undone = (
            undone.0 + steps.payments_undone,
            undone.1 + u64::from(steps.stock == Stock::Returned),
        );
    }
    let mut refunded = BTreeSet::new();
    for refund in &world.refunds {
        if !refunded.insert(&refund.payment_id) {
            wrong.push(format!("payment {} was refunded twice", refund.payment_id));
        }
    }
    let counted = format!(
        "{} payments and {} reservations undone, each once, the payment first",
        undone.0, undone.1
    );
    answer(
        5,
        "undone is what succeeded or may have, in reverse, each once",
        wrong,
        counted,
    )
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stock {
    #[default]
    Untouched,
    Taken,
    Returned,
}

/// The steps of one order as its history tells them.
#[derive(Debug, Default)]
struct Steps {
    stock: Stock,
    /// True while a payment exists or may exist.
    payment_open: bool,
    payment_known: bool,
    payments_undone: u64,
    abandoned: bool,
    /// The version that gave stock back while a payment was open.
    returned_early: Option<Version>,
}

impl Steps {
    /// Takes the next change; answers with what is wrong about it.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a reader of the few changes that touch stock or payment, not a decision"
    )]
    fn record(&mut self, version: Version, change: &Change) -> Option<String> {
        match change {
            Change::StockReserved { .. } => {
                let fault = (self.stock != Stock::Untouched)
                    .then(|| format!("stock was taken again at version {version}"));
                self.stock = Stock::Taken;
                return fault;
            }
            Change::StockReturned => {
                let fault = if self.stock != Stock::Taken {
                    Some(format!(
                        "stock that was not taken was given back at version {version}"
                    ))
                } else {
                    None
                };
                if self.payment_open {
                    self.returned_early.get_or_insert(version);
                }
                self.stock = Stock::Returned;
                return fault;
            }
            Change::PaymentRequested { .. } => self.payment_open = true,
            Change::PaymentPending { .. } | Change::PaymentSucceeded { .. } => {
                (self.payment_open, self.payment_known) = (true, true)
            }
            Change::PaymentFailed { .. } | Change::PaymentAbsent { .. } => {
                self.payment_open = false
            }
            Change::PaymentUndone { .. } => {
                let fault = (!self.payment_open || !self.payment_known)
                    .then(|| format!("no payment was there to undo at version {version}"));
                (self.payment_open, self.payment_known) = (false, false);
                self.payments_undone += 1;
                return fault;
            }
            // What is left is for people to settle.
            Change::OrderAbandoned { .. } => {
                (self.payment_open, self.abandoned) = (false, true);
                self.returned_early.take_if(|at| *at == version);
            }
            _ => {}
        }
        None
    }

    /// What is wrong with where the order stands now.
    fn at_the_end(&self, order: &Order, finished: bool) -> Option<String> {
        if let Some(version) = self.returned_early {
            return Some(format!(
                "stock was given back before the payment was settled, at version {version}"
            ));
        }
        match order.state {
            State::Cancelled | State::Rejected => {
                // An abandoned order whose goods are away has nothing to give back.
                let goods_away = self.abandoned && order.tracking.is_some();
                if self.stock == Stock::Taken && !goods_away {
                    return Some("it ended and its stock was not given back".to_owned());
                }
                (finished && self.payment_open)
                    .then(|| "it ended and its payment was not undone".to_owned())
            }
            State::Placed | State::Paying | State::Confirmed => (self.stock == Stock::Returned
                || self.payments_undone > 0)
                .then(|| format!("it is {:?} and something of it was undone", order.state)),
            State::Unwinding | State::NeedsOperator => None,
        }
    }
}

/// 6. At rest: charged - refunded = total if Confirmed, else 0; stock + what unfinished and confirmed orders hold is constant.
pub(super) fn money_and_stock_add_up(world: &World) -> Check {
    let mut wrong = Vec::new();
    let mut kept: BTreeMap<&OrderId, i64> = BTreeMap::new();
    for payment in &world.payments {
        *kept.entry(&payment.order_id).or_default() +=
            payment.charged_minor.saturating_sub(payment.refunded_minor);
    }
    let mut totals: BTreeMap<&'static str, i64> = BTreeMap::new();
    let mut in_motion = 0_u64;
    for order in world.heads.iter().map(|head| &head.order) {
        let kept = kept.get(&order.order_id).copied().unwrap_or_default();
        *totals.entry(order.currency.code()).or_default() += kept;
        let total = order.total_minor.get();
        let show = |minor| order.currency.display(minor);
        if !(0..=total).contains(&kept) {
            wrong.push(format!(
                "{} has {} of a total of {}",
                order.order_id,
                show(kept),
                show(total)
            ));
            continue;
        }
        let expected = match order.state {
            State::Confirmed => total,
            // Its end is here; at most a last enquiry about a payment that was never found is to come.
            State::Cancelled | State::Rejected if payment_is_settled(order) => 0,
            State::Placed
            | State::Paying
            | State::Unwinding
            | State::NeedsOperator
            | State::Cancelled
            | State::Rejected => {
                in_motion += 1;
                continue;
            }
        };
        if kept != expected {
            wrong.push(format!(
                "{} is {:?} with {} instead of {}",
                order.order_id,
                order.state,
                show(kept),
                show(expected)
            ));
        }
    }
    wrong.extend(stock_faults(world));
    let sums = world
        .heads
        .iter()
        .map(|head| head.order.currency)
        .filter_map(|currency| {
            totals
                .remove(currency.code())
                .map(|minor| currency.display(minor))
        })
        .collect::<Vec<_>>()
        .join(", ");
    let waiting = if in_motion > 0 {
        format!("; {in_motion} unfinished orders not judged")
    } else {
        String::new()
    };
    answer(
        6,
        "money and stock add up",
        wrong,
        format!(
            "kept {sums}; {} products in balance{waiting}",
            world.stock.len()
        ),
    )
}

fn payment_is_settled(order: &Order) -> bool {
    order
        .steps
        .pay
        .as_ref()
        .is_none_or(|pay| pay.undone || pay.status == StepStatus::Failed)
}

fn stock_faults(world: &World) -> Vec<String> {
    let mut held: BTreeMap<_, i64> = BTreeMap::new();
    for order in world.heads.iter().map(|head| &head.order) {
        let holds = order
            .steps
            .reserve
            .as_ref()
            .is_some_and(|step| step.status == StepStatus::Succeeded && !step.undone);
        for line in order.lines.iter().filter(|_| holds) {
            *held.entry(&line.sku).or_default() += i64::from(line.qty.get());
        }
    }
    let skus: BTreeSet<_> = world
        .initial_stock
        .keys()
        .chain(world.stock.keys())
        .chain(held.keys().copied())
        .collect();
    let count = |stock: &BTreeMap<_, i64>, sku| stock.get(sku).copied().unwrap_or_default();
    let faults = skus.into_iter().filter_map(|sku| {
        let (before, now) = (count(&world.initial_stock, sku), count(&world.stock, sku));
        let held = held.get(sku).copied().unwrap_or_default();
        (now.saturating_add(held) != before).then(|| format!("{sku}: {now} on the shelf and {held} held do not make the {before} of the beginning"))
    });
    faults.collect()
}
