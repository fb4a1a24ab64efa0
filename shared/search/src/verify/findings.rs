//! What a verification finds.

use crate::bulk::request::VersionRule;

/// How a document is not what its head says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Drift {
    /// There is no document.
    Missing,
    /// The document is of an older version.
    Stale,
    /// The document is of the head's version, with other content.
    Damaged,
    /// There is a document and no head, and it is no tombstone. Nothing says that the table is right, so a repair leaves it alone: a remap
    /// does not take it over.
    Extra,
    /// The document is of a newer version than the head, as after a restore of the table. The index refuses older versions, so only a remap
    /// repairs it.
    Ahead,
}

impl Drift {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Missing,
        Self::Stale,
        Self::Damaged,
        Self::Extra,
        Self::Ahead,
    ];

    /// Its word in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Stale => "stale",
            Self::Damaged => "damaged",
            Self::Extra => "extra",
            Self::Ahead => "ahead",
        }
    }

    /// Under which rule a repair writes it; `None` if it does not.
    pub(super) const fn repaired_by(self) -> Option<VersionRule> {
        match self {
            Self::Stale => Some(VersionRule::External),
            // A document that someone deleted leaves its version behind for a while, which may be the head's (F-OS-9).
            Self::Missing | Self::Damaged => Some(VersionRule::ExternalOrSame),
            Self::Extra | Self::Ahead => None,
        }
    }
}

/// One document that is not what its head says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How.
    pub drift: Drift,
    /// The order; of an extra document its id in the index.
    pub order_id: String,
    /// The head's version.
    pub head_version: Option<i64>,
    /// The document's version.
    pub index_version: Option<i64>,
    /// Whether the index holds the head's version now, or a newer one.
    pub repaired: bool,
    /// Why a repair was tried and failed.
    pub why: Option<String>,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// Heads that were compared.
    pub heads: u64,
    /// What differs, as it was found.
    pub found: Vec<Finding>,
    /// Heads that the index will never hold, each with its reason. They are no drift: the index has refused them for good.
    pub refused: Vec<String>,
}

impl Findings {
    /// How many of a kind were found.
    #[must_use]
    pub fn count(&self, drift: Drift) -> usize {
        let found = self.found.iter();
        found.filter(|finding| finding.drift == drift).count()
    }

    /// How many are as wrong as they were found.
    #[must_use]
    pub fn left(&self) -> usize {
        let found = self.found.iter();
        found.filter(|finding| !finding.repaired).count()
    }
}
