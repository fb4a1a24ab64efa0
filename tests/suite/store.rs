//! The store over a real table.

use sagaline_testkit::contract;

use crate::support::Place;

// C-16, C-22, C-27: the contract has them; it reads every list with one item a page, too.
#[tokio::test]
async fn the_real_table_keeps_the_contract_that_the_memory_table_keeps() {
    let place = Place::shared().await;
    contract::run(place.table()).await;
}

// The sizes are those of AWS's rules. The local table charges every read as one small item, and counts sets in its own way.
#[tokio::test]
async fn the_local_table_charges_what_our_sizes_say_for_writes() {
    let place = Place::fresh("charges").await;
    let differences =
        contract::charges::differences(&place.dynamodb(), place.var("ORDERS_TABLE")).await;
    for found in differences.iter().filter(|found| found.what != "sets") {
        assert_eq!(found.charged[..2], found.expected[..2], "{found:?}");
        assert_eq!(found.charged[2..], [2, 1], "{found:?}");
    }
}

// C-20
#[tokio::test]
async fn a_condition_sees_one_full_key_and_not_the_partition() {
    use sagaline_order::{Event, OrderId, PaymentId};
    use sagaline_store::{CommitError, Committed, Placed, Placement};
    use sagaline_testkit::contract::orders::{commit, context, input, new_order};

    let place = Place::fresh("keys").await;
    let store = place.store();
    let paying = async |id: &str| {
        let new = new_order(&input(id, "u-1", &format!("r-{id}"), "tea"));
        let Ok(Placed::Created { order }) = store.place(new, Placement::default()).await else {
            panic!("{id} is placed")
        };
        store.set_stock(&order.lines[0].sku, 9, None).await.unwrap();
        // Its history row has the head's partition key, and that it is new is a condition.
        let next = commit(&order, &Event::StockReserved, &context(1));
        let Ok(Committed::Applied { order, .. }) = store.commit(next).await else {
            panic!("the second history row of {id} is written")
        };
        order
    };
    let (first, second) = (paying("o-1").await, paying("o-2").await);
    let approved = Event::PaymentApproved {
        payment_id: PaymentId::stored("p-1"),
    };
    store
        .commit(commit(&first, &approved, &context(2)))
        .await
        .unwrap();
    let clash = store.commit(commit(&second, &approved, &context(2))).await;
    assert!(
        matches!(clash, Err(CommitError::PaymentIdClash { .. })),
        "{clash:?}"
    );
    let unchanged = store.load(&OrderId::stored("o-2")).await.unwrap().unwrap();
    assert_eq!(unchanged.version, second.version);
}
