//! Numbers as DynamoDB sends them: decimal text, at most 38 significant digits (F-STR-14). Nothing here goes through a float.

use thiserror::Error;

/// Why an `N` is not the integer that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NumberError {
    /// The text is no decimal number of at most 38 significant digits.
    #[error("{text:?} is no number")]
    NotANumber {
        /// The text as it was received.
        text: String,
    },
    /// The number has a fraction.
    #[error("{text} is no whole number")]
    NotIntegral {
        /// The text as it was received.
        text: String,
    },
    /// The whole number does not fit the wanted type.
    #[error("{text} is out of range")]
    OutOfRange {
        /// The text as it was received.
        text: String,
    },
    /// The attribute has another type than `N`.
    #[error("the value is of type {kind}, not N")]
    WrongType {
        /// The DynamoDB type tag that was found.
        kind: &'static str,
    },
}

/// Reads the text of an `N` as a whole number: `3`, `3.0`, `3E0` and `0.3e1` are all 3.
///
/// # Errors
/// [`NumberError`] for text that is no number, has a fraction, or does not fit an `i128`.
///
/// ```
/// # use sagaline_stream::parse_integer;
/// assert_eq!(parse_integer("3E0"), Ok(3));
/// assert!(parse_integer("12.5").is_err());
/// ```
pub fn parse_integer(text: &str) -> Result<i128, NumberError> {
    let owned = || text.to_owned();
    let number = Decimal::parse(text).ok_or_else(|| NumberError::NotANumber { text: owned() })?;
    if number.digits == 0 {
        return Ok(0);
    }
    let exponent =
        u32::try_from(number.exponent).map_err(|_| NumberError::NotIntegral { text: owned() })?;
    10_u128
        .checked_pow(exponent)
        .and_then(|power| number.digits.checked_mul(power))
        .and_then(|magnitude| i128::try_from(magnitude).ok())
        .map(|magnitude| {
            if number.negative {
                -magnitude
            } else {
                magnitude
            }
        })
        .ok_or_else(|| NumberError::OutOfRange { text: owned() })
}

/// A decimal number taken apart: `digits * 10^exponent`, where `digits` does not end in zero unless it is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal {
    pub(crate) negative: bool,
    pub(crate) digits: u128,
    pub(crate) exponent: i64,
}

impl Decimal {
    /// `None` when the text is no decimal number, or has more significant digits than an `u128` holds (38 always fit).
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (negative, unsigned) = match text.as_bytes().first()? {
            b'-' => (true, text.get(1..)?),
            b'+' => (false, text.get(1..)?),
            _ => (false, text),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            // A longer exponent is no number that DynamoDB, or anyone, means.
            Some((mantissa, power)) if power.len() <= 8 => (mantissa, power.parse::<i64>().ok()?),
            Some(_) => return None,
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut digits = 0_u128;
        let mut zeros = 0_u32;
        for byte in whole.bytes().chain(fraction.bytes()) {
            match byte {
                b'0' => zeros = zeros.checked_add(1)?,
                b'1'..=b'9' => {
                    if digits != 0 {
                        digits = digits.checked_mul(10_u128.checked_pow(zeros.checked_add(1)?)?)?;
                    }
                    digits = digits.checked_add(u128::from(byte - b'0'))?;
                    zeros = 0;
                }
                _ => return None,
            }
        }
        let exponent = exponent + i64::from(zeros) - i64::try_from(fraction.len()).ok()?;
        Some(Self {
            negative,
            digits,
            exponent,
        })
    }

    /// The number times a thousand, rounded down towards zero; `None` when it does not fit.
    pub(crate) fn thousandfold(self) -> Option<i128> {
        let exponent = self.exponent.checked_add(3)?;
        let magnitude = if self.digits == 0 {
            0
        } else if let Ok(power) = u32::try_from(exponent) {
            self.digits.checked_mul(10_u128.checked_pow(power)?)?
        } else {
            let power = u32::try_from(exponent.unsigned_abs()).ok()?;
            10_u128
                .checked_pow(power)
                .map_or(0, |power| self.digits / power)
        };
        let magnitude = i128::try_from(magnitude).ok()?;
        Some(if self.negative { -magnitude } else { magnitude })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integral_text_of_any_form_is_that_integer() {
        #[track_caller]
        fn check(text: &str, expected: Option<i128>) {
            assert_eq!(parse_integer(text).ok(), expected, "{text}");
        }
        check("0", Some(0));
        check("-0.000", Some(0));
        check("3", Some(3));
        check("3.0", Some(3));
        check("3E0", Some(3));
        check("0.03e+2", Some(3));
        check("1200", Some(1200));
        check("-1.2E3", Some(-1200));
        check("007", Some(7));
        check(
            "99999999999999999999999999999999999999",
            Some(99_999_999_999_999_999_999_999_999_999_999_999_999),
        );
        check(
            "1E38",
            Some(100_000_000_000_000_000_000_000_000_000_000_000_000),
        );
        check("1E39", None);
        check("12.5", None);
        check("1E-1", None);
        check("", None);
        check(".", None);
        check("-", None);
        check("1e", None);
        check("1 ", None);
        check("NaN", None);
        check("0x10", None);
        check("1E999999999999999999999", None);
    }
}
