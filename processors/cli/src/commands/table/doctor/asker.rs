//! Two read-only questions to services that have no client in this workspace: Lambda's mappings, CloudWatch's alarms and metrics.
//!
//! They are signed as every request to AWS is. A whole client for each would add minutes to every build, for three calls of one command.

use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use reqwest::Method;
use sagaline_lambda::{Aws, BoxError, now, one_line};
use serde_json::Value;
use std::time::{Duration, UNIX_EPOCH};
use url::Url;

/// One answer.
const ANSWER: Duration = Duration::from_secs(5);
/// A question that got no usable answer is asked once more: it changes nothing.
const ATTEMPTS: u32 = 2;

/// Asks, and is told why when there is no answer.
pub(super) struct Asker {
    http: reqwest::Client,
    region: String,
    credentials: SharedCredentialsProvider,
    /// Where all services are, if not at AWS.
    endpoint: Option<String>,
}

struct Service {
    /// For the signature, which the host begins with as well unless `host` says otherwise.
    name: &'static str,
    host: &'static str,
    /// The SDK's own variable for it.
    variable: &'static str,
}

const LAMBDA: Service = Service {
    name: "lambda",
    host: "lambda",
    variable: "AWS_ENDPOINT_URL_LAMBDA",
};
const CLOUDWATCH: Service = Service {
    name: "monitoring",
    host: "monitoring",
    variable: "AWS_ENDPOINT_URL_CLOUDWATCH",
};

struct Request<'a> {
    method: Method,
    url: Url,
    headers: Vec<(&'a str, &'a str)>,
    body: String,
}

impl Asker {
    pub(super) fn new(aws: &Aws) -> Result<Self, BoxError> {
        let sdk = aws.sdk();
        Ok(Self {
            http: reqwest::Client::builder().timeout(ANSWER).build()?,
            region: sdk.region().ok_or("no Region is set")?.to_string(),
            credentials: sdk
                .credentials_provider()
                .ok_or("there are no credentials")?,
            endpoint: endpoint(aws),
        })
    }

    /// A page of the mappings that read from a stream or queue (Lambda API, ListEventSourceMappings).
    pub(super) async fn mappings(
        &self,
        source_arn: &str,
        marker: Option<&str>,
    ) -> Result<Value, String> {
        let mut url = self.place(&LAMBDA, "/2015-03-31/event-source-mappings/")?;
        url.query_pairs_mut()
            .append_pair("EventSourceArn", source_arn);
        if let Some(marker) = marker {
            url.query_pairs_mut().append_pair("Marker", marker);
        }
        let request = Request {
            method: Method::GET,
            url,
            headers: Vec::new(),
            body: String::new(),
        };
        self.ask(&LAMBDA, &request).await
    }

    /// An operation of CloudWatch in its JSON protocol (CloudWatch service model: `GraniteServiceVersion20100801`).
    pub(super) async fn cloudwatch(&self, operation: &str, input: &Value) -> Result<Value, String> {
        let target = format!("GraniteServiceVersion20100801.{operation}");
        let request = Request {
            method: Method::POST,
            url: self.place(&CLOUDWATCH, "/")?,
            headers: vec![
                ("content-type", "application/x-amz-json-1.0"),
                ("x-amz-target", &target),
            ],
            body: input.to_string(),
        };
        self.ask(&CLOUDWATCH, &request).await
    }

    fn place(&self, service: &Service, path: &str) -> Result<Url, String> {
        let own = std::env::var(service.variable).ok();
        let base = own.or_else(|| self.endpoint.clone()).unwrap_or_else(|| {
            let domain = if self.region.starts_with("cn-") {
                "amazonaws.com.cn"
            } else {
                "amazonaws.com"
            };
            format!("https://{}.{}.{domain}", service.host, self.region)
        });
        let text = format!("{}{path}", base.trim_end_matches('/'));
        Url::parse(&text).map_err(|error| format!("{text}: {error}"))
    }

    async fn ask(&self, service: &Service, request: &Request<'_>) -> Result<Value, String> {
        let mut why = String::new();
        for _ in 0..ATTEMPTS {
            match self.once(service, request).await {
                Ok((status, text)) if (200..300).contains(&status) => {
                    return serde_json::from_str(&text)
                        .map_err(|_| format!("{} gave an answer that is no JSON", service.name));
                }
                Ok((status, text)) => {
                    why = format!("{} said {status}: {}", service.name, message(&text));
                    if status < 500 && status != 429 {
                        return Err(why);
                    }
                }
                Err(error) => why = format!("{}: {}", service.name, one_line(error.as_ref())),
            }
        }
        Err(why)
    }

    async fn once(
        &self,
        service: &Service,
        request: &Request<'_>,
    ) -> Result<(u16, String), BoxError> {
        let identity = self.credentials.provide_credentials().await?.into();
        let millis = u64::try_from(now().as_millis()).unwrap_or_default();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(service.name)
            .time(UNIX_EPOCH + Duration::from_millis(millis))
            .settings(SigningSettings::default())
            .build()?
            .into();
        let signable = SignableRequest::new(
            request.method.as_str(),
            request.url.as_str(),
            request.headers.iter().copied(),
            SignableBody::Bytes(request.body.as_bytes()),
        )?;
        let (instructions, _) = sign(signable, &params)?.into_parts();
        let mut call = self
            .http
            .request(request.method.clone(), request.url.clone());
        for (name, value) in request
            .headers
            .iter()
            .copied()
            .chain(instructions.headers())
        {
            call = call.header(name, value);
        }
        let answer = call.body(request.body.clone()).send().await;
        // The address says nothing that the service's name does not.
        let answer = answer.map_err(reqwest::Error::without_url)?;
        let status = answer.status().as_u16();
        Ok((status, answer.text().await?))
    }
}

/// Where AWS is, if somewhere else than at AWS.
pub(super) fn endpoint(aws: &Aws) -> Option<String> {
    let configured = aws.sdk().endpoint_url().map(str::to_owned);
    configured.or_else(|| std::env::var("AWS_ENDPOINT_URL").ok())
}

/// The message of an error in any of AWS's forms, short.
fn message(text: &str) -> String {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let said = ["message", "Message", "__type"]
        .iter()
        .find_map(|name| value.get(*name)?.as_str());
    said.unwrap_or(text).chars().take(200).collect()
}
