//! What goes to standard output.

use crate::error::{Code, CommandError};
use comfy_table::{LineStyle, Row, Table, TableStyle};
use sagaline_order::{Currency, Order};
use serde_json::Value;
use std::io::{self, Write as _};

/// Writes one text and a line feed. A reader that has gone away (`| head`) is no error.
pub(crate) fn line(text: &str) {
    let mut out = io::stdout().lock();
    let _gone = writeln!(out, "{text}");
}

/// Writes a part of a line.
pub(crate) fn part(text: &str) {
    let mut out = io::stdout().lock();
    let _gone = out.write_all(text.as_bytes());
}

/// Writes one JSON document on one line.
pub(crate) fn json(value: &Value) {
    line(&value.to_string());
}

/// The head as plain JSON: the order, and the status that stands on the head beside it.
pub(crate) fn order(order: &Order) -> Value {
    let mut value = serde_json::to_value(order).unwrap_or_default();
    if let Some(members) = value.as_object_mut() {
        members.insert("status".to_owned(), order.status().as_str().into());
    }
    value
}

/// An amount as people read it; of a currency that is not known, the bare number.
pub(crate) fn amount(minor: i64, currency: &str) -> String {
    Currency::parse(currency).map_or_else(
        || format!("{minor} {currency}"),
        |currency| currency.display(minor),
    )
}

/// A document as it is stored: with `json` on one line as it stands, else indented, and a parked record's own text as what it is.
pub(crate) fn document(place: &str, bytes: &[u8], json: bool) -> Result<(), CommandError> {
    let broken = |what: String| CommandError::new(Code::BadData, format!("{place}: {what}"));
    let text = std::str::from_utf8(bytes).map_err(|error| broken(error.to_string()))?;
    let value: Value = serde_json::from_str(text).map_err(|error| broken(error.to_string()))?;
    if json {
        self::json(&value);
        return Ok(());
    }
    line(&indented(text));
    // Texts that hold JSON are shown once more, to be read.
    for name in ["record", "payload", "body"] {
        if let Some(inner) = value.get(name).and_then(Value::as_str) {
            line(&format!("{name}:"));
            line(&indented(inner));
        }
    }
    Ok(())
}

/// JSON, or what ought to be JSON, with line feeds and indentation. No value is read, so that every digit stays.
fn indented(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let feed = |out: &mut String, depth: usize| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if in_string {
            out.push(character);
            in_string = escaped || character != '"';
            escaped = character == '\\' && !escaped;
            continue;
        }
        match character {
            '{' | '[' => {
                while characters.next_if(|next| next.is_whitespace()).is_some() {}
                out.push(character);
                if let Some(end) = characters.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    feed(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                feed(&mut out, depth);
                out.push(character);
            }
            ',' => {
                out.push(character);
                feed(&mut out, depth);
            }
            ':' => out.push_str(": "),
            '"' => {
                in_string = true;
                out.push(character);
            }
            other if other.is_whitespace() => {}
            other => out.push(other),
        }
    }
    out
}

/// A line under the header and no other.
pub(crate) const RULED: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table for people.
pub(crate) fn table(
    header: impl Into<Row>,
    rows: impl IntoIterator<Item = impl Into<Row>>,
) -> String {
    let mut table = Table::new();
    table.load_style(RULED);
    table.set_header(header);
    table.add_rows(rows);
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_indented_and_keeps_every_digit() {
        let text = r#"{"a":[1.0,12345678901234567890123],"b":{},"c":"x\\\",:{"}"#;
        let expected = "{\n  \"a\": [\n    1.0,\n    12345678901234567890123\n  ],\n  \"b\": {},\n  \"c\": \"x\\\\\\\",:{\"\n}";
        assert_eq!(indented(text), expected);
    }
}
