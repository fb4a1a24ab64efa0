//! One breakage for each thing that a check looks at, and the sentence that must tell of it.

use sagaline_order::{State, Timestamp};

use super::*;

/// Breaks one thing and expects that invariant to fail, with a sentence that says `what`.
#[track_caller]
fn broken(number: u8, what: &str, break_it: impl FnOnce(&mut World)) {
    let mut world = world();
    break_it(&mut world);
    let failed: Vec<_> = check(&world)
        .into_iter()
        .filter(|check| !check.ok)
        .collect();
    let numbers: Vec<_> = failed.iter().map(|check| check.number).collect();
    assert!(
        numbers.contains(&number),
        "{number} must fail, failed: {failed:?}"
    );
    let told = failed.iter().find(|check| check.number == number).unwrap();
    assert!(told.detail.contains(what), "{}", told.detail);
}

fn head<'a>(world: &'a mut World, name: &str) -> &'a mut Head {
    world
        .heads
        .iter_mut()
        .find(|head| head.order.order_id.as_str() == name)
        .unwrap()
}

fn commit_of<'a>(world: &'a mut World, name: &str, kind: fn(&Change) -> bool) -> &'a mut Commit {
    world
        .history
        .iter_mut()
        .find(|row| row.order_id.as_str() == name && row.changes.iter().any(kind))
        .unwrap()
}

#[test]
fn faultless_world_passes_every_check() {
    let checks = check(&world());
    assert_eq!(
        checks.iter().map(|check| check.number).collect::<Vec<_>>(),
        (1..=9).collect::<Vec<_>>()
    );
    assert!(checks.iter().all(|check| check.ok), "{checks:#?}");
}

#[test]
fn second_effect_of_a_request_is_seen() {
    broken(1, "r-kept has two guards", |world| {
        world.guards.push(world.guards[0].clone())
    });
    broken(1, "2 requests claim version 1 of kept", |world| {
        let again = Guard {
            request_id: "r-other".to_owned(),
            ..world.guards[0].clone()
        };
        world.guards.push(again);
    });
    broken(
        1,
        "version 1 of kept was committed without a guard",
        |world| drop(world.guards.remove(0)),
    );
    broken(1, "which was never committed", |world| {
        world.guards[0].result_version = Version::new(99).unwrap()
    });
}

#[test]
fn gap_in_the_history_is_seen() {
    broken(2, "kept is at version 4 with history [1, 3, 4]", |world| {
        drop(world.history.remove(1))
    });
    broken(2, "has a history and no head", |world| {
        drop(world.heads.remove(0))
    });
    broken(2, "[1, 1, 2, 3, 4]", |world| {
        world.history.push(world.history[0].clone())
    });
}

#[test]
fn wrong_wake_time_is_seen() {
    broken(
        3,
        "kept (Confirmed) is finished, has wake_at, lacks due_pk",
        |world| head(world, "kept").order.wake_at = Timestamp::parse(AT),
    );
    broken(
        3,
        "under-way (Paying) is unfinished, lacks wake_at, has due_pk",
        |world| head(world, "under-way").order.wake_at = None,
    );
    broken(3, "has due_pk", |world| {
        head(world, "sold-out").in_due_index = true
    });
}

#[test]
fn effect_without_an_intent_is_seen() {
    broken(
        4,
        "payment p-kept of kept was asked for without an intent",
        |world| world.payments[0].key = "minted".to_owned(),
    );
    broken(4, "is not over the order's total", |world| {
        world.payments[0].amount_minor = 999
    });
    broken(
        4,
        "a refund of payment p-returned was asked for without an intent",
        |world| world.refunds[0].key = "minted".to_owned(),
    );
    broken(
        4,
        "OrderConfirmed kept#2 was sent and nothing caused it",
        |world| {
            let message = Message {
                kind: "OrderConfirmed".to_owned(),
                id: "kept#2".to_owned(),
            };
            world.messages.as_mut().unwrap().push(message);
        },
    );
    broken(4, "is recorded as sent and never came", |world| {
        world.messages = Some(Vec::new())
    });
}

#[test]
fn wrong_undo_is_seen() {
    let returned = |change: &Change| matches!(change, Change::StockReturned);
    broken(5, "its stock was not given back", |world| {
        commit_of(world, "returned", returned)
            .changes
            .retain(|change| !matches!(change, Change::StockReturned));
    });
    broken(
        5,
        "stock was given back before the payment was settled",
        |world| {
            commit_of(world, "returned", returned)
                .changes
                .retain(|change| !matches!(change, Change::PaymentUndone { .. }));
        },
    );
    broken(5, "stock that was not taken was given back", |world| {
        commit_of(world, "returned", returned)
            .changes
            .push(Change::StockReturned)
    });
    broken(5, "no payment was there to undo", |world| {
        let twice = Change::PaymentUndone { refund_id: None };
        commit_of(world, "returned", returned).changes.push(twice);
    });
    broken(5, "stock was taken again", |world| {
        let confirmed = commit_of(world, "kept", |change| {
            matches!(change, Change::StockReserved { .. })
        });
        confirmed.changes.extend(confirmed.changes.clone());
    });
    broken(
        5,
        "it is Confirmed and something of it was undone",
        |world| head(world, "returned").order.state = State::Confirmed,
    );
    broken(5, "payment p-returned was refunded twice", |world| {
        world.refunds.push(world.refunds[0].clone())
    });
}

#[test]
fn money_or_stock_that_does_not_add_up_is_seen() {
    broken(
        6,
        "returned is Cancelled with 10.00 EUR instead of 0.00 EUR",
        |world| world.payments[1].refunded_minor = 0,
    );
    broken(
        6,
        "kept is Confirmed with 0.00 EUR instead of 10.00 EUR",
        |world| drop(world.payments.remove(0)),
    );
    broken(6, "kept has 20.00 EUR of a total of 10.00 EUR", |world| {
        world.payments[0].charged_minor = 2000
    });
    broken(
        6,
        "tea: 95 on the shelf and 4 held do not make the 100",
        |world| {
            world.stock.insert(Sku::stored("tea"), 95);
        },
    );
    broken(6, "ghost: 1 on the shelf", |world| {
        world.stock.insert(Sku::stored("ghost"), 1);
    });
}

#[test]
fn index_that_is_behind_or_fell_back_is_seen() {
    let older = Version::FIRST;
    broken(7, "kept is at version 4, the index at 1", |world| {
        world.documents[0].version = older
    });
    broken(7, "the index fell from version 9 of kept to 4", |world| {
        world.documents[0].highest_seen = Version::new(9).unwrap()
    });
    broken(7, "kept is not in the index", |world| {
        drop(world.documents.remove(0))
    });
    broken(7, "kept is deleted in the index only", |world| {
        world.documents[0].deleted = true
    });
    broken(7, "stranger is in the index only", |world| {
        let stranger = Document {
            order_id: OrderId::stored("stranger"),
            ..world.documents[0].clone()
        };
        world.documents.push(stranger);
    });
}

#[test]
fn archive_with_a_hole_or_a_double_view_is_seen() {
    broken(8, "version 1 of kept is not in the archive", |world| {
        drop(world.archived.remove(0))
    });
    broken(8, "version 1 of kept is 0 times in the view", |world| {
        drop(world.view.remove(0))
    });
    broken(8, "version 1 of kept is 2 times in the view", |world| {
        world.view.push(world.view[0].clone())
    });
    broken(8, "the view has version 9 of kept", |world| {
        world
            .view
            .push((OrderId::stored("kept"), Version::new(9).unwrap()))
    });
    let mut repeated = world();
    repeated.archived.extend(repeated.archived.clone());
    assert!(
        check(&repeated)[7].ok,
        "repeats in the archive are expected"
    );
}

#[test]
fn record_that_vanished_is_seen() {
    broken(
        9,
        "20 records read, but 21 filtered and 0 given up",
        |world| world.feeds[0].filtered = 21,
    );
    broken(
        9,
        "the mappings gave up on 1 records, the failure bucket has 0",
        |world| {
            world.feeds[0].given_up = 1;
        },
    );
    broken(9, "12 records in, and 10 settled with 1 failed", |world| {
        world.feeds[0].outcomes.as_mut().unwrap().done = 7
    });
    broken(9, "11 records acknowledged, only 10 settled", |world| {
        world.feeds[0].outcomes = Some(Outcomes {
            records_in: 10,
            done: 9,
            parked: 1,
            ..Outcomes::default()
        });
    });
    broken(
        9,
        "1 records count as parked and none is in the bucket",
        |world| world.parked_records = 0,
    );
}
