//! The one way to the server: plain HTTP through the official client's transport, signed where the domain wants it.
//!
//! It knows nothing of documents: a request is bytes, and so is the answer, whatever the status. Whoever asked judges it.

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use opensearch::auth::Credentials;
use opensearch::http::headers::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use opensearch::http::transport::{SingleNodeConnectionPool, Transport, TransportBuilder};
use opensearch::http::{Method, StatusCode};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use thiserror::Error;
use url::Url;

/// How requests prove who they come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// Signed with the process's AWS credentials.
    SigV4,
    /// Not at all.
    None,
}

impl Auth {
    /// What an endpoint wants unless told otherwise: signatures over https, nothing over plain http.
    #[must_use]
    pub fn for_endpoint(endpoint: &Url) -> Self {
        if endpoint.scheme() == "https" {
            Self::SigV4
        } else {
            Self::None
        }
    }
}

/// Why there is no client, or no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The endpoint is no URL with http or https.
    #[error("{endpoint:?} is no http or https URL")]
    Endpoint {
        /// What was given.
        endpoint: String,
    },
    /// The domain could not be looked up.
    #[error("the domain {domain:?} could not be looked up")]
    Domain {
        /// Its name.
        domain: String,
        /// The control plane's answer.
        #[source]
        source: Box<aws_sdk_opensearch::Error>,
    },
    /// The domain has no endpoint: it is being created, or deleted.
    #[error("the domain {domain:?} has no endpoint yet")]
    NoEndpoint {
        /// Its name.
        domain: String,
    },
    /// No credentials or no region to sign with.
    #[error("requests cannot be signed")]
    Sign(#[source] opensearch::Error),
    /// The HTTP client could not be built.
    #[error("the HTTP client could not be built")]
    Build(#[source] opensearch::http::transport::BuildError),
    /// No answer: the request may or may not have been carried out.
    #[error("{method} {path} had no answer")]
    NoAnswer {
        /// `GET`, `POST`, ...
        method: &'static str,
        /// The path.
        path: String,
        /// What happened.
        #[source]
        source: opensearch::Error,
    },
}

/// An answer of any status, its body as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body: JSON if it came from OpenSearch itself, anything if it came from something in between.
    pub body: Bytes,
}

/// Longer than any answer takes that is worth waiting for; callers have shorter deadlines.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// A server, or a cluster behind one URL.
#[derive(Debug, Clone)]
pub struct SearchClient {
    transport: Transport,
    gzip: Arc<AtomicU8>,
}

/// Bodies are sent as they are.
const GZIP_OFF: u8 = 0;
/// Bodies are compressed; no answer has shown yet that the server reads them.
const GZIP_TRIED: u8 = 1;
/// The server reads compressed bodies.
const GZIP_TAKEN: u8 = 2;

/// Smaller bodies are not worth it.
const GZIP_FROM_BYTES: usize = 1_024;

impl SearchClient {
    /// A client for that endpoint. `config` is where credentials and region come from when requests are signed.
    ///
    /// # Errors
    /// [`ClientError`], when nothing can be signed or the HTTP client cannot be built.
    pub fn new(
        endpoint: Url,
        auth: Auth,
        config: &aws_config::SdkConfig,
    ) -> Result<Self, ClientError> {
        // OpenSearch Serverless has a service name of its own (F-OS-11).
        let service = if endpoint
            .host_str()
            .is_some_and(|host| host.contains(".aoss."))
        {
            "aoss"
        } else {
            "es"
        };
        // No proxy out of the environment: nothing but the endpoint says where documents go.
        // Over a network, not on the same machine.
        let gzip = if endpoint.scheme() == "https" {
            GZIP_TRIED
        } else {
            GZIP_OFF
        };
        let mut builder = TransportBuilder::new(SingleNodeConnectionPool::new(endpoint))
            .timeout(REQUEST_TIMEOUT)
            .disable_proxy();
        if auth == Auth::SigV4 {
            builder = builder
                .service_name(service)
                .auth(Credentials::try_from(config).map_err(ClientError::Sign)?);
        }
        let transport = builder.build().map_err(ClientError::Build)?;
        Ok(Self {
            transport,
            gzip: Arc::new(AtomicU8::new(gzip)),
        })
    }

    /// Whether to try compressed bodies. By default over https only.
    #[must_use]
    pub fn with_gzip(self, tried: bool) -> Self {
        self.gzip
            .store(if tried { GZIP_TRIED } else { GZIP_OFF }, Ordering::Relaxed);
        self
    }

    /// Sends one request. Any status is an answer.
    ///
    /// # Errors
    /// [`ClientError::NoAnswer`].
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Body>,
    ) -> Result<Answer, ClientError> {
        let gzip = self.gzip.load(Ordering::Relaxed);
        let Some(packed) = body
            .as_ref()
            .filter(|_| gzip != GZIP_OFF)
            .and_then(Body::gzipped)
        else {
            return self.send_as(method, path, body).await;
        };
        let answer = self.send_as(method, path, Some(packed)).await?;
        if gzip == GZIP_TRIED {
            let taken = !matches!(answer.status, 400 | 415);
            self.gzip
                .store(if taken { GZIP_TAKEN } else { GZIP_OFF }, Ordering::Relaxed);
            if !taken {
                // Refused before anything was done. If the body was at fault and not its form, it is refused again.
                return self.send_as(method, path, body).await;
            }
        }
        Ok(answer)
    }

    async fn send_as(
        &self,
        method: Method,
        path: &str,
        body: Option<Body>,
    ) -> Result<Answer, ClientError> {
        let mut headers = HeaderMap::new();
        let body = body.map(|body| {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(body.content_type));
            if body.gzipped {
                headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            }
            body.bytes
        });
        let no_answer = |source| ClientError::NoAnswer {
            method: method_name(method),
            path: path.to_owned(),
            source,
        };
        // The transport signs the bytes as they are here: compressed (F-OS-11).
        let response = self
            .transport
            .send(method, path, headers, None::<&()>, body, None)
            .await
            .map_err(no_answer)?;
        let status: StatusCode = response.status_code();
        let body = response.bytes().await.map_err(no_answer)?;
        Ok(Answer {
            status: status.as_u16(),
            body,
        })
    }
}

/// A request's body and what it is.
#[derive(Debug, Clone)]
pub struct Body {
    content_type: &'static str,
    gzipped: bool,
    bytes: Bytes,
}

impl Body {
    /// One JSON value.
    #[must_use]
    pub fn json(value: &serde_json::Value) -> Self {
        Self {
            content_type: "application/json",
            gzipped: false,
            bytes: value.to_string().into(),
        }
    }

    /// Lines of JSON, each with its line feed.
    #[must_use]
    pub fn lines(lines: impl Into<Bytes>) -> Self {
        Self {
            content_type: "application/x-ndjson",
            gzipped: false,
            bytes: lines.into(),
        }
    }

    /// The body compressed; `None` when it is too small, or compressing fails.
    fn gzipped(&self) -> Option<Self> {
        if self.bytes.len() < GZIP_FROM_BYTES {
            return None;
        }
        let mut encoder = GzEncoder::new(
            Vec::with_capacity(self.bytes.len() / 4),
            Compression::fast(),
        );
        let packed = encoder
            .write_all(&self.bytes)
            .and_then(|()| encoder.finish())
            .ok()?;
        Some(Self {
            content_type: self.content_type,
            gzipped: true,
            bytes: packed.into(),
        })
    }
}

/// Parses an endpoint as configured.
///
/// # Errors
/// [`ClientError::Endpoint`].
pub fn parse_endpoint(endpoint: &str) -> Result<Url, ClientError> {
    let url = Url::parse(endpoint)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| ClientError::Endpoint {
        endpoint: endpoint.to_owned(),
    })
}

/// Looks up a domain's endpoint by its name, in or outside of a VPC. The control plane gives a host without a scheme.
///
/// # Errors
/// [`ClientError`], when the domain is not there or has no endpoint.
pub async fn resolve_domain(
    client: &aws_sdk_opensearch::Client,
    domain: &str,
) -> Result<Url, ClientError> {
    let answer = client.describe_domain().domain_name(domain).send().await;
    let answer = answer.map_err(|error| ClientError::Domain {
        domain: domain.to_owned(),
        source: Box::new(error.into()),
    })?;
    let found = answer.domain_status();
    let endpoint = found
        .and_then(|status| {
            status
                .endpoint()
                .or_else(|| status.endpoints()?.get("vpc").map(String::as_str))
        })
        .filter(|endpoint| !endpoint.is_empty())
        .ok_or_else(|| ClientError::NoEndpoint {
            domain: domain.to_owned(),
        })?;
    if endpoint.contains("://") {
        parse_endpoint(endpoint)
    } else {
        parse_endpoint(&format!("https://{endpoint}"))
    }
}

fn method_name(method: Method) -> &'static str {
    match method {
        Method::Get => "GET",
        Method::Put => "PUT",
        Method::Post => "POST",
        Method::Delete => "DELETE",
        Method::Head => "HEAD",
    }
}
