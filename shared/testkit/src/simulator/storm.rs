//! The seeded director: chooses, roll by roll, what happens next in a world of many orders, until everything has ended.
//!
//! First the storm: everything that the seed's [`Weather`] allows. Then calm, in which nothing fails any more and people settle what needs
//! them, so that a world that is right comes to rest. One that does not is a finding.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sagaline_order::{OrderId, State, Timestamp};
use sagaline_saga::{Rest, Submission};
use sagaline_store::Disposition;

use super::call::Fate;
use super::dice::Dice;
use super::floor::Waiting;
use super::parts::Post;
use super::trace::{Line, Trace};
use super::weather::{MINUTE, Plan, Weather};
use super::world::{Ended, World};
use super::{people, verdict};

/// How long the storm lasts, in milliseconds.
const STORM: u64 = 150 * MINUTE;
/// A world that is older than this and not at rest never will be.
const OLDEST: u64 = 40 * 24 * 60 * MINUTE;
/// How often a mapping tries a record before it gives up on it.
const ATTEMPTS: u32 = 10;
/// Stream tasks at the same time.
const LANES: usize = 6;
/// Shards of the stream.
const SHARDS: u32 = 4;
/// Visits to one order before an operator ends it by hand.
const PATIENCE: u64 = 4;
/// The processes: two consumers of the stream, the sweeper, and the one that customers and operators reach.
pub(super) const PROCESSES: usize = 4;
const SWEEPER: usize = 2;
const FRONT: usize = 3;

/// What a task is for.
#[derive(Debug, Clone)]
enum Errand {
    Record(OrderId, u32),
    /// A second delivery of what another task has: nobody waits for it.
    Repeat(OrderId),
    Sweep,
    Place(usize),
    Submit(OrderId, Box<Submission>),
}

/// Something whose time is set.
#[derive(Debug, Clone)]
pub(super) enum Happening {
    Place(usize),
    Cancel(OrderId),
    Fulfilment(OrderId, bool),
    GatewayTells(OrderId),
    Submit(OrderId, Box<Submission>),
    Arrives(Post),
    GatewayIsBack,
    OperatorVisits,
}

/// A run of one seed.
pub(super) struct Storm {
    pub(super) world: World,
    pub(super) trace: Trace,
    pub(super) steps: u64,
    pub(super) commits: u64,
    pub(super) findings: Vec<String>,
    dice: Dice,
    weather: Weather,
    is_calm: bool,
    plans: Vec<Plan>,
    happenings: BTreeMap<(u64, u64), Happening>,
    serial: u64,
    lanes: BTreeMap<OrderId, VecDeque<u32>>,
    lags: BTreeMap<u32, u64>,
    errands: BTreeMap<u32, Errand>,
    wakes: BTreeMap<OrderId, Timestamp>,
    stuck: BTreeSet<OrderId>,
    visits: BTreeMap<OrderId, u64>,
    by_hand: BTreeSet<OrderId>,
    heard: usize,
    last_sweep: u64,
}

impl Storm {
    pub(super) fn new(world: World, plans: Vec<Plan>, weather: Weather, dice: Dice) -> Self {
        let mut storm = Self {
            world,
            trace: Trace::new(),
            steps: 0,
            commits: 0,
            findings: Vec::new(),
            dice,
            weather,
            is_calm: false,
            plans,
            happenings: BTreeMap::new(),
            serial: 0,
            lanes: BTreeMap::new(),
            lags: BTreeMap::new(),
            errands: BTreeMap::new(),
            wakes: BTreeMap::new(),
            stuck: BTreeSet::new(),
            visits: BTreeMap::new(),
            by_hand: BTreeSet::new(),
            heard: 0,
            last_sweep: 0,
        };
        for number in 0..storm.plans.len() {
            let Some(plan) = storm.plans.get(number).cloned() else {
                continue;
            };
            let order_id = OrderId::stored(plan.order_id);
            storm.plan(plan.at, Happening::Place(number));
            if storm.dice.chance(storm.weather.cancels) {
                let at = plan.at + storm.dice.between(0, 40 * MINUTE);
                storm.plan(at, Happening::Cancel(order_id.clone()));
            }
            if storm.dice.chance(storm.weather.reports) {
                let at = plan.at + storm.dice.between(0, 120 * MINUTE);
                storm.plan(at, Happening::GatewayTells(order_id));
            }
        }
        storm.plan(30 * MINUTE, Happening::OperatorVisits);
        storm
    }

    /// Runs until everything has ended, or until it is clear that it never will.
    pub(super) async fn run(&mut self) {
        let limit = 200_000 + 20_000 * u64::try_from(self.plans.len()).unwrap_or(0);
        loop {
            self.settle();
            if !self.findings.is_empty() || self.is_over() {
                break;
            }
            self.steps += 1;
            if self.steps > limit || self.world.elapsed_ms() > OLDEST {
                self.findings
                    .push("the world never comes to rest".to_owned());
                break;
            }
            if !self.is_calm && self.world.elapsed_ms() > STORM {
                self.is_calm = true;
                self.weather = Weather {
                    stream: self.weather.stream,
                    ..Weather::calm()
                };
                self.world.shared.outside().unavailable = false;
            }
            self.step().await;
        }
        let now = self.world.shared.clock.elapsed();
        for order_id in &self.by_hand {
            people::settle_by_hand(&mut self.world.shared.outside(), order_id, now);
        }
        self.findings.extend(verdict::violations(&self.world, true));
    }

    fn plan(&mut self, at: u64, happening: Happening) {
        self.serial += 1;
        self.happenings.insert((at, self.serial), happening);
    }

    fn in_a_while(&mut self, low: u64, high: u64, happening: Happening) {
        let at = self.world.elapsed_ms() + self.dice.between(low, high);
        self.plan(at, happening);
    }

    fn note(&mut self, task: u32, what: &'static str, how: &'static str, about: String) {
        let at = self.world.elapsed_ms();
        self.trace.push(Line {
            at,
            task,
            what,
            how,
            about,
        });
    }

    fn is_over(&self) -> bool {
        let planned = self
            .happenings
            .values()
            .any(|happening| !matches!(happening, Happening::OperatorVisits));
        !planned
            && self.world.tasks.is_empty()
            && self.wakes.is_empty()
            && self.lanes.values().all(VecDeque::is_empty)
    }

    /// Lets everything go on that can, and takes in what came of it.
    fn settle(&mut self) {
        let mut ended = Vec::new();
        self.world.tasks.settle(|task, end| ended.push((task, end)));
        for (task, end) in ended {
            self.take_in(task, end);
        }
        for change in self.world.head_changes() {
            self.commits += 1;
            let state = change.state.map_or("?", state_name);
            self.note(0, "commit", state, change.order_id.to_string());
            match change.wake_at {
                Some(at) => self.wakes.insert(change.order_id.clone(), at),
                None => self.wakes.remove(&change.order_id),
            };
            if change.state == Some(State::NeedsOperator) {
                self.stuck.insert(change.order_id.clone());
            } else {
                self.stuck.remove(&change.order_id);
            }
            if change.is_due && self.weather.stream && !self.dice.chance(self.weather.losses) {
                self.lanes.entry(change.order_id).or_default().push_back(0);
            }
        }
        self.listen();
        let wandering = std::mem::take(&mut self.world.shared.outside().wandering);
        for post in wandering {
            self.in_a_while(0, 20 * MINUTE, Happening::Arrives(post));
        }
    }

    /// Fulfilment hears of confirmed orders and sends the goods, most of the time.
    fn listen(&mut self) {
        let heard: Vec<_> = {
            let outside = self.world.shared.outside();
            outside.messages.iter().skip(self.heard).cloned().collect()
        };
        self.heard += heard.len();
        for (kind, id) in heard {
            let Some((order_id, _)) = id.rsplit_once('#') else {
                continue;
            };
            self.note(0, "message", kind, id.clone());
            if kind == "OrderConfirmed" && self.dice.chance(self.weather.reports) {
                let sent = self.dice.chance(700);
                let happening = Happening::Fulfilment(OrderId::stored(order_id), sent);
                self.in_a_while(0, 60 * MINUTE, happening);
            }
        }
    }

    fn take_in(&mut self, task: u32, end: Ended) {
        let Some(errand) = self.errands.remove(&task) else {
            return;
        };
        let (poison, again) = match &end {
            Ended::Drove(Ok(driven)) => (None, driven.rest == Rest::OutOfTime),
            Ended::Drove(Err(error)) | Ended::Submitted(Err(error)) => (
                is_our_fault(error.disposition()).then(|| whole(error)),
                true,
            ),
            Ended::Placed(Err(error)) => {
                let short = matches!(error, sagaline_store::CommitError::StockShort { .. });
                (
                    (is_our_fault(error.disposition()) && !short).then(|| whole(error)),
                    !short,
                )
            }
            Ended::Swept | Ended::Placed(Ok(_)) | Ended::Submitted(Ok(_)) => (None, false),
        };
        let how = if again { "failed" } else { "done" };
        self.note(task, errand.name(), how, errand.about());
        self.findings
            .extend(poison.map(|poison| format!("{}: {poison}", errand.about())));
        if again {
            self.again(errand);
        }
    }

    /// What did not come to an end is tried again, as whoever wants it would.
    fn again(&mut self, errand: Errand) {
        match errand {
            Errand::Record(order_id, attempts) if attempts + 1 < ATTEMPTS => {
                self.lanes
                    .entry(order_id)
                    .or_default()
                    .push_front(attempts + 1);
            }
            Errand::Place(number) => self.in_a_while(100, 2 * MINUTE, Happening::Place(number)),
            Errand::Submit(order_id, submission) => {
                self.in_a_while(100, 2 * MINUTE, Happening::Submit(order_id, submission));
            }
            Errand::Record(..) | Errand::Repeat(_) | Errand::Sweep => {}
        }
    }
}

impl Errand {
    fn name(&self) -> &'static str {
        match self {
            Self::Record(..) => "record",
            Self::Repeat(_) => "repeat",
            Self::Sweep => "sweep",
            Self::Place(_) => "place",
            Self::Submit(..) => "submit",
        }
    }

    fn about(&self) -> String {
        match self {
            Self::Record(order_id, _) | Self::Repeat(order_id) => order_id.to_string(),
            Self::Sweep => String::new(),
            Self::Place(number) => format!("o-{number:02}"),
            Self::Submit(order_id, submission) => {
                format!(
                    "{order_id} {} {}",
                    submission.event.kind(),
                    submission.request_id
                )
            }
        }
    }
}

fn state_name(state: State) -> &'static str {
    match state {
        State::Placed => "Placed",
        State::Paying => "Paying",
        State::Confirmed => "Confirmed",
        State::Unwinding => "Unwinding",
        State::Cancelled => "Cancelled",
        State::Rejected => "Rejected",
        State::NeedsOperator => "NeedsOperator",
    }
}

/// A failure that trying again will not mend: nothing that is simulated excuses it.
fn is_our_fault(disposition: Disposition) -> bool {
    matches!(disposition, Disposition::Poison | Disposition::Fatal)
}

fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

mod choices;
