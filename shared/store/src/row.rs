//! Reading and building the small rows around an order. A row that is not as it must be is an error that names its key.

use aws_sdk_dynamodb::types::AttributeValue;
use sagaline_order::Version;

use crate::error::StoreError;
use crate::head::describe;
use crate::key::{Key, PK, SK};
use crate::table::Item;
use crate::value::{as_integer, s};

/// An item of these attributes under this key.
pub(crate) fn item<const N: usize>(key: &Key, attributes: [(&str, AttributeValue); N]) -> Item {
    let keys = [(PK, s(key.pk.as_str())), (SK, s(key.sk.as_str()))];
    keys.into_iter()
        .chain(attributes)
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// An item under the eyes of a reader.
pub(crate) struct Row<'a>(pub(crate) &'a Item);

impl<'a> Row<'a> {
    pub(crate) fn bad(&self, reason: impl Into<String>) -> StoreError {
        StoreError::BadItem {
            what: describe(self.0),
            reason: reason.into(),
        }
    }

    pub(crate) fn pk(&self) -> Result<&'a str, StoreError> {
        self.text(PK)
    }

    pub(crate) fn text(&self, name: &str) -> Result<&'a str, StoreError> {
        self.optional_text(name)
            .ok_or_else(|| self.bad(format!("it has no text {name}")))
    }

    pub(crate) fn optional_text(&self, name: &str) -> Option<&'a str> {
        self.0
            .get(name)
            .and_then(|value| value.as_s().ok())
            .map(String::as_str)
    }

    /// A whole number in 64 bits.
    pub(crate) fn number(&self, name: &str) -> Result<i64, StoreError> {
        self.0
            .get(name)
            .and_then(as_integer)
            .and_then(|number| i64::try_from(number).ok())
            .ok_or_else(|| self.bad(format!("it has no whole number {name}")))
    }

    pub(crate) fn version(&self, name: &str) -> Result<Version, StoreError> {
        let number = self.number(name)?;
        u64::try_from(number)
            .ok()
            .and_then(Version::new)
            .ok_or_else(|| self.bad(format!("its {name} is {number}")))
    }
}
