//! The interleavings that a review of the design found, each a test of its own.

use std::time::Duration;

use crate::races::later;
use crate::world::{STOCK, World, sku};
use sagaline_order::{Event, OrderId, PaymentId, State};
use sagaline_saga::{DriveError, Driver, Path, Recorder, Submission, Submitted, Sweep};
use sagaline_store::{
    Action, CommitError, DUE_SHARDS, Item, Key, Page, Placed, Placement, Query, Reason, ReasonCode,
    Store, Table, TableError, TransactError, WriteError,
};
use sagaline_testkit::MemoryTable;
use sagaline_testkit::contract::orders::{input, new_order};
use sagaline_testkit::memory::{Call, Fault};
use sagaline_testkit::scripted::Crash;
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn a_repeated_failing_refund_ends_with_a_person_and_is_made_once_when_it_is_retried() {
    let world = World::new().await;
    let id = world.place("o-1", 2, "refund-fail:40").await;
    world.drive(&id).await;
    world.cancel(&id).await;
    world.drive(&id).await;
    let mut head = world.sweep_to_the_end(&id).await;
    assert_eq!(head.state, State::NeedsOperator);
    let undo = head.steps.pay.as_ref().unwrap().undo.as_ref().unwrap();
    assert_eq!(
        undo.refusals, 0,
        "what tells nothing is no refusal: {undo:?}"
    );
    assert!(head.transitions <= 64, "{}", head.transitions);
    assert_eq!(world.account(&id).refunded_minor, 0);
    // Once the gateway is back, an operator retries it; as often as it takes.
    for nth in 0..3 {
        if head.state != State::NeedsOperator {
            break;
        }
        let retried = world
            .submit(&id, Event::UndoRetried, &format!("retry-{nth}"))
            .await;
        assert!(matches!(retried, Submitted::Applied { .. }), "{retried:?}");
        world.drive(&id).await;
        head = world.sweep_to_the_end(&id).await;
    }
    assert_eq!(
        world.check_at_rest(&id, "failing refund").await.state,
        State::Cancelled
    );
}

#[tokio::test(start_paused = true)]
async fn an_acknowledgement_lost_on_the_intent_commit_gives_no_permission_to_post_unasked() {
    let world = World::new().await;
    let id = world.place("o-1", 2, "approve").await;
    world
        .table
        .fail(Call::Transact, 1, Fault::LostAcknowledgement);
    world.drive(&id).await;
    world.sweep_to_the_end(&id).await;
    assert_eq!(
        world.check_at_rest(&id, "lost acknowledgement").await.state,
        State::Confirmed
    );
    let calls = world.account(&id).calls;
    assert_eq!(
        (calls.payments, world.gateway.calls()),
        (1, 2),
        "somebody might have called: it is asked first"
    );
}

#[tokio::test(start_paused = true)]
async fn a_pending_payment_approved_later_puts_its_look_up_twice_for_the_same_order() {
    let world = World::new().await;
    let id = world.place("o-1", 2, "pending-then-approve:60s").await;
    world.drive(&id).await;
    let payment_id = world.head(&id).await.payment_id.unwrap();
    let look_up = Key::payment(&payment_id);
    let of_order = |item: Option<Item>| item.unwrap()["order_id"].as_s().unwrap().clone();
    assert_eq!(of_order(world.table.item(&look_up)), "o-1");
    tokio::time::advance(Duration::from_secs(61)).await;
    let report = Event::PaymentApproved { payment_id };
    assert!(matches!(
        world.submit(&id, report, "e-1").await,
        Submitted::Applied { .. }
    ));
    assert_eq!(of_order(world.table.item(&look_up)), "o-1");
    world.drive(&id).await;
    assert_eq!(
        world.check_at_rest(&id, "approved later").await.state,
        State::Confirmed
    );
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_posted_again_days_later_charges_nothing_and_places_nothing() {
    for (token, cancelled) in [("approve", false), ("approve", true)] {
        let world = World::new().await;
        let id = world.place("o-1", 2, token).await;
        world.drive(&id).await;
        if cancelled {
            world.cancel(&id).await;
            world.drive(&id).await;
        }
        let head = world.check_at_rest(&id, "before").await;
        tokio::time::advance(Duration::from_secs(20 * 86_400)).await;
        // The operation's key, by whoever kept it; and the placement's, by a caller that never got its answer.
        let key = head.steps.pay.as_ref().unwrap().op_id;
        world.gateway.post_by_hand(&key.to_string(), &head);
        assert_eq!(world.place("o-1", 2, token).await, id);
        assert_eq!(world.drive(&id).await.commits, 0);
        let after = world.check_at_rest(&id, "days later").await;
        assert_eq!(after, head);
    }
}

/// Ids of orders that the same shard of the due orders lists.
fn of_one_shard(count: usize) -> Vec<String> {
    let shard = |id: &str| OrderId::stored(id).shard(DUE_SHARDS);
    let first = shard("o-0");
    (0..)
        .map(|n| format!("o-{n}"))
        .filter(|id| shard(id) == first)
        .take(count)
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_head_that_cannot_be_committed_at_the_front_of_the_sweepers_pass_goes_to_a_person() {
    let world = World::new().await;
    let ids = of_one_shard(4);
    for id in &ids {
        world.place(id, 1, "approve").await;
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    // Head, guard, history and one line of stock.
    let mut reasons = vec![Reason::of(ReasonCode::None); 4];
    reasons[0] = Reason::of(ReasonCode::Invalid("item too large".to_owned()));
    world
        .table
        .fail(Call::Transact, 1, Fault::Cancelled(reasons));
    tokio::time::advance(Duration::from_secs(120)).await;
    let pass = Sweep {
        seed: 0,
        concurrency: 1,
        until: Instant::now() + Duration::from_secs(55),
    };
    let report = world.driver.sweep(pass).await;
    assert_eq!((report.found, report.moved, report.alarms), (4, 4, 1));
    let front = world.peek(&OrderId::stored(&ids[0]));
    assert_eq!(front.state, State::NeedsOperator);
    assert!(front.attention.unwrap().reason.contains("item too large"));
    assert!(front.wake_at.unwrap() > sagaline_saga::Clock::now(&world.clock));
    for id in &ids[1..] {
        assert_eq!(world.peek(&OrderId::stored(id)).state, State::Confirmed);
    }
}

/// A table that calls every commit of one order invalid, whatever it says.
struct Refusing(MemoryTable, OrderId);

impl Table for Refusing {
    async fn get(&self, key: Key, consistent: bool) -> Result<Option<Item>, TableError> {
        self.0.get(key, consistent).await
    }

    async fn transact(&self, actions: Vec<Action>) -> Result<(), TransactError> {
        let head = Key::head(&self.1);
        if matches!(actions.first(), Some(Action::Update(update)) if update.key == head) {
            return Err(TableError::Invalid("scripted: never".into()).into());
        }
        self.0.transact(actions).await
    }

    async fn query(&self, query: Query) -> Result<Page, TableError> {
        self.0.query(query).await
    }

    async fn write(&self, action: Action) -> Result<Item, WriteError> {
        self.0.write(action).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_that_nothing_can_be_committed_to_starves_none_behind_it() {
    let world = World::new().await;
    world.table.limit_pages(1);
    let ids = of_one_shard(4);
    for id in &ids {
        world.place(id, 1, "approve").await;
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    let table = Refusing(world.table.clone(), OrderId::stored(&ids[0]));
    let recorder = Recorder::new(Store::new(table), world.clock);
    let driver = Driver::new(recorder, world.gateway.clone(), world.bus.clone());
    tokio::time::advance(Duration::from_secs(120)).await;
    for moved in [3, 0] {
        let pass = Sweep {
            seed: 0,
            concurrency: 1,
            until: Instant::now() + Duration::from_secs(55),
        };
        let report = driver.sweep(pass).await;
        assert_eq!(
            (report.failed, report.moved, report.shards_left),
            (1, moved, 0),
            "{report:?}"
        );
        assert!(report.oldest_overdue_s > 60, "the alarm hears of it");
    }
    assert_eq!(
        world.gateway.ledger().len(),
        3,
        "no effect without a commit"
    );
}

// C-27
#[tokio::test(start_paused = true)]
async fn a_request_id_claimed_by_another_user_is_refused_without_a_word_of_the_first() {
    let world = World::new().await;
    let store = world.store();
    let mine = new_order(&input("o-1", "u-1", "r-9", sku().as_str()));
    let theirs = new_order(&input("o-2", "u-2", "r-9", sku().as_str()));
    let placed = store.place(mine.clone(), Placement::default()).await;
    assert!(matches!(placed, Ok(Placed::Created { .. })));
    let refused = store.place(theirs, Placement::default()).await;
    let error = refused.unwrap_err();
    assert!(matches!(error, CommitError::RequestIdReused), "{error:?}");
    assert!(!format!("{error:?} {error}").contains("u-1"));
    assert_eq!(store.load(&OrderId::stored("o-2")).await.unwrap(), None);
    let again = store.place(mine, Placement::default()).await;
    assert!(matches!(again, Ok(Placed::AlreadyApplied { .. })));
    assert_eq!(store.stock(&sku()).await.unwrap(), STOCK);
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
        payload_hash: sagaline_store::PayloadHash::stored("another"),
        operation: "cancel",
        actor: "customer".to_owned(),
        expected: None,
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

#[tokio::test(start_paused = true)]
async fn a_report_that_is_sent_again_is_known_where_it_would_do_nothing_or_be_refused() {
    let world = World::new().await;
    let id = world.place("o-1", 2, "pending-then-approve:60s").await;
    world.drive(&id).await;
    tokio::time::advance(Duration::from_secs(61)).await;
    let payment_id = world.head(&id).await.payment_id.unwrap();
    let report = |payment_id: &PaymentId| Submission {
        event: Event::PaymentApproved {
            payment_id: payment_id.clone(),
        },
        request_id: sagaline_order::RequestId::of_callback("e-1"),
        payload_hash: sagaline_store::PayloadHash::stored(payment_id.as_str()),
        operation: "report",
        actor: "gateway".to_owned(),
        expected: None,
    };
    let recorder = world.driver.recorder();
    let first = recorder.submit(&id, report(&payment_id)).await.unwrap();
    assert!(
        matches!(first, Some(Submitted::Applied { .. })),
        "{first:?}"
    );
    let transactions = world.table.calls().transact;
    let again = recorder.submit(&id, report(&payment_id)).await.unwrap();
    assert!(
        matches!(again, Some(Submitted::AlreadyApplied { .. })),
        "{again:?}"
    );
    assert_eq!(
        world.table.calls().transact,
        transactions,
        "without a write"
    );
    // Under the same id something else, whether it would do nothing or a lot.
    let other = PaymentId::stored("p-other");
    let error = recorder.submit(&id, report(&other)).await.unwrap_err();
    assert!(
        matches!(
            error,
            DriveError::Commit {
                source: CommitError::RequestIdReused,
                ..
            }
        ),
        "{error:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_operators_event_is_done_on_the_version_that_was_shown_or_not_at_all() {
    let world = World::new().await;
    let id = world.place("o-1", 2, "approve").await;
    let seen = world.head(&id).await.version;
    let park = || {
        let event = Event::Parked {
            reason: "under review".to_owned(),
        };
        Submission {
            request_id: sagaline_order::RequestId::of_event(&id, seen, event.kind()),
            payload_hash: sagaline_store::PayloadHash::stored("park"),
            operation: event.kind(),
            event,
            actor: "operator:ada".to_owned(),
            expected: Some(seen),
        }
    };
    let recorder = world.driver.recorder();
    let parked = recorder.submit(&id, park()).await.unwrap();
    assert!(
        matches!(parked, Some(Submitted::Applied { .. })),
        "{parked:?}"
    );
    let again = recorder.submit(&id, park()).await.unwrap();
    assert!(
        matches!(again, Some(Submitted::AlreadyApplied { .. })),
        "a repeat is known, although the version moved: {again:?}"
    );
    let head = world.head(&id).await;
    assert_eq!(head.last_event.actor, "operator:ada");

    let world = World::new().await;
    let id = world.place("o-1", 2, "approve").await;
    world.drive(&id).await;
    let head = world.head(&id).await;
    let recorder = world.driver.recorder();
    let moved = recorder.submit(&id, park()).await.unwrap();
    assert!(matches!(moved, Some(Submitted::Moved { .. })), "{moved:?}");
    assert_eq!(world.head(&id).await, head);
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
async fn a_stalled_payer_that_wakes_after_the_order_was_cancelled_makes_no_call() {
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
