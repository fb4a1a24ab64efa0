//! The real driver over a table in memory: its own changes come back as records.

use sagaline_saga::Clock as _;

use super::*;

/// The real driver over a table in memory whose changes are delivered by hand.
struct World {
    table: MemoryTable,
    gateway: ScriptedGateway,
    bus: ScriptedBus,
    records: OrderRecords<Driver<MemoryTable, TokioClock, ScriptedGateway, ScriptedBus>>,
    store: Store<MemoryTable>,
    delivered: usize,
}

impl World {
    async fn with_order(order: &str) -> Self {
        let table = MemoryTable::new();
        let clock = TokioClock::starting_at(Timestamp::parse("2026-01-31T08:30:00Z").unwrap());
        let (gateway, bus) = (ScriptedGateway::new(clock), ScriptedBus::default());
        let driver = Driver::new(
            Recorder::new(Store::new(table.clone()), clock),
            gateway.clone(),
            bus.clone(),
        );
        let store = Store::new(table.clone());
        store
            .set_stock(&Sku::parse("teapot").unwrap(), 10, None)
            .await
            .unwrap();
        let input = json!({"order_id": order, "user_id": "u-1", "currency": "EUR", "lines": [{"sku": "teapot", "qty": 1, "unit_minor": 1250}]});
        let input = OrderInput::from_json(&input.to_string()).unwrap();
        let context = Context {
            now: clock.now(),
            config: SagaConfig::default(),
        };
        let new = input
            .check(&RequestId::parse("r-1").unwrap(), "customer", &context)
            .unwrap();
        store.place(new, Placement::default()).await.unwrap();
        Self {
            table,
            gateway,
            bus,
            records: OrderRecords::new(driver),
            store,
            delivered: 0,
        }
    }

    /// Delivers what changed since the last time, each record so often.
    async fn deliver(&mut self, times: usize) -> usize {
        let changes = self.table.changes(self.delivered);
        self.delivered += changes.len();
        for change in &changes {
            for _ in 0..times {
                let (outcome, parked) = run(&self.records, &[change.record()]).await;
                assert_eq!(
                    (failures(&outcome), parked.len()),
                    (json!([]), 0),
                    "{change:?}"
                );
            }
        }
        changes.len()
    }

    async fn version(&self, order: &str) -> u64 {
        self.store
            .load(&OrderId::stored(order))
            .await
            .unwrap()
            .unwrap()
            .version
            .get()
    }

    fn counts(&self) -> (usize, usize, usize) {
        (
            self.table.calls().transact,
            self.gateway.calls(),
            self.bus.calls(),
        )
    }
}

// C-15
#[tokio::test(start_paused = true)]
async fn an_orders_own_writes_come_back_and_wake_nobody() {
    let mut world = World::with_order("o-1").await;
    let mut rounds = 0;
    while world.deliver(2).await > 0 {
        rounds += 1;
        assert!(rounds < 10, "its own write wakes the writer for ever");
    }
    let head = world
        .store
        .load(&OrderId::stored("o-1"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (head.version.get(), head.wake_at, head.transitions),
        (4, None, 3)
    );
    let counts = world.counts();
    assert_eq!((counts.1, counts.2), (1, 1));
    world.delivered = 0;
    world.deliver(2).await;
    assert_eq!(
        world.counts(),
        counts,
        "after that no record causes a write or a call"
    );
}

// C-05
#[tokio::test(start_paused = true)]
async fn an_old_record_delivered_late_and_again_changes_nothing() {
    let mut world = World::with_order("o-7").await;
    world.deliver(1).await;
    let all: Vec<_> = world
        .table
        .changes(0)
        .iter()
        .filter(|change| change.is_head())
        .map(|change| change.record())
        .collect();
    let counts = world.counts();
    let batch = [all[0].clone(), all[1].clone(), all[0].clone()];
    for _ in 0..2 {
        let (outcome, _) = run(&world.records, &batch).await;
        assert_eq!(
            (
                outcome.counts().stale() + outcome.counts().skipped(),
                failures(&outcome)
            ),
            (3, json!([]))
        );
    }
    assert_eq!(world.counts(), counts);
    assert_eq!(world.version("o-7").await, 4);
}

// C-07
#[tokio::test(start_paused = true)]
async fn a_replaced_head_is_neither_an_end_nor_a_new_life() {
    let mut world = World::with_order("o-3").await;
    while world.deliver(1).await > 0 {}
    let key = Key::head(&OrderId::stored("o-3"));
    let mut item = world.table.item(&key).unwrap();
    let counts = world.counts();
    let mut put = |version: u32, keep: bool| {
        item.insert("version".to_owned(), AttributeValue::N(version.to_string()));
        item.insert("due_pk".to_owned(), AttributeValue::S("DUE#3".to_owned()));
        item.insert(
            "due_sk".to_owned(),
            AttributeValue::S("20260131T083000.000Z#o-3".to_owned()),
        );
        if !keep {
            world.table.delete(&key);
        }
        world.table.put(item.clone()).unwrap();
    };
    put(5, true);
    put(9, false);
    let batch: Vec<_> = world
        .table
        .changes(world.delivered)
        .iter()
        .map(|change| change.record())
        .collect();
    let names: Vec<_> = batch
        .iter()
        .map(|record| record["eventName"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["MODIFY", "REMOVE", "INSERT"]);
    for _ in 0..2 {
        let (outcome, parked) = run(&world.records, &batch).await;
        assert_eq!((failures(&outcome), parked.len()), (json!([]), 0));
    }
    assert_eq!(world.counts(), counts, "no step is run a second time");
    assert_eq!(world.version("o-3").await, 9);
}
