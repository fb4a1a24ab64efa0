//! A redrive into search, over a table in memory and a server on this machine that keeps versions as OpenSearch does.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the helpers of a test fail like a test"
)]

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use sagaline_search::{Auth, SearchClient, SearchMessage, SearchSink, parse_endpoint};
use sagaline_sinks::Search;
use sagaline_store::{AttributeValue, Store};
use sagaline_stream::{Budget, EpochMillis, Invocation, Limits, Remaining, Verdict};
use sagaline_testkit::MemoryTable;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Versions by document id.
type Index = Arc<Mutex<BTreeMap<String, i64>>>;

async fn bulk(State(index): State<Index>, body: String) -> String {
    let lines: Vec<Value> = body
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut index = index.lock().unwrap();
    let mut items = Vec::new();
    for action in lines.iter().step_by(2) {
        let id = action["index"]["_id"].as_str().unwrap();
        let version = action["index"]["version"].as_i64().unwrap();
        items.push(if index.get(id).is_some_and(|held| *held >= version) {
            json!({"index": {"_id": id, "status": 409, "error": {"type": "version_conflict_engine_exception", "reason": "older"}}})
        } else {
            index.insert(id.to_owned(), version);
            json!({"index": {"_index": "orders-v1", "_id": id, "status": 201}})
        });
    }
    json!({"took": 1, "errors": true, "items": items}).to_string()
}

/// A table with o-2 at v4, and an index that holds it at that version.
async fn place(held: i64) -> (Search<MemoryTable>, Index) {
    let table = MemoryTable::new();
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let head = HashMap::from([
        ("PK".to_owned(), text("ORDER#o-2")),
        ("SK".to_owned(), text("ORDER#DETAIL")),
        ("order_id".to_owned(), text("o-2")),
        ("version".to_owned(), AttributeValue::N("4".to_owned())),
    ]);
    table.put(head).unwrap();
    let index: Index = Arc::new(Mutex::new(BTreeMap::from([("o-2".to_owned(), held)])));
    let app = Router::new()
        .route("/{alias}/_bulk", post(bulk))
        .with_state(Arc::clone(&index));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    let config = aws_config::SdkConfig::builder().build();
    let endpoint = parse_endpoint(&endpoint).unwrap();
    let client = SearchClient::new(endpoint, Auth::None, &config)
        .unwrap()
        .with_gzip(false);
    let search = Search {
        sink: SearchSink::new(client.clone(), "orders-write"),
        client,
        store: Store::new(table),
        read_alias: "orders".to_owned(),
        write_alias: "orders-write".to_owned(),
    };
    (search, index)
}

fn budget() -> Budget {
    let invocation = Invocation {
        function: "sagaline".to_owned(),
        request_id: "r-1".to_owned(),
        received_at: EpochMillis::new(1_764_500_000_000),
        remaining: Remaining::Known(Duration::from_secs(30)),
    };
    Budget::start(&invocation, &Limits::default())
}

fn v1(order_id: &str) -> SearchMessage {
    SearchMessage {
        order_id: order_id.to_owned(),
        version: 1,
        deleted: false,
    }
}

// C-49
#[tokio::test]
async fn an_old_version_that_is_redriven_is_stale_and_the_index_stays_where_it_is() {
    let (search, index) = place(4).await;
    let verdict = search.refresh(&v1("o-2"), &budget()).await.unwrap();
    assert_eq!(verdict, Verdict::Stale);
    assert_eq!(index.lock().unwrap().get("o-2"), Some(&4));

    let verdict = search.refresh(&v1("o-3"), &budget()).await.unwrap();
    assert_eq!(verdict, Verdict::Stale, "a head that is gone");
    assert_eq!(index.lock().unwrap().len(), 1, "nothing was written for it");
}

#[tokio::test]
async fn an_index_that_is_behind_gets_the_head_and_not_the_old_version() {
    let (search, index) = place(0).await;
    let verdict = search.refresh(&v1("o-2"), &budget()).await.unwrap();
    assert_eq!(verdict, Verdict::Done);
    assert_eq!(index.lock().unwrap().get("o-2"), Some(&4));
}
