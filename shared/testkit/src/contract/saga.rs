//! The store over the table: orders step by step to their end, and the lists that follow them.

use sagaline_order::{Event, OrderId, PaymentId, RefundId, Seconds, State, Status};
use sagaline_store::{Direction, IntentKind, ListedStatus, Metrics, Placement, Span, Store, Table};

use super::orders::new_order;
use super::steps::{applied, created, due, every, load, small};
use super::{Names, eventually};

pub(super) async fn run<T: Table>(store: &Store<T>, names: &Names) {
    Box::pin(an_order_goes_from_placement_to_confirmation(store, names)).await;
    Box::pin(a_refund_is_recorded_and_the_stock_comes_back(store, names)).await;
}

async fn an_order_goes_from_placement_to_confirmation<T: Table>(store: &Store<T>, names: &Names) {
    let placed = created(
        store,
        new_order(&small(names, "happy")),
        Placement::default(),
    )
    .await;
    let sku = &placed.lines.first().expect("a line").sku;
    store
        .set_stock(sku, 5, Some(0))
        .await
        .expect("a product that nobody stocked has 0");
    let (paying, intent) = applied(store, &placed, &Event::StockReserved, 1).await;
    assert_eq!(
        store.stock(sku).await.expect("a read"),
        3,
        "taken in the same commit"
    );
    let intent = intent.expect("the commit recorded the intent to charge");
    assert_eq!(
        (
            intent.kind(),
            intent.attempt(),
            intent.is_fresh(),
            intent.asks_first()
        ),
        (IntentKind::Charge, 1, true, false)
    );
    assert_eq!(
        (
            intent.amount().get(),
            intent.currency().code(),
            intent.payment_token()
        ),
        (2_500, "EUR", Some("tok_approve"))
    );
    let (_, reread) = store
        .reread_intent(&placed.order_id)
        .await
        .expect("a read")
        .expect("an order");
    assert!(
        reread.expect("still requested").asks_first(),
        "whoever reads an intent asks first"
    );

    let payment = PaymentId::stored(names.name("p"));
    let (confirmed, none) = applied(
        store,
        &paying,
        &Event::PaymentApproved {
            payment_id: payment.clone(),
        },
        2,
    )
    .await;
    assert!(none.is_none(), "a confirmation intends no call");
    assert_eq!(
        store.order_of_payment(&payment).await.expect("a read"),
        Some(placed.order_id.clone())
    );
    assert_eq!(
        store.metrics(&placed.user_id).await.expect("counters"),
        Metrics {
            order_count: 1,
            unpaid_count: 0
        }
    );
    let rows = store
        .user_orders(&placed.user_id, Span::ALL)
        .page_size(3)
        .page()
        .await
        .expect("a page")
        .rows;
    assert_eq!(
        rows.first().map(|row| row.status.as_str()),
        Some("CONFIRMED")
    );
    assert_eq!(
        due(store, &confirmed).await,
        Some(true),
        "until it is published"
    );

    let (published, _) = applied(store, &confirmed, &Event::ConfirmationPublished, 3).await;
    assert_eq!(load(store, &published).await, published);
    // C-22
    let head = store
        .load_item(&placed.order_id)
        .await
        .expect("a read")
        .expect("a head");
    for absent in ["due_pk", "due_sk", "wake_at", "status_pk", "status_sk"] {
        assert_eq!(head.get(absent), None, "a finished order has no {absent}");
    }
    eventually("not due any more", async || {
        due(store, &published).await.filter(|due| !due)
    })
    .await;
    let history = every(async |cursor| {
        store
            .history(&placed.order_id)
            .page_size(1)
            .after(cursor)
            .page()
            .await
    })
    .await;
    assert_eq!(
        history
            .iter()
            .map(|row| row.version.get())
            .collect::<Vec<_>>(),
        [1, 2, 3, 4],
        "one row a version, no gap"
    );
}

async fn a_refund_is_recorded_and_the_stock_comes_back<T: Table>(store: &Store<T>, names: &Names) {
    let order = created(
        store,
        new_order(&small(names, "refund")),
        Placement::default(),
    )
    .await;
    let sku = &order.lines.first().expect("a line").sku;
    store.set_stock(sku, 2, None).await.expect("a write");
    let (order, _) = applied(store, &order, &Event::StockReserved, 1).await;
    let listed = |status, order: OrderId| async move {
        let status = ListedStatus::new(status).expect("a listed status");
        let rows = every(async |cursor| {
            store
                .by_status(status, Span::ALL)
                .direction(Direction::OldestFirst)
                .page_size(25)
                .after(cursor)
                .page()
                .await
        })
        .await;
        rows.iter().any(|row| row.order_id == order).then_some(())
    };
    eventually("listed as unpaid", async || {
        listed(Status::Unpaid, order.order_id.clone()).await
    })
    .await;
    let (order, _) = applied(
        store,
        &order,
        &Event::CancelRequested {
            reason: "changed my mind".to_owned(),
        },
        2,
    )
    .await;
    eventually("listed as processing", async || {
        listed(Status::Processing, order.order_id.clone()).await
    })
    .await;
    let (order, _) = applied(
        store,
        &order,
        &Event::PaymentApproved {
            payment_id: PaymentId::stored(names.name("late")),
        },
        3,
    )
    .await;
    let (order, intent) = applied(store, &order, &Event::RefundDue, 4).await;
    let intent = intent.expect("the commit recorded the intent to refund");
    assert_eq!(
        (intent.kind(), intent.payment_id()),
        (IntentKind::Refund, order.payment_id.as_ref())
    );
    assert_ne!(
        intent.op_id(),
        intent.payment_op_id(),
        "an undo has a key of its own"
    );
    let refund = RefundId::stored(names.name("rf"));
    let (order, _) = applied(
        store,
        &order,
        &Event::RefundSucceeded {
            refund_id: refund.clone(),
        },
        5,
    )
    .await;
    assert_eq!(order.state, State::Cancelled);
    assert_eq!(
        store.stock(sku).await.expect("a read"),
        2,
        "given back in the commit that ends the order"
    );
    let (from, until) = (order.updated_at, order.updated_at.plus(Seconds(1)));
    let refunds = every(async |cursor| {
        store
            .refunds(from, until)
            .page_size(2)
            .after(cursor)
            .page()
            .await
    })
    .await;
    let found = refunds
        .iter()
        .find(|row| row.refund_id == refund)
        .expect("a refund of this second");
    assert_eq!(
        (&found.order_id, found.amount_minor, found.currency.as_str()),
        (&order.order_id, 2_500, "EUR")
    );
    let updated = eventually("what was written in this second", async || {
        let rows = every(async |cursor| {
            store
                .updated(from, until)
                .page_size(2)
                .after(cursor)
                .page()
                .await
        })
        .await;
        rows.into_iter().find(|row| row.order_id == order.order_id)
    });
    let updated = updated.await;
    assert_eq!(
        (updated.version, updated.status.as_str(), updated.updated_at),
        (order.version, "CANCELLED", order.updated_at)
    );
}
