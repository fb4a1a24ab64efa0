//! Numbers as DynamoDB sends them: decimal text, at most 38 significant digits (F-STR-14). Nothing here goes through a float.

use std::fmt;
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
    if number.exponent < 0 {
        return Err(NumberError::NotIntegral { text: owned() });
    }
    number
        .shifted(0)
        .ok_or_else(|| NumberError::OutOfRange { text: owned() })
}

/// Whether the text has the form of a decimal number, of any length and size: `-12`, `0.5`, `1e9`.
pub(crate) fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, power) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, power)) => (mantissa, power.strip_prefix(['-', '+']).unwrap_or(power)),
        None => (unsigned, "0"),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let some = !whole.is_empty() || !fraction.is_empty();
    some && !power.is_empty() && digits(whole) && digits(fraction) && digits(power)
}

/// As plain text without an exponent where it is short enough to read, else as `<digits>E<exponent>`.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.negative {
            f.write_str("-")?;
        }
        let digits = self.digits.to_string();
        match usize::try_from(self.exponent.unsigned_abs()) {
            Ok(zeros @ 0..=38) if self.exponent >= 0 => write!(f, "{digits}{:0<zeros$}", ""),
            Ok(places @ 1..=38) => {
                let padded = format!("{digits:0>width$}", width = places + 1);
                let (whole, fraction) = padded.split_at(padded.len() - places);
                write!(f, "{whole}.{fraction}")
            }
            Ok(_) | Err(_) => write!(f, "{digits}E{}", self.exponent),
        }
    }
}

/// A decimal number, exact: `10.50`, `10.5` and `105E-1` are equal.
///
/// ```
/// # use sagaline_stream::Decimal;
/// let price = Decimal::parse("10.50").expect("a number");
/// assert_eq!(price.to_string(), "10.5");
/// assert_eq!(price.shifted(2), Some(1050), "in cents");
/// assert_eq!(price.shifted(0), None, "no whole number");
/// assert_eq!(Decimal::parse("1050E-2"), Some(price));
/// assert_eq!(Decimal::parse("ten"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal {
    /// Never set on zero.
    negative: bool,
    /// Does not end in zero unless it is zero.
    digits: u128,
    /// Zero on zero.
    exponent: i64,
}

impl Decimal {
    /// `None` when the text is no decimal number, or has more significant digits than an `u128` holds (38 always fit, F-STR-14).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
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
        if digits == 0 {
            return Some(Self {
                negative: false,
                digits,
                exponent: 0,
            });
        }
        let exponent = exponent + i64::from(zeros) - i64::try_from(fraction.len()).ok()?;
        Some(Self {
            negative,
            digits,
            exponent,
        })
    }

    /// The number times ten to the power of `places`, where that is a whole number that fits: with 2, an amount in cents.
    #[must_use]
    pub fn shifted(self, places: u32) -> Option<i128> {
        let exponent = u32::try_from(self.exponent.checked_add(i64::from(places))?);
        let magnitude = match exponent {
            _ if self.digits == 0 => 0,
            Ok(exponent) => self.digits.checked_mul(10_u128.checked_pow(exponent)?)?,
            Err(_) => return None,
        };
        let magnitude = i128::try_from(magnitude).ok()?;
        Some(if self.negative { -magnitude } else { magnitude })
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

    #[test]
    fn a_decimal_is_exact_and_has_one_form() {
        #[track_caller]
        fn check(text: &str, shown: &str) {
            let number = Decimal::parse(text).expect(text);
            assert_eq!(number.to_string(), shown);
            assert_eq!(Decimal::parse(shown), Some(number), "{text}");
        }
        check("-0.00", "0");
        check("0E-120", "0");
        check("0010.50", "10.5");
        check("-1.2E3", "-1200");
        check("5E-3", "0.005");
        check("-.5", "-0.5");
        check("1E-130", "1E-130");
        check("9.99E+125", "999E123");
        check(
            "12345678901234567890123456789012345678",
            "12345678901234567890123456789012345678",
        );
        assert_eq!(
            Decimal::parse("-12.345").map(|n| n.shifted(3)),
            Some(Some(-12_345))
        );
        assert_eq!(Decimal::parse("1E38").map(|n| n.shifted(2)), Some(None));
    }

    #[test]
    fn the_form_of_a_number_does_not_depend_on_its_size() {
        for number in ["0", "-1", "1.5", "1E400", "9".repeat(60).as_str(), "-.5e-7"] {
            assert!(is_number(number), "{number}");
        }
        for none in [
            "", "-", ".", "1e", "1e+", "--1", "1.2.3", "0x1", "1 ", "NaN",
        ] {
            assert!(!is_number(none), "{none}");
        }
    }
}
