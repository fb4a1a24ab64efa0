//! The first pass over a file: every line against every rule, no connection, nothing kept but places.

use sagaline_order::{BadInput, Context, NewOrder, OrderInput, RequestId};
use sagaline_store::{AttributeValue, size, value};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// What a head or a history row holds besides what the input gives: keys, index keys, the words around the order. Measured below 700 bytes,
/// plus its id in six places.
const SURROUNDINGS: usize = 2_048;

/// A file that was read, line by line.
#[derive(Debug)]
pub(super) struct Checked<'a> {
    /// SHA-256 of the whole file, lower-case hex.
    pub(super) sha256: String,
    /// The valid lines.
    pub(super) orders: Vec<ValidLine<'a>>,
    /// The others.
    pub(super) invalid: Vec<InvalidLine>,
}

/// A line that keeps every rule.
#[derive(Debug, Clone)]
pub(super) struct ValidLine<'a> {
    /// Its number, from 1; empty lines count.
    pub(super) line: usize,
    /// The order that it will be.
    pub(super) order_id: String,
    /// Its text.
    pub(super) text: &'a str,
}

/// A line that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InvalidLine {
    /// Its number, from 1.
    pub(super) line: usize,
    /// Which field, which rule.
    pub(super) bad: BadInput,
}

impl fmt::Display for InvalidLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.bad)
    }
}

impl<'a> Checked<'a> {
    /// Checks all lines of a file.
    pub(super) fn read(bytes: &'a [u8], actor: &str, context: &Context) -> Self {
        let sha256 = hex::encode(Sha256::digest(bytes));
        let mut checked = Self {
            sha256,
            orders: Vec::new(),
            invalid: Vec::new(),
        };
        for (place, bytes) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let line = place + 1;
            let order = std::str::from_utf8(bytes)
                .map_err(|_| BadInput::new("line", "is no UTF-8 text"))
                .and_then(|text| {
                    let text = text.trim_matches([' ', '\t', '\r']);
                    if text.is_empty() {
                        return Ok(None);
                    }
                    let new = order(&checked.sha256, line, text, actor, context)?;
                    Ok(Some(ValidLine {
                        line,
                        order_id: new.order.order_id.to_string(),
                        text,
                    }))
                });
            match order {
                Ok(None) => {}
                Ok(Some(valid)) => checked.orders.push(valid),
                Err(bad) => checked.invalid.push(InvalidLine { line, bad }),
            }
        }
        checked
    }
}

/// The order of one line, checked against every rule.
pub(super) fn order(
    sha256: &str,
    line: usize,
    text: &str,
    actor: &str,
    context: &Context,
) -> Result<NewOrder, BadInput> {
    if text.starts_with('\u{feff}') {
        return Err(BadInput::new(
            "order",
            "begins with a byte order mark, which JSON does not allow",
        ));
    }
    let new =
        OrderInput::from_json(text)?.check(&RequestId::of_line(sha256, line), actor, context)?;
    match too_large(&new) {
        Some(why) => Err(BadInput::new("order", why)),
        None => Ok(new),
    }
}

/// The store asks again, exactly, before it writes; here the whole file must be known to fit before anything is placed.
fn too_large(new: &NewOrder) -> Option<String> {
    let json = serde_json::to_value(&new.order).ok()?;
    let AttributeValue::M(item) = value::from_json(&json) else {
        return None;
    };
    if let Some(why) = size::refusal(&item) {
        return Some(why);
    }
    let bytes = size::item_bytes(&item) + SURROUNDINGS;
    let most = size::MAX_ITEM_BYTES;
    (bytes > most)
        .then(|| format!("is {bytes} bytes large with its keys, an item holds at most {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sagaline_order::{SagaConfig, Timestamp};

    fn check(file: &str) -> (Vec<usize>, Vec<String>) {
        let context = Context {
            now: Timestamp::from_millis(1_764_500_000_000).unwrap(),
            config: SagaConfig::default(),
        };
        let checked = Checked::read(file.as_bytes(), "operator:t", &context);
        (
            checked.orders.iter().map(|valid| valid.line).collect(),
            checked.invalid.iter().map(ToString::to_string).collect(),
        )
    }

    fn line(change: impl Fn(&mut serde_json::Value)) -> String {
        let mut order = serde_json::json!({"user_id": "u-1", "currency": "EUR", "lines": [{"sku": "mug", "qty": 2, "unit_minor": 1250}]});
        change(&mut order);
        order.to_string()
    }

    #[test]
    fn every_invalid_line_is_named_by_number_field_and_rule() {
        #[track_caller]
        fn refused(change: impl Fn(&mut serde_json::Value), expected: &str) {
            let (valid, invalid) = check(&format!("{}\n\n{}\n", line(|_| {}), line(change)));
            assert_eq!(valid, [1]);
            assert_eq!(invalid.len(), 1, "{invalid:?}");
            assert!(
                invalid[0].starts_with(&format!("line 3: {expected}")),
                "{}",
                invalid[0]
            );
        }
        refused(
            |order| order["lines"][0]["qty"] = 0.into(),
            "lines[0].qty: must be 1 to 1,000,000, not 0",
        );
        refused(
            |order| order["lines"][0]["qty"] = (-1).into(),
            "lines[0].qty:",
        );
        refused(
            |order| order["lines"][0]["unit_minor"] = i64::MAX.into(),
            "lines[0].unit_minor: takes the order's total beyond 64 bits",
        );
        refused(
            |order| order["lines"] = vec![order["lines"][0].clone(); 2].into(),
            "lines[1].sku: 'mug' stands on an earlier line",
        );
        refused(
            |order| order["lines"] = serde_json::json!([]),
            "lines: must be 1 to 40, not 0",
        );
        refused(
            |order| order["currency"] = "XYZ".into(),
            "currency: 'XYZ' is no ISO 4217 code",
        );
        refused(
            |order| order["order_id"] = "".into(),
            "order_id: must be 1 to 100 characters",
        );
        refused(|order| order["order_id"] = "a#b".into(), "order_id:");
        refused(
            |order| order["user_id"] = "u".repeat(300).into(),
            "user_id:",
        );
        refused(|order| order["request_id"] = "r#1".into(), "request_id:");
        refused(
            |order| order["lines"][0]["name"] = "n".repeat(420_000).into(),
            "order: is ",
        );
        let many: Vec<_> = (0..41)
            .map(|n| serde_json::json!({"sku": format!("s-{n}"), "qty": 1, "unit_minor": 1}))
            .collect();
        refused(
            |order| order["lines"] = many.clone().into(),
            "lines: must be 1 to 40, not 41",
        );
    }

    // C-51
    #[test]
    fn a_file_that_is_cut_off_names_the_line_where_it_ends() {
        let file = format!("{}\n{}\n{}", line(|_| {}), line(|_| {}), line(|_| {}));
        let (valid, invalid) = check(&file[..file.len() - 20]);
        assert_eq!(valid, [1, 2]);
        assert!(
            invalid[0].starts_with("line 3: ") && invalid[0].contains("EOF"),
            "{}",
            invalid[0]
        );
    }

    #[test]
    fn a_line_without_a_request_id_is_named_by_content_and_number() {
        let context = Context {
            now: Timestamp::from_millis(0).unwrap(),
            config: SagaConfig::default(),
        };
        let same =
            |line_number| order("abc", line_number, &line(|_| {}), "operator:t", &context).unwrap();
        assert_eq!(same(1).order.order_id, same(1).order.order_id);
        assert_ne!(same(1).request_id, same(2).request_id);
        assert_eq!(same(1).input, same(2).input);
    }

    #[test]
    fn text_that_is_no_text_and_a_byte_order_mark_are_invalid_lines() {
        let context = Context {
            now: Timestamp::from_millis(0).unwrap(),
            config: SagaConfig::default(),
        };
        let checked = Checked::read(b"\xff\xfe\n\xef\xbb\xbf{}\r\n   \n", "operator:t", &context);
        let said: Vec<String> = checked.invalid.iter().map(ToString::to_string).collect();
        assert_eq!(said[0], "line 1: line: is no UTF-8 text");
        assert!(
            said[1].starts_with("line 2: order: begins with a byte order mark"),
            "{}",
            said[1]
        );
        assert_eq!(said.len(), 2);
    }
}
