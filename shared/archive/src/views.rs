//! The views, as text: in the cloud each is created once, locally each is inlined. The files in `infra/athena` are the only copy.

/// A view of the archive. Later ones are built on earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum View {
    /// Each version of each order once.
    OrderChanges,
    /// What happened to each order, one line a version.
    OrderTimeline,
    /// Per day and currency, what was placed, confirmed, cancelled and rejected.
    DailyTotals,
    /// Per day and currency, what was given back.
    RefundsByDay,
}

impl View {
    /// All of them, each after those that it is built on.
    pub const ALL: [Self; 4] = [
        Self::OrderChanges,
        Self::OrderTimeline,
        Self::DailyTotals,
        Self::RefundsByDay,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OrderChanges => "order_changes",
            Self::OrderTimeline => "order_timeline",
            Self::DailyTotals => "daily_totals",
            Self::RefundsByDay => "refunds_by_day",
        }
    }

    /// Its one SELECT.
    #[must_use]
    pub const fn select(self) -> &'static str {
        match self {
            Self::OrderChanges => include_str!("../../../infra/athena/order_changes.sql"),
            Self::OrderTimeline => include_str!("../../../infra/athena/order_timeline.sql"),
            Self::DailyTotals => include_str!("../../../infra/athena/daily_totals.sql"),
            Self::RefundsByDay => include_str!("../../../infra/athena/refunds_by_day.sql"),
        }
    }

    /// The statement that creates it, or brings it up to date.
    #[must_use]
    pub fn create(self) -> String {
        format!(
            "CREATE OR REPLACE VIEW {} AS\n{}",
            self.name(),
            self.select()
        )
    }
}

/// A query over the views that needs none of them to exist: all are inlined. `select` begins with `SELECT`.
#[must_use]
pub fn inlined(select: &str) -> String {
    // The line feed ends a comment that a file may end with.
    let parts: Vec<String> = View::ALL
        .iter()
        .map(|view| format!("{} AS (\n{}\n)", view.name(), view.select()))
        .collect();
    format!("WITH {}\n{select}", parts.join(",\n"))
}

/// A text as SQL: in single quotes, those inside it doubled.
#[must_use]
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_view_is_one_select_and_stands_after_those_it_is_built_on() {
        for (place, view) in View::ALL.into_iter().enumerate() {
            let code: Vec<&str> = view
                .select()
                .lines()
                .filter(|line| !line.trim_start().starts_with("--"))
                .collect();
            let code = code.join("\n");
            assert!(
                code.trim_start().starts_with("SELECT") && !code.contains(';'),
                "{}",
                view.name()
            );
            assert!(
                !code.contains("${"),
                "nothing to fill in: the database is the query's context"
            );
            for later in View::ALL.into_iter().skip(place) {
                assert!(
                    !code.contains(&format!("FROM {}", later.name())),
                    "{} reads {}",
                    view.name(),
                    later.name()
                );
            }
        }
    }

    #[test]
    fn a_quote_in_a_text_does_not_end_it() {
        assert_eq!(literal("o'; DROP TABLE x --"), "'o''; DROP TABLE x --'");
    }
}
