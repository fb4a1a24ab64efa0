//! Rows into a file or standard output, as CSV, JSON lines or Parquet.
//!
//! A [`Writer`] takes rows one at a time and holds no more than one row group of them, whatever their number. A file appears under its name
//! only when it is whole: it is written beside its place and renamed by [`Writer::finish`]; a writer that is dropped leaves nothing. `finish`
//! says how many rows there are and the SHA-256 of every byte, so that a copy can be checked later.
//!
//! It refuses to know where rows come from. Start reading at [`Writer`].
//!
//! ```ignore
//! let columns = vec![Column::text("order_id"), Column::integer("version"), Column::new("ttl_expired", Kind::Boolean)];
//! let mut writer = Writer::create(Format::Parquet, columns, Some(Path::new("changes.parquet")))?;
//! writer.write(vec!["o-1".into(), 3.into(), Cell::Null])?;
//! let written = writer.finish()?;   // rows, bytes, sha256
//! ```

mod columnar;
mod lines;
mod place;
#[cfg(test)]
mod tests;

use crate::error::{Code, CommandError};
use columnar::Columnar;
use lines::{Csv, Lines};
use place::Place;
use std::io;
use std::path::Path;

/// The form of a file of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Comma-separated values with a header line (RFC 4180, lines end with a line feed). NULL and the empty text look alike.
    Csv,
    /// One JSON object a line, every column in each.
    Ndjson,
    /// Apache Parquet, columns compressed with Snappy.
    Parquet,
}

/// What a column holds. Each may hold NULL as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// UTF-8.
    Text,
    /// A signed integer of 64 bits.
    Integer,
    /// True or false.
    Boolean,
}

/// A column's name and kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Column {
    /// Its name.
    pub(crate) name: String,
    /// What it holds.
    pub(crate) kind: Kind,
}

impl Column {
    /// A column of texts.
    pub(crate) fn text(name: &str) -> Self {
        Self::new(name, Kind::Text)
    }

    /// A column of integers.
    pub(crate) fn integer(name: &str) -> Self {
        Self::new(name, Kind::Integer)
    }

    /// A column of that kind.
    pub(crate) fn new(name: &str, kind: Kind) -> Self {
        Self {
            name: name.to_owned(),
            kind,
        }
    }
}

/// One value of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cell {
    /// No value.
    Null,
    /// A text.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A boolean.
    Boolean(bool),
}

impl Cell {
    /// Whether it may stand in a column of that kind.
    const fn is_of(&self, kind: Kind) -> bool {
        matches!(
            (self, kind),
            (Self::Null, _)
                | (Self::Text(_), Kind::Text)
                | (Self::Integer(_), Kind::Integer)
                | (Self::Boolean(_), Kind::Boolean)
        )
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<bool> for Cell {
    fn from(flag: bool) -> Self {
        Self::Boolean(flag)
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    /// How many rows.
    pub(crate) rows: u64,
    /// How many bytes.
    pub(crate) bytes: u64,
    /// SHA-256 of all bytes, lower-case hexadecimal.
    pub(crate) sha256: String,
}

enum Form {
    Csv(Box<Csv<Place>>),
    Lines(Box<Lines<Place>>),
    Columnar(Box<Columnar<Place>>),
}

/// Writes rows.
pub(crate) struct Writer {
    columns: Vec<Column>,
    form: Form,
    rows: u64,
}

impl Writer {
    /// Begins a file at `path`, or with `None` on standard output.
    ///
    /// # Errors
    /// The folder is not there or not writable; Parquet would go to a terminal.
    pub(crate) fn create(
        format: Format,
        columns: Vec<Column>,
        path: Option<&Path>,
    ) -> io::Result<Self> {
        let place = Place::open(format, path)?;
        let form = match format {
            Format::Csv => Form::Csv(Box::new(Csv::begin(place, &columns)?)),
            Format::Ndjson => Form::Lines(Box::new(Lines::begin(place, &columns)?)),
            Format::Parquet => Form::Columnar(Box::new(Columnar::begin(place, &columns)?)),
        };
        Ok(Self {
            columns,
            form,
            rows: 0,
        })
    }

    /// Writes a row: a cell for each column, in their order.
    ///
    /// # Errors
    /// What writing gives; `InvalidInput` when the cells are not those of the columns.
    pub(crate) fn write(&mut self, row: Vec<Cell>) -> io::Result<()> {
        let fits = row.len() == self.columns.len()
            && self
                .columns
                .iter()
                .zip(&row)
                .all(|(column, cell)| cell.is_of(column.kind));
        if !fits {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("row {} does not fit the columns", self.rows + 1),
            ));
        }
        match &mut self.form {
            Form::Csv(csv) => csv.write(&row)?,
            Form::Lines(lines) => lines.write(&row)?,
            Form::Columnar(columnar) => columnar.write(row)?,
        }
        self.rows += 1;
        Ok(())
    }

    /// Writes what is left, and gives the file its name.
    ///
    /// # Errors
    /// What writing, syncing and renaming give; then there is no file.
    pub(crate) fn finish(self) -> io::Result<Written> {
        let place = match self.form {
            Form::Csv(csv) => csv.end()?,
            Form::Lines(lines) => lines.end(),
            Form::Columnar(columnar) => columnar.end()?,
        };
        let (bytes, sha256) = place.close()?;
        Ok(Written {
            rows: self.rows,
            bytes,
            sha256,
        })
    }
}

/// An error of this module as one of the command line.
pub(crate) fn unwritable(path: Option<&Path>, error: &io::Error) -> CommandError {
    let place = path.map_or_else(
        || "standard output".to_owned(),
        |path| path.display().to_string(),
    );
    CommandError::new(
        Code::UnreadableFile,
        format!("{place} cannot be written: {error}"),
    )
    .advise("check the path, its permissions and the space there")
}
