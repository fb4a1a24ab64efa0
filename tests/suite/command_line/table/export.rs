//! Orders into files, by every pattern.

use serde_json::Value;

use super::order;
use crate::command_line::create;
use crate::support::{Place, unique};

/// Exports and reads the rows back.
async fn rows(place: &Place, arguments: &[&str]) -> Vec<Value> {
    let arguments = [&["table", "export", "--format", "ndjson"], arguments].concat();
    let said = place.sagaline(&arguments).await.ok();
    said.out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn ids(rows: &[Value]) -> Vec<&str> {
    rows.iter()
        .map(|row| row["order_id"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn every_pattern_gives_its_orders() {
    let place = Place::shared().await;
    let (id, user, sku) = order(&place).await;
    let second = unique("o");
    place
        .json(&create(
            &second,
            &user,
            &unique("r"),
            &format!("{sku}:3:100"),
        ))
        .await;
    let both = [id.as_str(), second.as_str()];
    let of_user = rows(&place, &["--user", &user]).await;
    assert_eq!(ids(&of_user), both, "the oldest first");
    assert_eq!(of_user[0]["total_minor"], 2500);
    let of_product = rows(&place, &["--product", &sku]).await;
    assert_eq!(ids(&of_product), both);
    assert_eq!(of_product[1]["qty"], 3);
    let heads = rows(&place, &["--product", &sku, "--heads"]).await;
    assert_eq!(
        (ids(&heads), &heads[1]["status"]),
        (both.to_vec(), &Value::from("UNPAID"))
    );
    let has_both = |rows: &[Value]| {
        both.iter()
            .all(|id| ids(rows).iter().filter(|found| *found == id).count() == 1)
    };
    assert!(has_both(
        &rows(&place, &["--status", "UNPAID", "--from", "2000-01-01"]).await
    ));
    let since = of_user[0]["created_at"].as_str().unwrap();
    assert!(has_both(&rows(&place, &["--changed-since", since]).await));
    let all = rows(&place, &["--all"]).await;
    assert!(has_both(&all));
    assert!(all.iter().all(|row| row["state"].is_string()), "heads only");
    assert_eq!(rows(&place, &["--user", &unique("nobody")]).await.len(), 0);
    assert!(
        rows(&place, &["--overdue"])
            .await
            .iter()
            .all(|row| row["wake_at"].is_string())
    );
    rows(&place, &["--refunds", "2026-01-01..2026-01-31"]).await;
    assert_eq!(
        rows(&place, &["--user", &user, "--to", "2000-01-01"])
            .await
            .len(),
        0
    );
}

#[tokio::test]
async fn files_are_whole_or_not_there() {
    let place = Place::shared().await;
    let (_, user, _) = order(&place).await;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for name in ["a.csv", "a.ndjson", "a.parquet"] {
        let path = file(name);
        let told = place
            .json(&["table", "export", "--user", &user, "--out", &path])
            .await;
        assert_eq!(told["rows"], 1, "{name}");
        assert_eq!(
            std::fs::metadata(&path).unwrap().len(),
            told["bytes"].as_u64().unwrap()
        );
    }
    let csv = std::fs::read_to_string(file("a.csv")).unwrap();
    assert!(
        csv.starts_with(
            "order_id,user_id,created_at,status,total_minor,currency,first_name,line_count\n"
        ),
        "{csv}"
    );
    assert_eq!(std::fs::read(file("a.parquet")).unwrap()[..4], *b"PAR1");
    // Nothing is read, and nothing is left, where the file cannot be.
    place
        .sagaline(&[
            "table",
            "export",
            "--user",
            &user,
            "--out",
            &file("none/a.csv"),
        ])
        .await
        .refused(2, "SL0003");
    place
        .sagaline(&["table", "export", "--user", &user, "--out", &file("a.xlsx")])
        .await
        .refused(2, "SL0002");
    place
        .sagaline(&["table", "export", "--refunds", "2026-01-31..2026-01-01"])
        .await
        .refused(2, "SL0002");
    place
        .sagaline(&["table", "export"])
        .await
        .refused(2, "SL0001");
    place
        .sagaline(&["table", "export", "--phone", "+4915112345678"])
        .await
        .refused(2, "SL1001");
    // A table that is not there leaves no file.
    place
        .sagaline(&[
            "table",
            "export",
            "--all",
            "--out",
            &file("b.csv"),
            "--table",
            "none",
        ])
        .await
        .refused(2, "SL1004");
    let names: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names.len(), 3, "{names:?}");
}
