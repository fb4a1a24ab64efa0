//! Two who act on one order at the same time.

use std::time::Duration;

use crate::world::World;
use sagaline_order::{Event, State};
use sagaline_saga::{Path, Rest, Submitted};
use sagaline_testkit::memory::{Call, Fault};
use tokio::time::Instant;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(50)
}

pub(crate) async fn later(millis: u64) {
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
        Submitted::AlreadyApplied { .. }
    ));
    let again = Event::CancelRequested {
        reason: "once more".to_owned(),
    };
    assert!(matches!(
        world.submit(&id, again, "another").await,
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
