//! The sweeper: finishes what a lost record left unfinished.
//!
//! Called by a schedule, whatever the event says. This file reads the environment and wires the parts; a pass is the drive loop's.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::process::ExitCode;
use std::time::Duration;

use sagaline_lambda::config::{SagaVars, Vars};
use sagaline_lambda::telemetry::emit;
use sagaline_lambda::{Aws, BoxError, Handler, now, start};
use sagaline_order::Timestamp;
use sagaline_saga::{Driver, EventBridge, HttpGateway, Recorder, Sweep};
use sagaline_store::{DynamoTable, Store};
use sagaline_stream::{Invocation, Remaining};
use serde_json::{Value, json};
use tokio::time::Instant;

/// Orders driven at the same time.
const CONCURRENCY: usize = 8;
/// For the answer and the metrics, once the pass is over.
const MARGIN: Duration = Duration::from_secs(1);
/// The time a pass has when nobody said.
const DEFAULT_REMAINING: Duration = Duration::from_secs(30);

type Saga = Driver<DynamoTable, fn() -> Timestamp, HttpGateway, EventBridge>;

struct Sweeper {
    driver: Saga,
}

fn main() -> ExitCode {
    start("sweeper", build)
}

async fn build(vars: &Vars) -> Result<Sweeper, BoxError> {
    let vars = SagaVars::read(vars)?;
    let aws = Aws::load().await;
    let store = Store::new(DynamoTable::new(aws.dynamodb(), vars.common.orders_table));
    let gateway = HttpGateway::new(vars.payment_url)?;
    let bus = EventBridge::new(aws_sdk_eventbridge::Client::new(aws.sdk()), vars.event_bus);
    Ok(Sweeper {
        driver: Driver::new(Recorder::new(store, now as fn() -> Timestamp), gateway, bus),
    })
}

impl Handler for Sweeper {
    type Answer = Value;

    async fn handle(&self, _: &[u8], invocation: &Invocation) -> Result<Value, BoxError> {
        let remaining = match invocation.remaining {
            Remaining::Known(known) => known,
            Remaining::Unknown => DEFAULT_REMAINING,
        };
        let sweep = Sweep {
            seed: seed(),
            concurrency: CONCURRENCY,
            until: Instant::now() + remaining.saturating_sub(MARGIN),
        };
        let report = self.driver.sweep(sweep).await;
        emit(&report.emf(&invocation.function, now()));
        Ok(
            json!({"found": report.found, "moved": report.moved, "failed": report.failed, "shards_left": report.shards_left}),
        )
    }
}

/// Any number; std seeds its hashers at random.
fn seed() -> u32 {
    let [a, b, c, d, ..] = RandomState::new().build_hasher().finish().to_be_bytes();
    u32::from_be_bytes([a, b, c, d])
}
