//! Redrive: drains both retry queues through the same sinks as the projector.
//!
//! What it refuses to know: why a sink was away. Start reading at `redrive.rs` (one invocation), then `batch.rs` (one batch), then
//! `retried.rs` (what the queues hold). A schedule calls it, too: `drift.rs`.

mod batch;
mod drift;
mod redrive;
mod retried;

use drift::Scheduled;
use redrive::{CONSUMER, Redrive};
use sagaline_lambda::config::RedriveVars;
use sagaline_lambda::{Aws, BoxError, Handler, ParkBucket, start};
use std::process::ExitCode;

fn main() -> ExitCode {
    start(CONSUMER, async |vars| {
        wire(RedriveVars::read(vars)?, Aws::load().await).await
    })
}

async fn wire(vars: RedriveVars, aws: Aws) -> Result<impl Handler, BoxError> {
    let bucket = ParkBucket::new(aws.s3(), &vars.common.park_bucket);
    let client = sagaline_sinks::search_client(&vars.search, &aws).await?;
    let search = || {
        sagaline_sinks::search(
            &vars.search,
            client.clone(),
            &aws,
            &vars.common.orders_table,
        )
    };
    let archive = sagaline_sinks::archive(&vars.archive, bucket.clone(), &aws);
    let redrive = Redrive::new(search(), archive, bucket);
    Ok(Scheduled::new(redrive, search(), CONSUMER))
}
