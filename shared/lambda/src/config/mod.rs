//! The environment of the processors, read once at start into checked values.
//!
//! Every variable has one rule. The first that is missing or breaks its rule is [`BadVariable`], one line with its name; the process then
//! ends before it has touched anything. Nothing else in the processors reads the environment, but for the SDK's own variables.

mod rules;
mod vars;

pub use vars::{BadVariable, Vars};

use rules::{alias, bucket, bus, delivery_stream, domain, table, url, words};
use url::Url;

/// What is hidden in archived images unless said otherwise.
pub const DEFAULT_REDACT: &str = "shipping,phone_masked";
/// The read alias unless said otherwise.
pub const DEFAULT_ALIAS: &str = "orders";

/// Where the orders are, and where poison goes: what every processor needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommonVars {
    /// `ORDERS_TABLE`.
    pub orders_table: String,
    /// `PARK_BUCKET`.
    pub park_bucket: String,
}

impl CommonVars {
    /// Reads them.
    ///
    /// # Errors
    /// The first bad variable.
    pub fn read(vars: &Vars) -> Result<Self, BadVariable> {
        Ok(Self {
            orders_table: vars.required("ORDERS_TABLE", table)?,
            park_bucket: park_bucket(vars)?,
        })
    }
}

/// The environment of the saga processor and the sweeper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SagaVars {
    /// Table and park bucket.
    pub common: CommonVars,
    /// `PAYMENT_URL`: the base URL of the payment gateway.
    pub payment_url: Url,
    /// `EVENT_BUS`: name or ARN.
    pub event_bus: String,
}

impl SagaVars {
    /// Reads them.
    ///
    /// # Errors
    /// The first bad variable.
    pub fn read(vars: &Vars) -> Result<Self, BadVariable> {
        let common = CommonVars::read(vars)?;
        let (payment_url, event_bus) = saga_targets(vars)?;
        Ok(Self {
            common,
            payment_url,
            event_bus,
        })
    }
}

/// Where OpenSearch is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchServer {
    /// `OPENSEARCH_ENDPOINT`.
    Endpoint(Url),
    /// `OPENSEARCH_DOMAIN`: to be resolved once through the control plane.
    Domain(String),
}

/// How requests to OpenSearch are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchAuth {
    /// With the AWS credentials of the process.
    SigV4,
    /// Not at all.
    Unsigned,
}

/// The environment of whoever speaks to OpenSearch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchVars {
    /// `OPENSEARCH_ENDPOINT`, or else `OPENSEARCH_DOMAIN`.
    pub server: SearchServer,
    /// `OPENSEARCH_ALIAS`.
    pub alias: String,
    /// `OPENSEARCH_AUTH`.
    pub auth: SearchAuth,
}

impl SearchVars {
    /// Reads them.
    ///
    /// # Errors
    /// The first bad variable.
    pub fn read(vars: &Vars) -> Result<Self, BadVariable> {
        let server = match vars.optional("OPENSEARCH_ENDPOINT", url)? {
            Some(endpoint) => SearchServer::Endpoint(endpoint),
            None => SearchServer::Domain(vars.optional("OPENSEARCH_DOMAIN", domain)?.ok_or_else(
                || {
                    BadVariable::new(
                        "OPENSEARCH_ENDPOINT",
                        "is not set, and neither is OPENSEARCH_DOMAIN",
                    )
                },
            )?),
        };
        let default_auth = match &server {
            SearchServer::Endpoint(endpoint) if endpoint.scheme() == "http" => SearchAuth::Unsigned,
            SearchServer::Endpoint(_) | SearchServer::Domain(_) => SearchAuth::SigV4,
        };
        Ok(Self {
            server,
            alias: vars
                .optional("OPENSEARCH_ALIAS", alias)?
                .unwrap_or_else(|| DEFAULT_ALIAS.to_owned()),
            auth: vars
                .optional("OPENSEARCH_AUTH", rules::auth)?
                .unwrap_or(default_auth),
        })
    }
}

/// The environment of whoever writes to the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveVars {
    /// `ARCHIVE_STREAM`: the Firehose stream.
    pub stream: String,
    /// `ARCHIVE_BUCKET`: for rows that Firehose does not take.
    pub bucket: String,
    /// `ARCHIVE_REDACT`: top-level attributes hidden in images, separated by commas. Set but empty = none of the caller's choice.
    pub redact: String,
}

impl ArchiveVars {
    /// Reads them.
    ///
    /// # Errors
    /// The first bad variable.
    pub fn read(vars: &Vars) -> Result<Self, BadVariable> {
        let redact = vars
            .text("ARCHIVE_REDACT")?
            .unwrap_or_else(|| DEFAULT_REDACT.to_owned());
        Ok(Self {
            stream: vars.required("ARCHIVE_STREAM", delivery_stream)?,
            bucket: vars.required("ARCHIVE_BUCKET", bucket)?,
            redact: words(&redact).map_err(|rule| BadVariable::new("ARCHIVE_REDACT", rule))?,
        })
    }
}

/// The environment of redrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedriveVars {
    /// Table and park bucket.
    pub common: CommonVars,
    /// The search sink's.
    pub search: SearchVars,
    /// The archive sink's.
    pub archive: ArchiveVars,
    /// `HASH_KEYS_SECRET`: absent = hidden values carry no hash.
    pub hash_keys_secret: Option<String>,
}

impl RedriveVars {
    /// Reads them.
    ///
    /// # Errors
    /// The first bad variable.
    pub fn read(vars: &Vars) -> Result<Self, BadVariable> {
        Ok(Self {
            common: CommonVars::read(vars)?,
            search: SearchVars::read(vars)?,
            archive: ArchiveVars::read(vars)?,
            hash_keys_secret: hash_keys_secret(vars)?,
        })
    }
}

/// The environment of the projector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectorVars {
    /// What it shares with redrive.
    pub sinks: RedriveVars,
    /// `SEARCH_RETRY_QUEUE_URL`.
    pub search_retry_queue: Url,
    /// `ARCHIVE_RETRY_QUEUE_URL`.
    pub archive_retry_queue: Url,
}

impl ProjectorVars {
    /// Reads them.
    ///
    /// # Errors
    /// The first bad variable.
    pub fn read(vars: &Vars) -> Result<Self, BadVariable> {
        Ok(Self {
            sinks: RedriveVars::read(vars)?,
            search_retry_queue: vars.required("SEARCH_RETRY_QUEUE_URL", url)?,
            archive_retry_queue: vars.required("ARCHIVE_RETRY_QUEUE_URL", url)?,
        })
    }
}

/// `PARK_BUCKET`.
///
/// # Errors
/// When it is missing or no bucket name.
pub fn park_bucket(vars: &Vars) -> Result<String, BadVariable> {
    vars.required("PARK_BUCKET", bucket)
}

/// `PAYMENT_URL` and `EVENT_BUS`, for whoever drives orders without being a processor.
///
/// # Errors
/// The first bad variable.
pub fn saga_targets(vars: &Vars) -> Result<(Url, String), BadVariable> {
    Ok((
        vars.required("PAYMENT_URL", url)?,
        vars.required("EVENT_BUS", bus)?,
    ))
}

/// `HASH_KEYS_SECRET`, if it is set.
///
/// # Errors
/// When it is set and no UTF-8 text.
pub fn hash_keys_secret(vars: &Vars) -> Result<Option<String>, BadVariable> {
    vars.optional("HASH_KEYS_SECRET", |text| Ok(text.to_owned()))
}

#[cfg(test)]
mod tests;
