//! The rolls: what happens next.

use tokio::time::Instant;

use super::{
    Errand, FRONT, Fate, Happening, LANES, MINUTE, OrderId, PATIENCE, SHARDS, SWEEPER, Storm,
    Waiting, people,
};

/// How often the sweeper is called, in milliseconds.
const SWEEP_EVERY: u64 = MINUTE;

impl Storm {
    /// One choice and what follows from it at once.
    pub(super) async fn step(&mut self) {
        let waiting = self.world.floor.waiting_count();
        if waiting > 0 {
            if self.dice.chance(self.weather.crashes) {
                return self.crash(waiting);
            }
            if self.dice.chance(self.weather.freezes) {
                return self.freeze().await;
            }
            if self.dice.chance(650) {
                return self.grant(waiting);
            }
        }
        if self.begin() {
            return;
        }
        if waiting > 0 {
            return self.grant(waiting);
        }
        self.rest().await;
    }

    /// Lets one of the waiting calls go on.
    fn grant(&mut self, waiting: usize) {
        let Some(call) = self.world.floor.nth_waiting(self.dice.below(waiting)) else {
            return;
        };
        let fate = self.fate(&call);
        self.note(call.task, call.call.name(), fate.name(), call.about);
        self.world.floor.grant(call.id, fate);
    }

    fn fate(&mut self, call: &Waiting) -> Fate {
        if self.dice.chance(self.weather.of(call.call)) {
            return self
                .dice
                .one_of(call.call.faults())
                .copied()
                .unwrap_or(Fate::Fair);
        }
        Fate::Fair
    }

    /// A process ends where it stands: before a call, or after it and before it hears of it.
    fn crash(&mut self, waiting: usize) {
        let Some(call) = self.world.floor.nth_waiting(self.dice.below(waiting)) else {
            return;
        };
        let after = call.call.has_effect() && self.dice.chance(500);
        let how = if after { "after" } else { "before" };
        self.note(
            call.task,
            "crash",
            how,
            format!("{} {}", call.call.name(), call.about),
        );
        if after {
            self.world.floor.grant(call.id, Fate::Unheard);
            let mut ended = Vec::new();
            self.world.tasks.settle(|task, end| ended.push((task, end)));
            for (task, end) in ended {
                self.take_in(task, end);
            }
        }
        self.world.tasks.crash(call.task);
        if let Some(errand) = self.errands.remove(&call.task) {
            self.again(errand);
        }
    }

    /// Nothing runs for a while, and the time goes on.
    async fn freeze(&mut self) {
        let lengths = [200, 2_500, 20_000, 70_000, 20 * MINUTE, 180 * MINUTE];
        let length = self.dice.one_of(&lengths).copied().unwrap_or_default();
        self.note(0, "freeze", "", format!("{length} ms"));
        let until = self.world.instant(self.world.elapsed_ms() + length);
        self.world.floor.freeze(until).await;
    }

    /// Begins something whose time has come. False if there is nothing.
    fn begin(&mut self) -> bool {
        let now = self.world.elapsed_ms();
        if let Some(entry) = self.happenings.first_entry()
            && entry.key().0 <= now
        {
            let happening = entry.remove();
            self.happen(happening);
            return true;
        }
        if self.sweep_at().is_some_and(|at| at <= now) {
            let seed = u32::try_from(self.dice.between(0, 15)).unwrap_or_default();
            if let Some(task) = self.world.sweep(SWEEPER, seed) {
                self.last_sweep = now;
                self.errands.insert(task, Errand::Sweep);
                self.note(task, "sweep", "begins", String::new());
            }
            return true;
        }
        self.deliver(now)
    }

    /// When the sweeper is to be called next: at a full interval after the last time, once an order is due. Passes that would find nothing are
    /// left out; there would be thousands.
    fn sweep_at(&self) -> Option<u64> {
        if self
            .errands
            .values()
            .any(|errand| matches!(errand, Errand::Sweep))
        {
            return None;
        }
        let base = self.world.shared.clock.base.as_millis();
        let first = self.wakes.values().min()?.as_millis().saturating_sub(base);
        let due = u64::try_from(first).unwrap_or(0).max(self.last_sweep + 1);
        Some(due.div_ceil(SWEEP_EVERY) * SWEEP_EVERY)
    }

    /// Hands the next record of some order to a consumer.
    fn deliver(&mut self, now: u64) -> bool {
        if self.world.tasks.len() >= LANES {
            return false;
        }
        let busy = |order_id: &OrderId| {
            self.errands
                .values()
                .any(|errand| matches!(errand, Errand::Record(busy, _) if busy == order_id))
        };
        let ready: Vec<&OrderId> = self
            .lanes
            .iter()
            .filter(|(order_id, lane)| {
                let lag = self.lags.get(&order_id.shard(SHARDS)).copied().unwrap_or(0);
                !lane.is_empty() && lag <= now && !busy(order_id)
            })
            .map(|(order_id, _)| order_id)
            .collect();
        let Some(order_id) = self
            .dice
            .one_of(&ready)
            .map(|order_id| OrderId::clone(order_id))
        else {
            return false;
        };
        if self.dice.chance(self.weather.lags) {
            let until = now + self.dice.between(1_000, 30 * MINUTE);
            self.lags.insert(order_id.shard(SHARDS), until);
            self.note(
                0,
                "lag",
                "",
                format!("shard {} until {until}", order_id.shard(SHARDS)),
            );
            return true;
        }
        let Some(attempts) = self
            .lanes
            .get_mut(&order_id)
            .and_then(std::collections::VecDeque::pop_front)
        else {
            return false;
        };
        let consumer = self.dice.below(2);
        if self.dice.chance(self.weather.repeats) {
            if self.dice.chance(500)
                && let Some(task) = self.world.drive(consumer + 1, order_id.clone())
            {
                self.note(task, "repeat", "begins", order_id.to_string());
                self.errands.insert(task, Errand::Repeat(order_id.clone()));
            } else {
                self.lanes.entry(order_id.clone()).or_default().push_back(0);
            }
        }
        if let Some(task) = self.world.drive(consumer, order_id.clone()) {
            self.note(task, "record", "begins", order_id.to_string());
            self.errands
                .insert(task, Errand::Record(order_id, attempts));
        }
        true
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Place(number) => self.place(number),
            Happening::Cancel(order_id) => {
                let wanted = people::cancellation(&order_id);
                self.submit(order_id, wanted);
            }
            Happening::Fulfilment(order_id, sent) => {
                let told = people::fulfilment_report(&order_id, sent);
                self.submit(order_id, told);
            }
            Happening::GatewayTells(order_id) => {
                self.serial += 1;
                let told = people::gateway_report(&self.world, &order_id, self.serial);
                self.submit(order_id, told);
            }
            Happening::Submit(order_id, submission) => self.submit(order_id, Some(*submission)),
            Happening::Arrives(post) => {
                self.note(0, "arrives", "", String::new());
                self.world.shared.arrive(&post);
            }
            Happening::GatewayIsBack => self.world.shared.outside().unavailable = false,
            Happening::OperatorVisits => self.visit(),
        }
    }

    fn place(&mut self, number: usize) {
        let Some(plan) = self.plans.get(number) else {
            return;
        };
        let reserve_now = plan.reserve_now;
        match people::order(plan, &self.world) {
            Ok(new) => {
                if let Some(task) = self.world.place(FRONT, new, reserve_now) {
                    self.errands.insert(task, Errand::Place(number));
                    self.note(task, "place", "begins", format!("o-{number:02}"));
                }
            }
            Err(reason) => self.findings.push(reason),
        }
    }

    fn submit(&mut self, order_id: OrderId, submission: Option<super::Submission>) {
        // Nobody can want anything of an order that is not there yet.
        let Some(submission) = submission.filter(|_| self.world.head(&order_id).is_some()) else {
            return;
        };
        let errand = Errand::Submit(order_id.clone(), Box::new(submission.clone()));
        if let Some(task) = self.world.submit(FRONT, order_id, submission) {
            self.note(task, "submit", "begins", errand.about());
            self.errands.insert(task, errand);
        }
    }

    /// An operator looks at what needs a person, and now and then at something else.
    fn visit(&mut self) {
        if self.dice.chance(self.weather.outages) {
            self.world.shared.outside().unavailable = true;
            self.in_a_while(1_000, 30 * MINUTE, Happening::GatewayIsBack);
        }
        self.in_a_while(20 * MINUTE, 90 * MINUTE, Happening::OperatorVisits);
        let mut chosen: Vec<OrderId> = self.stuck.iter().cloned().collect();
        if self.dice.chance(self.weather.meddling) {
            let orders: Vec<_> = self.wakes.keys().cloned().collect();
            chosen.extend(self.dice.one_of(&orders).cloned());
        }
        for order_id in chosen {
            let Some(head) = self.world.head(&order_id) else {
                continue;
            };
            let visits = self.visits.entry(order_id.clone()).or_default();
            *visits += 1;
            let submission = if *visits > PATIENCE && self.stuck.contains(&order_id) {
                let visits = *visits;
                let now = self.world.shared.clock.elapsed();
                people::settle_by_hand(&mut self.world.shared.outside(), &order_id, now);
                self.by_hand.insert(order_id.clone());
                people::last_resort(&head, visits)
            } else {
                people::operation(&head, *visits, &mut self.dice)
            };
            self.submit(order_id, submission);
        }
    }

    /// Nothing can be done now: time passes, until something can.
    async fn rest(&mut self) {
        let now = self.world.elapsed_ms();
        let lag = self.lags.values().copied().filter(|at| *at > now).min();
        let happening = self.happenings.keys().next().map(|(at, _)| *at);
        let next = [lag, happening, self.sweep_at()]
            .into_iter()
            .flatten()
            .min();
        // With nothing planned only timers are left.
        let until: Instant = self
            .world
            .instant(next.unwrap_or(now + 60 * MINUTE).max(now + 1));
        self.world.floor.rest(until).await;
    }
}
