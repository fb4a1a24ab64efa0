//! Attribute values and JSON. Reading is tolerant of every form that a number or a set can take and never rounds; writing is exact.
//!
//! `serde_dynamo` is not used: it passes large numbers through a float and refuses binary (F-RS-4).

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Number, Value};

/// Text.
#[must_use]
pub fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

/// A whole number.
#[must_use]
pub fn n(number: impl std::fmt::Display) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// A value as JSON. A number that is whole becomes that integer whatever its form (`3.0`, `3E0`); one that JSON numbers of this program cannot
/// hold exactly becomes text with its digits; binary becomes base64 text; a set becomes a list.
#[must_use]
#[expect(clippy::wildcard_enum_match_arm, reason = "the SDK's enum is open")]
pub fn to_json(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => Value::from(text.as_str()),
        AttributeValue::N(text) => number_to_json(text),
        AttributeValue::Bool(flag) => Value::from(*flag),
        AttributeValue::B(blob) => Value::from(BASE64.encode(blob.as_ref())),
        AttributeValue::L(list) => list.iter().map(to_json).collect(),
        AttributeValue::M(map) => Value::Object(map_to_json(map)),
        AttributeValue::Ss(texts) => texts.iter().map(String::as_str).map(Value::from).collect(),
        AttributeValue::Ns(texts) => texts.iter().map(|text| number_to_json(text)).collect(),
        AttributeValue::Bs(blobs) => blobs
            .iter()
            .map(|blob| Value::from(BASE64.encode(blob.as_ref())))
            .collect(),
        // `Null`, and what a later service might add.
        _ => Value::Null,
    }
}

/// Every attribute of a map or item as JSON.
#[must_use]
pub fn map_to_json(map: &HashMap<String, AttributeValue>) -> Map<String, Value> {
    map.iter()
        .map(|(name, value)| (name.clone(), to_json(value)))
        .collect()
}

/// A JSON value as an attribute value. Nothing is left out: null becomes NULL.
#[must_use]
pub fn from_json(value: &Value) -> AttributeValue {
    match value {
        Value::Null => AttributeValue::Null(true),
        Value::Bool(flag) => AttributeValue::Bool(*flag),
        Value::Number(number) => n(number),
        Value::String(text) => s(text),
        Value::Array(list) => AttributeValue::L(list.iter().map(from_json).collect()),
        Value::Object(map) => AttributeValue::M(
            map.iter()
                .map(|(name, value)| (name.clone(), from_json(value)))
                .collect(),
        ),
    }
}

/// Reads the text of an `N` as a whole number; `None` if it has a fraction, is no number, or has more than 38 digits.
#[must_use]
pub fn integer(text: &str) -> Option<i128> {
    let number = Decimal::parse(text)?;
    let power = 10_i128.checked_pow(u32::try_from(number.exponent).ok()?)?;
    let digits: i128 = if number.digits.is_empty() {
        0
    } else {
        number.digits.parse().ok()?
    };
    let magnitude = digits.checked_mul(power)?;
    Some(if number.negative {
        -magnitude
    } else {
        magnitude
    })
}

/// The whole number of an attribute that is an `N`.
#[must_use]
pub fn as_integer(value: &AttributeValue) -> Option<i128> {
    value.as_n().ok().and_then(|text| integer(text))
}

/// True if two values are the same; numbers are compared as numbers (`3.0` is `3`).
#[must_use]
pub fn same(a: &AttributeValue, b: &AttributeValue) -> bool {
    match (a, b) {
        (AttributeValue::N(a), AttributeValue::N(b)) => {
            a == b || Decimal::parse(a).is_some_and(|a| Some(a) == Decimal::parse(b))
        }
        _ => a == b,
    }
}

fn number_to_json(text: &str) -> Value {
    if let Some(whole) = integer(text) {
        if let Ok(small) = i64::try_from(whole) {
            return Value::from(small);
        }
        if let Ok(large) = u64::try_from(whole) {
            return Value::from(large);
        }
    }
    exact_float(text).map_or_else(|| Value::from(text), Value::Number)
}

/// The float whose shortest decimal form has exactly these digits, if there is one.
fn exact_float(text: &str) -> Option<Number> {
    let float: f64 = text.parse().ok()?;
    let number = Number::from_f64(float)?;
    (Decimal::parse(text)? == Decimal::parse(&format!("{float:e}"))?).then_some(number)
}

/// `digits * 10^exponent`; the digits neither begin nor end with 0, and 0 has none. So equal numbers are equal values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decimal {
    pub(crate) negative: bool,
    pub(crate) digits: String,
    pub(crate) exponent: i32,
}

impl Decimal {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, power) = match unsigned.split_once(['e', 'E']) {
            // More than four digits of exponent are no number that DynamoDB, or anyone, means.
            Some((mantissa, power)) if power.len() <= 5 => (mantissa, power.parse::<i32>().ok()?),
            Some(_) => return None,
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        if all.is_empty() || !all.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let unpadded = all.trim_start_matches('0');
        let digits = unpadded.trim_end_matches('0');
        if digits.is_empty() {
            return Some(Self {
                negative: false,
                digits: String::new(),
                exponent: 0,
            });
        }
        let trimmed = i32::try_from(unpadded.len() - digits.len()).ok()?;
        let exponent = power
            .checked_sub(i32::try_from(fraction.len()).ok()?)?
            .checked_add(trimmed)?;
        Some(Self {
            negative,
            digits: digits.to_owned(),
            exponent,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodb::primitives::Blob;
    use serde_json::json;

    // C-23
    #[test]
    fn a_whole_number_is_that_integer_in_any_form() {
        let check =
            |text: &str, expected: Option<i128>| assert_eq!(integer(text), expected, "{text}");
        check("3", Some(3));
        check("3.0", Some(3));
        check("3E0", Some(3));
        check("0.3e1", Some(3));
        check("1250.0", Some(1250));
        check("-120E-1", Some(-12));
        check("0.000", Some(0));
        check("-0", Some(0));
        check("12.5", None);
        check("1E-1", None);
        check("", None);
        check(".", None);
        check("3 ", None);
        check("1e999999999999", None);
        check(
            "99999999999999999999999999999999999999",
            Some(99_999_999_999_999_999_999_999_999_999_999_999_999),
        );
    }

    #[test]
    fn a_number_that_json_cannot_hold_keeps_its_digits_as_text() {
        let check = |text: &str, expected: Value| assert_eq!(to_json(&n(text)), expected, "{text}");
        check("9007199254740993", json!(9_007_199_254_740_993_i64));
        check("18446744073709551615", json!(u64::MAX));
        check("18446744073709551617", json!("18446744073709551617"));
        check("12345678901234567890.12", json!("12345678901234567890.12"));
        check("-0.1", json!(-0.1));
        check("2.50", json!(2.5));
        check("1E-130", json!(1e-130));
    }

    #[test]
    fn binary_and_sets_have_a_json_form() {
        assert_eq!(
            to_json(&AttributeValue::B(Blob::new([0xde, 0xad, 0xbe, 0xef]))),
            json!("3q2+7w==")
        );
        assert_eq!(
            to_json(&AttributeValue::Ns(vec!["2.50".to_owned(), "1".to_owned()])),
            json!([2.5, 1])
        );
        assert_eq!(
            to_json(&AttributeValue::Ss(vec!["a".to_owned()])),
            json!(["a"])
        );
    }

    #[test]
    fn json_comes_back_as_it_went() {
        let value =
            json!({"a": [1, -2, 0.5, "x", "", true, null], "b": {"c": {}}, "big": u64::MAX});
        assert_eq!(to_json(&from_json(&value)), value);
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        assert!(same(&n("3.0"), &n("3")));
        assert!(same(&n("0.10"), &n("1E-1")));
        assert!(!same(&n("3"), &s("3")));
        assert!(!same(&n("3"), &n("-3")));
    }
}
