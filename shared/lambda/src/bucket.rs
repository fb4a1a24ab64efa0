//! The park bucket: what will never work (`parked/`), and rows too large for a retry queue (`spill/`).

use crate::runtime::BoxError;
use aws_sdk_s3::Client;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::delete_object::DeleteObjectError;
use aws_sdk_s3::operation::get_object::GetObjectError;
use aws_sdk_s3::operation::list_objects_v2::ListObjectsV2Error;
use aws_sdk_s3::operation::put_object::PutObjectError;
use aws_sdk_s3::primitives::ByteStream;
use sagaline_stream::{Parked, Parking};

/// What went wrong with an object.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BucketError {
    /// The object could not be written.
    #[error("s3://{bucket}/{key} could not be written")]
    Put {
        /// The bucket.
        bucket: String,
        /// The key.
        key: String,
        /// What S3 or the way to it said.
        #[source]
        source: BoxError,
    },
    /// The object could not be read. It may be there.
    #[error("s3://{bucket}/{key} could not be read")]
    Get {
        /// The bucket.
        bucket: String,
        /// The key.
        key: String,
        /// What S3 or the way to it said.
        #[source]
        source: BoxError,
    },
    /// The objects could not be listed.
    #[error("s3://{bucket}/{prefix} could not be listed")]
    List {
        /// The bucket.
        bucket: String,
        /// What their keys begin with.
        prefix: String,
        /// What S3 or the way to it said.
        #[source]
        source: BoxError,
    },
    /// The object could not be removed. It may be gone.
    #[error("s3://{bucket}/{key} could not be removed")]
    Delete {
        /// The bucket.
        bucket: String,
        /// The key.
        key: String,
        /// What S3 or the way to it said.
        #[source]
        source: BoxError,
    },
}

impl BucketError {
    /// The code of S3's refusal, as in `NoSuchBucket` or `AccessDenied`; `None` when S3 did not answer.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Put { source, .. } => code_of::<PutObjectError>(source),
            Self::Get { source, .. } => code_of::<GetObjectError>(source),
            Self::List { source, .. } => code_of::<ListObjectsV2Error>(source),
            Self::Delete { source, .. } => code_of::<DeleteObjectError>(source),
        }
    }
}

fn code_of<E: ProvideErrorMetadata + std::error::Error + 'static>(
    source: &BoxError,
) -> Option<&str> {
    source
        .downcast_ref::<SdkError<E>>()?
        .as_service_error()?
        .code()
}

/// An object of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its key.
    pub key: String,
    /// Its size.
    pub bytes: u64,
}

/// A bucket and the way to it.
#[derive(Debug, Clone)]
pub struct ParkBucket {
    client: Client,
    bucket: String,
}

impl ParkBucket {
    /// The bucket of that name.
    #[must_use]
    pub fn new(client: Client, bucket: impl Into<String>) -> Self {
        Self {
            client,
            bucket: bucket.into(),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.bucket
    }

    /// Writes a JSON object. Writing the same again replaces it by itself.
    ///
    /// # Errors
    /// [`BucketError::Put`] after the SDK's own retries.
    pub async fn put(&self, key: &str, json: Vec<u8>) -> Result<(), BucketError> {
        let call = self
            .client
            .put_object()
            .bucket(&self.bucket)
            .key(key)
            .content_type("application/json")
            .body(ByteStream::from(json));
        match call.send().await {
            Ok(_) => Ok(()),
            Err(error) => Err(BucketError::Put {
                bucket: self.bucket.clone(),
                key: key.to_owned(),
                source: error.into(),
            }),
        }
    }

    /// Reads an object; `None` when it is not there (any more). With the permission to list the bucket, S3 tells an absent object from
    /// one that may not be read (Amazon S3 API Reference, GetObject: 404 with `s3:ListBucket`, else 403).
    ///
    /// # Errors
    /// [`BucketError::Get`] for everything but a definite absence.
    pub async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, BucketError> {
        let failed = |source: BoxError| BucketError::Get {
            bucket: self.bucket.clone(),
            key: key.to_owned(),
            source,
        };
        let object = match self
            .client
            .get_object()
            .bucket(&self.bucket)
            .key(key)
            .send()
            .await
        {
            Ok(object) => object,
            Err(SdkError::ServiceError(refused)) if refused.err().is_no_such_key() => {
                return Ok(None);
            }
            Err(error) => return Err(failed(error.into())),
        };
        object
            .body
            .collect()
            .await
            .map(|body| Some(body.to_vec()))
            .map_err(|error| failed(error.into()))
    }

    /// One page of the objects whose keys begin with `prefix`, in the order of their keys, those after `after`. An empty page is the end.
    ///
    /// # Errors
    /// [`BucketError::List`] after the SDK's own retries.
    pub async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
    ) -> Result<Vec<Listed>, BucketError> {
        let call = self
            .client
            .list_objects_v2()
            .bucket(&self.bucket)
            .prefix(prefix)
            .set_start_after(after.map(str::to_owned));
        match call.send().await {
            Ok(page) => Ok(page
                .contents()
                .iter()
                .filter_map(|object| {
                    Some(Listed {
                        key: object.key()?.to_owned(),
                        bytes: object
                            .size()
                            .and_then(|bytes| u64::try_from(bytes).ok())
                            .unwrap_or_default(),
                    })
                })
                .collect()),
            Err(error) => Err(BucketError::List {
                bucket: self.bucket.clone(),
                prefix: prefix.to_owned(),
                source: error.into(),
            }),
        }
    }

    /// Removes an object. One that is not there is no error.
    ///
    /// # Errors
    /// [`BucketError::Delete`] after the SDK's own retries.
    pub async fn delete(&self, key: &str) -> Result<(), BucketError> {
        let call = self.client.delete_object().bucket(&self.bucket).key(key);
        match call.send().await {
            Ok(_) => Ok(()),
            Err(error) => Err(BucketError::Delete {
                bucket: self.bucket.clone(),
                key: key.to_owned(),
                source: error.into(),
            }),
        }
    }
}

impl Parking for ParkBucket {
    async fn park(&self, parked: &Parked) -> Result<(), BoxError> {
        let object = serde_json::to_vec(parked)?;
        self.put(&parked.key(), object).await?;
        Ok(())
    }
}
