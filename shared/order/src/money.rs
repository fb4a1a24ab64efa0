//! Money: whole minor units of a currency. No floating point, no rounding.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// An ISO 4217 currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Currency(iso_currency::Currency);

impl Currency {
    /// By its three-letter code, upper case; `None` if the list does not know it.
    #[must_use]
    pub fn parse(code: &str) -> Option<Self> {
        iso_currency::Currency::from_code(code).map(Self)
    }

    /// The three-letter code.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.0.code()
    }

    /// How many decimals an amount is shown with: 0 (JPY), 2 (EUR), 3 (KWD).
    #[must_use]
    pub fn decimals(self) -> u16 {
        self.0.exponent().unwrap_or(0)
    }

    /// An amount in minor units as people read it: `12.50 EUR`.
    #[must_use]
    pub fn display(self, minor: i64) -> String {
        let decimals = usize::from(self.decimals());
        let digits = format!("{:0>width$}", minor.unsigned_abs(), width = decimals + 1);
        let (whole, fraction) = digits.split_at(digits.len() - decimals);
        let sign = if minor < 0 { "-" } else { "" };
        let point = if decimals == 0 { "" } else { "." };
        format!("{sign}{whole}{point}{fraction} {}", self.code())
    }
}

impl std::fmt::Display for Currency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code())
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = String::deserialize(deserializer)?;
        Self::parse(&code)
            .ok_or_else(|| de::Error::custom(format_args!("'{code}' is no ISO 4217 currency")))
    }
}

/// An amount in whole minor units, never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Minor(i64);

impl Minor {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// `None` if negative.
    #[must_use]
    pub fn new(minor: i64) -> Option<Self> {
        (minor >= 0).then_some(Self(minor))
    }

    /// The number of minor units.
    #[must_use]
    pub fn get(self) -> i64 {
        self.0
    }

    /// `None` on overflow of 64 bits.
    #[must_use]
    pub fn times(self, quantity: Quantity) -> Option<Self> {
        self.0.checked_mul(i64::from(quantity.get())).map(Self)
    }

    /// `None` on overflow of 64 bits.
    #[must_use]
    pub fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }
}

impl<'de> Deserialize<'de> for Minor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = i64::deserialize(deserializer)?;
        Self::new(number)
            .ok_or_else(|| de::Error::custom(format_args!("{number} is a negative amount")))
    }
}

/// How many of a product a line asks for: 1 to 1,000,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Quantity(u32);

impl Quantity {
    /// The most that one line may ask for.
    pub const MAX: u32 = 1_000_000;

    /// `None` outside 1 to [`Quantity::MAX`].
    #[must_use]
    pub fn new(quantity: i64) -> Option<Self> {
        let quantity = u32::try_from(quantity).ok()?;
        (1..=Self::MAX)
            .contains(&quantity)
            .then_some(Self(quantity))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = i64::deserialize(deserializer)?;
        Self::new(number).ok_or_else(|| {
            de::Error::custom(format_args!(
                "{number} is no quantity from 1 to {}",
                Self::MAX
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_shown_with_the_decimals_of_their_currency() {
        let show = |code, minor| Currency::parse(code).unwrap().display(minor);
        assert_eq!(show("EUR", 1250), "12.50 EUR");
        assert_eq!(show("EUR", 5), "0.05 EUR");
        assert_eq!(show("JPY", 1250), "1250 JPY");
        assert_eq!(show("KWD", 1250), "1.250 KWD");
        assert_eq!(show("EUR", -1), "-0.01 EUR");
        assert_eq!(Currency::parse("eur"), None);
        assert_eq!(Currency::parse("XYZ"), None);
    }

    #[test]
    fn an_amount_that_overflows_is_none_not_wrapped() {
        let most = Minor::new(i64::MAX).unwrap();
        assert_eq!(most.times(Quantity::new(2).unwrap()), None);
        assert_eq!(most.plus(Minor::new(1).unwrap()), None);
        assert_eq!(Quantity::new(0), None);
        assert_eq!(Quantity::new(1_000_001), None);
    }
}
