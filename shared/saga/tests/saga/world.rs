//! One order in a world of its own: memory table, scripted gateway and bus, paused time.

use std::time::Duration;

use sagaline_order::{
    Context, Event, NewOrder, Order, OrderId, OrderInput, RequestId, SagaConfig, Sku, State,
    Timestamp,
};
use sagaline_saga::{
    Clock as _, DriveError, Driven, Driver, Message, Path, Recorder, Submission, Submitted, Sweep,
    SweepReport,
};
use sagaline_store::{Key, PayloadHash, Placed, Placement, Store, read_head};
use sagaline_testkit::MemoryTable;
use sagaline_testkit::gateway::Account;
use sagaline_testkit::scripted::{ScriptedBus, ScriptedGateway, TokioClock};
use tokio::time::Instant;

/// What is on the shelf before the first order.
pub(crate) const STOCK: i64 = 10;

pub(crate) struct World {
    pub(crate) table: MemoryTable,
    pub(crate) clock: TokioClock,
    pub(crate) gateway: ScriptedGateway,
    pub(crate) bus: ScriptedBus,
    pub(crate) driver: Driver<MemoryTable, TokioClock, ScriptedGateway, ScriptedBus>,
}

impl World {
    pub(crate) async fn new() -> Self {
        let table = MemoryTable::new();
        let clock = TokioClock::starting_at(Timestamp::parse("2026-01-31T08:30:00Z").unwrap());
        let gateway = ScriptedGateway::new(clock);
        let bus = ScriptedBus::default();
        let driver = Driver::new(
            Recorder::new(Store::new(table.clone()), clock),
            gateway.clone(),
            bus.clone(),
        );
        let world = Self {
            table,
            clock,
            gateway,
            bus,
            driver,
        };
        world
            .store()
            .set_stock(&sku(), u32::try_from(STOCK).unwrap(), None)
            .await
            .unwrap();
        world
    }

    pub(crate) fn store(&self) -> &Store<MemoryTable> {
        self.driver.recorder().store()
    }

    /// Another process over the same table, gateway and bus.
    pub(crate) fn another_process(
        &self,
    ) -> Driver<MemoryTable, TokioClock, ScriptedGateway, ScriptedBus> {
        Driver::new(
            Recorder::new(Store::new(self.table.clone()), self.clock),
            self.gateway.clone(),
            self.bus.clone(),
        )
    }

    /// Places an order of `qty` at 12.50 EUR each.
    pub(crate) async fn place(&self, id: &str, qty: i64, token: &str) -> OrderId {
        self.place_at(id, qty, 1_250, token, Placement::default())
            .await
    }

    pub(crate) async fn place_at(
        &self,
        id: &str,
        qty: i64,
        unit_minor: i64,
        token: &str,
        placement: Placement,
    ) -> OrderId {
        let input = serde_json::json!({
            "order_id": id, "user_id": "u-1", "currency": "EUR", "payment_token": token,
            "lines": [{"sku": sku().as_str(), "name": "Teapot", "qty": qty, "unit_minor": unit_minor}],
            "shipping": {"name": "Ada", "street": "1 Main Street", "city": "Ghent", "country": "BE"},
        });
        let input = OrderInput::from_json(&input.to_string()).unwrap();
        let context = Context {
            now: self.clock.now(),
            config: SagaConfig::default(),
        };
        let new: NewOrder = input
            .check(
                &RequestId::parse(&format!("r-{id}")).unwrap(),
                "customer",
                &context,
            )
            .unwrap();
        match self.store().place(new, placement).await.unwrap() {
            Placed::Created { order } | Placed::AlreadyApplied { head: order } => order.order_id,
        }
    }

    pub(crate) async fn head(&self, id: &OrderId) -> Order {
        self.store()
            .load(id)
            .await
            .unwrap()
            .expect("the order is there")
    }

    /// The head, without a call of the table.
    pub(crate) fn peek(&self, id: &OrderId) -> Order {
        let item = self.table.item(&Key::head(id)).expect("the order is there");
        read_head(&item).unwrap()
    }

    /// As a stream record drives it.
    pub(crate) async fn drive(&self, id: &OrderId) -> Driven {
        self.try_drive(id).await.unwrap()
    }

    pub(crate) async fn try_drive(&self, id: &OrderId) -> Result<Driven, DriveError> {
        self.driver
            .drive(id, Path::Stream, Instant::now() + Duration::from_secs(50))
            .await
    }

    pub(crate) async fn sweep(&self) -> SweepReport {
        let until = Instant::now() + Duration::from_secs(55);
        self.driver
            .sweep(Sweep {
                seed: 7,
                concurrency: 4,
                until,
            })
            .await
    }

    /// Minute after minute a pass of the sweeper, until the order is finished or waits for a person. Skips what nobody needs to wait for.
    pub(crate) async fn sweep_to_the_end(&self, id: &OrderId) -> Order {
        for _ in 0..400 {
            let head = self.head(id).await;
            match head.wake_at {
                None => return head,
                Some(_) if head.state == State::NeedsOperator && head.notices.is_empty() => {
                    return head;
                }
                Some(at) => {
                    let wait = at.as_millis() - self.clock.now().as_millis();
                    tokio::time::advance(Duration::from_millis(
                        u64::try_from(wait).unwrap_or(0) + 1_000,
                    ))
                    .await;
                }
            }
            let before = head.wake_at;
            self.sweep().await;
            let after = self.head(id).await;
            assert!(
                after.wake_at.is_none() || after.wake_at > before,
                "a pass moves the wake time: {before:?} {after:?}"
            );
        }
        panic!("the order never ends: {:?}", self.head(id).await);
    }

    pub(crate) async fn submit(&self, id: &OrderId, event: Event, request: &str) -> Submitted {
        let payload_hash = PayloadHash::of(&serde_json::to_value(&event).unwrap());
        let request_id = RequestId::parse(request).unwrap();
        let submission = Submission {
            event,
            request_id,
            payload_hash,
            operation: "cancel",
            actor: "customer".to_owned(),
            expected: None,
        };
        // A customer whose request fails asks again.
        let recorder = self.driver.recorder();
        let submitted = match recorder.submit(id, submission.clone()).await {
            Err(_) => recorder.submit(id, submission).await,
            submitted => submitted,
        };
        submitted.unwrap().expect("the order is there")
    }

    pub(crate) async fn cancel(&self, id: &OrderId) -> Submitted {
        self.submit(
            id,
            Event::CancelRequested {
                reason: "changed my mind".to_owned(),
            },
            &format!("cancel-{id}"),
        )
        .await
    }

    pub(crate) fn account(&self, id: &OrderId) -> Account {
        self.gateway
            .ledger()
            .remove(id.as_str())
            .unwrap_or_default()
    }

    pub(crate) fn messages(&self, detail_type: &str) -> Vec<Message> {
        self.bus
            .messages()
            .into_iter()
            .filter(|message| message.detail_type == detail_type)
            .collect()
    }

    /// Everything that must hold of an order that has come to rest.
    #[track_caller]
    pub(crate) fn assert_at_rest(&self, head: &Order, stock: i64, history: usize, what: &str) {
        let id = &head.order_id;
        let account = self.account(id);
        let confirmed = head.state == State::Confirmed;
        assert!(
            matches!(
                head.state,
                State::Confirmed | State::Cancelled | State::Rejected
            ),
            "{what}: {head:?}"
        );
        assert_eq!(head.wake_at, None, "{what}: a finished order wakes nobody");
        let kept = if confirmed { head.total_minor.get() } else { 0 };
        assert_eq!(
            account.charged_minor - account.refunded_minor,
            kept,
            "{what}: money {:?} {account:?}",
            head.state
        );
        assert!(
            account.payments.len() <= 1,
            "{what}: charged once at most: {account:?}"
        );
        assert!(
            account
                .payments
                .iter()
                .all(|payment| payment.refunds.len() <= 1),
            "{what}: refunded once at most: {account:?}"
        );
        let held = if confirmed {
            head.lines[0].qty.get()
        } else {
            0
        };
        assert_eq!(
            stock,
            STOCK - i64::from(held),
            "{what}: stock {:?}",
            head.state
        );
        assert_eq!(
            u64::try_from(history).unwrap(),
            head.version.get(),
            "{what}: history has no gap"
        );
        let ids = |kind: &str| {
            let mut ids: Vec<_> = self
                .messages(kind)
                .iter()
                .map(|message| message.detail["id"].to_string())
                .collect();
            ids.dedup();
            ids
        };
        assert_eq!(
            ids("OrderConfirmed").len(),
            usize::from(head.confirmed_version.is_some()),
            "{what}: one confirmation, however often"
        );
        assert_eq!(
            ids("OrderCancelled").len(),
            usize::from(head.state == State::Cancelled),
            "{what}: one cancellation"
        );
        assert!(
            head.transitions < 64,
            "{what}: {} transitions",
            head.transitions
        );
    }

    pub(crate) async fn check_at_rest(&self, id: &OrderId, what: &str) -> Order {
        let head = self.head(id).await;
        let stock = self.store().stock(&sku()).await.unwrap();
        let history = self
            .store()
            .history(id)
            .page_size(1_000)
            .page()
            .await
            .unwrap();
        self.assert_at_rest(&head, stock, history.rows.len(), what);
        head
    }
}

pub(crate) fn sku() -> Sku {
    Sku::parse("teapot").unwrap()
}
