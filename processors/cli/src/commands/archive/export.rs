//! `sagaline archive export`: the changes of some days as a file.

use super::answers;
use super::place::{Place, Watch};
use crate::args::Global;
use crate::aside::store::day;
use crate::error::{Code, CommandError};
use crate::tabular::Format;
use clap::Args;
use sagaline_archive::columns::{COLUMNS, PARTITION};
use sagaline_archive::views::changes_of_days;
use sagaline_order::Timestamp;
use std::path::PathBuf;

/// Writes every change of these days, each once, by day, order and version.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline archive export --from 2026-01-01 --to 2026-01-31 --format parquet --out january.parquet
  sagaline archive export --from 2026-01-31 --to 2026-01-31 --format ndjson | jq -r .order_id
  sagaline archive export --from 2026-01-01 --to 2026-01-31 --undated --format csv --out january.csv --json

The file appears when it is whole; its SHA-256 is printed. CSV does not tell NULL from an empty text, the others do.")]
pub(super) struct Export {
    /// The first UTC day.
    #[arg(long, value_name = "DAY", value_parser = day)]
    from: String,
    /// The last UTC day.
    #[arg(long, value_name = "DAY", value_parser = day)]
    to: String,
    /// Changes without a known day as well.
    #[arg(long)]
    undated: bool,
    /// The form of the file.
    #[arg(long, value_enum)]
    format: Format,
    /// The file; without it standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Export {
    pub(super) async fn run(self, place: &Place, global: &Global) -> Result<(), CommandError> {
        if self.from > self.to {
            return Err(CommandError::new(
                Code::BadInput,
                format!("--from {} is later than --to {}", self.from, self.to),
            ));
        }
        let archive = place.open(global).await?;
        let sql = self.sql();
        let watch = Watch::new();
        let answer = archive.ask(&sql, watch.query()).await?;
        drop(watch);
        answers::write(answer, self.format, self.out.as_deref(), global.json).await
    }

    fn sql(&self) -> String {
        let names: Vec<&str> = COLUMNS
            .iter()
            .chain([&PARTITION])
            .map(|(name, _)| *name)
            .collect();
        let (before, after) = (beside(&self.from, -1), beside(&self.to, 1));
        changes_of_days(
            &names,
            (&self.from, &self.to),
            (&before, &after),
            self.undated,
        )
    }
}

/// The day so many days later; a day that is none stays what it is.
fn beside(day: &str, days: i64) -> String {
    Timestamp::parse(&format!("{day}T00:00:00Z"))
        .and_then(|at| Timestamp::from_millis(at.as_millis() + days * 24 * 60 * 60 * 1_000))
        .map_or_else(|| day.to_owned(), Timestamp::day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_days_beside_a_range_are_found_over_the_ends_of_months() {
        assert_eq!(beside("2024-03-01", -1), "2024-02-29");
        assert_eq!(beside("2026-12-31", 1), "2027-01-01");
    }
}
