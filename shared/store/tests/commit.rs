//! The commit: one transaction, once, whatever happens to its answer.

mod common;

use common::{applied, approved, cancel, memory, paying, placed, step, tea};
use sagaline_order::{Event, RequestId, State};
use sagaline_store::{
    CommitError, Committed, Disposition, Metrics, Placed, Placement, Reason, ReasonCode,
};
use sagaline_testkit::contract::orders::{commit, commit_as, context, input, new_order};
use sagaline_testkit::memory::{Call, Fault};
use serde_json::json;
use tokio::time::Instant;

// C-16
#[tokio::test(start_paused = true)]
async fn a_commit_whose_answer_was_lost_is_recognised_as_its_own() {
    let (table, store) = memory();
    let order = paying(&store).await;
    let next = commit(&order, &approved("p-1"), &context(2));
    table.fail(Call::Transact, 1, Fault::LostAcknowledgement);
    match store.commit(next).await {
        Ok(Committed::AlreadyApplied { head }) => {
            assert_eq!((head.version.get(), head.state), (3, State::Confirmed))
        }
        other => panic!("{other:?}"),
    }
    let history = store
        .history(&order.order_id)
        .page_size(10)
        .page()
        .await
        .unwrap();
    assert_eq!(
        history
            .rows
            .iter()
            .map(|row| row.version.get())
            .collect::<Vec<_>>(),
        [1, 2, 3]
    );
}

// C-16
#[tokio::test]
async fn a_commit_that_is_sent_again_later_is_recognised_and_yields_no_intent() {
    let (_, store) = memory();
    let order = placed(&store, tea()).await;
    store
        .set_stock(&order.lines[0].sku, 10, None)
        .await
        .unwrap();
    let first = commit(&order, &Event::StockReserved, &context(1));
    assert!(applied(&store, first.clone()).await.1.is_some());
    // The repeat is decided at another time: its content differs, its request does not.
    let repeat = commit(&order, &Event::StockReserved, &context(9));
    for again in [first, repeat] {
        match store.commit(again).await {
            Ok(Committed::AlreadyApplied { head }) => assert_eq!(head.version.get(), 2),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(store.stock(&order.lines[0].sku).await.unwrap(), 8);
}

// C-19
#[tokio::test(start_paused = true)]
async fn a_passing_answer_is_waited_out_with_growing_waits() {
    let (table, store) = memory();
    let order = paying(&store).await;
    table.fail(Call::Transact, 1, Fault::InProgress);
    table.fail(Call::Transact, 2, Fault::InProgress);
    let (before, calls) = (Instant::now(), table.calls().transact);
    applied(
        &store,
        commit(&order, &cancel("no longer needed"), &context(2)),
    )
    .await;
    let waited = before.elapsed().as_millis();
    assert!(
        (150..=301).contains(&waited),
        "50 ms, then 100 ms, each with up to as much again: {waited}"
    );
    assert_eq!(table.calls().transact - calls, 3);
}

#[tokio::test(start_paused = true)]
async fn what_is_throttled_for_good_ends_as_unavailable_and_may_be_sent_again() {
    let (table, store) = memory();
    let order = paying(&store).await;
    let next = commit(&order, &cancel("no longer needed"), &context(2));
    for fault in [Fault::Throttle, Fault::Lost, Fault::Cancelled(Vec::new())] {
        table.fail_all(Call::Transact, Some(fault.clone()));
        let calls = table.calls().transact;
        let error = store.commit(next.clone()).await.unwrap_err();
        assert_eq!(error.disposition(), Disposition::Retry, "{fault:?}");
        assert_eq!(table.calls().transact - calls, 8, "{fault:?}: bounded");
    }
    table.fail_all(Call::Transact, None);
    applied(&store, next).await;
}

// C-18
#[tokio::test(start_paused = true)]
async fn contention_means_decide_again_for_a_step_and_send_again_for_a_placement() {
    let (table, store) = memory();
    table.fail(Call::Transact, 1, Fault::Conflict);
    let order = placed(&store, tea()).await;
    table.fail(Call::Transact, 1, Fault::Conflict);
    let calls = table.calls().transact;
    let error = store
        .commit(commit(&order, &cancel("x"), &context(1)))
        .await
        .unwrap_err();
    assert!(matches!(error, CommitError::Moved), "{error:?}");
    assert_eq!(error.disposition(), Disposition::Conflict);
    assert_eq!(table.calls().transact - calls, 1, "not sent again as it is");
}

// C-18
#[tokio::test]
async fn an_invalid_action_is_poison_whatever_else_is_said() {
    let (table, store) = memory();
    let order = placed(&store, tea()).await;
    let reasons = [
        ReasonCode::TransactionConflict,
        ReasonCode::Invalid("too large".to_owned()),
        ReasonCode::None,
    ]
    .map(Reason::of);
    let filled = reasons
        .into_iter()
        .chain((0..9).map(|_| Reason::of(ReasonCode::None)))
        .collect();
    table.fail(Call::Transact, 1, Fault::Cancelled(filled));
    let error = store
        .commit(commit(&order, &cancel("x"), &context(1)))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, CommitError::Poison { reason } if reason == "too large"),
        "{error:?}"
    );
}

// C-17
#[tokio::test]
async fn a_taken_request_id_is_a_repeat_only_for_the_same_request() {
    let (_, store) = memory();
    let order = placed(&store, tea()).await;
    let request = RequestId::parse("r-2").unwrap();
    let first = commit_as(&order, &cancel("a"), &context(1), request.clone());
    applied(&store, first.clone()).await;
    let other = commit_as(&order, &cancel("b"), &context(1), request);
    let error = store.commit(other).await.unwrap_err();
    assert!(matches!(error, CommitError::RequestIdReused), "{error:?}");
    assert!(matches!(
        store.commit(first).await,
        Ok(Committed::AlreadyApplied { .. })
    ));
}

// C-17
#[tokio::test]
async fn an_endpoint_that_sends_no_old_item_is_asked_for_the_guard() {
    let (table, store) = memory();
    let order = placed(&store, tea()).await;
    let next = commit(&order, &cancel("a"), &context(1));
    applied(&store, next.clone()).await;
    let codes = [
        ReasonCode::ConditionalCheckFailed,
        ReasonCode::ConditionalCheckFailed,
        ReasonCode::None,
    ];
    let reasons = codes
        .into_iter()
        .chain((0..9).map(|_| ReasonCode::None))
        .map(Reason::of)
        .collect();
    table.fail(Call::Transact, 1, Fault::Cancelled(reasons));
    assert!(matches!(
        store.commit(next).await,
        Ok(Committed::AlreadyApplied { .. })
    ));
}

#[tokio::test]
async fn an_internal_event_never_ends_in_a_reused_request_id() {
    let (_, store) = memory();
    let order = paying(&store).await;
    let unknown = |reason: &str| Event::PaymentUnknown {
        reason: reason.to_owned(),
    };
    applied(&store, commit(&order, &unknown("late"), &context(2))).await;
    let error = store
        .commit(commit(&order, &unknown("cut"), &context(2)))
        .await
        .unwrap_err();
    assert!(matches!(error, CommitError::Moved), "{error:?}");
}

#[tokio::test]
async fn a_request_id_of_another_user_is_refused_and_shows_nothing() {
    let (_, store) = memory();
    placed(&store, tea()).await;
    let error = store
        .place(
            new_order(&input("o-2", "u-2", "r-1", "tea")),
            Placement::default(),
        )
        .await
        .unwrap_err();
    assert!(matches!(error, CommitError::RequestIdReused), "{error:?}");
    assert_eq!(
        store
            .metrics(&sagaline_order::UserId::parse("u-2").unwrap())
            .await
            .unwrap(),
        Metrics::default()
    );
}

// C-27
#[tokio::test]
async fn the_same_request_twice_at_once_has_one_effect_and_one_answer() {
    let (_, store) = memory();
    let place = || store.place(tea(), Placement::default());
    let (first, second) = tokio::join!(place(), place());
    let order_of = |placed: Placed| match placed {
        Placed::Created { order } => (true, order),
        Placed::AlreadyApplied { head } => (false, head),
    };
    let (first, second) = (order_of(first.unwrap()), order_of(second.unwrap()));
    assert_eq!(first.1, second.1);
    assert!(first.0 != second.0, "exactly one of them created it");
}

// C-28
#[tokio::test]
async fn of_one_request_id_the_first_payload_wins_in_any_order() {
    let payload = |qty: i64| {
        let mut input = input("o-5", "u-1", "r-5", "tea");
        input["lines"][0]["qty"] = json!(qty);
        new_order(&input)
    };
    let orders: [[i64; 3]; 6] = [
        [1, 1, 2],
        [1, 2, 1],
        [2, 1, 1],
        [1, 1, 2],
        [1, 2, 1],
        [2, 1, 1],
    ];
    for quantities in orders {
        let (_, store) = memory();
        let mut effects = 0;
        for qty in quantities {
            match store.place(payload(qty), Placement::default()).await {
                Ok(Placed::Created { .. }) => effects += 1,
                Ok(Placed::AlreadyApplied { head }) => {
                    assert_eq!(qty, quantities[0]);
                    assert_eq!(i64::from(head.lines[0].qty.get()), quantities[0]);
                }
                Err(CommitError::RequestIdReused) => assert_ne!(qty, quantities[0]),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(effects, 1, "{quantities:?}");
    }
}

#[tokio::test]
async fn an_order_that_is_being_undone_gives_no_intent_to_charge() {
    let (_, store) = memory();
    let order = paying(&store).await;
    step(&store, &order, &cancel("x")).await;
    let (head, intent) = store.reread_intent(&order.order_id).await.unwrap().unwrap();
    assert_eq!(head.state, State::Unwinding);
    assert!(
        intent.is_none(),
        "its payment still says Requested, but nobody may charge it"
    );
}

#[tokio::test]
async fn a_crash_before_or_after_the_write_leaves_an_order_that_the_same_commit_continues() {
    for (fault, version) in [(Fault::CrashBefore, 2), (Fault::CrashAfter, 3)] {
        let (table, store) = memory();
        let order = paying(&store).await;
        let next = commit(&order, &approved("p-1"), &context(2));
        table.fail(Call::Transact, 1, fault.clone());
        assert!(
            table
                .until_crash(store.commit(next.clone()))
                .await
                .is_none(),
            "{fault:?}"
        );
        assert_eq!(
            store
                .load(&order.order_id)
                .await
                .unwrap()
                .unwrap()
                .version
                .get(),
            version,
            "{fault:?}"
        );
        store.commit(next).await.unwrap();
        assert_eq!(
            store
                .load(&order.order_id)
                .await
                .unwrap()
                .unwrap()
                .version
                .get(),
            3,
            "{fault:?}"
        );
    }
}
