//! What the function answers to its event source mapping.

use serde::Serialize;

/// A partial batch response. Only the engine builds one, from the identifiers of the batch it ran, so it holds no null, no empty and no
/// foreign identifier: each of those means something else than it says (F-RSP-3, F-RSP-4, F-RSP-9).
///
/// On a stream it has at most one entry, the numerically lowest unfinished record: that is the checkpoint, and everything from there on
/// comes again (F-ESM-7). On SQS it has every failed message: only those come again (F-RSP-11).
///
/// It serialises to exactly `{"batchItemFailures":[{"itemIdentifier":"<id>"}]}`, or `{"batchItemFailures":[]}`; the spelling matters,
/// since keys in another case count as success (F-RSP-2).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct BatchResponse {
    #[serde(rename = "batchItemFailures")]
    failures: Vec<ItemFailure>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct ItemFailure {
    #[serde(rename = "itemIdentifier")]
    identifier: String,
}

impl BatchResponse {
    /// The caller promises identifiers of its batch; empty ones are left out here only because they can never be meant.
    pub(crate) fn reporting<'i>(identifiers: impl IntoIterator<Item = &'i str>) -> Self {
        let failures = identifiers
            .into_iter()
            .filter(|identifier| !identifier.is_empty())
            .map(|identifier| ItemFailure {
                identifier: identifier.to_owned(),
            })
            .collect();
        Self { failures }
    }

    /// Whether nothing is reported: the whole batch is acknowledged.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.failures.is_empty()
    }

    /// The identifiers that are reported.
    pub fn identifiers(&self) -> impl Iterator<Item = &str> {
        self.failures
            .iter()
            .map(|failure| failure.identifier.as_str())
    }
}
