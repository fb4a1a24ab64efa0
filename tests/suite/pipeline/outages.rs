//! Sinks that are away for a while.

use sagaline_order::Order;

use crate::support::{Gate, Pipeline, SOON, SetUp, stack, until};

// C-48 (the other sink's half)
#[tokio::test]
async fn a_search_server_that_is_away_costs_the_archive_nothing_and_the_index_catches_up() {
    let mut gate = Gate::to(stack().await.opensearch_url()).await;
    let env = vec![("OPENSEARCH_ENDPOINT", gate.url())];
    let mut pipeline = Pipeline::start_as("noindex", SetUp { env, unfed: None }).await;
    let queue = pipeline.place.var("SEARCH_RETRY_QUEUE_URL").to_owned();
    pipeline.hurry(&queue).await;
    pipeline.shelve("tea", 10).await;
    pipeline.place_order("o-0", "tea:1:100", "tok_visa").await;
    pipeline.at_rest().await;

    gate.close();
    for id in ["o-1", "o-2", "o-3"] {
        pipeline.place_order(id, "tea:1:100", "tok_visa").await;
    }
    for id in ["o-1", "o-2", "o-3"] {
        pipeline.until(id, "announced", Order::is_published).await;
    }
    until("the archive has all versions", SOON, async || {
        (pipeline.archived("order_changes").await.len() == 16).then_some(())
    })
    .await;
    until("versions are deferred", SOON, async || {
        (pipeline.count("projector", "RecordsDeferred") > 0).then_some(())
    })
    .await;
    assert_eq!(
        pipeline.index.versions().await.len(),
        1,
        "the index saw none of it"
    );
    assert!(pipeline.place.waiting(&queue).await > 0);

    gate.open().await;
    pipeline.at_rest().await;
    let expected = (0..4).map(|n| (format!("o-{n}"), (4, false))).collect();
    assert_eq!(pipeline.index.versions().await, expected);
    assert_eq!(
        pipeline.count("projector", "RecordsFailed"),
        0,
        "nothing was reported for it"
    );
    pipeline.check_invariants().await;
    pipeline.stop().await;
}

// C-48
#[tokio::test]
async fn an_archive_that_is_away_costs_search_nothing_and_what_no_queue_takes_is_not_acknowledged()
{
    let aws = stack().await.aws_url();
    let (mut firehose, mut queues) = (Gate::to(aws).await, Gate::to(aws).await);
    let env = vec![
        ("AWS_ENDPOINT_URL_FIREHOSE", firehose.url()),
        ("AWS_ENDPOINT_URL_SQS", queues.url()),
    ];
    let mut pipeline = Pipeline::start_as("noarchive", SetUp { env, unfed: None }).await;
    let queue = pipeline.place.var("ARCHIVE_RETRY_QUEUE_URL").to_owned();
    pipeline.hurry(&queue).await;
    pipeline.shelve("tea", 10).await;
    let indexed = async |orders: u32| {
        let expected = (1..=orders)
            .map(|n| (format!("o-{n}"), (4, false)))
            .collect();
        until("the index has all orders", SOON, async || {
            (pipeline.index.versions().await == expected).then_some(())
        })
        .await;
    };

    firehose.close();
    for id in ["o-1", "o-2"] {
        pipeline.place_order(id, "tea:1:100", "tok_visa").await;
    }
    indexed(2).await;
    until("rows wait in the queue", SOON, async || {
        (pipeline.count("projector", "RecordsDeferred") > 0).then_some(())
    })
    .await;
    assert!(pipeline.place.waiting(&queue).await > 0);
    assert_eq!(pipeline.archived("changes").await, []);

    // What is not acknowledged keeps what comes after it in its shard: the index waits, too.
    queues.close();
    pipeline.place_order("o-3", "tea:1:100", "tok_visa").await;
    pipeline
        .until("o-3", "announced", Order::is_published)
        .await;
    until("records are reported", SOON, async || {
        (pipeline.count("projector", "RecordsFailed") > 0).then_some(())
    })
    .await;

    firehose.open().await;
    queues.open().await;
    pipeline.at_rest().await;
    indexed(3).await;
    let versions = pipeline.archived("order_changes").await;
    assert_eq!(versions.len(), 12, "{versions:?}");
    pipeline.check_invariants().await;
    pipeline.stop().await;
}
