//! One DynamoDB value, exactly as it was sent.
//!
//! Text is borrowed from the event where its JSON has no escapes. Numbers and binary stay text (F-STR-14, F-STR-15): whoever needs a
//! number asks for one and hears when it is none.

use crate::image::Image;
use crate::number::{Decimal, NumberError, parse_integer};
use crate::typed::{self, DecodeError};
use std::borrow::Cow;

/// A DynamoDB attribute value, lossless.
///
/// ```
/// # use sagaline_stream::Attribute;
/// let value = Attribute::parse(r#"{"L":[{"N":"12345678901234567890.12"},{"N":7},{"NULL":true}]}"#)?;
/// let items = value.as_list().unwrap_or_default();
/// assert_eq!(items[0].as_n(), Some("12345678901234567890.12"));
/// assert_eq!(items[1].n_integer(), Ok(7));
/// assert_eq!(value.to_canonical(), r#"{"L":[{"N":"12345678901234567890.12"},{"N":"7"},{"NULL":true}]}"#);
/// # Ok::<(), sagaline_stream::DecodeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attribute<'a> {
    /// Text, possibly empty.
    S(Cow<'a, str>),
    /// A number: its digits as they were sent.
    N(Cow<'a, str>),
    /// Binary: its base64 text as it was sent.
    B(Cow<'a, str>),
    /// A boolean.
    Bool(bool),
    /// The null value. It is present, which an absent attribute is not.
    Null,
    /// A list.
    L(Vec<Attribute<'a>>),
    /// A map.
    M(Image<'a>),
    /// A set of text; decoded sets are sorted, for a set has no order (F-STR-15).
    Ss(Vec<Cow<'a, str>>),
    /// A set of numbers.
    Ns(Vec<Cow<'a, str>>),
    /// A set of binary values, each as base64 text.
    Bs(Vec<Cow<'a, str>>),
}

impl<'a> Attribute<'a> {
    /// Decodes one typed value from DynamoDB JSON such as `{"S":"text"}`.
    ///
    /// # Errors
    /// [`DecodeError`] with the path to the first thing that is no typed value.
    pub fn parse(text: &'a str) -> Result<Self, DecodeError> {
        typed::parse_attribute(text)
    }

    /// The DynamoDB type tag: `S`, `N`, `B`, `BOOL`, `NULL`, `L`, `M`, `SS`, `NS` or `BS`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::S(_) => "S",
            Self::N(_) => "N",
            Self::B(_) => "B",
            Self::Bool(_) => "BOOL",
            Self::Null => "NULL",
            Self::L(_) => "L",
            Self::M(_) => "M",
            Self::Ss(_) => "SS",
            Self::Ns(_) => "NS",
            Self::Bs(_) => "BS",
        }
    }

    /// The text of an `S`.
    #[must_use]
    pub fn as_s(&self) -> Option<&str> {
        if let Self::S(text) = self {
            Some(text)
        } else {
            None
        }
    }

    /// The digits of an `N`, as they were sent.
    #[must_use]
    pub fn as_n(&self) -> Option<&str> {
        if let Self::N(digits) = self {
            Some(digits)
        } else {
            None
        }
    }

    /// The truth of a `BOOL`.
    #[must_use]
    pub const fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(truth) = self {
            Some(*truth)
        } else {
            None
        }
    }

    /// The items of an `L`.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Attribute<'a>]> {
        if let Self::L(items) = self {
            Some(items)
        } else {
            None
        }
    }

    /// The members of an `M`.
    #[must_use]
    pub const fn as_map(&self) -> Option<&Image<'a>> {
        if let Self::M(members) = self {
            Some(members)
        } else {
            None
        }
    }

    /// The members of a set, whichever its type.
    #[must_use]
    pub fn as_set(&self) -> Option<&[Cow<'a, str>]> {
        if let Self::Ss(members) | Self::Ns(members) | Self::Bs(members) = self {
            Some(members)
        } else {
            None
        }
    }

    /// An `N` as a whole number; `3.0` and `3E0` are 3.
    ///
    /// # Errors
    /// [`NumberError`] when the value is no `N`, has a fraction, or does not fit.
    pub fn n_integer(&self) -> Result<i128, NumberError> {
        match self.as_n() {
            Some(digits) => parse_integer(digits),
            None => Err(NumberError::WrongType { kind: self.kind() }),
        }
    }

    /// An `N` as an exact decimal.
    ///
    /// # Errors
    /// [`NumberError`] when the value is no `N`, or its text no number of at most 38 significant digits.
    pub fn n_decimal(&self) -> Result<Decimal, NumberError> {
        match self.as_n() {
            Some(digits) => Decimal::parse(digits).ok_or_else(|| NumberError::NotANumber {
                text: digits.to_owned(),
            }),
            None => Err(NumberError::WrongType { kind: self.kind() }),
        }
    }

    /// The bytes of a `B`; `None` for another type or text that is no base64.
    #[must_use]
    pub fn bytes(&self) -> Option<Vec<u8>> {
        use base64::Engine as _;
        let Self::B(text) = self else { return None };
        base64::engine::general_purpose::STANDARD
            .decode(text.as_bytes())
            .ok()
    }

    /// The same value, independent of the event it was read from.
    #[must_use]
    pub fn into_owned(self) -> Attribute<'static> {
        fn own(text: Cow<'_, str>) -> Cow<'static, str> {
            Cow::Owned(text.into_owned())
        }
        fn own_all(texts: Vec<Cow<'_, str>>) -> Vec<Cow<'static, str>> {
            texts.into_iter().map(own).collect()
        }
        match self {
            Self::S(text) => Attribute::S(own(text)),
            Self::N(digits) => Attribute::N(own(digits)),
            Self::B(text) => Attribute::B(own(text)),
            Self::Bool(truth) => Attribute::Bool(truth),
            Self::Null => Attribute::Null,
            Self::L(items) => Attribute::L(items.into_iter().map(Attribute::into_owned).collect()),
            Self::M(members) => Attribute::M(members.into_owned()),
            Self::Ss(members) => Attribute::Ss(own_all(members)),
            Self::Ns(members) => Attribute::Ns(own_all(members)),
            Self::Bs(members) => Attribute::Bs(own_all(members)),
        }
    }
}
