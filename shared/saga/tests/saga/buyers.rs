//! Many buyers at once for the last items, each order driven by the saga itself.

use std::time::Duration;

use futures::future::join_all;
use proptest::prelude::*;
use sagaline_order::{OrderId, State};
use sagaline_saga::Path;
use sagaline_testkit::memory::{Call, Fault};
use tokio::time::Instant;

use crate::world::{STOCK, World, sku};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// 64 orders for the last 10 pieces, driven by two processes at once, with faults in between: what is held was there, and everyone else is
    /// turned away without a charge.
    #[test]
    fn the_last_items_go_to_those_who_are_charged_for_them(
        wants in proptest::collection::vec(1_i64..=4, 64),
        faults in proptest::collection::vec((1_usize..200, 0_usize..3), 0..12),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let world = World::new().await;
            let mut orders = Vec::new();
            for (number, want) in wants.iter().enumerate() {
                orders.push(world.place(&format!("o-{number}"), *want, "tok_approve").await);
            }
            for (nth, fault) in faults {
                let fault = [Fault::LostAcknowledgement, Fault::Conflict, Fault::Throttle][fault].clone();
                world.table.fail(Call::Transact, nth, fault);
            }
            let other = world.another_process();
            let until = Instant::now() + Duration::from_secs(50);
            // What one drive does not finish, the sweeper does.
            let drive = async |id: &OrderId| {
                let (one, two) = futures::join!(world.try_drive(id), other.drive(id, Path::Stream, until));
                drop((one, two));
            };
            join_all(orders.iter().map(drive)).await;
            let mut held = 0;
            for (id, want) in orders.iter().zip(&wants) {
                let head = world.sweep_to_the_end(id).await;
                let account = world.account(id);
                let charged = account.charged_minor - account.refunded_minor;
                match head.state {
                    State::Confirmed => {
                        held += want;
                        assert_eq!(charged, head.total_minor.get(), "{id}");
                    }
                    State::Rejected => assert_eq!(account.charged_minor, 0, "{id}: turned away before any charge"),
                    other @ (State::Placed
                    | State::Paying
                    | State::Unwinding
                    | State::Cancelled
                    | State::NeedsOperator) => panic!("{id} ended {other:?}"),
                }
            }
            let left = world.store().stock(&sku()).await.unwrap();
            assert!((0..4).contains(&left), "{left}: nobody is turned away who could be served");
            assert_eq!(held + left, STOCK, "what is held was there");
        });
    }
}
