//! A small world: its moves, and what makes two of its states the same.

use std::collections::BTreeMap;

use sagaline_order::{OrderId, Timestamp};
use sagaline_store::{Disposition, Key};

use super::moves::Move;
use super::{Budget, Scenario};
use crate::simulator::call::{Call, Fate};
use crate::simulator::floor::Waiting;
use crate::simulator::trace::Fnv;
use crate::simulator::weather::{Plan, sku};
use crate::simulator::world::{Ended, Setting, Still, World};
use crate::simulator::{people, verdict};

/// Both orders.
const ORDERS: [&str; 2] = ["o-0", "o-1"];
/// The sweeper and the front are processes of their own, as in the storm.
const SWEEPER: usize = 2;
const FRONT: usize = 3;

/// What a task is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Errand {
    Place(usize),
    Cancel,
    Record(usize),
    Repeat(usize),
    Sweep,
}

/// What is to be known besides the world itself.
#[derive(Debug, Clone)]
pub(super) struct Around {
    pub(super) budget: Budget,
    /// Records that wait, by order. They only say which order to look at, so their number is all.
    pub(super) records: [u8; 2],
    pub(super) placed: [bool; 2],
    pub(super) cancelled: bool,
    pub(super) wakes: BTreeMap<OrderId, Timestamp>,
}

/// A still world to begin from.
#[derive(Debug, Clone)]
pub(super) struct Begin {
    still: Still,
    around: Around,
}

pub(super) struct SmallWorld {
    pub(super) world: World,
    pub(super) around: Around,
    pub(super) cancels: bool,
    second_at_once: bool,
    plans: Vec<Plan>,
    /// The running tasks, with a sum over every answer that they have had: what they know.
    pub(super) running: BTreeMap<u32, (Errand, Fnv)>,
    findings: Vec<String>,
}

impl SmallWorld {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let world = World::new(setting(scenario));
        let around = Around {
            budget: scenario.budget,
            records: [0; 2],
            placed: [false; 2],
            cancelled: false,
            wakes: BTreeMap::new(),
        };
        Self::with(world, around, scenario)
    }

    pub(super) fn from_begin(scenario: &Scenario, begin: &Begin) -> Self {
        let world = World::from_still(setting(scenario), &begin.still);
        Self::with(world, begin.around.clone(), scenario)
    }

    fn with(world: World, around: Around, scenario: &Scenario) -> Self {
        let plan = |(order_id, token): (&&str, &&str)| Plan {
            order_id: (*order_id).to_owned(),
            user: 0,
            lines: vec![(0, 1)],
            unit_minor: 1_250,
            token: (*token).to_owned(),
            reserve_now: false,
            at: 0,
        };
        Self {
            world,
            around,
            cancels: scenario.cancels,
            second_at_once: scenario.second_at_once,
            plans: ORDERS.iter().zip(&scenario.payments).map(plan).collect(),
            running: BTreeMap::new(),
            findings: Vec::new(),
        }
    }

    pub(super) fn begin(&self) -> Begin {
        Begin {
            still: self.world.still(),
            around: self.around.clone(),
        }
    }

    /// True if no task runs: then the world is all there is.
    pub(super) fn is_still(&self) -> bool {
        self.running.is_empty()
    }

    /// What is wrong here.
    pub(super) fn wrong(&self, at_rest: bool) -> Vec<String> {
        let mut wrong = self.findings.clone();
        wrong.extend(verdict::violations(&self.world, at_rest));
        wrong
    }

    pub(super) async fn make(&mut self, next: Move) {
        match next {
            Move::Place(order) => {
                let new = self
                    .plans
                    .get(order)
                    .map(|plan| people::order(plan, &self.world));
                match new {
                    Some(Ok(new)) => {
                        let task = self.world.place(FRONT, new, false);
                        self.run(task, Errand::Place(order));
                    }
                    Some(Err(reason)) => self.findings.push(reason),
                    None => {}
                }
            }
            Move::Cancel => {
                self.around.cancelled = true;
                let order_id = id(0);
                let task = people::cancellation(&order_id)
                    .and_then(|wanted| self.world.submit(FRONT, order_id, wanted));
                self.run(task, Errand::Cancel);
            }
            Move::Deliver(order) => {
                self.take_record(order);
                self.drive(order, Errand::Record(order));
            }
            Move::Repeat(order) => {
                self.around.budget.repeats -= 1;
                self.drive(order, Errand::Repeat(order));
            }
            Move::Lose(order) => {
                self.around.budget.losses -= 1;
                self.take_record(order);
            }
            Move::Grant(nth, fate) => {
                if fate != Fate::Fair {
                    self.around.budget.faults -= 1;
                }
                if let Some(call) = self.world.floor.nth_waiting(nth) {
                    self.grant(&call, fate);
                    return;
                }
            }
            Move::Crash(nth) => {
                self.around.budget.crashes -= 1;
                if let Some(call) = self.world.floor.nth_waiting(nth) {
                    self.world.tasks.crash(call.task);
                    if let Some((errand, _)) = self.running.remove(&call.task) {
                        self.again(errand);
                    }
                }
            }
            Move::Wait => {
                let until = self.world.instant(self.world.elapsed_ms() + 86_400_000);
                self.world.floor.rest(until).await;
            }
            Move::Sweep => {
                if !self.world.floor.waiting().is_empty() || !self.running.is_empty() {
                    self.around.budget.freezes = self.around.budget.freezes.saturating_sub(1);
                }
                let first = self.around.wakes.values().min().copied();
                let wait = first.map_or(0, |at| {
                    at.as_millis().saturating_sub(self.world.now().as_millis())
                });
                let wait = u64::try_from(wait).unwrap_or(0);
                if wait > 0 {
                    let until = self.world.instant(self.world.elapsed_ms() + wait);
                    self.world.floor.freeze(until).await;
                }
                let task = self.world.sweep(SWEEPER, 0);
                self.run(task, Errand::Sweep);
            }
        }
        self.settle();
        if self.second_at_once
            && matches!(next, Move::Place(1) | Move::Deliver(1) | Move::Repeat(1))
        {
            self.run_through();
        }
    }

    /// Lets the second order's task go on until it ends, or waits for time to pass.
    fn run_through(&mut self) {
        let second = |errand: &Errand| {
            matches!(
                errand,
                Errand::Place(1) | Errand::Record(1) | Errand::Repeat(1)
            )
        };
        let next = |world: &Self| {
            let waiting = world.world.floor.waiting().into_iter();
            let mut of_second = waiting.filter(|call| {
                let running = world.running.get(&call.task);
                running.is_some_and(|(errand, _)| second(errand))
            });
            of_second.next()
        };
        while let Some(call) = next(self) {
            self.grant(&call, Fate::Fair);
        }
    }

    fn grant(&mut self, call: &Waiting, fate: Fate) {
        let before = self.seen(call);
        self.world.floor.grant(call.id, fate);
        self.settle();
        let after = self.seen(call);
        let answer = format!(
            "{:?} {fate:?} {} {before} {after} at {}",
            call.call,
            call.about,
            self.world.now()
        );
        if let Some((_, knows)) = self.running.get_mut(&call.task) {
            knows.eat(answer.as_bytes());
        }
    }

    /// What a call about an order can tell: its version, the stock, its payments.
    fn seen(&self, call: &Waiting) -> String {
        let order_id = id(usize::from(call.about.contains(ORDERS[1])));
        let number = |key: &Key, name: &str| {
            let item = self.world.table.item(key)?;
            item.get(name)?.as_n().ok().cloned()
        };
        match call.call {
            Call::Get | Call::Query => number(&Key::head(&order_id), "version").unwrap_or_default(),
            Call::Transact => {
                let version = number(&Key::head(&order_id), "version");
                format!("{version:?} {:?}", number(&Key::stock(&sku(0)), "stock"))
            }
            Call::Charge | Call::Refund | Call::Find => {
                let now = self.world.shared.clock.elapsed();
                let account = self
                    .world
                    .shared
                    .outside()
                    .book
                    .ledger(now)
                    .remove(order_id.as_str());
                let payments = account.map(|account| account.payments);
                let told = payments
                    .iter()
                    .flatten()
                    .map(|payment| (payment.status, payment.refunded_minor));
                format!("{:?}", told.collect::<Vec<_>>())
            }
            Call::Publish => String::new(),
        }
    }

    fn drive(&mut self, order: usize, errand: Errand) {
        let consumer = self
            .running
            .values()
            .filter(|(errand, _)| matches!(errand, Errand::Record(_) | Errand::Repeat(_)))
            .count();
        let task = self.world.drive(consumer % 2, id(order));
        self.run(task, errand);
    }

    fn run(&mut self, task: Option<u32>, errand: Errand) {
        if let Some(task) = task {
            let mut knows = Fnv::default();
            knows.eat(self.world.now().basic().as_bytes());
            self.running.insert(task, (errand, knows));
        }
    }

    fn settle(&mut self) {
        let mut ended = Vec::new();
        self.world.tasks.settle(|task, end| ended.push((task, end)));
        for (task, end) in ended {
            let Some((errand, _)) = self.running.remove(&task) else {
                continue;
            };
            if self.failed(&end) {
                self.again(errand);
            } else if let Errand::Place(order) = errand
                && let Some(placed) = self.around.placed.get_mut(order)
            {
                *placed = true;
            }
        }
        for change in self.world.head_changes() {
            let order = usize::from(change.order_id.as_str() == ORDERS[1]);
            if change.is_due
                && let Some(records) = self.around.records.get_mut(order)
            {
                // Two that wait say no more than one: both are read before anything else is decided.
                *records = records.saturating_add(1).min(2);
            }
            match change.wake_at {
                Some(at) => self.around.wakes.insert(change.order_id, at),
                None => self.around.wakes.remove(&change.order_id),
            };
        }
    }

    fn failed(&mut self, end: &Ended) -> bool {
        let disposition = match end {
            Ended::Drove(Ok(driven)) => return driven.rest == sagaline_saga::Rest::OutOfTime,
            Ended::Swept | Ended::Placed(Ok(_)) | Ended::Submitted(Ok(_)) => return false,
            Ended::Drove(Err(error)) | Ended::Submitted(Err(error)) => error.disposition(),
            Ended::Placed(Err(error)) => error.disposition(),
        };
        if matches!(disposition, Disposition::Poison | Disposition::Fatal) {
            self.findings
                .push(format!("a task failed for good: {end:?}"));
        }
        true
    }

    /// What was crashed or failed comes again: a record is delivered again, a customer asks again.
    fn again(&mut self, errand: Errand) {
        match errand {
            Errand::Record(order) => {
                if let Some(records) = self.around.records.get_mut(order) {
                    *records = records.saturating_add(1).min(2);
                }
            }
            Errand::Cancel => self.around.cancelled = false,
            Errand::Place(_) | Errand::Repeat(_) | Errand::Sweep => {}
        }
    }

    fn take_record(&mut self, order: usize) {
        if let Some(records) = self.around.records.get_mut(order) {
            *records = records.saturating_sub(1);
        }
    }
}

fn id(order: usize) -> OrderId {
    OrderId::stored(ORDERS.get(order).copied().unwrap_or_default())
}

fn setting(scenario: &Scenario) -> Setting {
    Setting {
        stock: vec![(sku(0), i64::from(scenario.stock))],
        config: None,
        skews_ms: vec![0; 4],
        // Whole seconds: otherwise each random wait would make states of its own.
        tick_ms: 1_000,
        jitter: 1,
        mutation: scenario.mutation,
    }
}
