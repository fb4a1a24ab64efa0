//! Sending on-failure documents to SQS and S3.

use std::time::Duration;

use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};

use crate::aws_error::short;
use crate::clock;
use crate::config::DestinationArn;
use crate::document::{Origin, object_key, pointer, with_payload};
use crate::shard::Discarded;

/// The first and the longest pause before a destination that cannot be reached is tried again. The SDK repeats each attempt too.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// See [`FIRST_PAUSE`].
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Where a mapping's documents go.
#[derive(Debug, Clone, Default)]
pub struct OnFailure(Target);

#[derive(Debug, Clone, Default)]
enum Target {
    #[default]
    Nowhere,
    Queue {
        client: aws_sdk_sqs::Client,
        url: String,
    },
    Bucket {
        client: aws_sdk_s3::Client,
        name: String,
    },
}

/// What became of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// The destination has it.
    Delivered,
    /// The destination did not take it.
    Refused,
    /// There is no destination: the records are gone without a trace (F-ESM-21).
    Nowhere,
}

impl OnFailure {
    /// A queue, by its URL.
    #[must_use]
    pub fn queue(client: aws_sdk_sqs::Client, url: String) -> Self {
        Self(Target::Queue { client, url })
    }

    /// A bucket, by its name.
    #[must_use]
    pub fn bucket(client: aws_sdk_s3::Client, name: String) -> Self {
        Self(Target::Bucket { client, name })
    }

    /// Finds the destination of a mapping.
    ///
    /// # Errors
    /// A sentence: the queue does not exist, or SQS cannot be reached.
    pub(crate) async fn resolve(
        arn: Option<&DestinationArn>,
        sqs: &aws_sdk_sqs::Client,
        s3: &aws_sdk_s3::Client,
    ) -> Result<Self, String> {
        Ok(Self(match arn {
            None => Target::Nowhere,
            Some(DestinationArn::Bucket { name }) => {
                s3.head_bucket()
                    .bucket(name)
                    .send()
                    .await
                    .map_err(|error| format!("bucket {name}: {}", short(&error)))?;
                Target::Bucket {
                    client: s3.clone(),
                    name: name.clone(),
                }
            }
            Some(DestinationArn::Queue { arn, account, name }) => {
                let answer = sqs
                    .get_queue_url()
                    .queue_name(name)
                    .queue_owner_aws_account_id(account)
                    .send()
                    .await;
                let url = answer
                    .map_err(|error| format!("{arn}: {}", short(&error)))?
                    .queue_url
                    .ok_or_else(|| format!("{arn}: it has no URL"))?;
                Target::Queue {
                    client: sqs.clone(),
                    url,
                }
            }
        }))
    }

    /// Sends the document of a discarded batch. A destination that cannot be reached is waited for: the lane stands still, and
    /// nothing is lost. One that refuses the document drops the records, as AWS does (F-ESM-22: they did not come back after
    /// the permission was repaired).
    pub(crate) async fn deliver(&self, origin: &Origin, discarded: &Discarded) -> Delivery {
        let now = clock::now();
        // One key for all attempts: one that was taken, but whose answer was lost, leaves no second object.
        let key = object_key(origin, now, clock::fresh_id());
        let mut wait = FIRST_PAUSE;
        loop {
            let sent = match &self.0 {
                Target::Nowhere => return Delivery::Nowhere,
                Target::Queue { client, url } => {
                    let message = client.send_message().queue_url(url);
                    let sent = message
                        .message_body(pointer(origin, discarded, now))
                        .send()
                        .await;
                    sent.map(drop).map_err(|error| Trouble::of(&error))
                }
                Target::Bucket { client, name } => {
                    let body = with_payload(origin, discarded, now).into_bytes().into();
                    let object = client.put_object().bucket(name).key(&key);
                    let put = object
                        .content_type("application/octet-stream")
                        .body(body)
                        .send()
                        .await;
                    put.map(drop).map_err(|error| Trouble::of(&error))
                }
            };
            match sent {
                Ok(()) => return Delivery::Delivered,
                Err(Trouble {
                    refused: true,
                    reason,
                }) => {
                    let records = discarded.records.len();
                    tracing::error!(shard = %origin.shard_id, records, %reason, "records are dropped: their destination refuses the document");
                    return Delivery::Refused;
                }
                Err(Trouble {
                    refused: false,
                    reason,
                }) => {
                    tracing::warn!(shard = %origin.shard_id, %reason, "the destination cannot be reached; its document is sent again");
                    tokio::time::sleep_until(tokio::time::Instant::now() + wait).await;
                    wait = (wait * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }
}

/// Why a document was not taken.
struct Trouble {
    /// The destination has read it and said no; asking again changes nothing.
    refused: bool,
    reason: String,
}

impl Trouble {
    fn of<E: std::error::Error + ProvideErrorMetadata + Send + Sync + 'static>(
        error: &SdkError<E>,
    ) -> Self {
        let status = error.raw_response().map(|response| response.status());
        let throttled = error
            .code()
            .is_some_and(|code| code.contains("Throttl") || code == "SlowDown");
        let refused = status
            .is_some_and(|status| status.is_client_error() && status.as_u16() != 429)
            && !throttled;
        Self {
            refused,
            reason: short(error),
        }
    }
}
