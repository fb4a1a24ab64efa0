//! Sequence numbers: decimal text of any length, or opaque.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;

/// A stream record's sequence number, kept exactly as it was received.
///
/// AWS promises 21 to 40 digits (F-STR-11), which no machine integer holds, and plain text order is wrong across lengths. So numbers are
/// compared without leading zeros, by length and then as text. Text that is not all digits is *opaque*: it has no order at all.
///
/// ```
/// # use sagaline_stream::SequenceNumber;
/// # use std::cmp::Ordering;
/// let number = |text| SequenceNumber::new(text).expect("not empty");
/// assert_eq!(number("888").compare(&number("1200")), Some(Ordering::Less));
/// assert_eq!(number("0888").compare(&number("888")), Some(Ordering::Equal));
/// assert_eq!(number("shard-7").compare(&number("888")), None);
/// assert!(SequenceNumber::new("").is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct SequenceNumber(String);

impl SequenceNumber {
    /// `None` for empty text, which is no sequence number: as an identifier it would fail the whole batch (F-RSP-3).
    #[must_use]
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        if text.is_empty() {
            None
        } else {
            Some(Self(text))
        }
    }

    /// The text as it was received.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the text is not all digits, so that only its place in the batch says which came first.
    #[must_use]
    pub fn is_opaque(&self) -> bool {
        !self.0.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// The numeric order; `None` when either is opaque.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        if self.is_opaque() || other.is_opaque() {
            return None;
        }
        let (ours, theirs) = (
            self.0.trim_start_matches('0'),
            other.0.trim_start_matches('0'),
        );
        Some(ours.len().cmp(&theirs.len()).then_with(|| ours.cmp(theirs)))
    }
}

impl TryFrom<String> for SequenceNumber {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(text).ok_or("a sequence number must not be empty")
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
