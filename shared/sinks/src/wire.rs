//! From the environment's values to sinks that work.

use crate::{Archive, Search};
use aws_sdk_firehose::config::retry::RetryConfig;
use aws_sdk_firehose::config::timeout::TimeoutConfig;
use sagaline_archive::{ArchiveSink, AwsTarget, Patience};
use sagaline_lambda::config::{ArchiveVars, SearchAuth, SearchServer, SearchVars};
use sagaline_lambda::{Aws, BoxError, ParkBucket};
use sagaline_search::{Auth, SearchClient, SearchSink, resolve_domain};
use sagaline_store::{DynamoTable, Store};
use std::time::Duration;

/// The most that a write to the archive takes of an invocation. Firehose answers within a second; the local stand-in takes one for fifty
/// rows or less, and a call that is given up while it works is done twice.
const ARCHIVE_WRITE: Duration = Duration::from_secs(40);

/// The index behind a client.
#[must_use]
pub fn search(
    vars: &SearchVars,
    client: SearchClient,
    aws: &Aws,
    table: &str,
) -> Search<DynamoTable> {
    let write_alias = format!("{}-write", vars.alias);
    Search {
        sink: SearchSink::new(client.clone(), &write_alias),
        client,
        store: Store::new(DynamoTable::new(aws.dynamodb(), table)),
        read_alias: vars.alias.clone(),
        write_alias,
    }
}

/// A client for the configured server; a domain's name is resolved here.
///
/// # Errors
/// When the domain is not found, or requests cannot be signed.
pub async fn search_client(vars: &SearchVars, aws: &Aws) -> Result<SearchClient, BoxError> {
    let endpoint = match &vars.server {
        SearchServer::Endpoint(endpoint) => endpoint.clone(),
        SearchServer::Domain(name) => {
            resolve_domain(&aws_sdk_opensearch::Client::new(aws.sdk()), name).await?
        }
    };
    let auth = match vars.auth {
        SearchAuth::SigV4 => Auth::SigV4,
        SearchAuth::Unsigned => Auth::None,
    };
    Ok(SearchClient::new(endpoint, auth, aws.sdk())?)
}

/// The archive, with the bucket of its spilled rows.
#[must_use]
pub fn archive(vars: &ArchiveVars, bucket: ParkBucket, aws: &Aws) -> Archive<AwsTarget> {
    let target = AwsTarget {
        firehose: firehose(aws),
        stream: vars.stream.clone(),
        s3: aws.s3(),
        bucket: vars.bucket.clone(),
    };
    let patience = Patience {
        longest_write: ARCHIVE_WRITE,
        ..Patience::default()
    };
    Archive {
        sink: ArchiveSink::with_patience(target, patience),
        bucket,
    }
}

/// The sink has deadlines and retries of its own: the client's stay out of their way.
fn firehose(aws: &Aws) -> aws_sdk_firehose::Client {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(1))
        .operation_attempt_timeout(ARCHIVE_WRITE)
        .build();
    let config = aws_sdk_firehose::config::Builder::from(aws.sdk())
        .timeout_config(timeouts)
        .retry_config(RetryConfig::disabled());
    aws_sdk_firehose::Client::from_conf(config.build())
}
