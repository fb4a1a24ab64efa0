//! Writing: each segment fills one file after another; a file counts when it is stored and the state says so.

use super::files::Files;
use super::read::{self, Kept as Item};
use super::state::{File, Kept, Key, Segment, State};
use super::sum::Sum;
use crate::commands::archive::place::Watch;
use crate::error::CommandError;
use crate::session::Session;
use crate::tabular::{Column, Format, Writer, unwritable};
use futures::stream::{FuturesUnordered, StreamExt as _};
use std::io;
use std::path::Path;

/// A file ends when its items have this many bytes of text.
const FILE_BYTES: usize = 32 * 1024 * 1024;

/// Exports what is not exported yet, and writes the manifest.
pub(super) async fn run(
    session: &Session,
    files: &Files,
    state: &mut State,
    kept: Option<&Kept<'_>>,
    watch: &Watch,
) -> Result<(), CommandError> {
    let segments = u32::try_from(state.segments.len()).unwrap_or(u32::MAX);
    let next = |segment: Segment| next_file(session, files, segments, segment);
    let mut under_way: FuturesUnordered<_> = state
        .segments
        .iter()
        .filter(|segment| !segment.finished)
        .cloned()
        .map(&next)
        .collect();
    while let Some(done) = under_way.next().await {
        let segment = done?;
        if let Some(stored) = state
            .segments
            .iter_mut()
            .find(|stored| stored.number == segment.number)
        {
            *stored = segment.clone();
        }
        if let Some(kept) = kept {
            kept.write(state)?;
        }
        let items: u64 = state
            .segments
            .iter()
            .flat_map(|segment| &segment.files)
            .map(|file| file.sum.items)
            .sum();
        watch.say(format!("{items} items exported"));
        if !segment.finished {
            under_way.push(next(segment));
        }
    }
    files.put_manifest(&state.manifest(&session.table)).await
}

/// Fills the segment's next file and stores it. Of one that is stopped before, nothing counts: its name is used again.
async fn next_file(
    session: &Session,
    files: &Files,
    segments: u32,
    mut segment: Segment,
) -> Result<Segment, CommandError> {
    let folder = tempfile::tempdir().map_err(|error| unwritable(None, &error))?;
    let name = format!(
        "part-{:03}-{:05}.parquet",
        segment.number,
        segment.files.len()
    );
    let path = folder.path().join(&name);
    let failed = |error: io::Error| unwritable(Some(&path), &error);
    let columns = ["pk", "sk", "item"].map(Column::text).to_vec();
    let mut writer = Writer::create(Format::Parquet, columns, Some(&path)).map_err(failed)?;
    let (mut sum, mut bytes) = (Sum::default(), 0);
    while bytes < FILE_BYTES && !segment.finished {
        let (items, next) = page(session, segments, &segment).await?;
        for Item { pk, sk, item } in items {
            sum.add_item(&item);
            bytes += item.len();
            writer
                .write(vec![pk.into(), sk.into(), item.into()])
                .map_err(failed)?;
        }
        segment.finished = next.is_none();
        segment.after = next;
    }
    if sum.items > 0 {
        let written = writer.finish().map_err(failed)?;
        files.put(&name, read_whole(&path)?).await?;
        segment.files.push(File {
            name,
            bytes: written.bytes,
            sha256: written.sha256,
            sum,
        });
    }
    Ok(segment)
}

async fn page(
    session: &Session,
    segments: u32,
    segment: &Segment,
) -> Result<(Vec<Item>, Option<Key>), CommandError> {
    read::page(session, (segment.number, segments), segment.after.as_ref()).await
}

fn read_whole(path: &Path) -> Result<Vec<u8>, CommandError> {
    std::fs::read(path).map_err(|error| unwritable(Some(path), &error))
}
