//! The two forms of text, a row a line.

use super::{Cell, Column};
use std::io::{self, Write};

/// Comma-separated values.
pub(super) struct Csv<W: Write> {
    writer: csv::Writer<W>,
}

impl<W: Write> Csv<W> {
    pub(super) fn begin(out: W, columns: &[Column]) -> io::Result<Self> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(columns.iter().map(|column| column.name.as_bytes()))?;
        Ok(Self { writer })
    }

    pub(super) fn write(&mut self, row: &[Cell]) -> io::Result<()> {
        for cell in row {
            match cell {
                Cell::Null => self.writer.write_field("")?,
                Cell::Text(text) => self.writer.write_field(text)?,
                Cell::Integer(number) => self.writer.write_field(number.to_string())?,
                Cell::Boolean(flag) => {
                    self.writer
                        .write_field(if *flag { "true" } else { "false" })?
                }
            }
        }
        self.writer.write_record(None::<&[u8]>)?;
        Ok(())
    }

    pub(super) fn end(self) -> io::Result<W> {
        self.writer.into_inner().map_err(|error| error.into_error())
    }
}

/// JSON lines.
pub(super) struct Lines<W: Write> {
    out: W,
    /// Each column's name as JSON, its colon, and what stands before it.
    names: Vec<String>,
    line: Vec<u8>,
}

impl<W: Write> Lines<W> {
    pub(super) fn begin(out: W, columns: &[Column]) -> io::Result<Self> {
        let name = |(place, column): (usize, &Column)| {
            let before = if place == 0 { '{' } else { ',' };
            Ok(format!("{before}{}:", serde_json::to_string(&column.name)?))
        };
        Ok(Self {
            out,
            names: columns
                .iter()
                .enumerate()
                .map(name)
                .collect::<io::Result<_>>()?,
            line: Vec::new(),
        })
    }

    pub(super) fn write(&mut self, row: &[Cell]) -> io::Result<()> {
        self.line.clear();
        for (name, cell) in self.names.iter().zip(row) {
            self.line.extend_from_slice(name.as_bytes());
            match cell {
                Cell::Null => self.line.extend_from_slice(b"null"),
                Cell::Text(text) => serde_json::to_writer(&mut self.line, text)?,
                Cell::Integer(number) => serde_json::to_writer(&mut self.line, number)?,
                Cell::Boolean(flag) => serde_json::to_writer(&mut self.line, flag)?,
            }
        }
        self.line.extend_from_slice(b"}\n");
        self.out.write_all(&self.line)
    }

    pub(super) fn end(self) -> W {
        self.out
    }
}
