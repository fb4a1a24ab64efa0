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

/// What a statement may be: one that reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begin {
    /// `SELECT`, `VALUES`, `TABLE` or a parenthesis.
    Query,
    /// Common table expressions of its own; ours go before them.
    With,
    /// The same, and one of them may name itself.
    WithRecursive,
    /// About the tables, not over them.
    Catalogue,
}

/// A statement that reads, with the views that it names as common table expressions before it, so that none of them need exist. `None` for a
/// statement that does anything else than read.
#[must_use]
pub fn readable(sql: &str) -> Option<String> {
    let sql = sql.trim().trim_end_matches(';').trim_end();
    let (begin, rest) = begin(sql)?;
    let views = named_in(sql);
    let rest = rest.trim_start();
    Some(match begin {
        Begin::Catalogue => sql.to_owned(),
        Begin::Query | Begin::With | Begin::WithRecursive if views.is_empty() => sql.to_owned(),
        Begin::Query => format!("WITH {views}\n{sql}"),
        Begin::With => format!("WITH {views},\n{rest}"),
        Begin::WithRecursive => format!("WITH RECURSIVE {views},\n{rest}"),
    })
}

/// The changes of these days (`2026-01-31`), each once, as `columns`, by day, order and version; with `undated` those without a known day too.
///
/// A day of the view would not do: which of two rows is shown is decided over all days, so all would be read. Here only the files of these
/// days and their neighbours are: a repeat of a row lies in its own day, or beside it when its time was taken from the head.
#[must_use]
pub fn changes_of_days(
    columns: &[&str],
    (from, to): (&str, &str),
    (day_before, day_after): (&str, &str),
    undated: bool,
) -> String {
    let [from, to, day_before, day_after] = [from, to, day_before, day_after].map(literal);
    let read =
        format!("{ALL_DAYS} WHERE CAST(dt AS VARCHAR) BETWEEN {day_before} AND {day_after}\n");
    let changes = View::OrderChanges
        .select()
        .replacen(&format!("{ALL_DAYS}\n"), &read, 1);
    let or_undated = if undated { " OR dt = 'unknown'" } else { "" };
    format!(
        "WITH order_changes AS (\n{changes}\n)\nSELECT {} FROM order_changes WHERE dt BETWEEN {from} AND {to}{or_undated} ORDER BY dt, order_id, version",
        columns.join(", ")
    )
}

/// Where the view reads the files of all days.
const ALL_DAYS: &str = "    FROM changes";

/// A SELECT of ours, over the views or the tables, that needs no view to exist.
pub(crate) fn inlined(select: &str) -> String {
    match named_in(select).as_str() {
        "" => select.to_owned(),
        views => format!("WITH {views}\n{select}"),
    }
}

/// How a statement begins, comments apart, and what comes after those words.
fn begin(sql: &str) -> Option<(Begin, &str)> {
    let sql = without_leading_comments(sql);
    if sql.starts_with('(') {
        return Some((Begin::Query, sql));
    }
    let (word, rest) = word(sql);
    match word.to_ascii_uppercase().as_str() {
        "SELECT" | "VALUES" | "TABLE" => Some((Begin::Query, sql)),
        "SHOW" | "DESCRIBE" | "EXPLAIN" => Some((Begin::Catalogue, sql)),
        "WITH" => {
            let rest = without_leading_comments(rest);
            match self::word(rest) {
                (second, after) if second.eq_ignore_ascii_case("RECURSIVE") => {
                    Some((Begin::WithRecursive, after))
                }
                _ => Some((Begin::With, rest)),
            }
        }
        _ => None,
    }
}

fn word(text: &str) -> (&str, &str) {
    let end = text
        .find(|character: char| !character.is_ascii_alphanumeric() && character != '_')
        .unwrap_or(text.len());
    text.split_at(end)
}

fn without_leading_comments(mut sql: &str) -> &str {
    loop {
        sql = sql.trim_start();
        sql = if let Some(rest) = sql.strip_prefix("--") {
            rest.split_once('\n').map_or("", |(_, after)| after)
        } else if let Some(rest) = sql.strip_prefix("/*") {
            rest.split_once("*/").map_or("", |(_, after)| after)
        } else {
            return sql;
        };
    }
}

/// The views whose names are in the text, and those that they are built on, each as `name AS (select)`.
fn named_in(sql: &str) -> String {
    let mut text = sql.to_ascii_lowercase();
    let mut parts = Vec::new();
    for view in View::ALL.iter().rev() {
        if text.contains(view.name()) {
            text.push_str(view.select());
            // The line feed ends a comment that a file may end with.
            parts.push(format!("{} AS (\n{}\n)", view.name(), view.select()));
        }
    }
    parts.reverse();
    parts.join(",\n")
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
    fn a_query_gets_the_views_that_it_names_and_no_other() {
        #[track_caller]
        fn check(sql: &str, begins: &str, views: &[&str]) {
            let sql = readable(sql).unwrap();
            assert!(sql.starts_with(begins), "{sql}");
            for view in View::ALL {
                let there = sql.contains(&format!("{} AS (\n", view.name()));
                assert_eq!(
                    there,
                    views.contains(&view.name()),
                    "{} in {sql}",
                    view.name()
                );
            }
        }
        check("SELECT 1", "SELECT 1", &[]);
        check(
            "select * from Order_Changes;",
            "WITH order_changes AS (",
            &["order_changes"],
        );
        check(
            "-- totals\nSELECT * FROM daily_totals ;\n",
            "WITH order_changes AS (",
            &["order_changes", "order_timeline", "daily_totals"],
        );
        check("(SELECT * FROM changes)", "(SELECT", &[]);
        assert_eq!(inlined("SELECT 1 FROM changes"), "SELECT 1 FROM changes");
        check(
            "/* mine */ WITH mine AS (SELECT * FROM order_changes) SELECT * FROM mine",
            "WITH order_changes AS (",
            &["order_changes"],
        );
        check(
            "with recursive t(n) as (select 1) select * from t, order_changes",
            "WITH RECURSIVE order_changes AS (",
            &["order_changes"],
        );
        check("SHOW TABLES", "SHOW TABLES", &[]);
        let own = readable("WITH mine AS (SELECT 1 FROM order_changes) SELECT 2").unwrap();
        assert!(
            own.ends_with("),\nmine AS (SELECT 1 FROM order_changes) SELECT 2"),
            "{own}"
        );
    }

    #[test]
    fn what_does_not_read_is_no_query() {
        for sql in [
            "",
            ";",
            "DROP TABLE changes",
            "create view x as select 1",
            "INSERT INTO a SELECT 1",
            "-- SELECT 1",
            "/* SELECT",
        ] {
            assert_eq!(readable(sql), None, "{sql}");
        }
    }

    #[test]
    fn the_changes_of_some_days_are_read_from_the_files_of_these_days() {
        let sql = changes_of_days(
            &["order_id"],
            ("2026-01-02", "2026-01-03"),
            ("2026-01-01", "2026-01-04"),
            true,
        );
        assert!(sql.contains("FROM changes WHERE CAST(dt AS VARCHAR) BETWEEN '2026-01-01' AND '2026-01-04'\n    UNION ALL"), "{sql}");
        assert!(
            sql.ends_with("SELECT order_id FROM order_changes WHERE dt BETWEEN '2026-01-02' AND '2026-01-03' OR dt = 'unknown' ORDER BY dt, order_id, version"),
            "{sql}"
        );
    }

    #[test]
    fn a_quote_in_a_text_does_not_end_it() {
        assert_eq!(literal("o'; DROP TABLE x --"), "'o''; DROP TABLE x --'");
    }
}
