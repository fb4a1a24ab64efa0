//! Many buyers at once for the last items, with faults in between.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

mod common;

use common::{memory, placed};
use proptest::prelude::*;
use sagaline_order::{Event, Order, Sku};
use sagaline_store::{CommitError, Placed, Placement, Store};
use sagaline_testkit::MemoryTable;
use sagaline_testkit::contract::orders::{commit, context, input, new_order};
use sagaline_testkit::memory::{Call, Fault};
use serde_json::json;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// 64 buyers at once for the last 10, each wanting 1 to 4, with faults in between: nothing is sold twice, nothing is lost.
    #[test]
    fn the_last_items_are_sold_once(wants in proptest::collection::vec(1_i64..=4, 64), faults in proptest::collection::vec((1_usize..80, 0_u8..4), 0..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (table, store) = memory();
            let tea = Sku::parse("tea").unwrap();
            store.set_stock(&tea, 10, None).await.unwrap();
            for (nth, fault) in faults {
                let fault = [Fault::Throttle, Fault::LostAcknowledgement, Fault::Conflict, Fault::Lost][usize::from(fault)].clone();
                table.fail(Call::Transact, nth, fault);
            }
            let buyers = wants.iter().enumerate().map(|(number, want)| {
                let mut input = input(&format!("o-{number}"), &format!("u-{number}"), &format!("r-{number}"), "tea");
                input["lines"][0]["qty"] = json!(want);
                store.place(new_order(&input), Placement { reserve_now: true, phone_lookup: None })
            });
            let mut sold = 0;
            for (answer, want) in futures::future::join_all(buyers).await.into_iter().zip(&wants) {
                match answer {
                    Ok(Placed::Created { .. } | Placed::AlreadyApplied { .. }) => sold += want,
                    Err(CommitError::StockShort { have, want: wanted, .. }) => assert!(have < wanted && wanted == *want),
                    Err(other) => panic!("{other:?}"),
                }
            }
            let left = store.stock(&tea).await.unwrap();
            assert!(left >= 0);
            assert_eq!(sold + left, 10, "what was sold was there");
            assert!(left < 4, "64 buyers want at least 64: none was turned away while there was enough for anyone");
        });
    }

    /// The same through the saga's own step: all are placed first, then each takes its stock, deciding again while others move things.
    #[test]
    fn the_last_items_are_reserved_once(wants in proptest::collection::vec(1_i64..=4, 64), faults in proptest::collection::vec((1_usize..80, 0_u8..4), 0..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (table, store) = memory();
            let tea = Sku::parse("tea").unwrap();
            store.set_stock(&tea, 10, None).await.unwrap();
            let mut orders = Vec::new();
            for (number, want) in wants.iter().enumerate() {
                let mut input = input(&format!("o-{number}"), &format!("u-{number}"), &format!("r-{number}"), "tea");
                input["lines"][0]["qty"] = json!(want);
                orders.push(placed(&store, new_order(&input)).await);
            }
            for (nth, fault) in faults {
                let fault = [Fault::Throttle, Fault::LostAcknowledgement, Fault::Conflict, Fault::Lost][usize::from(fault)].clone();
                table.fail(Call::Transact, nth, fault);
            }
            let reserved = futures::future::join_all(orders.iter().map(|order| reserve(&store, order))).await;
            let held: i64 = reserved.iter().zip(&wants).filter(|(reserved, _)| **reserved).map(|(_, want)| want).sum();
            let left = store.stock(&tea).await.unwrap();
            assert!((0..4).contains(&left), "{left}");
            assert_eq!(held + left, 10, "what is held was there");
        });
    }
}

/// True if the order has its stock, false if there was not enough.
async fn reserve(store: &Store<MemoryTable>, order: &Order) -> bool {
    loop {
        match store
            .commit(commit(order, &Event::StockReserved, &context(1)))
            .await
        {
            Ok(_) => return true,
            Err(CommitError::Moved) => {}
            Err(CommitError::StockShort { .. }) => return false,
            Err(other) => panic!("{other:?}"),
        }
    }
}
