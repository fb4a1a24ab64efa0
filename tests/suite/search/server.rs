//! The server: its index and aliases, its limits and blocks.

use std::time::Duration;

use reqwest::Method;
use sagaline_search::admin::{doctor, init};
use sagaline_search::{Limits, SearchInput, SinkVerdict};
use serde_json::json;

use super::{bare, index};
use crate::support::{Index, budget, head, limited, stack, unique};

#[tokio::test]
async fn making_the_index_again_and_twice_at_once_changes_nothing() {
    let index = Index::at(stack().await.opensearch_url(), &unique("init"));
    let (one, other) = tokio::join!(
        init(&index.client, &index.names),
        init(&index.client, &index.names)
    );
    let done = one.unwrap().len() + other.unwrap().len();
    assert!(done > 0, "somebody made it");
    let nothing: Vec<String> = Vec::new();
    assert_eq!(init(&index.client, &index.names).await.unwrap(), nothing);
    assert_eq!(doctor(&index.client, &index.names).await.unwrap(), nothing);
}

#[tokio::test]
async fn an_index_that_somebody_changed_by_hand_is_diagnosed() {
    let index = index("doctor").await;
    let changed = json!({"properties": {"surprise": {"type": "text"}}});
    let path = format!("{}/_mapping", index.names.index(1));
    index.send(Method::PUT, &path, &changed).await;
    let found = doctor(&index.client, &index.names).await.unwrap();
    assert!(
        matches!(found.as_slice(), [only] if only.contains("properties.surprise")),
        "{found:?}"
    );
}

// C-40
#[tokio::test]
async fn requests_are_cut_by_bytes_and_what_is_too_large_alone_is_refused_alone() {
    #[track_caller]
    fn only_the_large_one_is_refused(written: &[SinkVerdict]) {
        for (place, verdict) in written.iter().enumerate() {
            let refused = matches!(verdict, SinkVerdict::Refused(_));
            assert_eq!(refused, place == 10, "{place}: {verdict:?}");
            assert!(
                refused || *verdict == SinkVerdict::Done,
                "{place}: {verdict:?}"
            );
        }
    }
    const LIMIT: usize = 1024 * 1024;
    let index = index("bytes").await;
    let front = limited(stack().await.opensearch_url(), LIMIT).await;
    let cut = index.moved_to(&front.url());
    let orders = |prefix: &str| -> Vec<SearchInput> {
        let of = |place: usize| {
            let bytes = if place == 10 {
                LIMIT * 6 / 5
            } else {
                60 * 1024
            };
            let name = "mug ".repeat(bytes / 4);
            head(
                &format!("{prefix}-{place}"),
                1,
                &json!({"lines": {"L": [{"M": {"name": {"S": name}}}]}}),
            )
        };
        (0..31).map(of).collect()
    };
    let time = budget(Duration::from_secs(60));
    let told = cut.sink_with(Limits {
        request_bytes: LIMIT,
        ..Limits::default()
    });
    only_the_large_one_is_refused(&told.write(orders("told"), &time).await);
    let (sent, refused) = front.requests();
    assert_eq!(
        refused, 1,
        "of {sent} requests only the one with the large document is refused"
    );

    // A sink that does not know the limit learns it by halving, and sends no body twice.
    only_the_large_one_is_refused(&cut.sink().write(orders("untold"), &time).await);
    let (_, refused) = front.requests();
    assert!(
        (2..=8).contains(&refused),
        "halving finds the large document, {refused} refused"
    );
    assert!(front.never_the_same_twice());
    assert_eq!(index.versions().await.len(), 60);
}

#[tokio::test]
async fn writes_that_are_blocked_are_tried_again_and_succeed_when_the_block_is_lifted() {
    let index = index("block").await;
    index.set(&json!({"index.blocks.write": true})).await;
    let quick = Limits {
        retries: 1,
        first_pause: Duration::from_millis(1),
        ..Limits::default()
    };
    let sink = index.sink_with(quick);
    let blocked = sink
        .write(vec![bare("o-1", 1)], &budget(Duration::from_secs(20)))
        .await;
    assert!(
        matches!(blocked.as_slice(), [SinkVerdict::Retry(why)] if why.contains("cluster_block")),
        "{blocked:?}"
    );
    index.set(&json!({"index.blocks.write": false})).await;
    let written = sink
        .write(vec![bare("o-1", 1)], &budget(Duration::from_secs(20)))
        .await;
    assert_eq!(written, [SinkVerdict::Done]);
}

#[tokio::test]
async fn nothing_is_written_where_no_alias_leads() {
    let index = Index::at(stack().await.opensearch_url(), &unique("alias"));
    let quick = Limits {
        retries: 1,
        first_pause: Duration::from_millis(1),
        ..Limits::default()
    };
    let written = index
        .sink_with(quick)
        .write(vec![bare("o-1", 1)], &budget(Duration::from_secs(20)))
        .await;
    assert!(
        matches!(written.as_slice(), [SinkVerdict::Retry(_)]),
        "{written:?}"
    );
    let (status, _) = index.answer(Method::GET, &index.names.write, None).await;
    assert_eq!(status, 404, "no index was made by writing");
}
