//! The three tests of a saga's harness, over the whole plan: every step twice, a failure at every step, every undo twice.

use std::time::Duration;

use crate::world::World;
use sagaline_order::{Event, Order, OrderId, State};
use sagaline_saga::Submitted;
use sagaline_testkit::memory::{Call, Fault};
use sagaline_testkit::scripted::Crash;

/// What is done, and nobody hears that it was: so it is done again.
#[derive(Debug, Clone, Copy)]
enum Again {
    /// The nth commit: the acknowledgement is lost, it is sent again.
    Commit(usize),
    /// The nth commit: the process ends, the next one begins where the head stands.
    CommitByAnother(usize),
    /// The nth call of the gateway.
    Call(usize),
    /// The nth message.
    Message(usize),
}

async fn twice(world: &World, id: &OrderId, again: Again) {
    match again {
        Again::Commit(nth) => world
            .table
            .fail(Call::Transact, nth, Fault::LostAcknowledgement),
        Again::CommitByAnother(nth) => world.table.fail(Call::Transact, nth, Fault::CrashAfter),
        Again::Call(nth) => world.gateway.crash_at(nth, Crash::After),
        Again::Message(nth) => world.bus.crash_at(nth, Crash::After),
    }
    let work = world
        .gateway
        .until_crash(world.bus.until_crash(world.try_drive(id)));
    let _ = world.table.until_crash(Box::pin(work)).await;
    let _ = world.try_drive(id).await;
    world.sweep_to_the_end(id).await;
}

/// As if the order had never been: nothing held, nothing kept, nothing to come.
async fn assert_clean_slate(world: &World, id: &OrderId, what: &str) -> Order {
    let head = world.check_at_rest(id, what).await;
    assert!(
        matches!(head.state, State::Cancelled | State::Rejected),
        "{what}: {:?}",
        head.state
    );
    let account = world.account(id);
    assert_eq!(account.charged_minor, account.refunded_minor, "{what}");
    let metrics = world.store().metrics(&head.user_id).await.unwrap();
    assert_eq!(
        (metrics.order_count, metrics.unpaid_count),
        (1, 0),
        "{what}"
    );
    head
}

#[tokio::test(start_paused = true)]
async fn every_step_executed_twice_has_one_effect() {
    let steps = [
        Again::Commit(1),
        Again::CommitByAnother(1),
        Again::Call(1),
        Again::Commit(2),
        Again::CommitByAnother(2),
        Again::Message(1),
        Again::Commit(3),
        Again::CommitByAnother(3),
    ];
    for step in steps {
        let world = World::new().await;
        let id = world.place("o-1", 2, "approve").await;
        twice(&world, &id, step).await;
        let head = world.check_at_rest(&id, &format!("{step:?}")).await;
        assert_eq!(head.state, State::Confirmed, "{step:?}");
        assert_eq!(head.version.get(), 4, "{step:?}");
        let sent = world.messages("OrderConfirmed");
        assert_eq!(
            sent.len(),
            1 + usize::from(matches!(step, Again::Message(_))),
            "{step:?}"
        );
        assert!(sent.iter().all(|message| message == &sent[0]), "{step:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_undo_executed_twice_has_one_effect() {
    // Of a return: announcement, its commit, refund intent, refund, outcome with the stock.
    let undos = [
        Again::Message(1),
        Again::Commit(1),
        Again::CommitByAnother(1),
        Again::Commit(2),
        Again::CommitByAnother(2),
        Again::Call(1),
        Again::Commit(3),
        Again::CommitByAnother(3),
    ];
    for undo in undos {
        let world = World::new().await;
        let id = world.place("o-1", 2, "approve").await;
        world.drive(&id).await;
        world.cancel(&id).await;
        twice(&world, &id, undo).await;
        let head = assert_clean_slate(&world, &id, &format!("{undo:?}")).await;
        assert_eq!(head.state, State::Cancelled, "{undo:?}");
        assert_eq!(world.account(&id).payments[0].refunds.len(), 1, "{undo:?}");
    }
    // Of a declined payment: the stock, in the commit of the outcome.
    for undo in [Again::Call(1), Again::Commit(2), Again::CommitByAnother(2)] {
        let world = World::new().await;
        let id = world.place("o-1", 2, "decline").await;
        twice(&world, &id, undo).await;
        let head = assert_clean_slate(&world, &id, &format!("{undo:?}")).await;
        assert_eq!(head.state, State::Rejected, "{undo:?}");
    }
}

/// How a step fails.
#[derive(Debug, Clone, Copy)]
enum Failing {
    /// There is less on the shelf than the order wants.
    ReserveFailed,
    /// The gateway refuses.
    PayFailed,
    /// The gateway says nothing for as long as there is time to pay.
    PayUnknown(&'static str),
    /// The gateway never decides.
    PayPending,
    /// Fulfilment refuses what was announced.
    FulfilFailed,
    /// The bus takes the announcement late; meanwhile the order is cancelled.
    FulfilUnknown,
    /// A return whose refund goes wrong first.
    Undo(&'static str),
}

async fn fail(world: &World, failing: Failing) -> OrderId {
    let token = match failing {
        Failing::PayUnknown(token) | Failing::Undo(token) => token,
        Failing::PayFailed => "decline",
        Failing::PayPending => "pending",
        Failing::ReserveFailed | Failing::FulfilFailed | Failing::FulfilUnknown => "approve",
    };
    let qty = if matches!(failing, Failing::ReserveFailed) {
        11
    } else {
        2
    };
    let id = world.place("o-1", qty, token).await;
    match failing {
        Failing::ReserveFailed
        | Failing::PayFailed
        | Failing::PayUnknown(_)
        | Failing::PayPending => {}
        Failing::FulfilFailed => {
            world.drive(&id).await;
            let reason = "damaged in store".to_owned();
            let refused = world
                .submit(&id, Event::FulfilmentRefused { reason }, "e-1")
                .await;
            assert!(matches!(refused, Submitted::Applied { .. }), "{refused:?}");
        }
        Failing::FulfilUnknown => {
            world.bus.refuse(3);
            world.drive(&id).await;
            world.cancel(&id).await;
        }
        Failing::Undo(_) => {
            world.drive(&id).await;
            world.cancel(&id).await;
        }
    }
    id
}

#[tokio::test(start_paused = true)]
async fn a_failure_at_every_step_leaves_a_clean_slate() {
    let failures = [
        (Failing::ReserveFailed, State::Rejected),
        (Failing::PayFailed, State::Rejected),
        (
            Failing::PayUnknown("timeout-not-charged:999"),
            State::Cancelled,
        ),
        (Failing::PayUnknown("fail:999"), State::Cancelled),
        (Failing::PayPending, State::Cancelled),
        (Failing::FulfilFailed, State::Cancelled),
        (Failing::FulfilUnknown, State::Cancelled),
        (Failing::Undo("refund-refuse:2"), State::Cancelled),
        (Failing::Undo("refund-fail:3"), State::Cancelled),
        (Failing::Undo("refund-timeout"), State::Cancelled),
    ];
    for (failing, end) in failures {
        // With the stream, and by the sweeper alone.
        for driven in [true, false] {
            let what = format!("{failing:?} driven={driven}");
            let world = World::new().await;
            let id = fail(&world, failing).await;
            if driven {
                let _ = world.try_drive(&id).await;
            }
            tokio::time::advance(Duration::from_secs(1)).await;
            world.sweep_to_the_end(&id).await;
            let head = assert_clean_slate(&world, &id, &what).await;
            assert_eq!(head.state, end, "{what}");
        }
    }
}
