//! Objects of the bucket: read ahead, taken up in the order of their keys, removed when all of them is settled.

use super::job::{Job, Place};
use super::piece::{Piece, Unusable, Who, of_document, of_parked};
use super::store::{DOCUMENTS, nothing_at};
use crate::error::CommandError;
use futures::stream::{self, StreamExt as _};
use sagaline_lambda::{BucketError, ParkBucket};

/// Objects read at the same time, and so many are taken up together: a document has up to 6 MB (F-ESM-1).
const AHEAD: usize = 16;

/// Which objects.
#[derive(Debug)]
pub(crate) enum Keys {
    /// An operator named them: each must be there.
    Named(Vec<String>),
    /// They were listed: one that is gone by now is somebody else's work.
    Listed(Vec<String>),
}

impl Keys {
    pub(crate) fn len(&self) -> usize {
        let (Self::Named(keys) | Self::Listed(keys)) = self;
        keys.len()
    }
}

/// Takes up objects; `pieces` says what one holds, and `None` leaves it alone.
pub(crate) async fn take(
    job: &mut Job<'_, '_>,
    bucket: &ParkBucket,
    keys: &Keys,
    pieces: impl Fn(&str, &[u8]) -> Option<Result<Vec<Piece>, Unusable>>,
) -> Result<(), CommandError> {
    let (named, keys) = match keys {
        Keys::Named(keys) => (true, keys),
        Keys::Listed(keys) => (false, keys),
    };
    for few in keys.chunks(AHEAD) {
        if job.is_hopeless() {
            break;
        }
        let read = read_all(bucket, few).await?;
        let mut places = Vec::with_capacity(few.len());
        let mut missing = None;
        for (key, bytes) in few.iter().zip(read) {
            match bytes {
                Some(bytes) => {
                    places.extend(pieces(key, &bytes).map(|pieces| Place {
                        name: key.clone(),
                        pieces,
                    }));
                }
                None if named => {
                    missing = Some(nothing_at(bucket, key));
                    break;
                }
                None => {}
            }
        }
        let went = job.take(&places).await;
        for (place, _) in places
            .iter()
            .zip(went.settled)
            .filter(|(_, settled)| *settled)
        {
            bucket.delete(&place.name).await?;
            job.removed();
        }
        went.result?;
        missing.map_or(Ok(()), Err)?;
    }
    Ok(())
}

/// What an object holds, by the folder that it lies in.
pub(crate) fn pieces_of(key: &str, bytes: &[u8], to: Option<Who>) -> Result<Vec<Piece>, Unusable> {
    if key.starts_with(DOCUMENTS) {
        of_document(bytes, to)
    } else {
        of_parked(bytes)
    }
}

async fn read_all(
    bucket: &ParkBucket,
    keys: &[String],
) -> Result<Vec<Option<Vec<u8>>>, BucketError> {
    let reads: Vec<_> = keys.iter().map(|key| bucket.get(key)).collect();
    let read: Vec<_> = stream::iter(reads).buffered(AHEAD).collect().await;
    read.into_iter().collect()
}
