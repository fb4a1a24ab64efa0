//! Which indices a document goes to: what the configuration says, read once a minute.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail like a test")]

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::post;
use sagaline_search::{Auth, SearchClient, SearchInput, SearchSink, parse_endpoint};
use sagaline_sinks::{Search, Written};
use sagaline_store::Store;
use sagaline_stream::{Budget, EpochMillis, Invocation, Limits, Remaining};
use sagaline_testkit::MemoryTable;
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The aliases that were written.
type Asked = Arc<Mutex<Vec<String>>>;

async fn bulk(State(asked): State<Asked>, Path(alias): Path<String>, body: String) -> String {
    asked.lock().unwrap().push(alias.clone());
    let first: Value = serde_json::from_str(body.lines().next().unwrap()).unwrap();
    let id = first.pointer("/index/_id").unwrap();
    // The index to come refuses this one.
    let refused = alias == "orders-write-next" && id == "o-bad";
    let item = if refused {
        json!({"_id": id, "status": 400, "error": {"type": "mapper_parsing_exception", "reason": "no"}})
    } else {
        json!({"_id": id, "_index": "orders-v1", "status": 201})
    };
    json!({"items": [{"index": item}]}).to_string()
}

async fn place() -> (Search<MemoryTable>, Asked) {
    let asked = Asked::default();
    let app = Router::new()
        .route("/{alias}/_bulk", post(bulk))
        .with_state(Arc::clone(&asked));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    let config = aws_config::SdkConfig::builder().build();
    let endpoint = parse_endpoint(&endpoint).unwrap();
    let client = SearchClient::new(endpoint, Auth::None, &config).unwrap();
    let search = Search {
        sink: SearchSink::new(client.clone(), "orders-write"),
        client,
        store: Store::new(MemoryTable::new()),
        read_alias: "orders".to_owned(),
        write_alias: "orders-write".to_owned(),
    };
    (search, asked)
}

/// The budget of a call so many seconds after the first.
fn at(seconds: i64) -> Budget {
    let invocation = Invocation {
        function: "projector".to_owned(),
        request_id: "r-1".to_owned(),
        received_at: EpochMillis::new(1_764_500_000_000 + seconds * 1_000),
        remaining: Remaining::Known(Duration::from_secs(30)),
    };
    Budget::start(&invocation, &Limits::default())
}

async fn write(search: &Search<MemoryTable>, id: &str, seconds: i64) -> Vec<Written> {
    let inputs = vec![SearchInput::tombstone(id, 1)];
    search.write(inputs, &at(seconds)).await
}

fn taken(asked: &Asked) -> Vec<String> {
    let mut taken = std::mem::take(&mut *asked.lock().unwrap());
    taken.sort_unstable();
    taken
}

fn targets(aliases: &[&str]) -> Map<String, Value> {
    Map::from_iter([("targets".to_owned(), json!(aliases))])
}

#[tokio::test]
async fn a_change_of_the_targets_is_followed_within_a_minute_and_the_table_asked_no_more_often() {
    let (search, asked) = place().await;
    assert_eq!(write(&search, "o-1", 0).await, [Written::Done]);
    assert_eq!(taken(&asked), ["orders-write"]);
    // By another process: this one's cache does not know of it.
    let other = Store::new(search.store.table().clone());
    let both = targets(&["orders-write", "orders-write-next"]);
    other.put_config("search", &both).await.unwrap();
    write(&search, "o-1", 50).await;
    assert_eq!(taken(&asked), ["orders-write"], "not read again yet");
    write(&search, "o-1", 61).await;
    assert_eq!(taken(&asked), ["orders-write", "orders-write-next"]);

    // What cannot be read leaves what is known in force.
    let garbage = Map::from_iter([("targets".to_owned(), json!("orders-write"))]);
    other.put_config("search", &garbage).await.unwrap();
    write(&search, "o-1", 130).await;
    assert_eq!(taken(&asked), ["orders-write", "orders-write-next"]);
    other.put_config("search", &targets(&[])).await.unwrap();
    write(&search, "o-1", 200).await;
    assert_eq!(
        taken(&asked),
        ["orders-write"],
        "no target at all is the default"
    );
}

#[tokio::test]
async fn what_only_the_index_to_come_refuses_is_done() {
    let (search, _) = place().await;
    let both = targets(&["orders-write", "orders-write-next"]);
    search.store.put_config("search", &both).await.unwrap();
    assert_eq!(write(&search, "o-bad", 0).await, [Written::Done]);
}

#[tokio::test]
async fn of_two_who_replace_the_configuration_one_is_told_that_it_was_too_late() {
    let store = Store::new(MemoryTable::new());
    let value = || targets(&["a"]);
    assert!(
        store
            .replace_config("search", None, "1", value())
            .await
            .unwrap()
    );
    assert!(
        !store
            .replace_config("search", None, "2", value())
            .await
            .unwrap()
    );
    let read = store.stored_config("search").await.unwrap();
    assert!(
        store
            .replace_config("search", read.as_ref(), "3", value())
            .await
            .unwrap()
    );
    assert!(
        !store
            .replace_config("search", read.as_ref(), "4", value())
            .await
            .unwrap()
    );
    // One made by hand has no revision.
    store.put_config("search", &value()).await.unwrap();
    let read = store.stored_config("search").await.unwrap();
    assert!(
        store
            .replace_config("search", read.as_ref(), "5", value())
            .await
            .unwrap()
    );
    let stored = store.stored_config("search").await.unwrap().unwrap();
    assert_eq!(
        Value::Object(stored),
        json!({"targets": ["a"], "revision": "5"})
    );
}
