//! What a check found.

use crate::output;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Of each kind, so many are kept; all are counted.
const KEPT: usize = 10_000;
/// Of what was found, so much is shown to people; `--json` has all that is kept.
const FEW: usize = 50;

/// What is wrong with a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands::archive) enum Kind {
    Missing,
    Broken,
    Unverifiable,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Missing, Self::Broken, Self::Unverifiable];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Broken => "broken",
            Self::Unverifiable => "unverifiable",
        }
    }
}

/// One version with something about it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    order_id: String,
    version: i64,
    at: Option<String>,
    why: String,
    repaired: bool,
}

/// What was found of one kind.
#[derive(Debug, Default)]
struct Several {
    count: u64,
    kept: Vec<Found>,
}

/// All that a check found.
#[derive(Debug)]
pub(in crate::commands::archive) struct Findings {
    day: String,
    pub(super) orders: u64,
    pub(super) rows: u64,
    /// Versions that fit to the one before them.
    pub(super) fitting: u64,
    /// Versions that are missing and young.
    pub(super) on_its_way: u64,
    /// Whether everything was looked at.
    pub(super) whole: bool,
    missing: Several,
    broken: Several,
    unverifiable: Several,
    /// Rows that were taken by the archive again.
    repaired: u64,
    /// What a repair could not use, one line each.
    notes: Vec<String>,
}

impl Findings {
    pub(super) fn new(day: &str) -> Self {
        Self {
            day: day.to_owned(),
            orders: 0,
            rows: 0,
            fitting: 0,
            on_its_way: 0,
            whole: true,
            missing: Several::default(),
            broken: Several::default(),
            unverifiable: Several::default(),
            repaired: 0,
            notes: Vec::new(),
        }
    }

    pub(super) fn add(
        &mut self,
        kind: Kind,
        order_id: &str,
        version: i64,
        at: Option<String>,
        why: String,
    ) {
        let several = match kind {
            Kind::Missing => &mut self.missing,
            Kind::Broken => &mut self.broken,
            Kind::Unverifiable => &mut self.unverifiable,
        };
        several.count += 1;
        if several.kept.len() < KEPT {
            several.kept.push(Found {
                order_id: order_id.to_owned(),
                version,
                at,
                why,
                repaired: false,
            });
        }
    }

    const fn of(&self, kind: Kind) -> &Several {
        match kind {
            Kind::Missing => &self.missing,
            Kind::Broken => &self.broken,
            Kind::Unverifiable => &self.unverifiable,
        }
    }

    /// Whether more would only be counted.
    pub(super) const fn is_full(&self) -> bool {
        self.missing.count >= KEPT as u64
    }

    pub(super) const fn has_missing(&self) -> bool {
        self.missing.count > 0
    }

    /// What is missing or broken now.
    pub(super) const fn left(&self) -> u64 {
        self.missing.count - self.repaired + self.broken.count
    }

    /// The versions that are missing.
    pub(in crate::commands::archive) fn missing(&self) -> BTreeSet<(String, i64)> {
        let missing = self.missing.kept.iter().filter(|found| !found.repaired);
        missing
            .map(|found| (found.order_id.clone(), found.version))
            .collect()
    }

    /// The archive has taken that version.
    pub(in crate::commands::archive) fn repaired(&mut self, order_id: &str, version: i64) {
        for found in &mut self.missing.kept {
            if !found.repaired && found.version == version && found.order_id == order_id {
                found.repaired = true;
                self.repaired += 1;
            }
        }
    }

    /// Something that a repair could not use.
    pub(in crate::commands::archive) fn note(&mut self, line: String) {
        if self.notes.len() < KEPT {
            self.notes.push(line);
        }
    }

    pub(super) fn tell(&self, json: bool) {
        if json {
            output::json(&self.document());
            return;
        }
        for kind in Kind::ALL {
            let Several { count, kept } = self.of(kind);
            if *count == 0 {
                continue;
            }
            let rows = kept.iter().take(FEW).map(|found| {
                let repaired = if found.repaired { "written again" } else { "" };
                [
                    kind.as_str().to_owned(),
                    found.order_id.clone(),
                    format!("v{}", found.version),
                    found.at.clone().unwrap_or_default(),
                    found.why.clone(),
                    repaired.to_owned(),
                ]
            });
            output::line(&output::table(
                ["", "order", "version", "made", "", ""],
                rows,
            ));
            let shown = kept.len().min(FEW);
            let more = count.saturating_sub(u64::try_from(shown).unwrap_or_default());
            if more > 0 {
                output::line(&format!("and {more} more {}: see --json", kind.as_str()));
            }
        }
        for note in self.notes.iter().take(FEW) {
            output::line(&format!("not used: {note}"));
        }
        output::line(&format!(
            "{}: {} orders, {} changes: {} fit to the one before, {} unverifiable, {} broken, {} missing ({} written again), {} on its way{}",
            self.day,
            self.orders,
            self.rows,
            self.fitting,
            self.unverifiable.count,
            self.broken.count,
            self.missing.count,
            self.repaired,
            self.on_its_way,
            if self.whole { "" } else { "; not finished" }
        ));
        if self.repaired > 0 {
            output::line(
                "what was written again is shown when Firehose has delivered it, within some minutes",
            );
        }
    }

    fn document(&self) -> Value {
        let list = |kind| {
            let kept = self.of(kind).kept.iter();
            kept.map(|found| {
                json!({"order_id": found.order_id, "version": found.version, "at": found.at, "why": found.why, "repaired": found.repaired})
            })
            .collect::<Vec<_>>()
        };
        json!({
            "date": self.day,
            "orders": self.orders,
            "changes": self.rows,
            "counts": {
                "fitting": self.fitting, "unverifiable": self.unverifiable.count, "broken": self.broken.count,
                "missing": self.missing.count, "repaired": self.repaired, "on_its_way": self.on_its_way,
            },
            "missing": list(Kind::Missing),
            "broken": list(Kind::Broken),
            "unverifiable": list(Kind::Unverifiable),
            "not_used": self.notes,
            "left": self.left(),
            "whole": self.whole,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_what_is_missing_or_broken_and_not_repaired() {
        let mut findings = Findings::new("2026-01-31");
        let why = || "why".to_owned();
        findings.add(Kind::Missing, "o-1", 2, None, why());
        findings.add(Kind::Missing, "o-1", 3, None, why());
        findings.add(Kind::Broken, "o-2", 2, None, why());
        findings.add(Kind::Unverifiable, "o-3", 2, None, why());
        assert_eq!(findings.left(), 3);
        findings.repaired("o-1", 2);
        findings.repaired("o-1", 2);
        assert_eq!(findings.left(), 2);
        assert_eq!(findings.missing(), BTreeSet::from([("o-1".to_owned(), 3)]));
        let document = findings.document();
        assert_eq!(document["counts"]["repaired"], 1);
        assert_eq!(document["missing"][0]["repaired"], true);
        assert_eq!(document["left"], 2);
    }

    #[test]
    fn of_very_many_findings_all_are_counted_and_some_are_kept() {
        let mut findings = Findings::new("2026-01-31");
        for version in 0..10_001 {
            findings.add(Kind::Missing, "o-1", version, None, String::new());
        }
        assert!(findings.is_full());
        assert_eq!((findings.left(), findings.missing().len()), (10_001, KEPT));
    }
}
