//! Parquet: rows are held by column until a row group is full, then written and forgotten.

use super::{Cell, Column, Kind};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use std::io::{self, Write};
use std::sync::Arc;

/// A row group ends with this many rows ...
const MAX_GROUP_ROWS: usize = 100_000;
/// ... or when its texts have this many bytes.
const MAX_GROUP_BYTES: usize = 32 * 1024 * 1024;

/// The values of a column that are no NULL, and for each row 1, or 0 for NULL (Parquet's definition levels).
struct Held {
    values: Values,
    levels: Vec<i16>,
}

enum Values {
    Text(Vec<ByteArray>),
    Integer(Vec<i64>),
    Boolean(Vec<bool>),
}

pub(super) struct Columnar<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    held: Vec<Held>,
    rows: usize,
    bytes: usize,
}

impl<W: Write + Send> Columnar<W> {
    pub(super) fn begin(out: W, columns: &[Column]) -> io::Result<Self> {
        let fields = columns
            .iter()
            .map(field)
            .collect::<Result<Vec<_>, _>>()
            .map_err(failed)?;
        let schema = Type::group_type_builder("rows")
            .with_fields(fields)
            .build()
            .map_err(failed)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .build();
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))
            .map_err(failed)?;
        let held = columns
            .iter()
            .map(|column| Held {
                values: match column.kind {
                    Kind::Text => Values::Text(Vec::new()),
                    Kind::Integer => Values::Integer(Vec::new()),
                    Kind::Boolean => Values::Boolean(Vec::new()),
                },
                levels: Vec::new(),
            })
            .collect();
        Ok(Self {
            writer,
            held,
            rows: 0,
            bytes: 0,
        })
    }

    /// A row that fits the columns: the caller has looked.
    pub(super) fn write(&mut self, row: Vec<Cell>) -> io::Result<()> {
        for (held, cell) in self.held.iter_mut().zip(row) {
            match (&mut held.values, cell) {
                (Values::Text(values), Cell::Text(text)) => {
                    self.bytes += text.len();
                    values.push(ByteArray::from(text.into_bytes()));
                    held.levels.push(1);
                }
                (Values::Integer(values), Cell::Integer(number)) => {
                    values.push(number);
                    held.levels.push(1);
                }
                (Values::Boolean(values), Cell::Boolean(flag)) => {
                    values.push(flag);
                    held.levels.push(1);
                }
                (
                    Values::Text(_) | Values::Integer(_) | Values::Boolean(_),
                    Cell::Null | Cell::Text(_) | Cell::Integer(_) | Cell::Boolean(_),
                ) => held.levels.push(0),
            }
        }
        self.rows += 1;
        if self.rows >= MAX_GROUP_ROWS || self.bytes >= MAX_GROUP_BYTES {
            self.group().map_err(failed)?;
        }
        Ok(())
    }

    pub(super) fn end(mut self) -> io::Result<W> {
        if self.rows > 0 {
            self.group().map_err(failed)?;
        }
        // Writes the footer as well.
        self.writer.into_inner().map_err(failed)
    }

    fn group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for held in &mut self.held {
            let Some(mut column) = group.next_column()? else {
                return Err(ParquetError::General("a column has no writer".to_owned()));
            };
            let levels = Some(held.levels.as_slice());
            match (column.untyped(), &mut held.values) {
                (ColumnWriter::ByteArrayColumnWriter(writer), Values::Text(values)) => {
                    writer.write_batch(values, levels, None)?;
                    values.clear();
                }
                (ColumnWriter::Int64ColumnWriter(writer), Values::Integer(values)) => {
                    writer.write_batch(values, levels, None)?;
                    values.clear();
                }
                (ColumnWriter::BoolColumnWriter(writer), Values::Boolean(values)) => {
                    writer.write_batch(values, levels, None)?;
                    values.clear();
                }
                (_, Values::Text(_) | Values::Integer(_) | Values::Boolean(_)) => {
                    return Err(ParquetError::General(
                        "a column has the writer of another kind".to_owned(),
                    ));
                }
            }
            held.levels.clear();
            column.close()?;
        }
        group.close()?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

fn field(column: &Column) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match column.kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Integer => (Physical::INT64, None),
        Kind::Boolean => (Physical::BOOLEAN, None),
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
        .map(Arc::new)
}

/// What the file system said, where it was the file system.
fn failed(error: ParquetError) -> io::Error {
    let ParquetError::External(source) = error else {
        return io::Error::other(error.to_string());
    };
    match source.downcast::<io::Error>() {
        Ok(error) => *error,
        Err(other) => io::Error::other(other),
    }
}
