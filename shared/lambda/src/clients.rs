//! AWS clients: one configuration, built once a process, with time-outs that fit an invocation.
//!
//! `AWS_ENDPOINT_URL` and `AWS_ENDPOINT_URL_<SERVICE>` are the SDK's own variables and the only way to redirect a client.

use crate::runtime::BoxError;
use aws_config::default_provider::credentials::DefaultCredentialsChain;
use aws_config::default_provider::region::DefaultRegionChain;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, ConfigLoader, SdkConfig};
use aws_credential_types::provider::ProvideCredentials as _;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata as _, SdkError};
use std::time::Duration;

/// A connection inside a Region is there within milliseconds.
const CONNECT: Duration = Duration::from_secs(1);
/// One try of one call. A pooled connection may have died while the sandbox was frozen (F-RS-10): the first call on it then fails once, and
/// the SDK tries again.
const ATTEMPT: Duration = Duration::from_secs(5);
/// All tries of one call.
const OPERATION: Duration = Duration::from_secs(15);
/// Tries of one call by the SDK itself, for throttling and transient failures.
const ATTEMPTS: u32 = 3;

/// The first contact of a command has three parts. Together they stay below the five seconds within which a command says what is wrong:
/// finding the Region,
const REGION: Duration = Duration::from_millis(700);
/// finding credentials,
const CREDENTIALS: Duration = Duration::from_secs(2);
/// and one answer from the table.
const TABLE_ANSWER: Duration = Duration::from_secs(2);

/// Codes of a refusal that no retry and no permission mends (Amazon DynamoDB Developer Guide, common errors).
const NOT_ACCEPTED: [&str; 5] = [
    "UnrecognizedClientException",
    "InvalidSignatureException",
    "ExpiredTokenException",
    "MissingAuthenticationTokenException",
    "IncompleteSignatureException",
];

/// The AWS configuration of this process.
#[derive(Debug, Clone)]
pub struct Aws {
    sdk: SdkConfig,
}

/// Why a secret is not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// It could not be read.
    #[error("the secret {id} could not be read")]
    Unreadable {
        /// Its id.
        id: String,
        /// What Secrets Manager or the way to it said.
        #[source]
        source: BoxError,
    },
    /// It is binary.
    #[error("the secret {id} holds no text")]
    NoText {
        /// Its id.
        id: String,
    },
}

/// Why a command cannot work with the table, found out before it begins.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// No Region is set anywhere.
    #[error("no AWS Region is configured")]
    NoRegion,
    /// No credentials are found anywhere.
    #[error("no AWS credentials are found")]
    NoCredentials {
        /// What the chain of providers said.
        #[source]
        source: BoxError,
    },
    /// The credentials are not accepted.
    #[error("the AWS credentials are not accepted ({code})")]
    BadCredentials {
        /// The service's code.
        code: String,
    },
    /// There is nobody at the endpoint, or not in time.
    #[error("the DynamoDB endpoint cannot be reached")]
    Unreachable {
        /// What the connection said.
        #[source]
        source: BoxError,
    },
    /// There is no such table.
    #[error("there is no table {table}")]
    NoTable {
        /// Its name.
        table: String,
    },
}

impl Aws {
    /// For a processor.
    pub async fn load() -> Self {
        Self {
            sdk: loader(OPERATION).load().await,
        }
    }

    /// For a command: an endpoint may be given, and nobody waits long for a metadata service that is not there.
    pub async fn load_for_command(endpoint_url: Option<&str>) -> Self {
        let metadata = aws_config::imds::Client::builder()
            .max_attempts(1)
            .connect_timeout(Duration::from_millis(500))
            .read_timeout(Duration::from_millis(500))
            .build();
        let regions = DefaultRegionChain::builder().build();
        let region = tokio::time::timeout(REGION, regions.region())
            .await
            .ok()
            .flatten();
        // The chain would look for the Region once more by itself.
        let credentials = DefaultCredentialsChain::builder()
            .region(region.clone())
            .imds_client(metadata)
            .build()
            .await;
        let mut loader = loader(OPERATION)
            .credentials_provider(credentials)
            .region(region);
        if let Some(url) = endpoint_url {
            loader = loader.endpoint_url(url);
        }
        Self {
            sdk: loader.load().await,
        }
    }

    /// The configuration, for clients that this crate does not build.
    #[must_use]
    pub const fn sdk(&self) -> &SdkConfig {
        &self.sdk
    }

    /// A DynamoDB client.
    #[must_use]
    pub fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        aws_sdk_dynamodb::Client::new(&self.sdk)
    }

    /// An SQS client.
    #[must_use]
    pub fn sqs(&self) -> aws_sdk_sqs::Client {
        aws_sdk_sqs::Client::new(&self.sdk)
    }

    /// An S3 client. A redirected one puts the bucket into the path: a local server has no host name for each bucket.
    #[must_use]
    pub fn s3(&self) -> aws_sdk_s3::Client {
        let redirected = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]
            .iter()
            .any(|name| std::env::var_os(name).is_some());
        let redirected = redirected || self.sdk.endpoint_url().is_some();
        let config = aws_sdk_s3::config::Builder::from(&self.sdk)
            .force_path_style(redirected)
            .build();
        aws_sdk_s3::Client::from_conf(config)
    }

    /// The text of a secret.
    ///
    /// # Errors
    /// [`SecretError`]; nothing of the secret is in it.
    pub async fn secret(&self, id: &str) -> Result<String, SecretError> {
        let client = aws_sdk_secretsmanager::Client::new(&self.sdk);
        match client.get_secret_value().secret_id(id).send().await {
            Ok(answer) => answer
                .secret_string()
                .map(str::to_owned)
                .ok_or_else(|| SecretError::NoText { id: id.to_owned() }),
            Err(error) => Err(SecretError::Unreadable {
                id: id.to_owned(),
                source: error.into(),
            }),
        }
    }

    /// First contact of a command: credentials, endpoint and table, within five seconds.
    ///
    /// A refusal for lack of the permission to describe the table passes: whoever refuses is there and knows the credentials.
    ///
    /// # Errors
    /// [`TableError`] says which of the three is missing.
    pub async fn check_table(&self, table: &str) -> Result<(), TableError> {
        self.check_credentials().await?;
        let once = aws_sdk_dynamodb::config::Builder::from(&self.sdk)
            .retry_config(RetryConfig::disabled())
            .build();
        let call = aws_sdk_dynamodb::Client::from_conf(once);
        let call = call.describe_table().table_name(table).send();
        match tokio::time::timeout(TABLE_ANSWER, call).await {
            Err(late) => Err(TableError::Unreachable {
                source: late.into(),
            }),
            Ok(Err(SdkError::ServiceError(refused))) => match refused.err().code() {
                Some("ResourceNotFoundException") => Err(TableError::NoTable {
                    table: table.to_owned(),
                }),
                Some(code) if NOT_ACCEPTED.contains(&code) => Err(TableError::BadCredentials {
                    code: code.to_owned(),
                }),
                Some(_) | None => Ok(()),
            },
            Ok(Err(
                error @ (SdkError::DispatchFailure(_)
                | SdkError::TimeoutError(_)
                | SdkError::ConstructionFailure(_)),
            )) => Err(TableError::Unreachable {
                source: error.into(),
            }),
            // Somebody answers, if not in the words of DynamoDB: the command itself will say what.
            Ok(Err(_) | Ok(_)) => Ok(()),
        }
    }

    /// The first half of it: a Region, and credentials.
    ///
    /// # Errors
    /// [`TableError::NoRegion`] or [`TableError::NoCredentials`].
    pub async fn check_credentials(&self) -> Result<(), TableError> {
        if self.sdk.region().is_none() {
            return Err(TableError::NoRegion);
        }
        let Some(provider) = self.sdk.credentials_provider() else {
            return Err(TableError::NoCredentials {
                source: "no provider is configured".into(),
            });
        };
        match tokio::time::timeout(CREDENTIALS, provider.provide_credentials()).await {
            Ok(Ok(_)) => {}
            Ok(Err(source)) => {
                return Err(TableError::NoCredentials {
                    source: source.into(),
                });
            }
            Err(late) => {
                return Err(TableError::NoCredentials {
                    source: late.into(),
                });
            }
        }
        Ok(())
    }
}

fn loader(operation: Duration) -> ConfigLoader {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT)
        .operation_attempt_timeout(ATTEMPT)
        .operation_timeout(operation)
        .build();
    aws_config::defaults(BehaviorVersion::latest())
        .timeout_config(timeouts)
        .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS))
}
