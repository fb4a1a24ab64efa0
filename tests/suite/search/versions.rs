//! Which version an order has in the index, and that it never falls back.

use std::path::Path;

use reqwest::Method;
use sagaline_local::{OpenSearch, Progress, install};
use sagaline_search::{Query, SearchInput, SinkVerdict};
use serde_json::json;
use tempfile::TempDir;

use super::{bare, index};
use crate::support::{Index, SOON, until};

// C-32
#[tokio::test]
async fn versions_that_the_index_has_are_stale_and_a_new_one_is_written() {
    let index = index("stale").await;
    assert_eq!(index.write(vec![bare("o-1", 3)]).await, [SinkVerdict::Done]);
    let written = index
        .write(vec![bare("o-1", 3), bare("o-1", 2), bare("o-2", 4)])
        .await;
    // The second is of the same order and older than the first: it is not sent, and ends as that one does.
    assert_eq!(
        written,
        [SinkVerdict::Stale, SinkVerdict::Stale, SinkVerdict::Done]
    );
    assert_eq!(
        index.write(vec![bare("o-1", 2)]).await,
        [SinkVerdict::Stale]
    );
    assert_eq!(index.document("o-1").await["_version"], 3);
    assert_eq!(index.document("o-2").await["_version"], 4);
}

// C-33
#[tokio::test]
async fn a_deleted_order_stays_deleted_after_the_server_forgets_deletions_and_over_its_restart() {
    let folder = TempDir::new().unwrap();
    let server = start(folder.path()).await;
    let index = Index::at(server.url(), "orders").made().await;
    index.set(&json!({"index": {"gc_deletes": "1s"}})).await;
    assert_eq!(index.write(vec![bare("o-5", 2)]).await, [SinkVerdict::Done]);
    assert_eq!(
        index.write(vec![SearchInput::tombstone("o-5", 3)]).await,
        [SinkVerdict::Done]
    );

    // A document that was really deleted shows when the server has forgotten: an older version brings it back.
    let control =
        |version| format!("orders-v1/_doc/control?version={version}&version_type=external");
    index.send(Method::PUT, &control(2), &json!({})).await;
    index.answer(Method::DELETE, &control(3), None).await;
    until("the server forgets a deletion", SOON, async || {
        let (status, _) = index
            .answer(Method::PUT, &control(2), Some(&json!({})))
            .await;
        (status != 409).then_some(())
    })
    .await;
    index.answer(Method::DELETE, &control(4), None).await;

    stays_deleted(&index).await;
    drop(server);
    let server = start(folder.path()).await;
    let index = index.moved_to(server.url());
    stays_deleted(&index).await;
    assert_eq!(
        index.write(vec![bare("o-5", 4)]).await,
        [SinkVerdict::Done],
        "a new life is shown"
    );
    assert_eq!(index.found(&json!({})).await, ["o-5"]);
}

async fn stays_deleted(index: &Index) {
    assert_eq!(
        index.write(vec![bare("o-5", 2)]).await,
        [SinkVerdict::Stale]
    );
    assert_eq!(index.document("o-5").await["_source"]["deleted"], true);
    assert_eq!(index.found(&json!({})).await, Vec::<String>::new());
}

pub(super) async fn start(folder: &Path) -> OpenSearch {
    let folder = folder.to_path_buf();
    let started = tokio::task::spawn_blocking(move || {
        let installed = install(None, &Progress::stderr())?;
        OpenSearch::start(&installed, &folder)
    });
    started.await.unwrap().unwrap()
}

// C-34; the neighbour that gets 503 is the scripted server's matter.
#[tokio::test]
async fn the_deletion_of_an_order_that_was_never_indexed_is_shown_as_one_that_was() {
    let index = index("never").await;
    let written = index
        .write(vec![bare("o-6", 1), SearchInput::tombstone("o-6", 2)])
        .await;
    assert_eq!(written, [SinkVerdict::Stale, SinkVerdict::Done]);
    let written = index
        .write(vec![SearchInput::tombstone("o-7", 5), bare("o-8", 1)])
        .await;
    assert_eq!(written, [SinkVerdict::Done, SinkVerdict::Done]);
    let seen = index.versions().await;
    assert_eq!((seen["o-6"], seen["o-7"]), ((2, true), (5, true)));
    assert_eq!(
        index.found(&json!({})).await,
        ["o-8"],
        "the read alias hides deleted orders"
    );
    let page = Query::parse("").unwrap();
    let page = page
        .run(&index.client, &index.names.read, 10, None)
        .await
        .unwrap();
    assert_eq!(
        (page.total, &page.orders[0]["order_id"]),
        (1, &json!("o-8"))
    );
}
