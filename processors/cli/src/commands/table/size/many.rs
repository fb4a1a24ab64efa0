//! The sizes of many items: sums and percentiles. It keeps eight bytes an item and no more.

use super::{entries, halves};
use crate::commands::table::shown;
use crate::output;
use sagaline_store::Item;
use sagaline_store::size::{self as rules, Units};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Many {
    bytes: Vec<u64>,
    strong_read: u64,
    write: u64,
    /// By name: entries, their bytes, the units to make them.
    indexes: BTreeMap<&'static str, (u64, u64, u64)>,
    /// By kind: items, their bytes.
    kinds: BTreeMap<&'static str, (u64, u64)>,
    refused: u64,
}

impl Many {
    pub(super) fn add(&mut self, item: &Item) {
        let size = rules::item_bytes(item);
        let units = Units::of(size);
        let bytes = wide(size);
        self.bytes.push(bytes);
        self.strong_read += units.strong_read;
        self.write += units.write;
        self.refused += u64::from(rules::refusal(item).is_some());
        let kind = self
            .kinds
            .entry(shown::kind_of(item).kind.name())
            .or_default();
        (kind.0, kind.1) = (kind.0 + 1, kind.1 + bytes);
        for (index, entry, write) in entries(item) {
            let sum = self.indexes.entry(index.name()).or_default();
            *sum = (sum.0 + 1, sum.1 + wide(entry), sum.2 + write);
        }
    }

    pub(super) fn count(&self) -> usize {
        self.bytes.len()
    }

    /// The smallest size that so many of a hundred do not exceed (nearest rank).
    fn percentiles(&self) -> [(&'static str, u64); 6] {
        let mut sorted = self.bytes.clone();
        sorted.sort_unstable();
        let at = |hundredths: usize| {
            let rank = (sorted.len() * hundredths).div_ceil(100).max(1);
            sorted.get(rank - 1).copied().unwrap_or_default()
        };
        [
            ("min", at(0)),
            ("p50", at(50)),
            ("p90", at(90)),
            ("p99", at(99)),
            ("max", at(100)),
            ("total", sorted.iter().sum()),
        ]
    }

    pub(super) fn json(&self) -> Value {
        let sizes: serde_json::Map<_, _> = self
            .percentiles()
            .into_iter()
            .map(|(name, bytes)| (name.to_owned(), Value::from(bytes)))
            .collect();
        let half: Value = serde_json::from_str(&halves(self.strong_read)).unwrap_or_default();
        let indexes: Vec<_> = self
            .indexes
            .iter()
            .map(|(index, (entries, bytes, write))| json!({"index": index, "entries": entries, "bytes": bytes, "write_units": write}))
            .collect();
        let kinds: Vec<_> = self
            .kinds
            .iter()
            .map(|(kind, (items, bytes))| json!({"type": kind, "items": items, "bytes": bytes}))
            .collect();
        json!({
            "items": self.count(),
            "bytes": sizes,
            "refused": self.refused,
            "read_units": {"strong": self.strong_read, "eventual": half, "transactional": self.strong_read * 2},
            "write_units": {"standard": self.write, "transactional": self.write * 2},
            "types": kinds,
            "indexes": indexes,
        })
    }

    pub(super) fn people(&self) -> String {
        let [min, p50, p90, p99, max, total] =
            self.percentiles().map(|(_, bytes)| bytes.to_string());
        let mut lines = vec![
            format!("{} items, {total} bytes", self.count()),
            String::new(),
            output::table(
                ["smallest", "p50", "p90", "p99", "largest"],
                [[min, p50, p90, p99, max]],
            ),
            String::new(),
            output::table(
                ["each item on its own", "units"],
                [
                    [
                        "read, strongly consistent".to_owned(),
                        self.strong_read.to_string(),
                    ],
                    [
                        "read, eventually consistent".to_owned(),
                        halves(self.strong_read),
                    ],
                    ["write".to_owned(), self.write.to_string()],
                    [
                        "write, in transactions".to_owned(),
                        (self.write * 2).to_string(),
                    ],
                ],
            ),
            String::new(),
        ];
        let rows = self.kinds.iter().map(|(kind, (items, bytes))| {
            [(*kind).to_owned(), items.to_string(), bytes.to_string()]
        });
        lines.push(output::table(["type", "items", "bytes"], rows));
        if !self.indexes.is_empty() {
            let rows = self.indexes.iter().map(|(index, (entries, bytes, write))| {
                [
                    (*index).to_owned(),
                    entries.to_string(),
                    bytes.to_string(),
                    write.to_string(),
                ]
            });
            lines.extend([
                String::new(),
                output::table(["index", "entries", "bytes", "units to make them"], rows),
            ]);
        }
        if self.refused > 0 {
            lines.push(format!(
                "{} of them DynamoDB would refuse: see them one by one",
                self.refused
            ));
        }
        lines.join("\n")
    }
}

fn wide(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sagaline_store::value::s;

    fn of(sizes: impl Iterator<Item = usize>) -> Many {
        let mut many = Many::default();
        for size in sizes {
            many.add(&Item::from([("a".to_owned(), s("x".repeat(size - 1)))]));
        }
        many
    }

    #[test]
    fn percentiles_are_sizes_that_are_there() {
        let many = of(1..=200);
        assert_eq!(
            many.percentiles(),
            [
                ("min", 1),
                ("p50", 100),
                ("p90", 180),
                ("p99", 198),
                ("max", 200),
                ("total", 20_100)
            ]
        );
        assert_eq!(
            of(std::iter::once(7)).percentiles().map(|(_, bytes)| bytes),
            [7; 6]
        );
    }

    #[test]
    fn units_are_summed_item_by_item() {
        let many = of([10, 1024, 1025, 4096, 4097].into_iter());
        let json = many.json();
        assert_eq!(json["read_units"]["strong"], 6);
        assert_eq!(json["read_units"]["eventual"], 3);
        assert_eq!(json["write_units"]["standard"], 1 + 1 + 2 + 4 + 5);
    }

    #[test]
    fn people_read_a_summary() {
        insta::assert_snapshot!(of([10, 900, 5000].into_iter()).people());
    }
}
