//! An item, or a map inside one: names to values, sorted by name.

use crate::attribute::Attribute;
use crate::number::NumberError;
use crate::typed::{self, DecodeError};
use std::borrow::Cow;

/// A map of attribute names to values, always sorted by the UTF-8 bytes of the name.
///
/// A record's image is one; so is the inside of an `M`. An absent image is never this type with nothing in it: see
/// [`Record::new_image`](crate::Record::new_image).
///
/// ```
/// # use sagaline_stream::Image;
/// let image = Image::parse(r#"{"version":{"N":"3.0"},"order_id":{"S":"o-1"}}"#)?;
/// assert_eq!(image.s("order_id"), Some("o-1"));
/// assert_eq!(image.n_integer("version"), Some(Ok(3)));
/// assert_eq!(image.n_integer("total"), None);
/// # Ok::<(), sagaline_stream::DecodeError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Image<'a> {
    /// Sorted by name, no name twice.
    entries: Vec<(Cow<'a, str>, Attribute<'a>)>,
}

impl<'a> Image<'a> {
    /// An image without attributes.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            entries: Vec::new(),
        }
    }

    /// Decodes DynamoDB JSON such as `{"id":{"S":"o-1"}}`. Nothing is stripped.
    ///
    /// # Errors
    /// [`DecodeError`] with the path to the first thing that is no typed value.
    pub fn parse(text: &'a str) -> Result<Self, DecodeError> {
        typed::parse_image(text)
    }

    /// Takes entries that the decoder has sorted and checked.
    pub(crate) const fn from_sorted(entries: Vec<(Cow<'a, str>, Attribute<'a>)>) -> Self {
        Self { entries }
    }

    /// The number of attributes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no attributes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The attribute of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Attribute<'a>> {
        let at = self.position(name).ok()?;
        self.entries.get(at).map(|(_, value)| value)
    }

    /// Names and values in the order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Attribute<'a>)> {
        self.entries
            .iter()
            .map(|(name, value)| (name.as_ref(), value))
    }

    /// Sets an attribute and returns the value it had.
    pub fn insert(
        &mut self,
        name: impl Into<Cow<'a, str>>,
        value: Attribute<'a>,
    ) -> Option<Attribute<'a>> {
        let name = name.into();
        match self.position(&name) {
            Ok(at) => self
                .entries
                .get_mut(at)
                .map(|(_, present)| std::mem::replace(present, value)),
            Err(at) => {
                self.entries.insert(at, (name, value));
                None
            }
        }
    }

    /// Takes an attribute out.
    pub fn remove(&mut self, name: &str) -> Option<Attribute<'a>> {
        let at = self.position(name).ok()?;
        Some(self.entries.remove(at).1)
    }

    /// The text of the attribute, if it is there and an `S`.
    #[must_use]
    pub fn s(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_s()
    }

    /// The digits of the attribute, if it is there and an `N`.
    #[must_use]
    pub fn n(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_n()
    }

    /// The attribute as a whole number. Absent stays absent; anything present that is no whole number is an error.
    #[must_use]
    pub fn n_integer(&self, name: &str) -> Option<Result<i128, NumberError>> {
        Some(self.get(name)?.n_integer())
    }

    /// As [`Image::n_integer`], for the range of an `i64`.
    #[must_use]
    pub fn n_i64(&self, name: &str) -> Option<Result<i64, NumberError>> {
        let value = self.get(name)?;
        Some(value.n_integer().and_then(|wide| {
            let text = || value.as_n().unwrap_or_default().to_owned();
            i64::try_from(wide).map_err(|_| NumberError::OutOfRange { text: text() })
        }))
    }

    /// The truth of the attribute, if it is there and a `BOOL`.
    #[must_use]
    pub fn bool(&self, name: &str) -> Option<bool> {
        self.get(name)?.as_bool()
    }

    /// The items of the attribute, if it is there and an `L`.
    #[must_use]
    pub fn l(&self, name: &str) -> Option<&[Attribute<'a>]> {
        self.get(name)?.as_list()
    }

    /// The members of the attribute, if it is there and an `M`.
    #[must_use]
    pub fn m(&self, name: &str) -> Option<&Image<'a>> {
        self.get(name)?.as_map()
    }

    /// The same image, independent of the event it was read from.
    #[must_use]
    pub fn into_owned(self) -> Image<'static> {
        let own = |(name, value): (Cow<'_, str>, Attribute<'_>)| {
            (Cow::Owned(name.into_owned()), value.into_owned())
        };
        Image {
            entries: self.entries.into_iter().map(own).collect(),
        }
    }

    /// Takes out the attributes whose name begins so: as a rule there are none, and nothing is moved.
    pub(crate) fn remove_prefixed(&mut self, prefix: &str) {
        let start = self
            .entries
            .partition_point(|(name, _)| name.as_ref() < prefix);
        if self
            .entries
            .get(start)
            .is_some_and(|(name, _)| name.starts_with(prefix))
        {
            self.entries.retain(|(name, _)| !name.starts_with(prefix));
        }
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.entries
            .binary_search_by(|(present, _)| present.as_ref().cmp(name))
    }
}

impl<'a, N: Into<Cow<'a, str>>> FromIterator<(N, Attribute<'a>)> for Image<'a> {
    /// Of a name that comes twice the last value stays.
    fn from_iter<I: IntoIterator<Item = (N, Attribute<'a>)>>(entries: I) -> Self {
        let mut image = Self::new();
        for (name, value) in entries {
            image.insert(name, value);
        }
        image
    }
}

impl<'a> IntoIterator for Image<'a> {
    type Item = (Cow<'a, str>, Attribute<'a>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}
