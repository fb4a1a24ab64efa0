//! What an order costs in the table: every transaction and read of its life, with the capacity that the table itself says it consumed. The figures
//! stand in docs/saga.md; `UPDATE_DOCS=1 cargo test -p sagaline-tests --test integration costs::` writes them anew.
#![allow(
    clippy::float_arithmetic,
    reason = "capacity is measured in halves of a unit"
)]

use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_dynamodb::config::interceptors::{
    AfterDeserializationInterceptorContextRef, BeforeSerializationInterceptorContextMut,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::operation::get_item::{GetItemInput, GetItemOutput};
use aws_sdk_dynamodb::operation::transact_write_items::{
    TransactWriteItemsInput, TransactWriteItemsOutput,
};
use aws_sdk_dynamodb::types::ReturnConsumedCapacity;
use sagaline_order::{Event, OrderId, Sku, State, Timestamp};
use sagaline_saga::{Clock, Driver, Path, Recorder, Rest};
use sagaline_store::{DynamoTable, Placed, Placement, Store};
use sagaline_testkit::contract::orders::{commit, context, input, new_order};
use sagaline_testkit::scripted::{ScriptedBus, ScriptedGateway, TokioClock};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{Place, unique};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/saga.md");

/// What the table was asked for, and what it says that cost.
#[derive(Debug, Clone, Default, PartialEq)]
struct Bill {
    /// Actions of each transaction.
    transactions: Vec<usize>,
    consistent_reads: usize,
    other_reads: usize,
    written: f64,
    read: f64,
}

/// Asks the table for its bill with every call.
#[derive(Debug, Clone, Default)]
struct Meter(Arc<Mutex<Bill>>);

impl Meter {
    fn take(&self) -> Bill {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Intercept for Meter {
    fn name(&self) -> &'static str {
        "Meter"
    }

    fn modify_before_serialization(
        &self,
        context: &mut BeforeSerializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let mut bill = self.0.lock().unwrap();
        if let Some(get) = context.input_mut().downcast_mut::<GetItemInput>() {
            get.return_consumed_capacity = Some(ReturnConsumedCapacity::Total);
            if get.consistent_read == Some(true) {
                bill.consistent_reads += 1;
            } else {
                bill.other_reads += 1;
            }
        }
        if let Some(transact) = context
            .input_mut()
            .downcast_mut::<TransactWriteItemsInput>()
        {
            transact.return_consumed_capacity = Some(ReturnConsumedCapacity::Total);
            bill.transactions
                .push(transact.transact_items.as_ref().map_or(0, Vec::len));
        }
        Ok(())
    }

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let Ok(output) = context.output_or_error() else {
            return Ok(());
        };
        let mut bill = self.0.lock().unwrap();
        if let Some(got) = output.downcast_ref::<GetItemOutput>() {
            let consumed = got.consumed_capacity.as_ref();
            bill.read += consumed.and_then(|units| units.capacity_units).unwrap();
        }
        if let Some(written) = output.downcast_ref::<TransactWriteItemsOutput>() {
            let consumed = written.consumed_capacity.as_ref().unwrap();
            bill.written += consumed
                .iter()
                .map(|units| units.capacity_units.unwrap())
                .sum::<f64>();
        }
        Ok(())
    }
}

/// The saga over a real table, with a gateway and a bus in this process, and a clock that is put forward by hand.
struct Shop {
    meter: Meter,
    clock: Arc<AtomicI64>,
    driver: Driver<DynamoTable, HandClock, ScriptedGateway, ScriptedBus>,
}

/// Milliseconds that somebody sets.
struct HandClock(Arc<AtomicI64>);

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::Relaxed)).unwrap()
    }
}

impl Shop {
    async fn open() -> Self {
        let place = Place::fresh("costs").await;
        let meter = Meter::default();
        let config = aws_sdk_dynamodb::config::Builder::from(&place.sdk)
            .interceptor(meter.clone())
            .build();
        let client = aws_sdk_dynamodb::Client::from_conf(config);
        let store = Store::new(DynamoTable::new(client, place.var("ORDERS_TABLE")));
        let clock = Arc::new(AtomicI64::new(context(0).now.as_millis()));
        let gateway = ScriptedGateway::new(TokioClock::starting_at(context(0).now));
        let recorder = Recorder::new(store, HandClock(Arc::clone(&clock)));
        // The settings are read once a minute, whatever the number of orders.
        recorder.context().await;
        Self {
            meter,
            clock,
            driver: Driver::new(recorder, gateway, ScriptedBus::default()),
        }
    }

    fn store(&self) -> &Store<DynamoTable> {
        self.driver.recorder().store()
    }

    /// Places an order under names of one length: they are part of what is paid for.
    async fn place(&self, id: &str, token: &str) -> OrderId {
        let sku = format!("lamp-{id}");
        self.store()
            .set_stock(&Sku::parse(&sku).unwrap(), 9, None)
            .await
            .unwrap();
        let mut input = input(id, "u-1", &format!("r-{id}"), &sku);
        input["payment_token"] = token.into();
        input["shipping"] =
            json!({"name": "Ada", "street": "1 Main Street", "city": "Ghent", "country": "BE"});
        self.meter.take();
        let placed = self
            .store()
            .place(new_order(&input), Placement::default())
            .await;
        assert!(matches!(placed, Ok(Placed::Created { .. })), "{placed:?}");
        OrderId::stored(id)
    }

    async fn drive(&self, id: &OrderId, path: Path) -> Rest {
        let until = Instant::now() + Duration::from_secs(50);
        self.driver.drive(id, path, until).await.unwrap().rest
    }

    /// Puts the clock to where the sweeper looks at the order.
    async fn wait_for_the_sweeper(&self, id: &OrderId) {
        let order = self.driver.recorder().load(id).await.unwrap().unwrap();
        let at = order.wake_at.unwrap().as_millis();
        self.clock.store(at + 1_000, Ordering::Relaxed);
    }

    /// What each version recorded.
    async fn history(&self, id: &OrderId) -> Vec<Vec<String>> {
        let history = self.store().history(id).page().await.unwrap();
        let kinds = |events: &[Value]| {
            let kinds = events.iter().map(|event| event["kind"].as_str().unwrap());
            kinds.map(str::to_owned).collect::<Vec<_>>()
        };
        history.rows.iter().map(|row| kinds(&row.events)).collect()
    }
}

/// One row of the page.
fn row(name: &str, bill: &Bill) -> String {
    let actions: Vec<_> = bill.transactions.iter().map(ToString::to_string).collect();
    format!(
        "| {name} | {} ({}) | {} | {} | {} |\n",
        bill.transactions.len(),
        actions.join(" + "),
        bill.consistent_reads,
        bill.written,
        bill.read
    )
}

#[tokio::test]
async fn an_order_costs_what_the_page_says_and_a_straight_one_four_commits_and_one_read() {
    let shop = Shop::open().await;

    let id = shop.place("o-1", "approve").await;
    assert_eq!(shop.drive(&id, Path::Stream).await, Rest::Finished);
    let happy = shop.meter.take();
    assert_eq!(
        (
            happy.transactions.len(),
            happy.consistent_reads,
            happy.other_reads
        ),
        (4, 1, 0)
    );
    let expected: [&[&str]; 4] = [
        &["OrderPlaced"],
        &["StockReserved", "PaymentRequested"],
        &["PaymentSucceeded", "OrderConfirmed"],
        &["ConfirmationPublished"],
    ];
    assert_eq!(
        shop.history(&id).await,
        expected,
        "none is a bookkeeping write"
    );

    let id = shop.place("o-2", "decline").await;
    assert_eq!(shop.drive(&id, Path::Stream).await, Rest::Finished);
    let declined = shop.meter.take();
    assert_eq!(
        (declined.transactions.len(), declined.consistent_reads),
        (3, 1)
    );

    let id = shop.place("o-3", "timeout-charged").await;
    assert!(matches!(
        shop.drive(&id, Path::Stream).await,
        Rest::Until(_)
    ));
    let mut timed_out = shop.meter.take();
    shop.wait_for_the_sweeper(&id).await;
    shop.meter.take();
    assert_eq!(shop.drive(&id, Path::Sweeper).await, Rest::Finished);
    let swept = shop.meter.take();
    timed_out.transactions.extend(swept.transactions);
    timed_out.consistent_reads += swept.consistent_reads;
    timed_out.written += swept.written;
    timed_out.read += swept.read;
    let order = shop.driver.recorder().load(&id).await.unwrap().unwrap();
    assert_eq!((order.state, order.version.get()), (State::Confirmed, 6));
    assert_eq!(
        (timed_out.transactions.len(), timed_out.consistent_reads),
        (6, 2),
        "one read a drive, one transaction a transition"
    );

    let mut text = String::from(
        "| order | transactions (actions) | consistent reads | WCU | RCU |\n|---|---|---|---|---|\n",
    );
    for (name, bill) in [
        ("straight through", &happy),
        ("declined", &declined),
        ("timed out, found charged by the sweeper", &timed_out),
    ] {
        text.push_str(&row(name, bill));
    }
    writeln!(
        text,
        "\nMeasured by `cargo test -p sagaline-tests --test integration costs::` as `ReturnConsumedCapacity` of the local AWS; placing is included, the\n\
         sweeper's reading of its index and the settings (one read a minute) are not."
    )
    .unwrap();
    check_page(&text);
}

/// Compares the page's part with what was measured, or writes it.
fn check_page(measured: &str) {
    let (begin, end) = (
        "<!-- generated: capacity -->\n",
        "<!-- end of capacity -->\n",
    );
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(begin).unwrap();
    let (stated, after) = rest.split_once(end).unwrap();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, format!("{before}{begin}{measured}{end}{after}")).unwrap();
        return;
    }
    assert_eq!(
        stated, measured,
        "docs/saga.md differs from what was measured: run with UPDATE_DOCS=1 and review the difference"
    );
}

#[tokio::test]
async fn an_order_of_forty_lines_stays_within_the_actions_of_a_transaction() {
    let shop = Shop::open().await;
    let skus: Vec<_> = (0..40).map(|_| unique("sku")).collect();
    for sku in &skus {
        let sku = Sku::parse(sku).unwrap();
        shop.store().set_stock(&sku, 9, None).await.unwrap();
    }
    let place = async |reserve_now: bool| {
        let mut input = input(&unique("o"), "u-1", &unique("r"), "unused");
        let lines = skus
            .iter()
            .map(|sku| json!({"sku": sku, "qty": 1, "unit_minor": 100}));
        input["lines"] = lines.collect::<Vec<_>>().into();
        let placement = Placement {
            reserve_now,
            phone_lookup: Some("keyed-hash".to_owned()),
        };
        shop.meter.take();
        let placed = shop.store().place(new_order(&input), placement).await;
        let Ok(Placed::Created { order }) = placed else {
            panic!("{placed:?}")
        };
        order
    };
    let order = place(false).await;
    assert_eq!(shop.meter.take().transactions, [46], "placed");
    place(true).await;
    assert_eq!(
        shop.meter.take().transactions,
        [86],
        "placed with its stock"
    );
    let events = [
        Event::StockReserved,
        Event::PaymentDeclined {
            reason: "no".to_owned(),
        },
    ];
    let mut order = order;
    for (seconds, event) in (1..).zip(events) {
        let commit = commit(&order, &event, &context(seconds));
        order = commit.after.clone();
        shop.store().commit(commit).await.unwrap();
    }
    assert_eq!(order.state, State::Rejected);
    assert_eq!(shop.meter.take().transactions[1], 45, "undone");
}
