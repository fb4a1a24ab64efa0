//! The rows of an answer: to people, as JSON, or into a file.

use super::place::{Watch, scanned};
use crate::error::{Code, CommandError};
use crate::output;
use crate::tabular::{Cell, Column, Format, Kind, Writer, Written, unwritable};
use comfy_table::Table;
use sagaline_archive::{Answer, ResultColumn, ResultRow};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Of an answer, so many rows are shown to people.
const FEW: usize = 200;

/// Shows an answer: to people its first rows, as JSON all of them in one document.
pub(super) async fn show(mut answer: Answer, json: bool) -> Result<(), CommandError> {
    let columns = columns(answer.columns());
    let bytes = answer.scanned_bytes();
    if json {
        let mut rows = Vec::new();
        while let Some(page) = answer.next_page().await? {
            for row in page {
                rows.push(object(&columns, row)?);
            }
        }
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        output::json(&json!({"columns": names, "rows": rows, "scanned_bytes": bytes}));
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(output::RULED);
    table.set_header(columns.iter().map(|column| &column.name));
    let (mut shown, mut more) = (0, 0);
    while let Some(page) = answer.next_page().await? {
        for row in page {
            if shown < FEW {
                table.add_row(row.into_iter().map(Option::unwrap_or_default));
                shown += 1;
            } else {
                more += 1;
            }
        }
    }
    output::line(&table.to_string());
    if more > 0 {
        eprintln!("and {more} rows more: see --json, or --format and --out");
    }
    eprintln!("{} rows, {}", shown + more, scanned(bytes));
    Ok(())
}

/// Writes an answer to a file or standard output, a page at a time.
pub(super) async fn write(
    mut answer: Answer,
    format: Format,
    out: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let columns = columns(answer.columns());
    let bytes = answer.scanned_bytes();
    let failed = |error| unwritable(out, &error);
    let mut writer = Writer::create(format, columns.clone(), out).map_err(failed)?;
    let watch = Watch::new();
    let mut rows = 0_usize;
    while let Some(page) = answer.next_page().await? {
        rows += page.len();
        for row in page {
            writer.write(cells(&columns, row)?).map_err(failed)?;
        }
        watch.say(format!("{rows} rows written"));
    }
    drop(watch);
    tell(&writer.finish().map_err(failed)?, out, bytes, json);
    Ok(())
}

fn tell(written: &Written, out: Option<&Path>, bytes: Option<i64>, json: bool) {
    match out {
        Some(path) if json => output::json(&json!({
            "file": path, "rows": written.rows, "bytes": written.bytes, "sha256": written.sha256, "scanned_bytes": bytes,
        })),
        Some(path) => output::line(&format!(
            "{}: {} rows, {} bytes, SHA-256 {}",
            path.display(),
            written.rows,
            written.bytes,
            written.sha256
        )),
        // The rows are on standard output: what is said of them is not.
        None => eprintln!("{} rows, {}", written.rows, scanned(bytes)),
    }
}

/// The columns as a file has them. What is no integer, boolean or text is text: a decimal keeps its digits.
fn columns(columns: &[ResultColumn]) -> Vec<Column> {
    let kind = |athena: &str| match athena {
        "bigint" | "integer" | "int" | "smallint" | "tinyint" => Kind::Integer,
        "boolean" => Kind::Boolean,
        _ => Kind::Text,
    };
    columns
        .iter()
        .map(|column| Column::new(&column.name, kind(&column.kind)))
        .collect()
}

fn cells(columns: &[Column], row: ResultRow) -> Result<Vec<Cell>, CommandError> {
    let cell = |(column, value): (&Column, Option<String>)| {
        let Some(text) = value else {
            return Ok(Cell::Null);
        };
        let read = match column.kind {
            Kind::Text => return Ok(Cell::Text(text)),
            Kind::Integer => text.parse().ok().map(Cell::Integer),
            Kind::Boolean => text.parse().ok().map(Cell::Boolean),
        };
        read.ok_or_else(|| {
            CommandError::new(
                Code::BadData,
                format!("Athena gave '{text}' for the column {}", column.name),
            )
        })
    };
    columns.iter().zip(row).map(cell).collect()
}

fn object(columns: &[Column], row: ResultRow) -> Result<Value, CommandError> {
    let cells = cells(columns, row)?;
    let members = columns.iter().zip(cells).map(|(column, cell)| {
        let value = match cell {
            Cell::Null => Value::Null,
            Cell::Text(text) => text.into(),
            Cell::Integer(number) => number.into(),
            Cell::Boolean(flag) => flag.into(),
        };
        (column.name.clone(), value)
    });
    Ok(Value::Object(members.collect::<Map<_, _>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_of_their_columns_type_and_a_decimal_keeps_its_digits() {
        let column = |name: &str, kind: &str| ResultColumn {
            name: name.to_owned(),
            kind: kind.to_owned(),
        };
        let columns = columns(&[
            column("n", "bigint"),
            column("b", "boolean"),
            column("d", "decimal"),
            column("t", "varchar"),
        ]);
        let row = |values: [&str; 4]| values.map(|value| Some(value.to_owned())).to_vec();
        assert_eq!(
            object(
                &columns,
                row(["9007199254740993", "true", "18446744073709551617", ""])
            )
            .unwrap(),
            json!({"n": 9_007_199_254_740_993_i64, "b": true, "d": "18446744073709551617", "t": ""})
        );
        assert_eq!(
            object(&columns, vec![None, None, None, None]).unwrap(),
            json!({"n": null, "b": null, "d": null, "t": null})
        );
        let error = object(&columns, row(["many", "true", "1", ""])).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("error[SL4002]: Athena gave 'many' for the column n; ")
        );
    }
}
