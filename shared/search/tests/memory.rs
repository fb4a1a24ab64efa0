//! The comparison of a large table takes no more memory than that of a small one. A test program of its own: what a process has used at most
//! is the process's, whoever used it.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the helpers of a test fail like a test"
)]

use aws_sdk_dynamodb::types::AttributeValue;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::Uri;
use sagaline_search::backfill::{Key, ScannedPage, Segment};
use sagaline_search::verify::{MOST_KEPT, Verifier};
use sagaline_search::{Auth, SearchClient, SearchInput, parse_endpoint};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

type Item = HashMap<String, AttributeValue>;

/// Heads on a page of the table: about what a scan reads in 1 MiB.
const PAGE: usize = 1_000;

fn id(n: usize) -> String {
    format!("o-{n:07}")
}

fn head(id: &str) -> Item {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    HashMap::from([
        ("PK".to_owned(), text(&format!("ORDER#{id}"))),
        ("SK".to_owned(), text("ORDER#DETAIL")),
        ("status".to_owned(), text(&"PROCESSING".repeat(20))),
        ("version".to_owned(), AttributeValue::N("2".to_owned())),
    ])
}

/// An index that has every order, or, asked under another alias, none. Answers are made when they are asked for.
async fn answer(State(orders): State<usize>, uri: Uri, body: Bytes) -> String {
    let asked: Value = serde_json::from_slice(&body).unwrap();
    let empty = uri.path().starts_with("/empty/");
    if uri.path().ends_with("_mget") {
        let mut docs = String::new();
        for id in asked["ids"].as_array().unwrap() {
            let input = SearchInput::from_item(&head(id.as_str().unwrap())).unwrap();
            let comma = if docs.is_empty() { "" } else { "," };
            if empty {
                write!(docs, r#"{comma}{{"_id":{id},"found":false}}"#).unwrap();
            } else {
                let source = input.document().unwrap();
                write!(
                    docs,
                    r#"{comma}{{"_id":{id},"found":true,"_version":2,"_source":{source}}}"#
                )
                .unwrap();
            }
        }
        return format!(r#"{{"docs":[{docs}]}}"#);
    }
    let from = asked["search_after"][0]
        .as_str()
        .map_or(0, |after| after[2..].parse::<usize>().unwrap() + 1);
    let until = if empty {
        from
    } else {
        orders.min(from + usize::try_from(asked["size"].as_u64().unwrap()).unwrap())
    };
    let hits: Vec<Value> = (from..until)
        .map(|n| json!({"_id": id(n), "_source": {"order_id": id(n)}, "sort": [id(n)]}))
        .collect();
    json!({"timed_out": false, "_shards": {"failed": 0}, "hits": {"hits": hits}}).to_string()
}

/// Compares so many orders with the index behind that alias; how many differ, and the KiB that the process has used at most.
async fn verify(orders: usize, alias: &str) -> (usize, usize, usize) {
    let app = Router::new().fallback(answer).with_state(orders);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move { axum::serve(listener, app).await });
    let config = aws_config::SdkConfig::builder().build();
    let client =
        SearchClient::new(parse_endpoint(&endpoint).unwrap(), Auth::None, &config).unwrap();
    let reread = |ids: Vec<String>| async move { Ok(ids.iter().map(|id| head(id)).collect()) };
    let mut verifier = Verifier::new(&client, alias, reread).patient_for(Duration::from_millis(1));
    let pages = |segment: Segment| async move {
        let from = segment.after.map_or(0, |key| key.pk.parse().unwrap());
        let until = orders.min(from + PAGE);
        Ok(ScannedPage {
            heads: (from..until).map(|n| head(&id(n))).collect(),
            next: (until < orders).then(|| Key {
                pk: until.to_string(),
                sk: String::new(),
            }),
            ..ScannedPage::default()
        })
    };
    verifier.check_all(pages).await.unwrap();
    server.abort();
    let findings = verifier.into_findings();
    assert_eq!(findings.heads, u64::try_from(orders).unwrap());
    (findings.total(), findings.found().len(), most_used_kib())
}

/// The high-water mark of the resident set (proc(5), VmHWM).
fn most_used_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_hundred_thousand_orders_take_no_more_memory_than_ten_thousand() {
    // An index that is right.
    let (differ, _, small) = verify(10_000, "orders-write").await;
    assert_eq!(differ, 0);
    let (differ, _, large) = verify(100_000, "orders-write").await;
    assert_eq!(differ, 0);
    println!("most memory: {small} KiB for 10,000 orders, {large} KiB for 100,000");
    assert!(large < small + 8 * 1024, "{small} KiB, then {large} KiB");

    // One that has nothing: the count is whole, what is kept of the findings is bounded.
    let (differ, kept, empty) = verify(30_000, "empty").await;
    assert_eq!((differ, kept), (30_000, MOST_KEPT));
    println!("{empty} KiB for 30,000 that are all missing");
    assert!(empty < large + 16 * 1024, "{large} KiB, then {empty} KiB");
}
