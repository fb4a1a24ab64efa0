//! The process ends at every point, and the order ends well all the same.

use std::time::Duration;

use crate::world::World;
use sagaline_order::{OrderId, State};
use sagaline_testkit::memory::{Call, Fault};
use sagaline_testkit::scripted::Crash;

/// Where the process is stopped.
#[derive(Debug, Clone)]
enum Point {
    Transaction(usize, Fault),
    Read(usize, Fault),
    Gateway(usize, Crash),
    Bus(usize, Crash),
}

impl Point {
    fn script(&self, world: &World) {
        match self {
            Self::Transaction(nth, fault) => world.table.fail(Call::Transact, *nth, fault.clone()),
            Self::Read(nth, fault) => world.table.fail(Call::Get, *nth, fault.clone()),
            Self::Gateway(nth, crash) => world.gateway.crash_at(*nth, *crash),
            Self::Bus(nth, crash) => world.bus.crash_at(*nth, *crash),
        }
    }
}

/// What happens after the crash.
#[derive(Debug, Clone, Copy)]
enum Recovery {
    /// The record comes again, at once.
    Redelivery,
    /// It never does: only the sweeper is left.
    SweeperOnly,
    /// The customer cancels first, then the record comes again.
    CancelThenRedelivery,
    /// The customer cancels, and only the sweeper is left.
    CancelThenSweeper,
}

/// What one run does before anything else: places the order, and drives it as far as it goes, with a return if the token asks for one.
async fn run(world: &World, id: &OrderId, returned: bool) {
    let _ = world.try_drive(id).await;
    if returned {
        world.cancel(id).await;
        let _ = world.try_drive(id).await;
    }
}

async fn until_crash(world: &World, work: impl Future<Output = ()>) -> bool {
    let inner = world.gateway.until_crash(world.bus.until_crash(work));
    matches!(
        world.table.until_crash(Box::pin(inner)).await,
        Some(Some(Some(())))
    )
}

/// Every point that a run of this token passes.
async fn points(token: &str, qty: i64, returned: bool) -> Vec<Point> {
    let world = World::new().await;
    let id = world.place("o-1", qty, token).await;
    let before = world.table.calls();
    run(&world, &id, returned).await;
    let after = world.table.calls();
    let mut points = Vec::new();
    for nth in 1..=after.transact - before.transact {
        for fault in [
            Fault::CrashBefore,
            Fault::CrashAfter,
            Fault::LostAcknowledgement,
            Fault::Lost,
            Fault::Throttle,
            Fault::Conflict,
            Fault::InProgress,
        ] {
            points.push(Point::Transaction(nth, fault));
        }
    }
    for nth in 1..=after.get - before.get {
        for fault in [Fault::CrashAfter, Fault::Throttle] {
            points.push(Point::Read(nth, fault));
        }
    }
    for crash in [Crash::Before, Crash::After] {
        points.extend((1..=world.gateway.calls()).map(|nth| Point::Gateway(nth, crash)));
        points.extend((1..=world.bus.calls()).map(|nth| Point::Bus(nth, crash)));
    }
    points
}

async fn check(token: &str, qty: i64, returned: bool, point: &Point, recovery: Recovery) -> State {
    let what = format!("{token} x{qty} returned={returned} {point:?} {recovery:?}");
    let world = World::new().await;
    let id = world.place("o-1", qty, token).await;
    point.script(&world);
    until_crash(&world, run(&world, &id, returned)).await;
    if matches!(
        recovery,
        Recovery::CancelThenRedelivery | Recovery::CancelThenSweeper
    ) {
        world.cancel(&id).await;
    }
    if matches!(
        recovery,
        Recovery::Redelivery | Recovery::CancelThenRedelivery
    ) {
        for _ in 0..3 {
            let _ = world.try_drive(&id).await;
            tokio::time::advance(Duration::from_millis(200)).await;
        }
    }
    world.sweep_to_the_end(&id).await;
    let head = world.check_at_rest(&id, &what).await;
    // A late redelivery changes nothing any more.
    assert_eq!(world.drive(&id).await.commits, 0, "{what}");
    head.state
}

async fn break_everywhere(token: &str, qty: i64, returned: bool, end: State) {
    let points = points(token, qty, returned).await;
    assert!(points.len() > 7, "{token}: {points:?}");
    for point in &points {
        for recovery in [Recovery::Redelivery, Recovery::SweeperOnly] {
            let state = Box::pin(check(token, qty, returned, point, recovery)).await;
            // A run that stopped before its return simply was not returned.
            assert!(
                state == end || (returned && state == State::Confirmed),
                "{token} {point:?} {recovery:?}: {state:?}"
            );
        }
        for recovery in [Recovery::CancelThenRedelivery, Recovery::CancelThenSweeper] {
            let state = Box::pin(check(token, qty, returned, point, recovery)).await;
            assert!(
                matches!(state, State::Cancelled | State::Rejected),
                "{token} {point:?} {recovery:?}: {state:?}"
            );
        }
    }
}

// C-24, C-25
#[tokio::test(start_paused = true)]
async fn a_straight_order_survives_a_crash_at_every_point() {
    break_everywhere("approve", 2, false, State::Confirmed).await;
}

#[tokio::test(start_paused = true)]
async fn a_return_survives_a_crash_at_every_point() {
    break_everywhere("approve", 2, true, State::Cancelled).await;
}

#[tokio::test(start_paused = true)]
async fn a_return_with_a_late_refund_survives_a_crash_at_every_point() {
    break_everywhere("refund-timeout+refund-fail:1", 2, true, State::Cancelled).await;
}

#[tokio::test(start_paused = true)]
async fn a_declined_order_survives_a_crash_at_every_point() {
    break_everywhere("decline", 2, false, State::Rejected).await;
}

#[tokio::test(start_paused = true)]
async fn a_sold_out_order_survives_a_crash_at_every_point() {
    break_everywhere("approve", 11, false, State::Rejected).await;
}

#[tokio::test(start_paused = true)]
async fn time_outs_survive_a_crash_at_every_point() {
    break_everywhere("timeout-charged", 2, false, State::Confirmed).await;
    break_everywhere("timeout-not-charged", 2, false, State::Confirmed).await;
}

#[tokio::test(start_paused = true)]
async fn a_pending_payment_survives_a_crash_at_every_point() {
    break_everywhere("pending-then-approve:40s", 2, false, State::Confirmed).await;
    break_everywhere("pending-then-decline:40s", 2, false, State::Rejected).await;
}

// C-24
#[tokio::test(start_paused = true)]
async fn an_intent_without_its_call_is_taken_up_at_once_by_a_redelivery() {
    let world = World::new().await;
    let id = world.place("o-1", 1, "approve").await;
    world.table.fail(Call::Transact, 1, Fault::CrashAfter);
    assert!(!until_crash(&world, run(&world, &id, false)).await);
    assert_eq!(world.gateway.calls(), 0);
    let driven = world.drive(&id).await;
    assert_eq!(driven.commits, 2, "no lock has to run out first");
    let calls = world.account(&id).calls;
    assert_eq!(calls.payments, 1);
    assert_eq!(
        world.gateway.calls(),
        2,
        "it was asked first: somebody might have called"
    );
    world.check_at_rest(&id, "taken up").await;
}

#[tokio::test(start_paused = true)]
async fn an_intent_without_its_call_is_left_alone_by_the_sweeper_until_it_has_lapsed() {
    let world = World::new().await;
    let id = world.place("o-1", 1, "approve").await;
    world.table.fail(Call::Transact, 1, Fault::CrashAfter);
    until_crash(&world, run(&world, &id, false)).await;
    tokio::time::advance(Duration::from_secs(30)).await;
    assert_eq!(world.sweep().await.found, 0);
    assert_eq!(world.gateway.calls(), 0);
    tokio::time::advance(Duration::from_secs(31)).await;
    assert_eq!(world.sweep().await.moved, 1);
    world.check_at_rest(&id, "lapsed").await;
}
