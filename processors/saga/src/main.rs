//! The saga processor: drives the order of each changed head.
//!
//! The stream record only says which order to look at ([`OrderRecords`]); everything else is the drive loop's. This file reads the environment and
//! wires the parts.

use std::process::ExitCode;

use sagaline_lambda::config::{SagaVars, Vars};
use sagaline_lambda::telemetry::{emit, with_count};
use sagaline_lambda::{Aws, BoxError, Handler, ParkBucket, now, now_millis, start};
use sagaline_order::Timestamp;
use sagaline_saga::{Driver, EventBridge, HttpGateway, OrderRecords, Recorder};
use sagaline_store::{DynamoTable, Store};
use sagaline_stream::{Batch, BatchResponse, Dimensions, Engine, Invocation};

/// The name of this consumer in metrics and in the park bucket.
const CONSUMER: &str = "saga";

type Saga = Driver<DynamoTable, fn() -> Timestamp, HttpGateway, EventBridge>;

struct SagaProcessor {
    engine: Engine<ParkBucket>,
    records: OrderRecords<Saga>,
}

fn main() -> ExitCode {
    start("saga", build)
}

async fn build(vars: &Vars) -> Result<SagaProcessor, BoxError> {
    let vars = SagaVars::read(vars)?;
    let aws = Aws::load().await;
    let store = Store::new(DynamoTable::new(aws.dynamodb(), vars.common.orders_table));
    let gateway = HttpGateway::new(vars.payment_url)?;
    let bus = EventBridge::new(aws_sdk_eventbridge::Client::new(aws.sdk()), vars.event_bus);
    let driver: Saga = Driver::new(Recorder::new(store, now as fn() -> Timestamp), gateway, bus);
    Ok(SagaProcessor {
        engine: Engine::new(CONSUMER, ParkBucket::new(aws.s3(), vars.common.park_bucket)),
        records: OrderRecords::new(driver),
    })
}

impl Handler for SagaProcessor {
    type Answer = BatchResponse;

    async fn handle(
        &self,
        payload: &[u8],
        invocation: &Invocation,
    ) -> Result<BatchResponse, BoxError> {
        let batch = Batch::parse(payload)?;
        let outcome = Box::pin(self.engine.run(&batch, &self.records, invocation)).await;
        let report = match &outcome {
            Ok(outcome) => Some(&outcome.report),
            Err(error) => error.report(),
        };
        let seen = self.records.take_counts();
        if let Some(report) = report {
            let function = invocation.function.as_str();
            let dimensions = Dimensions {
                function,
                consumer: CONSUMER,
            };
            let metrics = report.emf(dimensions, now_millis());
            let metrics = with_count(&metrics, "OrderNeedsAttention", seen.alarms);
            emit(&with_count(
                &metrics,
                "VersionUnchanged",
                seen.version_unchanged,
            ));
        }
        Ok(outcome?.response)
    }
}
