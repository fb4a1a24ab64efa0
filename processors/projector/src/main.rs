//! The projector: every change of a head to the search index and to the archive, each independent of the other.
//!
//! What it refuses to know: what an order may do. Start reading at `projector.rs` (one batch), then `route.rs` (one sink and what surrounds
//! it), then `sinks.rs`.

mod projector;
mod route;
mod sinks;

use projector::{CONSUMER, Projector};
use route::Route;
use sagaline_archive::{HashKeys, Redaction};
use sagaline_lambda::config::ProjectorVars;
use sagaline_lambda::{Aws, BoxError, Handler, ParkBucket, RetryQueue, start};
use sagaline_stream::Engine;
use sinks::Archive;
use std::process::ExitCode;

fn main() -> ExitCode {
    start(CONSUMER, async |vars| {
        wire(ProjectorVars::read(vars)?, Aws::load().await).await
    })
}

async fn wire(vars: ProjectorVars, aws: Aws) -> Result<impl Handler, BoxError> {
    let sinks = vars.sinks;
    let bucket = ParkBucket::new(aws.s3(), &sinks.common.park_bucket);
    let client = sagaline_sinks::search_client(&sinks.search, &aws).await?;
    let search = sagaline_sinks::search(&sinks.search, client, &aws, &sinks.common.orders_table);
    let keys = match &sinks.hash_keys_secret {
        Some(id) => Some(HashKeys::parse(&aws.secret(id).await?)?),
        None => None,
    };
    let archive = Archive {
        to: sagaline_sinks::archive(&sinks.archive, bucket.clone(), &aws),
        redaction: Redaction::new(&sinks.archive.redact, keys),
    };
    Ok(Projector {
        engine: Engine::new(CONSUMER, bucket),
        search: Route::new(
            search,
            RetryQueue::new(aws.sqs(), vars.search_retry_queue.as_str()),
        ),
        archive: Route::new(
            archive,
            RetryQueue::new(aws.sqs(), vars.archive_retry_queue.as_str()),
        ),
    })
}
