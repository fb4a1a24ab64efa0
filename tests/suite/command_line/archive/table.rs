//! `sagaline archive export-table`, and the page that retires a table with it.

use std::collections::BTreeSet;

use sagaline_local::root;
use sagaline_search::image_of;
use serde_json::{Value, json};

use super::{order, put};
use crate::support::Place;

/// An item with an attribute of every type and the numbers that lose digits first.
pub(super) fn every_type(id: &str) -> Value {
    json!({
        "PK": {"S": format!("ODD#{id}")}, "SK": {"S": "ODD"}, "empty": {"S": ""}, "text": {"S": "é\u{2028}\n\u{0}\"\\"},
        "n": {"N": "12345678901234567890123456789012345678"}, "small": {"N": "1E-130"}, "minus": {"N": "-0.1"},
        "b": {"B": "3q2+7w=="}, "none": {"B": ""}, "bs": {"BS": ["AQ==", "AA=="]}, "ss": {"SS": ["b", "a"]}, "ns": {"NS": ["9", "10", "-0.5"]},
        "bool": {"BOOL": false}, "null": {"NULL": true}, "l": {"L": [{"L": []}, {"M": {}}, {"NULL": true}]}, "m": {"M": {"z": {"S": "1"}, "a": {"N": "2"}}},
    })
}

#[tokio::test]
async fn every_item_of_the_table_is_kept_to_the_last_digit_and_proved() {
    let place = Place::fresh("taken").await;
    order(&place, "o-1", 3).await;
    put(&place, &every_type("x")).await;
    let items = place.items().await;
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state.json").display().to_string();
    let told = place
        .json(&["archive", "export-table", "--state", &state])
        .await;
    let count = items.len();
    for side in ["manifest", "stored", "table"] {
        assert_eq!(told[side]["items"], count, "{told}");
        assert_eq!(told[side]["checksum"], told["table"]["checksum"]);
    }
    assert!(
        !std::path::Path::new(&state).exists(),
        "a finished export leaves no state"
    );

    // The text of each item is in the files, readable by Athena.
    let day = told["export"]
        .as_str()
        .unwrap()
        .trim_end_matches('/')
        .rsplit("dt=")
        .next()
        .unwrap()
        .to_owned();
    let sql = format!("SELECT item FROM exported_items WHERE dt = '{day}'");
    let answer = place.json(&["archive", "query", &sql]).await;
    let kept: BTreeSet<String> = answer["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["item"].as_str().unwrap().to_owned())
        .collect();
    let expected: BTreeSet<String> = items
        .iter()
        .map(|item| image_of(item).to_canonical())
        .collect();
    assert_eq!(kept, expected);
    let digits = r#""n":{"N":"12345678901234567890123456789012345678"}"#;
    assert!(kept.iter().any(|item| item.contains(digits)), "{kept:#?}");

    // A second export of the day is refused; the check of the first is repeated.
    place
        .sagaline(&["archive", "export-table"])
        .await
        .refused(4, "SL3004");
    place
        .sagaline(&[
            "archive",
            "export-table",
            "--check",
            &day,
            "--segments",
            "1",
        ])
        .await
        .ok();
    place
        .sagaline(&["archive", "export-table", "--check", "2020-01-01"])
        .await
        .refused(3, "SL2002");

    // A write after the export is seen, and so is a file that is gone.
    put(&place, &every_type("y")).await;
    let differs = place
        .sagaline(&["archive", "export-table", "--check", &day])
        .await
        .refused(1, "SL4001");
    assert!(
        differs.err.contains("the table is not what was exported"),
        "{}",
        differs.err
    );
    let bucket = place.var("ARCHIVE_BUCKET");
    let keys = place.objects(bucket).await;
    let file = keys
        .iter()
        .find(|key| key.ends_with(".parquet") && key.starts_with("tables/"))
        .unwrap();
    place
        .s3()
        .delete_object()
        .bucket(bucket)
        .key(file)
        .send()
        .await
        .unwrap();
    let differs = place
        .sagaline(&["archive", "export-table", "--check", &day])
        .await
        .refused(1, "SL4001");
    assert!(
        differs.err.contains("the files are not what was written"),
        "{}",
        differs.err
    );
}

#[tokio::test]
async fn an_export_that_was_stopped_goes_on_where_its_state_says() {
    let place = Place::fresh("stopped").await;
    order(&place, "o-1", 3).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.json");
    let state = path.display().to_string();
    let args = [
        "archive",
        "export-table",
        "--state",
        &state,
        "--segments",
        "2",
    ];
    let whole = place.json(&args).await;
    // As if it had been killed when the first segment was stored: the second one's file lies there, half an export's.
    let bucket = place.var("ARCHIVE_BUCKET");
    let keys = place.objects(bucket).await;
    let manifest = keys
        .iter()
        .find(|key| key.ends_with("_manifest.json"))
        .unwrap();
    let object = place
        .s3()
        .get_object()
        .bucket(bucket)
        .key(manifest)
        .send()
        .await
        .unwrap();
    let stored: Value =
        serde_json::from_slice(&object.body.collect().await.unwrap().to_vec()).unwrap();
    place
        .s3()
        .delete_object()
        .bucket(bucket)
        .key(manifest)
        .send()
        .await
        .unwrap();
    let files = stored["files"].as_array().unwrap().iter();
    let first: Vec<_> = files
        .filter(|file| file["name"].as_str().unwrap().starts_with("part-000-"))
        .collect();
    let segments = json!([
        {"number": 0, "after": null, "finished": true, "files": first}, {"number": 1, "after": null, "finished": false, "files": []},
    ]);
    let kept = json!({"table": place.var("ORDERS_TABLE"), "bucket": bucket, "state": {"day": stored["day"], "segments": segments}});
    std::fs::write(&path, kept.to_string()).unwrap();
    // Cut off from the bucket it stops, and the state stays.
    let away = [("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")];
    place.sagaline_in(&away, &args).await.refused(5, "SL5001");
    assert!(path.exists());
    assert_eq!(
        place.json(&args).await,
        whole,
        "the same files, count and checksum"
    );
    assert!(!path.exists());

    let place = Place::fresh("another").await;
    std::fs::write(
        &path,
        json!({"table": "other", "bucket": "b", "state": {"day": "2026-01-01", "segments": []}})
            .to_string(),
    )
    .unwrap();
    place.sagaline(&args).await.refused(2, "SL0002");
    assert!(place.objects(place.var("ARCHIVE_BUCKET")).await.is_empty());
}

/// Runs the commands of `docs/retire-a-table.md`, each line of its `sh` blocks, against a table of its own.
#[tokio::test]
async fn the_commands_of_the_page_retire_a_table() {
    let place = Place::fresh("retired").await;
    order(&place, "o-1", 2).await;
    let folder = tempfile::tempdir().unwrap();
    let page = std::fs::read_to_string(root().join("docs/retire-a-table.md")).unwrap();
    let today = place
        .json(&[
            "archive",
            "query",
            "SELECT CAST(CURRENT_DATE AS VARCHAR) AS day",
        ])
        .await;
    let today = today["rows"][0]["day"].as_str().unwrap().to_owned();
    let state = folder.path().join("retire.json").display().to_string();
    let mut ran = Vec::new();
    for line in commands(&page) {
        // What a reader would fill in.
        let line = line
            .replace("$ORDERS_TABLE", place.var("ORDERS_TABLE"))
            .replace("$ARCHIVE_BUCKET", place.var("ARCHIVE_BUCKET"))
            .replace("retire.json", &state)
            .replace("2026-01-31", &today);
        let words = words(&line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["sagaline", rest @ ..] => {
                place.sagaline(rest).await.ok();
            }
            ["aws", "dynamodb", rest @ ..] => dynamodb(&place, rest).await,
            other => panic!("a command that the test cannot run: {other:?}"),
        }
        ran.push(line);
    }
    assert!(ran.len() >= 6, "{ran:#?}");
    let gone = place
        .dynamodb()
        .describe_table()
        .table_name(place.var("ORDERS_TABLE"))
        .send()
        .await;
    assert!(gone.is_err(), "the table is deleted");
    let keys = place.objects(place.var("ARCHIVE_BUCKET")).await;
    assert!(
        keys.iter().any(|key| key.ends_with("/_manifest.json")),
        "the export stays"
    );
}

/// The lines of the page's `sh` blocks without comments; a line that ends with a backslash goes on.
fn commands(page: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let (mut inside, mut begun) = (false, String::new());
    for line in page.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            _ if !inside || line.is_empty() || line.starts_with('#') => {}
            _ => match line.strip_suffix('\\') {
                Some(part) => begun.push_str(part),
                None => commands.push(std::mem::take(&mut begun) + line),
            },
        }
    }
    commands
}

/// Words as a shell has them: quotes keep spaces together.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for character in line.chars() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, ' ') => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            _ => word.push(character),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// The AWS CLI need not be installed: the few calls of the page are made by the SDK.
async fn dynamodb(place: &Place, words: &[&str]) {
    let client = place.dynamodb();
    match words {
        [
            "update-table",
            "--table-name",
            table,
            "--no-deletion-protection-enabled",
        ] => {
            let call = client
                .update_table()
                .table_name(*table)
                .deletion_protection_enabled(false);
            call.send().await.unwrap();
        }
        [
            "create-backup",
            "--table-name",
            table,
            "--backup-name",
            name,
        ] => {
            client
                .create_backup()
                .table_name(*table)
                .backup_name(*name)
                .send()
                .await
                .unwrap();
        }
        ["delete-table", "--table-name", table] => {
            client
                .delete_table()
                .table_name(*table)
                .send()
                .await
                .unwrap();
        }
        other => panic!("a call that the test cannot make: {other:?}"),
    }
}
