//! Which records are the sinks' business: a mapping may be made without its filter, and a file has none.

use sagaline_store::HEAD_SK;
use sagaline_stream::{Change, Failure, Image, Record};

/// Whose business a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ours {
    /// A change to be projected.
    Yes,
    /// Another item of the table.
    No,
    /// A head that was written past the one commit function: its version stayed.
    Unchanged,
}

/// Looks at a record. Pure.
///
/// # Errors
/// Poison, for a record that does not say which item it is of, or lacks the image that its kind of change must have.
pub fn ours(record: &Record<'_>) -> Result<Ours, Failure> {
    let images = [record.keys(), record.new_image(), record.old_image()];
    let Some(kind) = images.into_iter().flatten().find_map(|image| image.s("SK")) else {
        return Err(Failure::poison(
            "a record that does not say which item it is of",
        ));
    };
    if kind != HEAD_SK {
        return Ok(Ours::No);
    }
    match record.change()? {
        Change::Modify {
            new,
            old: Some(old),
        } => {
            let version = |image: &Image<'_>| image.n_integer("version").and_then(Result::ok);
            let stayed = version(new).is_some_and(|now| version(old) == Some(now));
            Ok(if stayed { Ours::Unchanged } else { Ours::Yes })
        }
        Change::Insert { .. } | Change::Modify { old: None, .. } | Change::Remove { .. } => {
            Ok(Ours::Yes)
        }
    }
}
