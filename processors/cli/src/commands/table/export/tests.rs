//! What is asked for, before anyone is asked; and the files that come of it, over the memory table.

use super::*;
use clap::Parser;
use sagaline_order::{Timestamp, UserId};
use sagaline_store::value::{n, s};
use sagaline_store::{Action, Item, Key};
use sagaline_testkit::MemoryTable;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    export: Export,
}

fn parsed(arguments: &[&str]) -> Export {
    Line::try_parse_from(["export"].iter().chain(arguments))
        .unwrap()
        .export
}

#[test]
fn exactly_one_pattern_is_named() {
    for arguments in [
        &[][..],
        &["--user", "u-1", "--all"],
        &["--all", "--from", "2026-01-31"],
        &["--refunds", "2026-01-31", "--heads"],
        &["--status", "CONFIRMED"],
    ] {
        assert!(
            Line::try_parse_from(["export"].iter().chain(arguments)).is_err(),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_range_that_is_none_is_refused_before_anything_is_asked() {
    let check = |arguments: &[&str], part: &str| match parsed(arguments).pattern() {
        Ok(_) => panic!("{arguments:?}"),
        Err(error) => assert!(error.to_string().contains(part), "{error}"),
    };
    check(&["--user", "u 1"], "user id");
    check(
        &["--user", "u-1", "--from", "yesterday"],
        "--from 'yesterday' is no time",
    );
    check(
        &[
            "--user",
            "u-1",
            "--from",
            "2026-01-31",
            "--to",
            "2026-01-30",
        ],
        "earlier time first",
    );
    check(&["--refunds", "2026-01-31..2026-01-01"], "is empty");
    check(
        &[
            "--changed-since",
            "2026-01-31",
            "--to",
            "2026-01-30T00:00:00Z",
        ],
        "is empty",
    );
}

#[test]
fn days_are_whole_days() {
    let at = |text: &str| Timestamp::parse(text).unwrap();
    let pattern = parsed(&["--refunds", "2026-01-01..2026-01-31"]).pattern();
    assert!(
        matches!(pattern, Ok(Pattern::Refunds(from, until)) if from == at("2026-01-01T00:00:00Z") && until == at("2026-02-01T00:00:00Z"))
    );
    let one = parsed(&["--refunds", "2026-01-31"]).pattern();
    assert!(
        matches!(one, Ok(Pattern::Refunds(from, until)) if until.as_millis() - from.as_millis() == 86_400_000)
    );
    let span = parsed(&[
        "--user",
        "u-1",
        "--from",
        "2026-01-31T09:30:00+01:00",
        "--to",
        "2026-01-31",
    ])
    .span()
    .unwrap();
    assert_eq!(
        (span.from, span.until),
        (
            Some(at("2026-01-31T08:30:00Z")),
            Some(at("2026-02-01T00:00:00Z"))
        )
    );
}

#[test]
fn the_form_follows_the_name_of_the_file() {
    let check = |arguments: &[&str], expected: Option<Format>| {
        assert_eq!(
            parsed(&[&["--all"], arguments].concat()).format().ok(),
            expected,
            "{arguments:?}"
        );
    };
    check(&[], Some(Format::Csv));
    check(&["--out", "a.ndjson"], Some(Format::Ndjson));
    check(&["--out", "a.PARQUET"], Some(Format::Parquet));
    check(
        &["--out", "a.csv", "--format", "ndjson"],
        Some(Format::Ndjson),
    );
    check(&["--out", "a.xlsx"], None);
}

async fn table(orders: u32) -> Store<MemoryTable> {
    let table = MemoryTable::new();
    let user = UserId::parse("u-1").unwrap();
    for nth in 0..orders {
        let at = Timestamp::parse("2026-01-31T08:30:00Z")
            .unwrap()
            .plus(sagaline_order::Seconds(nth));
        let order = OrderId::parse(&format!("o-{nth}")).unwrap();
        let key = Key::user_order(&user, at, &order);
        let row = [
            ("PK", s(key.pk)),
            ("SK", s(key.sk)),
            ("status", s("UNPAID")),
            ("total_minor", n(nth)),
            ("currency", s("EUR")),
            ("line_count", n(1)),
        ];
        let head = Key::head(&order);
        let head = [
            ("PK", s(head.pk)),
            ("SK", s(head.sk)),
            ("order_id", s(order.as_str())),
            ("version", n(1)),
            ("total_minor", n(nth)),
        ];
        for item in [row.to_vec(), head.to_vec()] {
            // Every third order is listed and not there.
            if nth % 3 == 2 && item.len() == 5 {
                continue;
            }
            let item: Item = item
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect();
            table
                .write(Action::Put {
                    item,
                    condition: None,
                })
                .await
                .unwrap();
        }
    }
    Store::new(table)
}

/// The lines that `arguments` give of the user's orders.
async fn lines(store: &Store<MemoryTable>, arguments: &[&str]) -> Vec<serde_json::Value> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.ndjson");
    let path_text = path.to_str().unwrap();
    let export = parsed(&[&["--user", "u-1", "--out", path_text], arguments].concat());
    let Ok(Pattern::User(user, span)) = export.pattern() else {
        panic!("a user's")
    };
    let columns = export.columns(&Pattern::User(user.clone(), span));
    let mut sink = Sink {
        writer: Writer::create(Format::Ndjson, columns, Some(&path)).unwrap(),
        bar: ProgressBar::hidden(),
        out: Some(&path),
    };
    let list = store
        .user_orders(&user, span)
        .direction(Direction::OldestFirst)
        .page_size(1)
        .stream();
    let done = export
        .write(
            store,
            list,
            |row| (row.order_id.clone(), rows::user(row)),
            &mut sink,
        )
        .await;
    assert!(done.is_ok());
    sink.writer.finish().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn every_order_is_a_row_once_the_oldest_first_at_page_size_one() {
    let store = table(7).await;
    let rows = lines(&store, &[]).await;
    let ids: Vec<_> = rows
        .iter()
        .map(|row| row["order_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["o-0", "o-1", "o-2", "o-3", "o-4", "o-5", "o-6"]);
    assert_eq!(rows[1]["total_minor"], 1);
    let rows = lines(&store, &["--from", "2026-01-31T08:30:05Z"]).await;
    assert_eq!(rows.len(), 2);
}

#[tokio::test]
async fn heads_are_read_for_the_orders_that_are_there() {
    let store = table(250).await;
    let rows = lines(&store, &["--heads"]).await;
    assert_eq!(rows.len(), 250 - 83);
    assert_eq!(rows[2]["order_id"], "o-3");
    assert_eq!(rows[0]["version"], 1);
    assert!(rows[0]["lines"].is_null());
}

#[tokio::test]
async fn no_orders_are_an_empty_file() {
    assert!(lines(&table(0).await, &[]).await.is_empty());
}
