//! One world: the parts, the processes that share them, and what is running. The directors ([`super::storm`], [`super::exhaustive`]) decide what
//! happens next; this file only knows how each thing is done.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sagaline_order::{Context, NewOrder, Order, OrderId, SagaConfig, Sku, State, Timestamp};
use sagaline_saga::{
    Clock as _, DriveError, Driven, Driver, Path, Recorder, Submission, Submitted, Sweep,
};
use sagaline_store::value::n;
use sagaline_store::{CommitError, HEAD_SK, Item, Key, Placed, Placement, Store, read_head};
use tokio::time::Instant;

use super::Mutation;
use super::floor::{Floor, Tasks};
use super::parts::{Outside, Shared, SimBus, SimClock, SimGateway, SimTable};
use crate::MemoryTable;

/// When every world begins.
const BEGINNING: &str = "2026-01-31T08:30:00.000Z";
/// What an invocation of the saga processor has.
const STREAM_TIME: Duration = Duration::from_secs(50);
/// What a pass of the sweeper has.
const SWEEP_TIME: Duration = Duration::from_secs(55);
/// Orders that a pass drives at the same time, as the sweeper's function does.
const SWEEP_CONCURRENCY: usize = 8;

type SimDriver = Driver<SimTable, SimClock, SimGateway, SimBus>;

/// What a task came to.
#[derive(Debug)]
pub(super) enum Ended {
    Drove(Result<Driven, DriveError>),
    Swept,
    Placed(Result<Placed, CommitError>),
    Submitted(Result<Option<Submitted>, DriveError>),
}

/// What a world was like between two tasks: all that is to be known to go on from there.
#[derive(Debug, Clone)]
pub(super) struct Still {
    table: MemoryTable,
    outside: Outside,
    age: Duration,
}

/// How a world begins.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    /// What is on the shelves.
    pub(super) stock: Vec<(Sku, i64)>,
    /// The saga's settings; absent = the defaults.
    pub(super) config: Option<SagaConfig>,
    /// How far the clock of each process is off, in milliseconds. One process each.
    pub(super) skews_ms: Vec<i64>,
    /// How finely the clocks show the time, in milliseconds.
    pub(super) tick_ms: i64,
    /// The seed of the jitter.
    pub(super) jitter: u64,
    /// What is broken.
    pub(super) mutation: Option<Mutation>,
}

/// One world.
pub(super) struct World {
    pub(super) floor: Floor,
    pub(super) tasks: Tasks<Ended>,
    pub(super) table: MemoryTable,
    pub(super) shared: Shared,
    pub(super) setting: Setting,
    processes: Vec<Arc<SimDriver>>,
    seen_changes: usize,
}

/// A change of a head, as the stream tells of it.
#[derive(Debug, Clone)]
pub(super) struct HeadChange {
    pub(super) order_id: OrderId,
    pub(super) state: Option<State>,
    /// When the sweeper looks at it; `None` = finished.
    pub(super) wake_at: Option<Timestamp>,
    /// True if the mapping's filter lets the record through to the saga.
    pub(super) is_due: bool,
}

impl World {
    /// A world in which nothing has happened. Needs a tokio runtime with paused time.
    pub(super) fn new(setting: Setting) -> Self {
        let table = MemoryTable::new();
        for (sku, stock) in &setting.stock {
            let mut item = keyed(&Key::stock(sku));
            item.insert("stock".to_owned(), n(stock));
            store(&table, item);
        }
        if let Some(config) = &setting.config {
            let mut item = keyed(&Key::config("saga"));
            if let Ok(serde_json::Value::Object(values)) = serde_json::to_value(config) {
                item.extend(
                    values
                        .into_iter()
                        .map(|(name, value)| (name, sagaline_store::value::from_json(&value))),
                );
            }
            store(&table, item);
        }
        let still = Still {
            table,
            outside: Outside::default(),
            age: Duration::ZERO,
        };
        Self::from_still(setting, &still)
    }

    /// Goes on from a still world; whatever is done here leaves that one as it is.
    pub(super) fn from_still(setting: Setting, still: &Still) -> Self {
        let floor = Floor::default();
        let clock = SimClock {
            base: beginning(),
            started: Instant::now(),
            age: still.age,
            skew_ms: 0,
            tick_ms: setting.tick_ms,
        };
        let shared = Shared {
            floor: floor.clone(),
            outside: Arc::new(Mutex::new(still.outside.clone())),
            clock,
            mutation: setting.mutation,
        };
        let table = still.table.fork();
        let process = |(number, skew_ms): (usize, &i64)| {
            let shared = Shared {
                clock: SimClock {
                    skew_ms: *skew_ms,
                    ..clock
                },
                ..shared.clone()
            };
            let seed = setting
                .jitter
                .wrapping_add(u64::try_from(number).unwrap_or(0));
            let sim_table = SimTable {
                memory: table.clone(),
                shared: shared.clone(),
            };
            let store = Store::new(sim_table).with_jitter_seed(seed);
            let recorder = Recorder::new(store, shared.clock).with_jitter_seed(seed);
            Arc::new(Driver::new(
                recorder,
                SimGateway(shared.clone()),
                SimBus(shared),
            ))
        };
        let processes = setting.skews_ms.iter().enumerate().map(process).collect();
        Self {
            tasks: Tasks::new(floor.clone()),
            floor,
            table,
            shared,
            setting,
            processes,
            seen_changes: 0,
        }
    }

    /// The present, as nobody's clock shows it.
    pub(super) fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    /// Milliseconds since the beginning.
    pub(super) fn elapsed_ms(&self) -> u64 {
        self.shared.clock.elapsed_ms()
    }

    /// The moment at which the world is so old.
    pub(super) fn instant(&self, elapsed_ms: u64) -> Instant {
        Instant::now() + Duration::from_millis(elapsed_ms.saturating_sub(self.elapsed_ms()))
    }

    /// The present and the settings, for whoever checks input or invariants.
    pub(super) fn context(&self) -> Context {
        Context {
            now: self.now(),
            config: self.setting.config.clone().unwrap_or_default(),
        }
    }

    /// What the world is like; only while no task runs is that all.
    pub(super) fn still(&self) -> Still {
        Still {
            table: self.table.fork(),
            outside: self.shared.outside().clone(),
            age: self.shared.clock.elapsed(),
        }
    }

    /// One of the processes; there is always one.
    fn process(&self, number: usize) -> Option<Arc<SimDriver>> {
        let number = number.checked_rem(self.processes.len())?;
        self.processes.get(number).map(Arc::clone)
    }

    /// A stream record reaches a process.
    pub(super) fn drive(&mut self, process: usize, order_id: OrderId) -> Option<u32> {
        let driver = self.process(process)?;
        Some(self.tasks.start(Box::pin(async move {
            let until = Instant::now() + STREAM_TIME;
            Ended::Drove(driver.drive(&order_id, Path::Stream, until).await)
        })))
    }

    /// The sweeper makes a pass.
    pub(super) fn sweep(&mut self, process: usize, seed: u32) -> Option<u32> {
        let driver = self.process(process)?;
        Some(self.tasks.start(Box::pin(async move {
            let until = Instant::now() + SWEEP_TIME;
            let sweep = Sweep {
                seed,
                concurrency: SWEEP_CONCURRENCY,
                until,
            };
            driver.sweep(sweep).await;
            Ended::Swept
        })))
    }

    /// A customer places an order.
    pub(super) fn place(
        &mut self,
        process: usize,
        new: NewOrder,
        reserve_now: bool,
    ) -> Option<u32> {
        let driver = self.process(process)?;
        let placement = Placement {
            reserve_now,
            ..Placement::default()
        };
        Some(self.tasks.start(Box::pin(async move {
            Ended::Placed(driver.recorder().store().place(new, placement).await)
        })))
    }

    /// Somebody outside wants or reports something.
    pub(super) fn submit(
        &mut self,
        process: usize,
        order_id: OrderId,
        submission: Submission,
    ) -> Option<u32> {
        let driver = self.process(process)?;
        Some(self.tasks.start(Box::pin(async move {
            Ended::Submitted(driver.recorder().submit(&order_id, submission).await)
        })))
    }

    /// The changes of heads since the last call.
    pub(super) fn head_changes(&mut self) -> Vec<HeadChange> {
        let changes = self.table.changes(self.seen_changes);
        self.seen_changes += changes.len();
        let heads = changes.iter().filter(|change| change.is_head());
        heads
            .filter_map(|change| {
                let item = change.after()?;
                let text = |name: &str| item.get(name)?.as_s().ok().map(String::as_str);
                Some(HeadChange {
                    order_id: OrderId::stored(text("order_id")?),
                    state: text("state").and_then(|name| {
                        serde_json::from_value(serde_json::Value::from(name)).ok()
                    }),
                    wake_at: text("wake_at").and_then(Timestamp::parse),
                    is_due: item.contains_key("due_pk"),
                })
            })
            .collect()
    }

    /// An order as it stands in the table.
    pub(super) fn head(&self, order_id: &OrderId) -> Option<Order> {
        let item = self.table.item(&Key::head(order_id))?;
        read_head(&item).ok()
    }

    /// Every order as it stands, with whether the index of unfinished orders lists it.
    pub(super) fn heads(&self) -> Vec<(Order, bool)> {
        let items = self.table.items();
        let heads = items.iter().filter(|item| {
            item.get(sagaline_store::SK)
                .and_then(|sk| sk.as_s().ok())
                .map(String::as_str)
                == Some(HEAD_SK)
        });
        heads
            .filter_map(|item| Some((read_head(item).ok()?, item.contains_key("due_pk"))))
            .collect()
    }
}

#[expect(clippy::expect_used, reason = "the text is a time")]
fn beginning() -> Timestamp {
    Timestamp::parse(BEGINNING).expect("BEGINNING is a time")
}

fn keyed(key: &Key) -> Item {
    [(sagaline_store::PK, &key.pk), (sagaline_store::SK, &key.sk)]
        .map(|(name, text)| (name.to_owned(), sagaline_store::value::s(text.clone())))
        .into()
}

/// Before the first order: nobody calls.
fn store(table: &MemoryTable, item: Item) {
    let stored = table.put(item);
    debug_assert!(stored.is_ok(), "{stored:?}");
}
