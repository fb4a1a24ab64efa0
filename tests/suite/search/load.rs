//! Life in a table and its index: orders that are placed, changed, removed and placed again, written as the projector writes them, and a
//! reader who must never miss those that stay.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use sagaline_search::{SearchInput, SearchSink};
use sagaline_sinks::{Search, Written};
use sagaline_store::{DynamoTable, Item, Store};
use sagaline_stream::{Budget, EpochMillis, Invocation, Remaining};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::support::{Index, Place};

/// Orders that nobody changes.
pub(super) const STAYING: usize = 12;
/// Orders that change all the time.
const CHANGING: u64 = 60;

/// What there is: by order its version, and whether it is removed.
pub(super) type Expected = BTreeMap<String, (u64, bool)>;

/// A life that goes on until it is stopped.
pub(super) struct Load {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    writer: JoinHandle<Expected>,
    reader: JoinHandle<u64>,
}

impl Load {
    /// Begins, once the staying orders are there and can be found.
    pub(super) async fn begin(place: &Place, index: &Index, seed: u64) -> Self {
        let mut life = Life::new(place, index);
        for n in 0..STAYING {
            life.write(&format!("stay-{n}"), 1).await;
        }
        index.refresh().await;
        let (stop, done) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let reader = tokio::spawn(read(index.moved_to(index.server()), Arc::clone(&stop)));
        let writer = tokio::spawn(live(life, seed, Arc::clone(&stop), Arc::clone(&done)));
        Self {
            stop,
            done,
            writer,
            reader,
        }
    }

    /// Changes so far.
    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Ends it. What must be in the index, and in how many reads all staying orders were found.
    pub(super) async fn end(self) -> Expected {
        self.stop.store(true, Ordering::Relaxed);
        let reads = self
            .reader
            .await
            .expect("no read misses an order that stays");
        assert!(reads > 0, "somebody read");
        self.writer
            .await
            .expect("every change is written in the end")
    }
}

async fn live(mut life: Life, seed: u64, stop: Arc<AtomicBool>, done: Arc<AtomicU64>) -> Expected {
    let mut random = seed | 1;
    while !stop.load(Ordering::Relaxed) {
        // xorshift64: any sequence will do, and the seed repeats it.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let id = format!("live-{}", random % CHANGING);
        let (version, gone) = life.expected.get(&id).copied().unwrap_or((0, true));
        if !gone && random.is_multiple_of(5) {
            life.remove(&id, version).await;
        } else {
            life.write(&id, version + 1).await;
        }
        done.fetch_add(1, Ordering::Relaxed);
    }
    life.expected
}

async fn read(index: Index, stop: Arc<AtomicBool>) -> u64 {
    let query = json!({"size": 100, "query": {"prefix": {"order_id": "stay-"}}});
    let mut reads = 0;
    while !stop.load(Ordering::Relaxed) {
        let path = format!("{}/_search", index.names.read);
        let answer = index.send(reqwest::Method::POST, &path, &query).await;
        let found = answer["hits"]["total"]["value"].as_u64();
        assert_eq!(found, Some(STAYING as u64), "{answer}");
        reads += 1;
        tokio::task::yield_now().await;
    }
    reads
}

/// Changes the table, then writes to the index.
pub(super) struct Life {
    client: aws_sdk_dynamodb::Client,
    table: String,
    search: Search<DynamoTable>,
    minutes: i64,
    expected: Expected,
}

impl Life {
    pub(super) fn new(place: &Place, index: &Index) -> Self {
        Self {
            client: place.dynamodb(),
            table: place.var("ORDERS_TABLE").to_owned(),
            search: Search {
                sink: SearchSink::new(index.client.clone(), &index.names.write),
                client: index.client.clone(),
                store: Store::new(place.table()),
                read_alias: index.names.read.clone(),
                write_alias: index.names.write.clone(),
            },
            minutes: 0,
            expected: Expected::new(),
        }
    }

    pub(super) async fn write(&mut self, id: &str, version: u64) {
        let head = head(id, version, &[]);
        self.put(head.clone()).await;
        self.project(SearchInput::from_item(&head).unwrap()).await;
        self.expected.insert(id.to_owned(), (version, false));
    }

    async fn remove(&mut self, id: &str, version: u64) {
        let key = head(id, version, &[]);
        let delete = self.client.delete_item().table_name(&self.table);
        let delete = delete
            .key("PK", key["PK"].clone())
            .key("SK", key["SK"].clone());
        delete.send().await.unwrap();
        let tombstone = i64::try_from(version + 1).unwrap();
        self.project(SearchInput::tombstone(id, tombstone)).await;
        self.expected.insert(id.to_owned(), (version + 1, true));
    }

    pub(super) async fn put(&self, head: Item) {
        let put = self.client.put_item().table_name(&self.table);
        put.set_item(Some(head)).send().await.unwrap();
    }

    /// Writes as the projector does, and again as the retry queue does. Every call is a minute later, so each reads the configuration.
    pub(super) async fn project(&mut self, input: SearchInput) -> Written {
        for _ in 0..200 {
            self.minutes += 1;
            // Boxed: a write holds its requests with all their retries.
            let budget = self.budget();
            let written = Box::pin(self.search.write(vec![input.clone()], &budget))
                .await
                .pop()
                .unwrap();
            match written {
                Written::NotNow(_) | Written::Behind(_) => {}
                taken @ (Written::Done | Written::Stale | Written::Refused(_)) => return taken,
            }
        }
        panic!("never written: {input:?}")
    }

    fn budget(&self) -> Budget {
        let invocation = Invocation {
            function: "projector".to_owned(),
            request_id: "r-1".to_owned(),
            received_at: EpochMillis::new(1_764_500_000_000 + 61_000 * self.minutes),
            remaining: Remaining::Known(Duration::from_secs(20)),
        };
        Budget::start(&invocation, &sagaline_stream::Limits::default())
    }
}

/// A head as it stands in the table.
pub(super) fn head(id: &str, version: u64, more: &[(&str, AttributeValue)]) -> Item {
    let s = |text: String| AttributeValue::S(text);
    let now = sagaline_lambda::now();
    let mut head = HashMap::from([
        ("PK".to_owned(), s(format!("ORDER#{id}"))),
        ("SK".to_owned(), s("ORDER#DETAIL".to_owned())),
        ("order_id".to_owned(), s(id.to_owned())),
        ("status".to_owned(), s("PROCESSING".to_owned())),
        ("version".to_owned(), AttributeValue::N(version.to_string())),
        // The list of what changed since.
        ("updated_pk".to_owned(), s(format!("DAY#{}#0", now.day()))),
        ("updated_sk".to_owned(), s(format!("{}#{id}", now.basic()))),
    ]);
    head.extend(
        more.iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone())),
    );
    head
}
