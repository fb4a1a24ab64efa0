//! The roads an order can take, one by one.

use std::time::Duration;

use crate::world::World;
use sagaline_order::{Event, PaymentId, RefundId, State, StepStatus};
use sagaline_saga::{Path, Rest, Submitted};
use sagaline_store::Placement;
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn a_straight_order_takes_four_commits_and_one_read() {
    let world = World::new().await;
    let id = world.place("o-1", 2, "approve").await;
    let before = world.table.calls();
    let driven = world.drive(&id).await;
    assert_eq!((driven.commits, driven.rest), (3, Rest::Finished));
    let calls = world.table.calls();
    assert_eq!(calls.transact - before.transact, 3);
    // The head, once, and the configuration, once a minute.
    assert_eq!(calls.get - before.get, 2);
    let head = world.check_at_rest(&id, "straight").await;
    assert_eq!((head.state, head.version.get()), (State::Confirmed, 4));
    assert_eq!(world.account(&id).calls.payments, 1);
    assert_eq!(
        world.account(&id).calls.enquiries,
        0,
        "a fresh first attempt does not ask"
    );
    let message = world.messages("OrderConfirmed").remove(0);
    assert_eq!(message.detail["id"], "o-1#3");
    assert_eq!(message.detail["shipping"]["city"], "Ghent");
    assert_eq!(message.detail["lines"][0]["sku"], "teapot");
}

// C-05, C-15
#[tokio::test(start_paused = true)]
async fn a_redelivery_writes_nothing_and_calls_nobody() {
    let world = World::new().await;
    let id = world.place("o-7", 1, "approve").await;
    world.drive(&id).await;
    let (calls, gateway, bus) = (
        world.table.calls().transact,
        world.gateway.calls(),
        world.bus.calls(),
    );
    for _ in 0..3 {
        let driven = world.drive(&id).await;
        assert_eq!((driven.commits, driven.rest), (0, Rest::Finished));
    }
    assert_eq!(
        (
            world.table.calls().transact,
            world.gateway.calls(),
            world.bus.calls()
        ),
        (calls, gateway, bus)
    );
}

#[tokio::test(start_paused = true)]
async fn a_declined_payment_rejects_and_gives_the_stock_back() {
    let world = World::new().await;
    let id = world.place("o-1", 2, "decline:insufficient_funds").await;
    assert_eq!(world.drive(&id).await.rest, Rest::Finished);
    let head = world.check_at_rest(&id, "declined").await;
    assert_eq!(head.state, State::Rejected);
    assert!(head.unwind.unwrap().reason.contains("insufficient_funds"));
    assert_eq!(world.bus.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn short_stock_rejects_before_any_call() {
    let world = World::new().await;
    let id = world.place("o-1", 11, "approve").await;
    let driven = world.drive(&id).await;
    assert_eq!((driven.commits, driven.rest), (1, Rest::Finished));
    let head = world.check_at_rest(&id, "short").await;
    assert_eq!(head.state, State::Rejected);
    assert_eq!(head.unwind.unwrap().reason, "teapot: 11 wanted, 10 there");
    assert_eq!(world.gateway.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn nothing_to_pay_skips_the_payment() {
    let world = World::new().await;
    let id = world
        .place_at("o-1", 2, 0, "decline", Placement::default())
        .await;
    assert_eq!(world.drive(&id).await.commits, 2);
    let head = world.check_at_rest(&id, "free").await;
    assert_eq!((head.state, head.steps.pay), (State::Confirmed, None));
    world.cancel(&id).await;
    world.drive(&id).await;
    assert_eq!(
        world.check_at_rest(&id, "free, returned").await.state,
        State::Cancelled
    );
    assert_eq!(world.gateway.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn stock_taken_at_placement_is_not_taken_again() {
    let world = World::new().await;
    let id = world
        .place_at(
            "o-1",
            2,
            1_250,
            "approve",
            Placement {
                reserve_now: true,
                ..Placement::default()
            },
        )
        .await;
    world.drive(&id).await;
    assert_eq!(
        world.check_at_rest(&id, "reserved").await.state,
        State::Confirmed
    );

    let world = World::new().await;
    let id = world
        .place_at(
            "o-2",
            2,
            1_250,
            "approve",
            Placement {
                reserve_now: true,
                ..Placement::default()
            },
        )
        .await;
    world.cancel(&id).await;
    world.drive(&id).await;
    assert_eq!(
        world.check_at_rest(&id, "reserved, cancelled").await.state,
        State::Cancelled
    );
}

// C-25
#[tokio::test(start_paused = true)]
async fn a_time_out_that_charged_is_found_by_asking() {
    let world = World::new().await;
    let id = world.place("o-1", 2, "timeout-charged").await;
    let begun = Instant::now();
    let driven = world.drive(&id).await;
    assert!(matches!(driven.rest, Rest::Until(_)), "{driven:?}");
    assert!(
        begun.elapsed() <= Duration::from_secs(4),
        "one slow gateway must not hold a shard: {:?}",
        begun.elapsed()
    );
    assert_eq!(
        world.head(&id).await.steps.pay.unwrap().status,
        StepStatus::Unknown
    );
    world.sweep_to_the_end(&id).await;
    assert_eq!(
        world.check_at_rest(&id, "timeout charged").await.state,
        State::Confirmed
    );
    let calls = world.account(&id).calls;
    assert_eq!(
        (calls.payments, calls.enquiries),
        (1, 1),
        "asked, not posted again"
    );
}

#[tokio::test(start_paused = true)]
async fn a_time_out_that_did_not_charge_is_posted_again_after_asking() {
    let world = World::new().await;
    let id = world.place("o-1", 2, "timeout-not-charged").await;
    world.drive(&id).await;
    world.sweep_to_the_end(&id).await;
    assert_eq!(
        world.check_at_rest(&id, "timeout").await.state,
        State::Confirmed
    );
    let calls = world.account(&id).calls;
    assert_eq!((calls.payments, calls.enquiries), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_failing_gateway_is_tried_until_it_works() {
    let world = World::new().await;
    let id = world.place("o-1", 1, "fail:3").await;
    world.drive(&id).await;
    world.sweep_to_the_end(&id).await;
    assert_eq!(
        world.check_at_rest(&id, "fail:3").await.state,
        State::Confirmed
    );
}

#[tokio::test(start_paused = true)]
async fn a_pending_payment_is_asked_about_until_it_is_settled() {
    for (token, end) in [
        ("pending-then-approve:200s", State::Confirmed),
        ("pending-then-decline:200s", State::Rejected),
    ] {
        let world = World::new().await;
        let id = world.place("o-1", 2, token).await;
        world.drive(&id).await;
        let head = world.head(&id).await;
        assert_eq!(head.steps.pay.unwrap().status, StepStatus::Pending);
        assert!(head.payment_id.is_some());
        world.sweep_to_the_end(&id).await;
        assert_eq!(world.check_at_rest(&id, token).await.state, end);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pending_payment_settled_by_a_report_confirms_at_once() {
    let world = World::new().await;
    let id = world.place("o-1", 2, "pending-then-approve:60s").await;
    world.drive(&id).await;
    tokio::time::advance(Duration::from_secs(61)).await;
    let payment_id = world.head(&id).await.payment_id.unwrap();
    let report = Event::PaymentApproved { payment_id };
    assert!(matches!(
        world.submit(&id, report.clone(), "e-1").await,
        Submitted::Applied { .. }
    ));
    world.drive(&id).await;
    assert_eq!(
        world.check_at_rest(&id, "reported").await.state,
        State::Confirmed
    );
    // The same report again.
    assert!(matches!(
        world.submit(&id, report, "e-1").await,
        Submitted::AlreadyApplied { .. }
    ));
}

#[tokio::test(start_paused = true)]
async fn a_payment_that_stays_pending_is_voided_when_the_time_to_pay_is_over() {
    let world = World::new().await;
    let id = world.place("o-1", 2, "pending").await;
    world.drive(&id).await;
    world.sweep_to_the_end(&id).await;
    let head = world.check_at_rest(&id, "pending").await;
    assert_eq!(head.state, State::Cancelled);
    assert_eq!(head.unwind.unwrap().reason, "the time to pay is over");
    let account = world.account(&id);
    assert_eq!(
        (account.charged_minor, account.payments[0].refunds.len()),
        (0, 1),
        "{account:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_never_answers_ends_in_a_cancellation_with_a_last_enquiry() {
    let world = World::new().await;
    let id = world.place("o-1", 2, "timeout-not-charged:1000").await;
    world.drive(&id).await;
    let begun = world.clock;
    world.sweep_to_the_end(&id).await;
    let head = world.check_at_rest(&id, "never answers").await;
    assert_eq!(head.state, State::Cancelled);
    let since = sagaline_saga::Clock::now(&begun).as_millis() - head.created_at.as_millis();
    assert!(since > 86_400_000, "the last enquiry comes a day later");
    assert!(head.steps.pay.unwrap().undone);
}

#[tokio::test(start_paused = true)]
async fn three_refused_refunds_need_a_person_and_say_so() {
    let world = World::new().await;
    let id = world.place("o-1", 2, "approve+refund-refuse:9").await;
    world.drive(&id).await;
    assert!(matches!(world.cancel(&id).await, Submitted::Applied { .. }));
    let driven = world.drive(&id).await;
    assert!(driven.commits > 0);
    let head = world.sweep_to_the_end(&id).await;
    assert_eq!(head.state, State::NeedsOperator);
    let undo = head.steps.pay.unwrap().undo.unwrap();
    assert_eq!((undo.refusals, undo.attempt), (3, 3));
    assert!(head.attention.unwrap().reason.contains("refused 3 times"));
    assert_eq!(world.messages("OrderNeedsAttention").len(), 1);
    assert_eq!(
        world.messages("OrderCancelled").len(),
        1,
        "a return is announced before its refund"
    );
    // It re-alarms hourly.
    tokio::time::advance(Duration::from_secs(3_700)).await;
    assert_eq!(world.sweep().await.alarms, 1);
    assert_eq!(world.messages("OrderNeedsAttention").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn refunds_that_fail_or_answer_late_are_made_once() {
    for token in [
        "refund-fail:2",
        "refund-refuse:2",
        "refund-timeout",
        "refund-timeout+refund-fail:1",
    ] {
        let world = World::new().await;
        let id = world.place("o-1", 2, token).await;
        world.drive(&id).await;
        world.cancel(&id).await;
        world.drive(&id).await;
        world.sweep_to_the_end(&id).await;
        let head = world.check_at_rest(&id, token).await;
        assert_eq!(head.state, State::Cancelled, "{token}");
        let undo = head.steps.pay.unwrap().undo.unwrap();
        assert!(
            undo.refund_id.is_some(),
            "{token}: the refund is known by its name"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_payment_of_another_order_needs_a_person() {
    let world = World::new().await;
    let first = world.place("o-1", 1, "payment-id:p-1").await;
    let second = world.place("o-2", 1, "payment-id:p-1").await;
    world.drive(&first).await;
    let driven = world.drive(&second).await;
    assert_eq!(driven.alarms, 1);
    assert_eq!(world.head(&first).await.state, State::Confirmed);
    let head = world.head(&second).await;
    assert_eq!(head.state, State::NeedsOperator);
    assert_eq!(
        head.attention.unwrap().reason,
        "payment p-1 belongs to another order"
    );
}

#[tokio::test(start_paused = true)]
async fn an_order_that_is_gone_is_no_error() {
    let world = World::new().await;
    let id = sagaline_order::OrderId::stored("o-none");
    assert_eq!(world.drive(&id).await.rest, Rest::Absent);
}

#[tokio::test(start_paused = true)]
async fn a_second_payment_and_a_refund_report_are_judged_by_the_same_decisions() {
    let world = World::new().await;
    let id = world.place("o-1", 1, "approve").await;
    world.drive(&id).await;
    let refunded = Event::RefundSucceeded {
        refund_id: RefundId::parse("r-1").unwrap(),
    };
    assert!(matches!(
        world.submit(&id, refunded, "e-1").await,
        Submitted::NoEffect { .. }
    ));
    let second = Event::PaymentApproved {
        payment_id: PaymentId::parse("p-other").unwrap(),
    };
    assert!(matches!(
        world.submit(&id, second, "e-2").await,
        Submitted::Applied { .. }
    ));
    assert_eq!(world.head(&id).await.state, State::NeedsOperator);
}

#[tokio::test(start_paused = true)]
async fn without_time_for_a_call_none_is_begun() {
    let world = World::new().await;
    let id = world.place("o-1", 1, "approve").await;
    let driven = world
        .driver
        .drive(&id, Path::Stream, Instant::now() + Duration::from_secs(1))
        .await
        .unwrap();
    assert_eq!((driven.commits, driven.rest), (1, Rest::OutOfTime));
    assert_eq!(world.gateway.calls(), 0);
    world.drive(&id).await;
    assert_eq!(
        world.check_at_rest(&id, "came again").await.state,
        State::Confirmed
    );
}
