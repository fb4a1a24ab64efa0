//! What the sweeper does, and what it leaves alone.

use std::time::Duration;

use crate::world::World;
use sagaline_order::State;
use sagaline_saga::{Path, Rest};
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn a_bus_that_refuses_delays_the_confirmation_and_nothing_else() {
    let world = World::new().await;
    world.bus.refuse(2);
    let id = world.place("o-1", 1, "approve").await;
    assert!(matches!(world.drive(&id).await.rest, Rest::Until(_)));
    assert_eq!(world.head(&id).await.state, State::Confirmed);
    world.sweep_to_the_end(&id).await;
    world.check_at_rest(&id, "bus").await;
}

#[tokio::test(start_paused = true)]
async fn an_unavailable_gateway_sends_orders_to_the_sweeper() {
    let world = World::new().await;
    world.gateway.set_available(false);
    let id = world.place("o-1", 1, "approve").await;
    assert_eq!(world.drive(&id).await.rest, Rest::Deferred);
    assert_eq!(world.gateway.calls(), 0);
    // While it stays so, no attempt and no transition is spent.
    let version = world.head(&id).await.version;
    tokio::time::advance(Duration::from_secs(120)).await;
    assert_eq!(world.sweep().await.deferred, 1);
    assert_eq!(world.head(&id).await.version, version);
    world.gateway.set_available(true);
    assert_eq!(world.sweep().await.moved, 1);
    assert_eq!(
        world.check_at_rest(&id, "deferred").await.state,
        State::Confirmed
    );
}

#[tokio::test(start_paused = true)]
async fn with_the_stream_off_every_order_still_ends() {
    for token in [
        "approve",
        "decline",
        "timeout-charged",
        "timeout-not-charged",
        "fail:4",
        "pending-then-approve:90s",
        "pending",
    ] {
        let world = World::new().await;
        let id = world.place("o-1", 2, token).await;
        world.sweep_to_the_end(&id).await;
        world.check_at_rest(&id, token).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_sweeper_leaves_alone_what_is_not_due() {
    let world = World::new().await;
    let id = world.place("o-1", 1, "approve").await;
    assert_eq!(world.sweep().await.found, 0);
    let until = Instant::now() + Duration::from_secs(50);
    let driven = world.driver.drive(&id, Path::Sweeper, until).await.unwrap();
    assert!(
        matches!(driven.rest, Rest::Until(_)),
        "the index may be behind the head"
    );
    assert_eq!(world.head(&id).await.version.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_pass_goes_on_past_an_order_that_cannot_be_moved() {
    let world = World::new().await;
    world.table.limit_pages(1);
    let ids: Vec<_> = ["o-1", "o-2", "o-3", "o-4"].into_iter().collect();
    for id in &ids {
        world.place(id, 1, "approve").await;
    }
    // An operator's script broke the head of the first.
    let broken = sagaline_store::Key::head(&sagaline_order::OrderId::stored("o-1"));
    let mut item = world.table.item(&broken).unwrap();
    item.insert(
        "lines".to_owned(),
        sagaline_store::AttributeValue::S("none".to_owned()),
    );
    world.table.put(item).unwrap();
    tokio::time::advance(Duration::from_secs(61)).await;
    let report = world.sweep().await;
    assert_eq!(
        (
            report.found,
            report.failed,
            report.moved,
            report.shards_left
        ),
        (4, 1, 3, 0),
        "{report:?}"
    );
    assert!(report.oldest_overdue_s >= 1);
}

#[tokio::test(start_paused = true)]
async fn an_order_of_a_newer_release_waits_for_it_and_is_neither_parked_nor_changed() {
    let world = World::new().await;
    let id = world.place("o-1", 1, "approve").await;
    let key = sagaline_store::Key::head(&id);
    let mut head = world.table.item(&key).unwrap();
    let schema = |number: u32| sagaline_store::AttributeValue::N(number.to_string());
    head.insert("schema".to_owned(), schema(sagaline_order::SCHEMA + 1));
    world.table.put(head.clone()).unwrap();
    let error = world.try_drive(&id).await.unwrap_err();
    assert!(error.is_newer_schema(), "{error:?}");
    tokio::time::advance(Duration::from_secs(120)).await;
    let report = world.sweep().await;
    assert_eq!((report.found, report.deferred, report.failed), (1, 1, 0));
    assert!(report.oldest_overdue_s > 0, "its age is told");
    assert_eq!(world.table.item(&key).unwrap(), head);
    // The release that knows it.
    head.insert("schema".to_owned(), schema(sagaline_order::SCHEMA));
    world.table.put(head).unwrap();
    world.sweep_to_the_end(&id).await;
    world.check_at_rest(&id, "newer").await;
}
