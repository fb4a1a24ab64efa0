//! The comparison of table and index, against a server that keeps documents and versions as the real one does, and a table in memory.

use crate::server::quick;
use aws_sdk_dynamodb::types::AttributeValue;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use sagaline_search::backfill::{Key, ScannedPage, Segment};
use sagaline_search::verify::{Drift, Findings, Verifier, VerifyError};
use sagaline_search::{Auth, SearchClient, SearchInput, SearchSink, document_id, parse_endpoint};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Item = HashMap<String, AttributeValue>;

/// Documents by id, each with its version; and what the server was asked for.
#[derive(Default)]
struct Kept {
    documents: BTreeMap<String, (i64, Value)>,
    asked: Vec<(String, usize)>,
    busy: usize,
    /// The versions of documents that were deleted lately.
    remembered: HashMap<String, i64>,
    broken: Option<Value>,
}

/// An index and the table beside it.
struct World {
    index: Arc<Mutex<Kept>>,
    heads: Mutex<BTreeMap<String, Item>>,
    client: SearchClient,
    sink: SearchSink,
}

async fn answer(State(index): State<Arc<Mutex<Kept>>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let body = axum::body::to_bytes(request.into_body(), usize::MAX).await;
    let body = body.unwrap();
    let mut index = index.lock().unwrap();
    if index.busy > 0 {
        index.busy -= 1;
        return (StatusCode::TOO_MANY_REQUESTS, "busy").into_response();
    }
    let lines: Vec<Value> = body
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let (about, answer) = match path.as_str() {
        "/orders-write/_mget" => index.mget(&lines[0]),
        "/orders-write/_search" => index.search(&lines[0]),
        "/orders-write/_bulk" => index.bulk(&lines),
        other => panic!("{other}"),
    };
    index.asked.push((path, about));
    let answer = index.broken.clone().unwrap_or(answer);
    answer.to_string().into_response()
}

impl Kept {
    fn mget(&self, asked: &Value) -> (usize, Value) {
        let ids = asked["ids"].as_array().unwrap();
        let document = |id: &Value| match self.documents.get(id.as_str().unwrap()) {
            Some((version, source)) => {
                json!({"_index": "orders-v1", "_id": id, "_version": version, "found": true, "_source": source})
            }
            None => json!({"_index": "orders-v1", "_id": id, "found": false}),
        };
        let docs: Vec<Value> = ids.iter().map(document).collect();
        (ids.len(), json!({"docs": docs}))
    }

    fn search(&self, asked: &Value) -> (usize, Value) {
        let key = |source: &Value| source["order_id"].as_str().map(str::to_owned);
        let mut found: Vec<_> = self
            .documents
            .iter()
            .filter(|(_, (_, source))| source["deleted"] != true)
            .map(|(id, (_, source))| (key(source), id))
            .collect();
        found.sort_by_key(|(key, _)| (key.is_none(), key.clone()));
        let after = asked["search_after"][0].as_str();
        let size = usize::try_from(asked["size"].as_u64().unwrap()).unwrap();
        let hits: Vec<Value> = found
            .into_iter()
            .filter(|(key, _)| {
                after.is_none_or(|after| key.as_deref().is_none_or(|key| key > after))
            })
            .take(size)
            .map(|(key, id)| json!({"_id": id, "_source": {"order_id": key}, "sort": [key]}))
            .collect();
        (
            hits.len(),
            json!({"timed_out": false, "_shards": {"failed": 0}, "hits": {"hits": hits}}),
        )
    }

    fn bulk(&mut self, lines: &[Value]) -> (usize, Value) {
        let write = |pair: &[Value]| {
            let action = &pair[0]["index"];
            let (id, version) = (
                action["_id"].as_str().unwrap(),
                action["version"].as_i64().unwrap(),
            );
            let same = action["version_type"] == "external_gte";
            let stored = self.documents.get(id).map(|(version, _)| *version);
            let stored = stored.or(self.remembered.get(id).copied()).unwrap_or(0);
            let status = if version > stored || (same && version == stored) {
                let document = (version, pair[1].clone());
                self.documents.insert(id.to_owned(), document);
                200
            } else {
                409
            };
            json!({"index": {"_id": id, "status": status}})
        };
        let items: Vec<Value> = lines.chunks(2).map(write).collect();
        (items.len(), json!({"errors": false, "items": items}))
    }
}

fn head(id: &str, version: i64) -> Item {
    let text = |text: String| AttributeValue::S(text);
    let number = |number: i64| AttributeValue::N(number.to_string());
    HashMap::from([
        ("PK".to_owned(), text(format!("ORDER#{id}"))),
        ("SK".to_owned(), text("ORDER#DETAIL".to_owned())),
        ("status".to_owned(), text("UNPAID".to_owned())),
        ("total_minor".to_owned(), number(9_007_199_254_740_993)),
        ("version".to_owned(), number(version)),
    ])
}

fn stored(head: &Item) -> (i64, Value) {
    let input = SearchInput::from_item(head).unwrap();
    (
        input.version(),
        serde_json::from_str(input.document().unwrap()).unwrap(),
    )
}

impl World {
    /// Orders of version 2 in the table, and their documents in the index.
    async fn of(orders: &[String]) -> Self {
        let heads: BTreeMap<String, Item> =
            orders.iter().map(|id| (id.clone(), head(id, 2))).collect();
        let documents = heads
            .iter()
            .map(|(id, head)| (document_id(id).into_owned(), stored(head)))
            .collect();
        let index = Arc::new(Mutex::new(Kept {
            documents,
            ..Kept::default()
        }));
        let app = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&index));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        let config = aws_config::SdkConfig::builder().build();
        let endpoint = parse_endpoint(&endpoint).unwrap();
        let client = SearchClient::new(endpoint, Auth::None, &config).unwrap();
        let sink = SearchSink::with_limits(client.clone(), "orders-write", quick());
        Self {
            index,
            heads: Mutex::new(heads),
            client,
            sink,
        }
    }

    fn store(&self, id: &str, version: i64, source: Value) {
        let mut index = self.index.lock().unwrap();
        index.documents.insert(id.to_owned(), (version, source));
    }

    fn forget(&self, id: &str) {
        self.index.lock().unwrap().documents.remove(id);
    }

    fn heads(&self, ids: &[String]) -> Vec<Item> {
        let heads = self.heads.lock().unwrap();
        ids.iter().filter_map(|id| heads.get(id).cloned()).collect()
    }

    /// The whole table, in pages of so many heads.
    async fn verify(&self, page: usize, repair: bool) -> Result<Findings, VerifyError> {
        let reread = |ids: Vec<String>| async move { Ok(self.heads(&ids)) };
        let mut verifier = Verifier::new(&self.client, "orders-write", reread)
            .patient_for(Duration::from_millis(1));
        if repair {
            verifier = verifier.repairing(&self.sink);
        }
        let pages = |segment: Segment| async move {
            let heads = self.heads.lock().unwrap();
            let from = segment.after.map_or(0, |key| key.pk.parse().unwrap());
            let next = (from + page < heads.len()).then(|| Key {
                pk: (from + page).to_string(),
                sk: String::new(),
            });
            Ok(ScannedPage {
                heads: heads.values().skip(from).take(page).cloned().collect(),
                next,
                ..ScannedPage::default()
            })
        };
        verifier.check_all(pages).await?;
        Ok(verifier.into_findings())
    }
}

fn names(findings: &Findings) -> Vec<(Drift, &str, bool)> {
    let mut names: Vec<_> = findings
        .found()
        .iter()
        .map(|finding| (finding.drift, finding.order_id.as_str(), finding.repaired))
        .collect();
    names.sort_unstable();
    names
}

fn orders(number: usize) -> Vec<String> {
    (0..number).map(|n| format!("o-{n:04}")).collect()
}

#[tokio::test]
async fn exactly_what_differs_is_found_by_its_kind_and_what_can_be_repaired_is() {
    let long = "x".repeat(600);
    let world = World::of(&[orders(12), vec![long.clone()]].concat()).await;
    world.forget("o-0000");
    world.forget(&document_id(&long));
    let (_, older) = stored(&head("o-0001", 1));
    world.store("o-0001", 1, older);
    world.store("o-0002", 2, json!({"order_id": "o-0002", "deleted": true}));
    world.store("o-0003", 2, json!({"deleted": false}));
    world.store("o-0004", 3, json!({"order_id": "o-0004", "deleted": true}));
    world.store("gone", 4, json!({"order_id": "gone", "deleted": false}));
    world.store("lost", 1, json!({"order_id": "o-0005"}));
    // No drift: the tombstone of an order that was removed.
    world.store(
        "removed",
        7,
        json!({"order_id": "removed", "deleted": true}),
    );
    // Nor a head that the index will never hold.
    let mut broken = head("broken", 1);
    broken.insert(
        "total_minor".to_owned(),
        AttributeValue::N("0.5".to_owned()),
    );
    world
        .heads
        .lock()
        .unwrap()
        .insert("broken".to_owned(), broken);

    let expected = |repaired: bool| {
        vec![
            (Drift::Missing, "o-0000", repaired),
            (Drift::Missing, long.as_str(), repaired),
            (Drift::Stale, "o-0001", repaired),
            (Drift::Damaged, "o-0002", repaired),
            (Drift::Damaged, "o-0003", repaired),
            (Drift::Extra, "gone", false),
            (Drift::Extra, "lost", false),
            (Drift::Ahead, "o-0004", false),
        ]
    };
    let found = world.verify(5, false).await.unwrap();
    assert_eq!(names(&found), expected(false));
    assert_eq!((found.heads, found.left()), (13, 8));
    assert_eq!((found.refused().len(), found.refusals()), (1, 1));
    assert!(found.refused()[0].starts_with("ORDER#broken: total_minor"));
    let stale = found
        .found()
        .iter()
        .find(|found| found.drift == Drift::Stale);
    assert_eq!(stale.unwrap().head_version, Some(2));
    assert_eq!(stale.unwrap().index_version, Some(1));
    let asked = world.index.lock().unwrap().asked.clone();
    assert!(
        asked.iter().all(|(path, _)| !path.ends_with("_bulk")),
        "nothing was written"
    );

    let repaired = world.verify(5, true).await.unwrap();
    assert_eq!(names(&repaired), expected(true));
    assert_eq!((repaired.left(), repaired.count(Drift::Damaged)), (3, 2));

    let after = world.verify(1, true).await.unwrap();
    assert_eq!(names(&after), &expected(true)[5..]);
}

#[tokio::test]
async fn a_deleted_document_whose_version_is_remembered_is_only_repaired_when_it_is_there_again() {
    let world = World::of(&orders(2)).await;
    world.forget("o-0000");
    world.forget("o-0001");
    let remembered = [("o-0000".to_owned(), 2), ("o-0001".to_owned(), 3)];
    world.index.lock().unwrap().remembered = HashMap::from(remembered);
    let found = world.verify(9, true).await.unwrap();
    assert_eq!(
        names(&found),
        [
            (Drift::Missing, "o-0000", true),
            (Drift::Missing, "o-0001", false)
        ]
    );
    let why = found
        .found()
        .iter()
        .find_map(|finding| finding.why.as_deref());
    assert!(why.unwrap().contains("gc_deletes"));
}

#[tokio::test]
async fn what_moves_while_it_is_compared_is_no_drift() {
    let world = World::of(&orders(4)).await;
    // The index has o-0 already in version 3, and gets o-1 while it is waited for; o-2 is removed; o-3 moves twice.
    world.store("o-0000", 3, stored(&head("o-0000", 3)).1);
    world.forget("o-0001");
    world.forget("o-0002");
    world.store("o-0003", 4, stored(&head("o-0003", 4)).1);
    let reads = Mutex::new(0);
    let reread = |ids: Vec<String>| {
        let mut reads = reads.lock().unwrap();
        *reads += 1;
        let mut heads = world.heads.lock().unwrap();
        heads.insert("o-0000".to_owned(), head("o-0000", 3));
        heads.insert("o-0003".to_owned(), head("o-0003", 2 + *reads));
        heads.remove("o-0002");
        let (version, source) = stored(&heads["o-0001"]);
        drop(heads);
        world.store("o-0001", version, source);
        let found = world.heads(&ids);
        async move { Ok(found) }
    };
    let given = world.heads(&orders(4));
    let mut verifier = Verifier::new(&world.client, "orders-write", reread)
        .patient_for(Duration::from_millis(1))
        .repairing(&world.sink);
    verifier.check(&given).await.unwrap();
    let findings = verifier.into_findings();
    assert_eq!(names(&findings), []);
    assert_eq!(findings.heads, 4);
    assert_eq!(*reads.lock().unwrap(), 2);
}

#[tokio::test]
async fn a_whole_table_is_read_in_pages_of_at_most_500_documents() {
    let world = World::of(&orders(1_201)).await;
    world.store("zz", 1, json!({"order_id": "zz"}));
    world.index.lock().unwrap().busy = 1;
    let findings = world.verify(700, false).await.unwrap();
    assert_eq!(names(&findings), [(Drift::Extra, "zz", false)]);
    assert_eq!(findings.heads, 1_201);
    let asked = world.index.lock().unwrap().asked.clone();
    let of = |what: &str| -> Vec<usize> {
        let asked = asked.iter().filter(|(path, _)| path.ends_with(what));
        asked.map(|(_, about)| *about).collect()
    };
    assert_eq!(of("_mget"), [500, 200, 500, 1, 1]);
    assert_eq!(of("_search"), [500, 500, 202]);
}

#[tokio::test]
async fn an_answer_about_something_else_is_an_error_and_never_a_finding() {
    for (broken, why) in [
        (json!({"docs": []}), "not those that were asked for"),
        (
            json!({"docs": [{"_id": "o-0001", "found": false}]}),
            "not those that were asked for",
        ),
        (
            json!({"docs": [{"_id": "o-0000", "error": {"type": "x"}}]}),
            "o-0000 could not be read",
        ),
        (
            json!({"docs": [{"_id": "o-0000", "found": true}]}),
            "no version or no content",
        ),
        (json!({"hello": 1}), "missing field"),
    ] {
        let world = World::of(&orders(1)).await;
        world.index.lock().unwrap().broken = Some(broken);
        let error = world.verify(9, true).await.unwrap_err();
        assert!(matches!(error, VerifyError::Answer { .. }), "{error:?}");
        assert!(error.to_string().contains(why), "{error}");
    }
}
