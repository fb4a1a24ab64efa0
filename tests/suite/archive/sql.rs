//! What the code and the files ask in SQL, and the columns that all of them mean.

use std::io::Write as _;
use std::process::{Command, Stdio};

use sagaline_archive::columns::COLUMNS;
use sagaline_archive::{verify, views};
use sagaline_local::{Progress, install_python, root};

/// The local Athena is another database: what it takes need not be what Athena takes.
#[test]
fn the_questions_of_the_code_are_sql_that_athena_reads_over_the_templates_tables() {
    let views_used = "SELECT t.dt, r.refunds FROM daily_totals AS t JOIN refunds_by_day AS r ON t.dt = r.dt AND t.currency = r.currency";
    let questions = [
        ("verify", verify::select("2026-01-31")),
        (
            "verify, unheard",
            verify::select_newest(&["o'1".to_owned(), "o-2".to_owned()]),
        ),
        (
            "days",
            views::changes_of_days(
                &["order_id", "new_image", "dt"],
                ("2026-01-01", "2026-01-31"),
                ("2025-12-31", "2026-02-01"),
                true,
            ),
        ),
        ("query", views::readable(views_used).unwrap()),
        (
            "own",
            views::readable(
                "WITH mine AS (SELECT order_id FROM order_changes) SELECT COUNT(*) AS n FROM mine",
            )
            .unwrap(),
        ),
    ];
    let text: String = questions
        .iter()
        .map(|(name, sql)| format!("-- name {name}\n{sql}\n"))
        .collect();
    let python = install_python(&Progress::stderr()).unwrap();
    let mut check = Command::new(python)
        .arg(root().join("infra/local/check_sql.py"))
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    check
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let ended = check.wait_with_output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        ended.status.success(),
        "{}{}",
        said(&ended.stdout),
        said(&ended.stderr)
    );
    assert!(
        said(&ended.stderr).starts_with("9 statements, 0 findings"),
        "{}",
        said(&ended.stderr)
    );
}

// C-45 (row struct and Glue columns agree by a test of the archive's own)
#[test]
fn a_column_that_the_index_knows_too_is_of_the_same_type_there() {
    let mapping = sagaline_search::mapping::mapping();
    let mut shared = 0;
    for (name, glue) in COLUMNS {
        let Some(search) = mapping["properties"][name]["type"].as_str() else {
            continue;
        };
        shared += 1;
        let expected = match glue {
            "string" => "keyword",
            "bigint" => "long",
            other => other,
        };
        assert_eq!(search, expected, "{name}");
    }
    assert!(
        shared >= 6,
        "order_id, version, status, state, total_minor, currency"
    );
}
