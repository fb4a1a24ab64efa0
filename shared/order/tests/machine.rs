//! The saga's machine as a whole: scenarios as sentences, and random walks that must keep every invariant.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod common;

use common::{
    approved, cancel, context, later, pending_payment, placed, placed_with, refunded, refused,
    step, unknown,
};
use proptest::prelude::*;
use sagaline_order::{
    Change, Command, Event, NoticeKind, Order, Pending, State, StepStatus, TableEffect, Verdict,
    apply, decide, evolve, pending, request_id,
};

#[test]
fn a_happy_order_takes_four_commits() {
    let c = context();
    let order = step(&placed(), &Event::StockReserved, &c);
    assert_eq!((order.state, order.version.get()), (State::Paying, 2));
    let order = step(&order, &approved(), &c);
    assert_eq!((order.state, order.version.get()), (State::Confirmed, 3));
    assert_eq!(order.confirmed_version.map(|v| v.get()), Some(3));
    let order = step(&order, &Event::ConfirmationPublished, &c);
    assert_eq!((order.version.get(), order.wake_at), (4, None));
    assert_eq!(pending(&order, &c), Pending::Nothing);
}

#[test]
fn a_total_of_zero_skips_the_payment() {
    let order = step(&placed_with(0), &Event::StockReserved, &context());
    assert_eq!((order.state, order.steps.pay), (State::Confirmed, None));
}

#[test]
fn short_stock_and_a_declined_payment_reject_in_one_commit_with_the_stock_back() {
    let c = context();
    let declined = Event::PaymentDeclined {
        reason: "no".to_owned(),
    };
    let paying = step(&placed(), &Event::StockReserved, &c);
    let decision = decide(&paying, &declined, &c);
    assert_eq!(decision.effects, [TableEffect::ReturnStock]);
    let order = step(&paying, &declined, &c);
    assert_eq!((order.state, order.wake_at), (State::Rejected, None));
    let short = Event::StockShort {
        sku: placed().lines[0].sku.clone(),
        have: 1,
        want: 2,
    };
    let decision = decide(&placed(), &short, &c);
    assert!(decision.effects.is_empty(), "nothing was taken");
    assert_eq!(step(&placed(), &short, &c).state, State::Rejected);
}

// C-21
#[test]
fn a_payment_that_succeeds_after_the_cancellation_is_refunded_once_in_both_orders() {
    let c = context();
    let paying = step(&placed(), &Event::StockReserved, &c);
    for events in [
        vec![
            cancel(),
            approved(),
            Event::RefundDue,
            refunded(),
            Event::NoticePublished,
        ],
        vec![
            approved(),
            cancel(),
            Event::ConfirmationPublished,
            Event::NoticePublished,
            Event::RefundDue,
            refunded(),
        ],
    ] {
        let order = events
            .iter()
            .fold(paying.clone(), |order, event| step(&order, event, &c));
        assert_eq!((order.state, order.wake_at), (State::Cancelled, None));
        assert!(
            order.steps.pay.as_ref().unwrap().undone
                && order.steps.reserve.as_ref().unwrap().undone
        );
        assert_eq!(decide(&order, &refunded(), &c).verdict, Verdict::NoEffect);
        assert_eq!(decide(&order, &approved(), &c).verdict, Verdict::NoEffect);
    }
}

#[test]
fn an_open_payment_is_asked_about_after_its_grace_and_once_more_a_day_later() {
    let c = context();
    let order = step(&step(&placed(), &Event::StockReserved, &c), &cancel(), &c);
    let ask_at = c.now.plus(sagaline_order::Seconds(90));
    assert_eq!(pending(&order, &later(&c, 89)), Pending::Until(ask_at));
    assert_eq!(
        pending(&order, &later(&c, 90)),
        Pending::Now(Command::AskPayment)
    );
    let order = step(&order, &Event::PaymentNotFound, &later(&c, 90));
    assert_eq!(order.state, State::Cancelled);
    let order = step(&order, &Event::NoticePublished, &later(&c, 91));
    assert!(
        order.wake_at.is_some(),
        "not finished before the last enquiry"
    );
    let day = later(&c, 90 + 86_400);
    assert_eq!(pending(&order, &day), Pending::Now(Command::AskPayment));
    assert_eq!(step(&order, &Event::PaymentNotFound, &day).wake_at, None);
}

#[test]
fn a_pending_payment_found_while_unwinding_is_voided_like_a_success() {
    let c = context();
    let order = step(
        &step(&placed(), &Event::StockReserved, &c),
        &pending_payment(),
        &c,
    );
    let order = step(&order, &cancel(), &c);
    assert_eq!(
        pending(&order, &c),
        Pending::Now(Command::Record(Event::RefundDue))
    );
    let order = step(&step(&order, &Event::RefundDue, &c), &refunded(), &c);
    assert_eq!(order.state, State::Cancelled);
}

#[test]
fn a_return_is_announced_before_it_is_refunded() {
    let c = context();
    let published = [
        Event::StockReserved,
        approved(),
        Event::ConfirmationPublished,
    ];
    let order = published
        .iter()
        .fold(placed(), |order, event| step(&order, event, &c));
    let order = step(&order, &cancel(), &c);
    assert_eq!(order.notices[0].kind, NoticeKind::OrderCancelled);
    assert_eq!(order.notices[0].version, order.version);
    assert_eq!(pending(&order, &c), Pending::Now(Command::PublishNotice));
    let order = step(&order, &Event::NoticePublished, &c);
    assert_eq!(
        pending(&order, &c),
        Pending::Now(Command::Record(Event::RefundDue))
    );
}

#[test]
fn three_refusals_of_a_refund_hand_the_order_to_a_person_and_unknowns_do_not_count() {
    let c = context();
    let order = [Event::StockReserved, cancel(), approved(), Event::RefundDue]
        .iter()
        .fold(placed(), |order, event| step(&order, event, &c));
    let unknown = Event::RefundUnknown {
        reason: "cut".to_owned(),
    };
    let order = [
        unknown,
        Event::RefundDue,
        refused(),
        Event::RefundDue,
        refused(),
        Event::RefundDue,
    ]
    .iter()
    .fold(order, |order, event| step(&order, event, &c));
    assert_eq!(order.state, State::Unwinding);
    let order = step(&order, &refused(), &c);
    assert_eq!(order.state, State::NeedsOperator);
    assert!(order.wake_at.is_some());
    let order = step(&order, &Event::NoticePublished, &c);
    assert_eq!(
        pending(&order, &later(&c, 3_600)),
        Pending::Now(Command::Record(Event::AttentionDue))
    );
    assert_eq!(
        decide(&order, &Event::RefundDue, &c).verdict,
        Verdict::Refused
    );
}

#[test]
fn the_budget_of_transitions_ends_with_a_person() {
    let c = context();
    let mut order = step(&placed(), &Event::StockReserved, &c);
    for _ in 0..100 {
        if order.state != State::Paying {
            break;
        }
        let event = if order.steps.pay.as_ref().unwrap().status == StepStatus::Requested {
            unknown()
        } else {
            Event::PaymentDue
        };
        order = step(&order, &event, &c);
    }
    assert_eq!(order.state, State::NeedsOperator);
    assert_eq!(order.transitions, c.config.transition_budget + 1);
    // A fact is still recorded.
    assert_eq!(
        step(&order, &approved(), &c).payment_id.unwrap().as_str(),
        "p-1"
    );
}

#[test]
fn an_operator_can_retry_mark_or_abandon_what_is_stuck() {
    let c = context();
    let stuck = common::situations()
        .into_iter()
        .find(|(name, _)| name.starts_with("NeedsOperator"))
        .unwrap()
        .1;
    let tried = step(&stuck, &Event::UndoRetried, &c);
    assert_eq!((tried.state, tried.transitions), (State::Unwinding, 1));
    assert_eq!(
        pending(&tried, &c),
        Pending::Now(Command::Record(Event::RefundDue))
    );
    assert_eq!(
        step(&step(&tried, &Event::RefundDue, &c), &refunded(), &c).state,
        State::Cancelled
    );

    let marked = step(
        &stuck,
        &Event::UndoMarked {
            evidence: "statement".to_owned(),
        },
        &c,
    );
    assert_eq!(marked.state, State::Cancelled);
    assert!(marked.steps.reserve.as_ref().unwrap().undone);

    let abandoned = step(
        &stuck,
        &Event::Abandoned {
            comment: "settled by phone".to_owned(),
        },
        &c,
    );
    assert_eq!(abandoned.state, State::Cancelled);
    assert_eq!(
        pending(&abandoned, &c),
        Pending::Now(Command::PublishNotice),
        "the world hears of the end"
    );
    let abandoned = step(&abandoned, &Event::NoticePublished, &c);
    assert_eq!(abandoned.wake_at, None);
    for event in [
        Event::UndoRetried,
        Event::UndoMarked {
            evidence: "x".to_owned(),
        },
        Event::Unparked,
    ] {
        assert_ne!(decide(&abandoned, &event, &c).verdict, Verdict::Applied);
    }
}

#[test]
fn a_parked_order_goes_on_where_it_stood() {
    let c = context();
    let paying = step(&placed(), &Event::StockReserved, &c);
    let parked = step(
        &paying,
        &Event::Parked {
            reason: "under review".to_owned(),
        },
        &c,
    );
    assert_eq!(parked.state, State::NeedsOperator);
    let paid = step(&parked, &approved(), &c);
    assert_eq!(
        paid.state,
        State::NeedsOperator,
        "a fact is recorded, nothing is begun"
    );
    assert_eq!(step(&parked, &Event::Unparked, &c).state, State::Paying);
    assert_eq!(step(&paid, &Event::Unparked, &c).state, State::Confirmed);
    let declined = step(
        &parked,
        &Event::PaymentDeclined {
            reason: "no".to_owned(),
        },
        &c,
    );
    assert_eq!(step(&declined, &Event::Unparked, &c).state, State::Rejected);
}

#[test]
fn a_refund_that_stays_unknown_reaches_its_deadline_within_the_budget() {
    let mut c = context();
    let mut order = [Event::StockReserved, cancel(), approved()]
        .iter()
        .fold(placed(), |order, event| step(&order, event, &c));
    let begun = c.now;
    while order.state == State::Unwinding {
        match pending(&order, &c) {
            Pending::Now(Command::Record(event)) => order = step(&order, &event, &c),
            Pending::Now(_) => {
                order = step(
                    &order,
                    &Event::RefundUnknown {
                        reason: "cut".to_owned(),
                    },
                    &c,
                )
            }
            Pending::Until(at) => c.now = at,
            Pending::Nothing => panic!("an open refund is never nothing"),
        }
    }
    assert_eq!(order.state, State::NeedsOperator);
    assert!(
        c.now >= begun.plus(c.config.undo_deadline_s),
        "{}",
        order.last_event.reason
    );
}

#[test]
fn outcomes_of_one_attempt_share_a_request_id_and_enquiries_have_their_own() {
    let c = context();
    let order = step(&placed(), &Event::StockReserved, &c);
    let first = request_id(&order, &unknown());
    let order = step(&order, &unknown(), &c);
    let second = request_id(&order, &unknown());
    assert_ne!(first, second);
    assert!(
        first.as_str().ends_with("#1#unknown") && second.as_str().ends_with("#2#unknown"),
        "{first} {second}"
    );
    assert!(first.is_internal());
}

fn any_event() -> impl Strategy<Value = Event> {
    (0..common::events().len()).prop_map(|i| common::events()[i].clone())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_events_in_any_order_keep_the_invariants(steps in proptest::collection::vec((any_event(), 0u32..4_000), 1..60)) {
        let mut order = placed();
        let mut history: Vec<Vec<Change>> = Vec::new();
        let mut c = context();
        for (event, wait) in steps {
            c = later(&c, wait);
            let decision = decide(&order, &event, &c);
            prop_assert_eq!(decision.verdict == Verdict::Applied, !decision.changes.is_empty());
            prop_assert!(!decision.reason.is_empty());
            if decision.verdict != Verdict::Applied {
                continue;
            }
            let cause = sagaline_order::Cause { id: "x#1#y".to_owned(), actor: "saga".to_owned() };
            let next = apply(&order, &event, &decision, &cause, &c);
            check_effects(&order, &next, &decision.effects);
            history.push(decision.changes);
            prop_assert_eq!(next.version, order.version.next());
            prop_assert_eq!(next.wake_at.is_none(), pending(&next, &c) == Pending::Nothing, "{:?}", next);
            prop_assert!(next.wake_at.is_none_or(|at| at > c.now));
            check_rest(&next);
            order = next;
        }
        let replayed = history.iter().fold(placed(), |order, changes| {
            let mut next = changes.iter().fold(order.clone(), evolve);
            next.version = order.version.next();
            next
        });
        prop_assert_eq!(replayed.steps, order.steps);
        prop_assert_eq!(replayed.state, order.state);
        prop_assert_eq!(replayed.notices, order.notices);
        prop_assert_eq!(replayed.confirmed_version, order.confirmed_version);
    }
}

/// Stock moves exactly when the step says so.
fn check_effects(before: &Order, after: &Order, effects: &[TableEffect]) {
    let held = |order: &Order| {
        order
            .steps
            .reserve
            .as_ref()
            .is_some_and(|step| step.status == StepStatus::Succeeded && !step.undone)
    };
    let taken = effects.contains(&TableEffect::TakeStock);
    let back = effects.contains(&TableEffect::ReturnStock);
    assert_eq!(taken, !held(before) && held(after));
    assert_eq!(back, held(before) && !held(after));
}

/// An order at its end holds no stock and no money that is not about to be undone.
fn check_rest(order: &Order) {
    if matches!(order.state, State::Cancelled | State::Rejected) {
        assert!(
            order.tracking.is_some()
                || order
                    .steps
                    .reserve
                    .as_ref()
                    .is_none_or(|step| step.undone || step.status == StepStatus::Failed),
            "{order:?}"
        );
        let settled = order.steps.pay.as_ref().is_none_or(|pay| pay.undone);
        assert!(settled || order.wake_at.is_some(), "{order:?}");
    }
}
