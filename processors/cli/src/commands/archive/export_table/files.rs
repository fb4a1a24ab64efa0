//! The objects of an export.

use super::state::Manifest;
use crate::error::{Code, CommandError};
use sagaline_lambda::{Listed, ParkBucket};

/// Names that begin with `_` are no data to Athena and its like (Amazon Athena User Guide, table location: files that begin with an underscore
/// or a dot are hidden).
const MANIFEST: &str = "_manifest.json";

/// Where the objects of one export are.
pub(super) struct Files {
    bucket: ParkBucket,
    prefix: String,
}

impl Files {
    pub(super) fn new(s3: aws_sdk_s3::Client, bucket: &str, table: &str, day: &str) -> Self {
        Self {
            bucket: ParkBucket::new(s3, bucket),
            prefix: format!("tables/{table}/dt={day}/"),
        }
    }

    /// For people.
    pub(super) fn url(&self) -> String {
        format!("s3://{}/{}", self.bucket.name(), self.prefix)
    }

    /// Whether there is anything.
    pub(super) async fn any(&self) -> Result<bool, CommandError> {
        Ok(!self.bucket.list(&self.prefix, None).await?.is_empty())
    }

    pub(super) async fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), CommandError> {
        Ok(self
            .bucket
            .put(&format!("{}{name}", self.prefix), bytes)
            .await?)
    }

    pub(super) async fn get(&self, name: &str) -> Result<Option<Vec<u8>>, CommandError> {
        Ok(self.bucket.get(&format!("{}{name}", self.prefix)).await?)
    }

    /// The names of all files but the manifest.
    pub(super) async fn names(&self) -> Result<Vec<String>, CommandError> {
        let (mut names, mut after) = (Vec::new(), None::<String>);
        loop {
            let page = self.bucket.list(&self.prefix, after.as_deref()).await?;
            let Some(last) = page.last() else {
                return Ok(names);
            };
            after = Some(last.key.clone());
            let name = |Listed { key, .. }: &Listed| {
                key.strip_prefix(&self.prefix)
                    .filter(|name| *name != MANIFEST)
                    .map(str::to_owned)
            };
            names.extend(page.iter().filter_map(name));
        }
    }

    pub(super) async fn manifest(&self) -> Result<Option<Manifest>, CommandError> {
        let Some(bytes) = self.get(MANIFEST).await? else {
            return Ok(None);
        };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| {
            CommandError::new(
                Code::BadData,
                format!("{}{MANIFEST} is no manifest: {error}", self.url()),
            )
        })
    }

    pub(super) async fn put_manifest(&self, manifest: &Manifest) -> Result<(), CommandError> {
        let bytes = serde_json::to_vec(manifest).map_err(|error| {
            CommandError::new(
                Code::BadData,
                format!("the manifest cannot be written: {error}"),
            )
        })?;
        self.put(MANIFEST, bytes).await
    }
}
