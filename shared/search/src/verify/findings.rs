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

/// Of findings, and of heads that are refused, so many are kept: memory is bounded however wrong an index is.
pub const MOST_KEPT: usize = 10_000;

/// What was found. The counts are of everything; of the findings themselves the first [`MOST_KEPT`] are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// Heads that were compared.
    pub heads: u64,
    found: Vec<Finding>,
    refused: Vec<String>,
    refusals: usize,
    counts: [Count; Drift::ALL.len()],
}

/// Of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    found: usize,
    repaired: usize,
}

impl Findings {
    /// Takes one down.
    pub fn add(&mut self, finding: Finding) {
        if let Some(count) = self.counts.get_mut(finding.drift as usize) {
            count.found += 1;
            count.repaired += usize::from(finding.repaired);
        }
        if self.found.len() < MOST_KEPT {
            self.found.push(finding);
        }
    }

    /// Takes down a head that the index will never hold.
    pub fn add_refused(&mut self, refused: String) {
        self.refusals += 1;
        if self.refused.len() < MOST_KEPT {
            self.refused.push(refused);
        }
    }

    /// What differs, as it was found.
    #[must_use]
    pub fn found(&self) -> &[Finding] {
        &self.found
    }

    /// Heads that the index will never hold, each with its reason. They are no drift: the index has refused them for good.
    #[must_use]
    pub fn refused(&self) -> &[String] {
        &self.refused
    }

    /// How many of those there are.
    #[must_use]
    pub const fn refusals(&self) -> usize {
        self.refusals
    }

    /// How many of a kind were found.
    #[must_use]
    pub fn count(&self, drift: Drift) -> usize {
        self.of(drift).found
    }

    /// How many of a kind are as wrong as they were found.
    #[must_use]
    pub fn open(&self, drift: Drift) -> usize {
        let count = self.of(drift);
        count.found - count.repaired
    }

    /// How many were found.
    #[must_use]
    pub fn total(&self) -> usize {
        self.counts.iter().map(|count| count.found).sum()
    }

    /// How many are as wrong as they were found.
    #[must_use]
    pub fn left(&self) -> usize {
        Drift::ALL.map(|drift| self.open(drift)).iter().sum()
    }

    fn of(&self, drift: Drift) -> Count {
        self.counts.get(drift as usize).copied().unwrap_or_default()
    }
}
