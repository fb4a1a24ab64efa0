//! Two who act on one order at the same time.

use std::time::Duration;

use crate::world::World;
use sagaline_order::{Event, State};
use sagaline_saga::{Driver, Path, Recorder, Rest, Submitted};
use sagaline_store::{
    Action, Item, Key, Page, Query, Store, Table, TableError, TransactError, WriteError,
};
use sagaline_testkit::MemoryTable;
use sagaline_testkit::memory::{Call, Fault};
use sagaline_testkit::scripted::Crash;
use tokio::time::Instant;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(50)
}

async fn later(millis: u64) {
    // Elapses by design: nothing is waited for but the time.
    let _ = tokio::time::timeout(Duration::from_millis(millis), std::future::pending::<()>()).await;
}

// C-21
#[tokio::test(start_paused = true)]
async fn a_cancel_while_the_payment_is_under_way_is_refunded_once() {
    let world = World::new().await;
    let id = world.place("o-1", 2, "approve").await;
    world.gateway.answer_after(Duration::from_secs(1));
    let cancel = async {
        later(500).await;
        world.cancel(&id).await
    };
    let (driven, cancelled) = tokio::join!(world.drive(&id), cancel);
    assert!(matches!(cancelled, Submitted::Applied { .. }));
    assert_eq!(
        driven.rest,
        Rest::Finished,
        "its success was recorded and undone by the same drive: {driven:?}"
    );
    let head = world.check_at_rest(&id, "cancelled under way").await;
    assert_eq!(head.state, State::Cancelled);
    assert_eq!(world.account(&id).refunded_minor, 2_500);
}

// C-21, the other order
#[tokio::test(start_paused = true)]
async fn a_success_that_arrives_long_after_the_unwind_began_is_refunded_once() {
    let world = World::new().await;
    let id = world.place("o-1", 2, "timeout-charged").await;
    world.drive(&id).await;
    world.cancel(&id).await;
    // The gateway reports of its own accord, before anybody asks.
    let payment_id = world.account(&id).payments[0].payment_id.clone();
    let payment_id = sagaline_order::PaymentId::stored(payment_id);
    assert!(matches!(
        world
            .submit(&id, Event::PaymentApproved { payment_id }, "e-1")
            .await,
        Submitted::Applied { .. }
    ));
    world.drive(&id).await;
    world.sweep_to_the_end(&id).await;
    assert_eq!(
        world.check_at_rest(&id, "late success").await.state,
        State::Cancelled
    );
}

#[tokio::test(start_paused = true)]
async fn a_payment_that_turns_up_after_the_end_is_refunded_and_the_state_stays() {
    let world = World::new().await;
    // The first enquiry after the cancellation finds nothing; the charge comes in afterwards, from a gateway that had it queued.
    let id = world.place("o-1", 2, "timeout-not-charged").await;
    world.drive(&id).await;
    world.cancel(&id).await;
    tokio::time::advance(Duration::from_secs(120)).await;
    world.sweep().await;
    let head = world.head(&id).await;
    assert_eq!(head.state, State::Cancelled);
    assert!(head.wake_at.is_some(), "one last enquiry is still to come");
    let op_id = head.steps.pay.as_ref().unwrap().op_id;
    world.gateway.post_by_hand(&op_id.to_string(), &head);
    world.sweep_to_the_end(&id).await;
    let head = world.check_at_rest(&id, "after the end").await;
    assert_eq!(head.state, State::Cancelled);
    assert_eq!(world.account(&id).refunded_minor, 2_500);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_while_the_confirmation_is_being_published_becomes_a_return() {
    let world = World::new().await;
    let id = world.place("o-1", 2, "approve").await;
    world.bus.crash_at(1, Crash::After);
    assert!(world.bus.until_crash(world.drive(&id)).await.is_none());
    assert!(matches!(world.cancel(&id).await, Submitted::Applied { .. }));
    let head = world.head(&id).await;
    assert_eq!(
        head.state,
        State::Confirmed,
        "noted, and waits for the publication"
    );
    world.drive(&id).await;
    world.sweep_to_the_end(&id).await;
    let head = world.check_at_rest(&id, "return").await;
    assert_eq!(head.state, State::Cancelled);
    let kinds: Vec<_> = world
        .bus
        .messages()
        .iter()
        .map(|message| message.detail_type)
        .collect();
    assert_eq!(
        kinds,
        ["OrderConfirmed", "OrderConfirmed", "OrderCancelled"]
    );
}

/// A table for a process that is frozen after each of its commits: the answer comes two minutes late.
struct Frozen(MemoryTable);

impl Table for Frozen {
    async fn get(&self, key: Key, consistent: bool) -> Result<Option<Item>, TableError> {
        self.0.get(key, consistent).await
    }

    async fn transact(&self, actions: Vec<Action>) -> Result<(), TransactError> {
        let answer = self.0.transact(actions).await;
        later(120_000).await;
        answer
    }

    async fn query(&self, query: Query) -> Result<Page, TableError> {
        self.0.query(query).await
    }

    async fn write(&self, action: Action) -> Result<Item, WriteError> {
        self.0.write(action).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_payer_that_stalled_makes_no_call_once_its_intent_has_lapsed() {
    let world = World::new().await;
    let id = world.place("o-1", 2, "approve").await;
    let recorder = Recorder::new(Store::new(Frozen(world.table.clone())), world.clock);
    let frozen = Driver::new(recorder, world.gateway.clone(), world.bus.clone());
    let meanwhile = async {
        later(1_000).await;
        world.cancel(&id).await;
        later(100_000).await;
        world.sweep().await;
        assert_eq!(world.head(&id).await.state, State::Cancelled);
        world.gateway.calls()
    };
    // It holds a fresh intent when it wakes up, for an order that is long cancelled.
    let long = Instant::now() + Duration::from_secs(600);
    let (driven, calls) = tokio::join!(frozen.drive(&id, Path::Stream, long), meanwhile);
    assert_eq!(driven.unwrap().commits, 1);
    assert_eq!(
        (world.gateway.calls(), world.account(&id).calls.payments),
        (calls, 0)
    );
    world.sweep_to_the_end(&id).await;
    world.check_at_rest(&id, "stalled").await;
}

#[tokio::test(start_paused = true)]
async fn two_drivers_of_one_order_charge_once_and_publish_one_message() {
    for delay in [0, 1, 100, 1_500] {
        let world = World::new().await;
        let id = world.place("o-1", 2, "approve").await;
        world.gateway.answer_after(Duration::from_millis(300));
        let other = world.another_process();
        let second = async {
            later(delay).await;
            other.drive(&id, Path::Stream, soon()).await
        };
        let (first, second) = tokio::join!(world.driver.drive(&id, Path::Stream, soon()), second);
        first.unwrap();
        second.unwrap();
        world.sweep_to_the_end(&id).await;
        assert_eq!(
            world
                .check_at_rest(&id, &format!("delay {delay}"))
                .await
                .state,
            State::Confirmed
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_read_and_decided_again() {
    let world = World::new().await;
    let id = world.place("o-1", 2, "approve").await;
    for nth in 1..=3 {
        world.table.fail(Call::Transact, nth, Fault::Conflict);
    }
    world.drive(&id).await;
    world.sweep_to_the_end(&id).await;
    world.check_at_rest(&id, "conflicts").await;
}

#[tokio::test(start_paused = true)]
async fn a_table_that_stays_away_is_an_error_to_be_retried() {
    let world = World::new().await;
    let id = world.place("o-1", 2, "approve").await;
    world.table.fail_all(Call::Transact, Some(Fault::Throttle));
    let error = world.try_drive(&id).await.unwrap_err();
    assert_eq!(error.disposition(), sagaline_store::Disposition::Retry);
    world.table.fail_all(Call::Transact, None);
    world.drive(&id).await;
    world.check_at_rest(&id, "came back").await;
}

#[tokio::test(start_paused = true)]
async fn a_repeated_cancel_changes_nothing_and_a_shipped_order_refuses_it() {
    let world = World::new().await;
    let id = world.place("o-1", 1, "approve").await;
    world.drive(&id).await;
    let shipped = Event::ShipmentSent {
        tracking: "T-1".to_owned(),
    };
    assert!(matches!(
        world.submit(&id, shipped, "e-1").await,
        Submitted::Applied { .. }
    ));
    assert!(matches!(world.cancel(&id).await, Submitted::Refused { .. }));

    let world = World::new().await;
    let id = world.place("o-2", 1, "approve").await;
    assert!(matches!(world.cancel(&id).await, Submitted::Applied { .. }));
    let version = world.head(&id).await.version;
    assert!(matches!(
        world.cancel(&id).await,
        Submitted::NoEffect { .. }
    ));
    assert_eq!(world.head(&id).await.version, version);
    world.drive(&id).await;
    assert_eq!(
        world.check_at_rest(&id, "before anything").await.state,
        State::Cancelled
    );
    assert_eq!(world.gateway.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_id_that_stands_for_another_request_is_refused() {
    let world = World::new().await;
    let first = world.place("o-1", 1, "approve").await;
    let second = world.place("o-2", 1, "approve").await;
    let cancel = || Event::CancelRequested {
        reason: "changed my mind".to_owned(),
    };
    world.submit(&first, cancel(), "r-9").await;
    let submission = sagaline_saga::Submission {
        event: cancel(),
        request_id: sagaline_order::RequestId::parse("r-9").unwrap(),
        payload_hash: sagaline_order::PayloadHash::stored("another"),
        operation: "cancel",
        actor: "customer".to_owned(),
    };
    let error = world
        .driver
        .recorder()
        .submit(&second, submission)
        .await
        .unwrap_err();
    assert!(matches!(
        error,
        sagaline_saga::DriveError::Commit {
            source: sagaline_store::CommitError::RequestIdReused,
            ..
        }
    ));
    assert_eq!(world.head(&second).await.version.get(), 1);
}
