//! The process ends at every point, and the order ends well all the same.

use std::time::Duration;

use crate::world::World;
use sagaline_order::{OrderId, State};
use sagaline_saga::Clock as _;
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

/// What is asked of an order besides being placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    /// Nothing.
    Alone,
    /// It is cancelled before anything is done for it.
    CancelledAtOnce,
    /// It is cancelled once the first drive has come as far as it goes.
    Cancelled,
}

/// One order and how it ends.
#[derive(Debug, Clone, Copy)]
struct Plan {
    token: &'static str,
    qty: i64,
    life: Life,
    end: State,
    /// How it ends if the process is stopped before the cancellation.
    uncancelled: State,
}

impl Plan {
    fn alone(token: &'static str, qty: i64, end: State) -> Self {
        Self {
            token,
            qty,
            life: Life::Alone,
            end,
            uncancelled: end,
        }
    }

    fn cancelled(token: &'static str, life: Life, uncancelled: State) -> Self {
        Self {
            token,
            qty: 2,
            life,
            end: State::Cancelled,
            uncancelled,
        }
    }
}

/// The whole life of the order, to its end: drives, the cancellation, and as many passes of the sweeper as it takes.
async fn run(world: &World, id: &OrderId, life: Life) {
    if life == Life::CancelledAtOnce {
        world.cancel(id).await;
    }
    let _ = world.try_drive(id).await;
    if life == Life::Cancelled {
        world.cancel(id).await;
        let _ = world.try_drive(id).await;
    }
    for _ in 0..60 {
        let Some(at) = world.peek(id).wake_at else {
            return;
        };
        let wait = at.as_millis() - world.clock.now().as_millis();
        let wait = Duration::from_millis(u64::try_from(wait).unwrap_or(0) + 1_000);
        tokio::time::advance(wait).await;
        world.sweep().await;
    }
}

async fn until_crash(world: &World, work: impl Future<Output = ()>) -> bool {
    let inner = world.gateway.until_crash(world.bus.until_crash(work));
    matches!(
        world.table.until_crash(Box::pin(inner)).await,
        Some(Some(Some(())))
    )
}

/// Every point that a run of this plan passes: each write of the table, each read of a head, each call of the gateway and the bus.
async fn points(plan: Plan) -> Vec<Point> {
    let world = World::new().await;
    let id = world.place("o-1", plan.qty, plan.token).await;
    let before = world.table.calls();
    run(&world, &id, plan.life).await;
    let after = world.table.calls();
    assert_eq!(world.peek(&id).state, plan.end, "{plan:?}");
    assert_eq!(world.peek(&id).wake_at, None, "{plan:?}");
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

async fn check(plan: Plan, point: &Point, recovery: Recovery) -> State {
    let what = format!("{plan:?} {point:?} {recovery:?}");
    let world = World::new().await;
    let id = world.place("o-1", plan.qty, plan.token).await;
    point.script(&world);
    until_crash(&world, run(&world, &id, plan.life)).await;
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

async fn break_everywhere(plan: Plan) {
    let points = points(plan).await;
    assert!(points.len() > 7, "{plan:?}: {points:?}");
    for point in &points {
        for recovery in [Recovery::Redelivery, Recovery::SweeperOnly] {
            let state = Box::pin(check(plan, point, recovery)).await;
            assert!(
                state == plan.end || state == plan.uncancelled,
                "{plan:?} {point:?} {recovery:?}: {state:?}"
            );
        }
        for recovery in [Recovery::CancelThenRedelivery, Recovery::CancelThenSweeper] {
            let state = Box::pin(check(plan, point, recovery)).await;
            assert!(
                matches!(state, State::Cancelled | State::Rejected),
                "{plan:?} {point:?} {recovery:?}: {state:?}"
            );
        }
    }
}

// C-24, C-25
#[tokio::test(start_paused = true)]
async fn a_straight_order_survives_a_crash_at_every_point() {
    break_everywhere(Plan::alone("approve", 2, State::Confirmed)).await;
}

#[tokio::test(start_paused = true)]
async fn a_declined_order_survives_a_crash_at_every_point() {
    break_everywhere(Plan::alone("decline", 2, State::Rejected)).await;
}

#[tokio::test(start_paused = true)]
async fn a_sold_out_order_survives_a_crash_at_every_point() {
    break_everywhere(Plan::alone("approve", 11, State::Rejected)).await;
}

#[tokio::test(start_paused = true)]
async fn unknown_outcomes_survive_a_crash_at_every_point() {
    for token in ["timeout-charged", "timeout-not-charged", "fail:2"] {
        break_everywhere(Plan::alone(token, 2, State::Confirmed)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_pending_payment_survives_a_crash_at_every_point() {
    break_everywhere(Plan::alone("pending-then-approve:40s", 2, State::Confirmed)).await;
    break_everywhere(Plan::alone("pending-then-decline:40s", 2, State::Rejected)).await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_order_survives_a_crash_at_every_point() {
    break_everywhere(Plan::cancelled(
        "approve",
        Life::CancelledAtOnce,
        State::Confirmed,
    ))
    .await;
    break_everywhere(Plan::cancelled(
        "pending",
        Life::Cancelled,
        State::Cancelled,
    ))
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_order_with_an_unknown_payment_survives_a_crash_at_every_point() {
    for token in ["timeout-charged", "timeout-not-charged"] {
        break_everywhere(Plan::cancelled(token, Life::Cancelled, State::Confirmed)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_return_survives_a_crash_at_every_point() {
    break_everywhere(Plan::cancelled(
        "approve",
        Life::Cancelled,
        State::Confirmed,
    ))
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_return_with_a_late_and_a_refused_refund_survives_a_crash_at_every_point() {
    for token in ["refund-timeout+refund-fail:1", "refund-refuse:2"] {
        break_everywhere(Plan::cancelled(token, Life::Cancelled, State::Confirmed)).await;
    }
}

// C-24
#[tokio::test(start_paused = true)]
async fn an_intent_without_its_call_is_taken_up_at_once_by_a_redelivery() {
    let world = World::new().await;
    let id = world.place("o-1", 1, "approve").await;
    world.table.fail(Call::Transact, 1, Fault::CrashAfter);
    assert!(!until_crash(&world, run(&world, &id, Life::Alone)).await);
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
    until_crash(&world, run(&world, &id, Life::Alone)).await;
    tokio::time::advance(Duration::from_secs(30)).await;
    assert_eq!(world.sweep().await.found, 0);
    assert_eq!(world.gateway.calls(), 0);
    tokio::time::advance(Duration::from_secs(31)).await;
    assert_eq!(world.sweep().await.moved, 1);
    world.check_at_rest(&id, "lapsed").await;
}
