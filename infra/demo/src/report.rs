//! What the demo shows: tables for people, or one JSON document.

use std::collections::BTreeMap;
use std::io::Write as _;

use anyhow::{Context, Result};
use comfy_table::{LineStyle, Table, TableStyle};
use sagaline_order::{OrderId, Status};
use sagaline_testkit::invariants::{Check, World};
use serde::Serialize;

use crate::index::Found;
use crate::snapshot::Moment;

/// A line under the header and no other.
const RULED: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Everything that a run came to.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// True if everything came to rest and every check holds.
    pub(crate) ok: bool,
    pub(crate) at_rest: bool,
    /// From the first order to the last answer.
    pub(crate) seconds: u64,
    pub(crate) orders: Ends,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expected: Option<Expected>,
    pub(crate) timeline: Option<Timeline>,
    pub(crate) search: Found,
    pub(crate) audit: Audit,
    pub(crate) checks: Vec<Check>,
}

/// How the orders ended, by currency and together.
#[derive(Debug, Serialize)]
pub(crate) struct Ends {
    pub(crate) total: Counts,
    pub(crate) by_currency: BTreeMap<&'static str, Counts>,
}

#[derive(Debug, Default, Clone, Copy, Serialize)]
pub(crate) struct Counts {
    pub(crate) placed: usize,
    pub(crate) confirmed: usize,
    pub(crate) cancelled: usize,
    pub(crate) rejected: usize,
    pub(crate) waiting_for_a_person: usize,
    pub(crate) unfinished: usize,
}

/// The ends that the script says, and those that were found.
#[derive(Debug, Serialize)]
pub(crate) struct Expected {
    pub(crate) ends: BTreeMap<String, usize>,
    pub(crate) found: BTreeMap<String, usize>,
}

/// What the archive answered.
#[derive(Debug, Serialize)]
pub(crate) struct Audit {
    /// The question, in SQL.
    pub(crate) query: &'static str,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// The life of one order.
#[derive(Debug, Serialize)]
pub(crate) struct Timeline {
    pub(crate) order_id: OrderId,
    pub(crate) status: &'static str,
    pub(crate) moments: Vec<Moment>,
}

impl Expected {
    pub(crate) fn is_met(&self) -> bool {
        self.ends == self.found
    }
}

impl Ends {
    pub(crate) fn count(world: &World) -> Self {
        let mut ends = Self {
            total: Counts::default(),
            by_currency: BTreeMap::new(),
        };
        for order in world.heads.iter().map(|head| &head.order) {
            for counts in [
                &mut ends.total,
                ends.by_currency.entry(order.currency.code()).or_default(),
            ] {
                counts.placed += 1;
                *match order.status() {
                    Status::Confirmed | Status::Shipped => &mut counts.confirmed,
                    Status::Cancelled => &mut counts.cancelled,
                    Status::Rejected => &mut counts.rejected,
                    Status::Exception => &mut counts.waiting_for_a_person,
                    Status::Unpaid | Status::Processing => &mut counts.unfinished,
                } += 1;
            }
        }
        ends
    }
}

impl Report {
    /// Prints it on stdout.
    pub(crate) fn print(&self, json: bool) -> Result<()> {
        let text = if json {
            serde_json::to_string_pretty(self).context("cannot write the result as JSON")? + "\n"
        } else {
            self.text()
        };
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())
            .and_then(|()| out.flush())
            .context("cannot print the result")
    }

    fn text(&self) -> String {
        let mut parts = vec![format!(
            "Orders, after {} s\n{}",
            self.seconds,
            self.orders.table()
        )];
        if !self.at_rest {
            parts.push("Not everything came to rest in time.".to_owned());
        }
        if let Some(expected) = self.expected.as_ref().filter(|expected| !expected.is_met()) {
            parts.push(format!(
                "The script says other ends: {:?}, found {:?}.",
                expected.ends, expected.found
            ));
        }
        parts.extend(self.timeline.as_ref().map(Timeline::text));
        parts.push(self.search.text());
        parts.push(format!(
            "Asked of the archive, answered by Athena from Parquet\n  {}\n{}",
            self.audit.query,
            rows(&self.audit.columns, &self.audit.rows)
        ));
        let ticks = self.checks.iter().map(|check| {
            format!(
                "  {} {}. {}: {}",
                if check.ok { "✓" } else { "✗" },
                check.number,
                check.name,
                check.detail
            )
        });
        parts.push(format!("Checks\n{}", ticks.collect::<Vec<_>>().join("\n")));
        parts.join("\n\n") + "\n"
    }
}

impl Ends {
    fn table(&self) -> Table {
        let header = [
            "",
            "placed",
            "confirmed",
            "cancelled",
            "rejected",
            "waiting for a person",
            "unfinished",
        ];
        let row = |name: &str, counts: &Counts| {
            let counts = [
                counts.placed,
                counts.confirmed,
                counts.cancelled,
                counts.rejected,
                counts.waiting_for_a_person,
                counts.unfinished,
            ];
            std::iter::once(name.to_owned())
                .chain(counts.map(|count| count.to_string()))
                .collect::<Vec<_>>()
        };
        let all = self
            .by_currency
            .iter()
            .map(|(currency, counts)| row(currency, counts))
            .chain([row("all", &self.total)]);
        rows(&header.map(str::to_owned), &all.collect::<Vec<_>>())
    }
}

impl Timeline {
    fn text(&self) -> String {
        let first = self
            .moments
            .first()
            .map_or(0, |moment| moment.at.as_millis());
        let row = |moment: &Moment| {
            let after = moment.at.as_millis().saturating_sub(first);
            let after = format!("+{}.{:03} s", after / 1000, after % 1000);
            vec![
                moment.version.to_string(),
                after,
                moment.actor.clone(),
                moment.changes.join(", "),
                moment.reason.clone(),
            ]
        };
        let header = ["version", "time", "by", "recorded", "why"].map(str::to_owned);
        let all: Vec<_> = self.moments.iter().map(row).collect();
        format!(
            "The life of order {}, now {}\n{}",
            self.order_id,
            self.status,
            rows(&header, &all)
        )
    }
}

impl Found {
    fn text(&self) -> String {
        let row = |order: &crate::index::Hit| {
            vec![
                order.order_id.clone(),
                order.user_id.clone(),
                order.status.clone(),
                order.total.clone(),
                order.lines.to_string(),
            ]
        };
        let header = ["order", "user", "status", "total", "lines"].map(str::to_owned);
        let all: Vec<_> = self.first.iter().map(row).collect();
        format!(
            "sagaline search '{}', answered by OpenSearch: {} orders\n{}",
            self.query,
            self.orders,
            rows(&header, &all)
        )
    }
}

fn rows(header: &[String], all: &[Vec<String>]) -> Table {
    let mut table = Table::new();
    table.load_style(RULED).set_header(header).add_rows(all);
    table
}
