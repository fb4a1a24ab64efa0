//! The proof: what the files hold, and what the table holds.

use super::files::Files;
use super::read;
use super::state::{File, Key, Manifest};
use super::sum::Sum;
use crate::commands::archive::place::Watch;
use crate::error::CommandError;
use crate::session::Session;
use crate::tabular::unwritable;
use futures::stream::{FuturesUnordered, StreamExt as _};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::RowAccessor as _;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::io::Write as _;

/// The column of the item.
const ITEM: usize = 2;

/// What the files hold.
#[derive(Debug, Default)]
pub(super) struct Stored {
    pub(super) sum: Sum,
    /// Files that are not as they were written, one line each.
    pub(super) wrong: Vec<String>,
}

/// Reads every file back.
pub(super) async fn files(
    files: &Files,
    manifest: &Manifest,
    watch: &Watch,
) -> Result<Stored, CommandError> {
    let mut stored = Stored::default();
    let known: BTreeSet<&str> = manifest
        .files
        .iter()
        .map(|file| file.name.as_str())
        .collect();
    for name in files.names().await? {
        if !known.contains(name.as_str()) {
            stored.wrong.push(format!("{name}: not of this export"));
        }
    }
    for (place, file) in manifest.files.iter().enumerate() {
        watch.say(format!(
            "{place} of {} files read back",
            manifest.files.len()
        ));
        match files.get(&file.name).await? {
            None => stored.wrong.push(format!("{}: not there", file.name)),
            Some(bytes) => one(&mut stored, file, &bytes)?,
        }
    }
    Ok(stored)
}

fn one(stored: &mut Stored, file: &File, bytes: &[u8]) -> Result<(), CommandError> {
    if hex::encode(Sha256::digest(bytes)) != file.sha256 {
        stored.wrong.push(format!("{}: another SHA-256", file.name));
        return Ok(());
    }
    // The reader wants to seek: a file of no name has the bytes.
    let failed = |error| unwritable(None, &error);
    let mut held = tempfile::tempfile().map_err(failed)?;
    held.write_all(bytes).map_err(failed)?;
    match sum(held) {
        Ok(sum) if sum == file.sum => stored.sum.add(&sum),
        Ok(sum) => {
            stored.wrong.push(format!("{}: other items", file.name));
            stored.sum.add(&sum);
        }
        Err(error) => stored.wrong.push(format!("{}: {error}", file.name)),
    }
    Ok(())
}

fn sum(file: std::fs::File) -> Result<Sum, ParquetError> {
    let mut sum = Sum::default();
    for row in SerializedFileReader::new(file)?.get_row_iter(None)? {
        sum.add_item(row?.get_string(ITEM)?);
    }
    Ok(sum)
}

/// Reads the whole table once more.
pub(super) async fn table(
    session: &Session,
    segments: u32,
    watch: &Watch,
) -> Result<Sum, CommandError> {
    let next = |number: u32, after: Option<Key>| async move {
        let page = read::page(session, (number, segments), after.as_ref()).await;
        page.map(|(items, next)| (number, items, next))
    };
    let mut under_way: FuturesUnordered<_> =
        (0..segments).map(|number| next(number, None)).collect();
    let mut sum = Sum::default();
    while let Some(page) = under_way.next().await {
        let (number, items, after) = page?;
        items.iter().for_each(|kept| sum.add_item(&kept.item));
        watch.say(format!("{} items of the table compared", sum.items));
        if after.is_some() {
            under_way.push(next(number, after));
        }
    }
    Ok(sum)
}
