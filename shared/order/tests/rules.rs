//! The rules of the saga that a scenario alone would not show, one test each.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may fail loudly"
)]

mod common;

use common::{
    approved, cancel, context, later, pending_payment, placed, refunded, refused, step, unknown,
};
use sagaline_order::{
    Command, Event, NoticeKind, Order, PaymentId, Pending, SCHEMA, Seconds, State, Verdict, decide,
    pending,
};

fn run(order: Order, events: &[Event]) -> Order {
    let c = context();
    events
        .iter()
        .fold(order, |order, event| step(&order, event, &c))
}

fn paying() -> Order {
    run(placed(), &[Event::StockReserved])
}

fn published() -> Order {
    run(paying(), &[approved(), Event::ConfirmationPublished])
}

fn parked(order: Order) -> Order {
    let reason = "under review".to_owned();
    run(order, &[Event::Parked { reason }, Event::NoticePublished])
}

fn shipped() -> Event {
    Event::ShipmentSent {
        tracking: "T-77".to_owned(),
    }
}

fn situation(name: &str) -> Order {
    let found = common::situations()
        .into_iter()
        .find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("no {name}")).1
}

#[track_caller]
fn check(order: &Order, event: &Event, verdict: Verdict, reason: &str) {
    let decision = decide(order, event, &context());
    assert_eq!(
        (decision.verdict, decision.reason.as_str()),
        (verdict, reason)
    );
}

#[test]
fn the_time_to_pay_counts_from_the_first_intent_however_many_attempts_follow() {
    let c = context();
    let over = c.now.plus(c.config.pay_deadline_s);
    let mut order = paying();
    for n in 1..4 {
        let c = later(&c, n * 100);
        order = step(&step(&order, &unknown(), &c), &Event::PaymentDue, &c);
        assert_eq!(order.steps.pay.as_ref().unwrap().deadline_at, Some(over));
    }
    assert_eq!(
        decide(&order, &Event::DeadlinePassed, &later(&c, 1_799)).verdict,
        Verdict::NoEffect
    );
    let c = later(&c, 1_800);
    assert_eq!(
        pending(&order, &c),
        Pending::Now(Command::Record(Event::DeadlinePassed))
    );
    assert_eq!(
        step(&order, &Event::DeadlinePassed, &c).state,
        State::Unwinding
    );
}

#[test]
fn a_report_of_a_refund_settles_an_open_refund_and_nothing_else() {
    for (name, order) in common::situations() {
        let decision = decide(&order, &Event::PaymentRefunded, &context());
        let open = order
            .steps
            .pay
            .as_ref()
            .is_some_and(|pay| !pay.undone && pay.undo.is_some());
        assert_eq!(
            decision.verdict,
            if open {
                Verdict::Applied
            } else {
                Verdict::NoEffect
            },
            "{name}"
        );
    }
}

#[test]
fn a_shipment_of_an_order_that_is_undone_or_ended_needs_a_person_once() {
    for name in [
        "Unwinding, refund under way",
        "Unwinding, a return to be announced",
        "Cancelled, finished",
        "Rejected",
    ] {
        let order = step(&situation(name), &shipped(), &context());
        assert_eq!(order.state, State::NeedsOperator, "{name}");
        assert_eq!(order.tracking.as_deref(), Some("T-77"), "{name}");
        check(&order, &shipped(), Verdict::NoEffect, "shipped already");
        let abandoned = Event::Abandoned {
            comment: "the customer keeps it".to_owned(),
        };
        let order = step(&order, &abandoned, &context());
        check(
            &order,
            &shipped(),
            Verdict::NoEffect,
            "this shipment is known already",
        );
    }
}

#[test]
fn an_order_that_waits_for_a_person_raises_its_alarm_every_hour_until_it_is_told() {
    let mut c = context();
    let mut order = parked(paying());
    for _ in 0..3 {
        assert_eq!(
            pending(&order, &c),
            Pending::Until(c.now.plus(Seconds(3_600)))
        );
        c = later(&c, 3_600);
        order = step(&order, &Event::AttentionDue, &c);
        assert_eq!(order.notices[0].kind, NoticeKind::OrderNeedsAttention);
        assert_eq!(order.notices[0].version, order.version);
        order = step(&order, &Event::NoticePublished, &c);
    }
    // While the bus takes nothing, the alarms do not pile up.
    for _ in 0..3 {
        c = later(&c, 3_600);
        order = step(&order, &Event::AttentionDue, &c);
    }
    assert_eq!(order.notices.len(), 1);
}

#[test]
fn the_time_to_undo_a_late_payment_counts_from_its_discovery() {
    let c = context();
    let ended = situation("Cancelled, last enquiry to come");
    let day = later(&c, 86_400 + 60);
    let order = step(&ended, &approved(), &day);
    assert_eq!(order.state, State::Cancelled, "the state stays");
    let order = step(&order, &Event::RefundDue, &day);
    let undo = order.steps.pay.as_ref().unwrap().undo.as_ref().unwrap();
    assert_eq!(undo.deadline_at, day.now.plus(c.config.undo_deadline_s));
    let stuck = [
        refused(),
        Event::RefundDue,
        refused(),
        Event::RefundDue,
        refused(),
    ]
    .iter()
    .fold(order, |order, event| step(&order, event, &day));
    assert_eq!(stuck.state, State::NeedsOperator);
    // An operator's retry brings it back to where it was; its end stays.
    let order = step(&stuck, &Event::UndoRetried, &day);
    assert_eq!(order.state, State::Cancelled);
    let order = step(&step(&order, &Event::RefundDue, &day), &refunded(), &day);
    assert_eq!(order.state, State::Cancelled);
}

#[test]
fn a_last_enquiry_without_an_answer_is_made_again() {
    let c = later(&context(), 2 * 86_400);
    let order = situation("Cancelled, last enquiry to come");
    assert_eq!(pending(&order, &c), Pending::Now(Command::AskPayment));
    let order = step(&order, &unknown(), &c);
    assert!(matches!(pending(&order, &c), Pending::Until(_)));
    let c = later(&c, 86_400);
    assert_eq!(step(&order, &Event::PaymentNotFound, &c).wake_at, None);
}

#[test]
fn a_payment_that_is_undone_is_not_undone_again_and_another_one_needs_a_person() {
    let undone = run(
        paying(),
        &[cancel(), approved(), Event::RefundDue, refunded()],
    );
    check(
        &undone,
        &approved(),
        Verdict::NoEffect,
        "this payment is undone already",
    );
    let second = Event::PaymentApproved {
        payment_id: PaymentId::stored("p-2"),
    };
    let order = step(&undone, &second, &context());
    assert_eq!(order.state, State::NeedsOperator);

    // The same holds for what an operator settled by hand, without any refund of ours.
    let evidence = "statement".to_owned();
    let marked = run(
        paying(),
        &[pending_payment(), cancel(), Event::UndoMarked { evidence }],
    );
    assert_eq!(marked.state, State::Cancelled);
    check(
        &marked,
        &approved(),
        Verdict::NoEffect,
        "this payment is undone already",
    );
}

#[test]
fn a_shipment_of_an_order_that_was_never_confirmed_is_refused_whoever_has_it() {
    for order in [placed(), paying(), parked(placed()), parked(paying())] {
        check(
            &order,
            &shipped(),
            Verdict::Refused,
            "the order is not confirmed",
        );
    }
    let confirmed = parked(run(paying(), &[approved()]));
    check(&confirmed, &shipped(), Verdict::Applied, "on its way");
}

#[test]
fn a_refusal_of_fulfilment_is_not_lost_while_a_person_has_the_order() {
    let refusal = Event::FulfilmentRefused {
        reason: "damaged in store".to_owned(),
    };
    let order = parked(run(paying(), &[approved()]));
    check(
        &order,
        &refusal,
        Verdict::Refused,
        "the order waits for a person",
    );
    let order = run(order, &[Event::Unparked]);
    let order = step(&order, &refusal, &context());
    assert_eq!(order.state, State::Unwinding);
    assert!(order.unwind.unwrap().returned);
}

#[test]
fn a_confirmation_that_nobody_takes_ends_with_a_person_and_can_be_tried_again() {
    let mut c = context();
    let delayed = Event::ConfirmationDelayed {
        reason: "throttled".to_owned(),
    };
    let mut order = run(paying(), &[approved()]);
    while order.state == State::Confirmed {
        assert!(order.transitions <= c.config.transition_budget);
        c = later(&c, 3_600);
        order = step(&order, &delayed, &c);
    }
    assert_eq!(order.state, State::NeedsOperator);
    let order = step(&order, &Event::StepRetried, &c);
    assert_eq!((order.state, order.transitions), (State::Confirmed, 1));
    assert_eq!(
        pending(&order, &c),
        Pending::Now(Command::PublishConfirmation)
    );
    let order = step(&order, &Event::ConfirmationPublished, &c);
    assert_eq!(order.wake_at, None);
}

#[test]
fn a_step_is_tried_again_at_once_and_out_of_a_persons_hands() {
    let c = later(&context(), 20);
    let waiting = run(paying(), &[unknown()]);
    assert!(matches!(pending(&waiting, &c), Pending::Until(_)));
    let order = step(&waiting, &Event::StepRetried, &c);
    assert_eq!(
        pending(&order, &c),
        Pending::Now(Command::Record(Event::PaymentDue))
    );
    let order = step(&parked(waiting), &Event::StepRetried, &c);
    assert_eq!(order.state, State::Paying);
    assert_eq!(
        pending(&order, &c),
        Pending::Now(Command::Record(Event::PaymentDue))
    );
    // A payment that was settled meanwhile has its consequence.
    let paid = step(&parked(paying()), &approved(), &c);
    assert_eq!(step(&paid, &Event::StepRetried, &c).state, State::Confirmed);
}

#[test]
fn a_step_that_is_over_or_being_undone_is_not_tried_again() {
    check(
        &paying(),
        &Event::StepRetried,
        Verdict::NoEffect,
        "nothing waits for a later attempt",
    );
    check(
        &published(),
        &Event::StepRetried,
        Verdict::NoEffect,
        "no step is open",
    );
    check(
        &parked(run(paying(), &[unknown()])),
        &Event::UndoRetried,
        Verdict::NoEffect,
        "no undo is open",
    );
    for name in [
        "Unwinding, refund under way",
        "Cancelled, finished",
        "NeedsOperator, refund refused three times",
    ] {
        let decision = decide(&situation(name), &Event::StepRetried, &context());
        assert_eq!(decision.verdict, Verdict::Refused, "{name}");
    }
    let late = later(&context(), 1_800);
    let decision = decide(&parked(paying()), &Event::StepRetried, &late);
    assert_eq!(
        decision.reason,
        "the time to pay is over; unpark ends the order"
    );
    let order = step(&parked(paying()), &Event::Unparked, &late);
    assert_eq!(
        pending(&order, &late),
        Pending::Now(Command::Record(Event::DeadlinePassed))
    );
}

#[test]
fn an_enquiry_that_stayed_unanswered_while_unwinding_is_retried_like_a_refund() {
    let c = context();
    let open = run(paying(), &[cancel()]);
    let over = later(&c, 86_401);
    let stuck = step(&open, &Event::DeadlinePassed, &over);
    assert_eq!(stuck.state, State::NeedsOperator);
    let stuck = step(&stuck, &Event::NoticePublished, &over);
    let order = step(&stuck, &Event::UndoRetried, &over);
    assert_eq!(order.state, State::Unwinding);
    assert_eq!(pending(&order, &over), Pending::Now(Command::AskPayment));
}

#[test]
fn an_abandoned_order_keeps_the_end_it_had_and_announces_one_it_had_not() {
    let abandoned = Event::Abandoned {
        comment: "settled by phone".to_owned(),
    };
    for (name, end, notices) in [
        ("Rejected", State::Rejected, 0),
        ("Cancelled, finished", State::Cancelled, 0),
        ("Confirmed, published", State::Cancelled, 1),
        ("Unwinding, payment under way", State::Cancelled, 1),
    ] {
        let poisoned = Event::CommitPoisoned {
            reason: "validation".to_owned(),
        };
        let order = run(situation(name), &[poisoned, Event::NoticePublished]);
        let order = step(&order, &abandoned, &context());
        assert_eq!((order.state, order.notices.len()), (end, notices), "{name}");
        assert!(
            order
                .notices
                .iter()
                .all(|notice| notice.kind == NoticeKind::OrderCancelled)
        );
    }
    // A return was announced when it began.
    let returning = run(published(), &[cancel(), Event::NoticePublished]);
    let order = step(&parked(returning), &abandoned, &context());
    assert_eq!((order.state, order.wake_at), (State::Cancelled, None));
}

#[test]
fn stock_that_was_taken_at_placement_is_never_short() {
    let short = Event::StockShort {
        sku: sagaline_order::Sku::stored("lamp-brass"),
        have: 1,
        want: 2,
    };
    check(
        &situation("Placed, stock taken at placement"),
        &short,
        Verdict::NoEffect,
        "the stock was taken at placement",
    );
}

#[test]
fn the_next_version_has_the_present_shape() {
    let mut old = placed();
    old.schema = 0;
    assert_eq!(step(&old, &Event::StockReserved, &context()).schema, SCHEMA);
}

#[test]
fn what_shipped_while_its_cancellation_waited_is_not_returned_when_a_person_lets_it_go_on() {
    let seen = run(
        paying(),
        &[approved(), cancel(), shipped(), Event::NoticePublished],
    );
    assert_eq!(seen.state, State::NeedsOperator);
    let going_on = run(seen, &[Event::Unparked, Event::ConfirmationPublished]);
    assert_eq!(going_on.state, State::Confirmed);
    assert_eq!(pending(&going_on, &context()), Pending::Nothing);
    check(
        &going_on,
        &cancel(),
        Verdict::Refused,
        "the order is on its way",
    );
}
