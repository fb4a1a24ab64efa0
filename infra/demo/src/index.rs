//! The search index, read from outside: every document with its version, and the highest version that was ever seen in its place.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use aws_config::SdkConfig;
use opensearch::http::Method;
use sagaline_order::{Currency, OrderId, Version};
use sagaline_search::admin::{self, Names};
use sagaline_search::{Auth, Body, Query, SearchClient, parse_endpoint};
use sagaline_testkit::invariants::Document;
use serde::Serialize;
use serde_json::{Value, json};

/// Documents of one answer.
const PAGE: usize = 2_000;
/// Orders of a search that are shown.
const SHOWN: u32 = 5;

/// A watcher of one index.
#[derive(Debug)]
pub(crate) struct Index {
    client: SearchClient,
    names: Names,
    highest: Mutex<BTreeMap<String, Version>>,
}

/// A document as it stands, with what a person sees of it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) document: Document,
    pub(crate) status: String,
}

/// What a search found.
#[derive(Debug, Serialize)]
pub(crate) struct Found {
    /// The query, as `sagaline search` takes it.
    pub(crate) query: String,
    /// How many orders there are.
    pub(crate) orders: u64,
    /// The newest of them.
    pub(crate) first: Vec<Hit>,
}

/// An order that was found.
#[derive(Debug, Serialize)]
pub(crate) struct Hit {
    pub(crate) order_id: String,
    pub(crate) user_id: String,
    pub(crate) status: String,
    pub(crate) total: String,
    pub(crate) lines: usize,
}

impl Index {
    /// The index behind `alias` at this server, made now.
    pub(crate) async fn create(server: &str, alias: &str, sdk: &SdkConfig) -> Result<Self> {
        let client = SearchClient::new(parse_endpoint(server)?, Auth::None, sdk)
            .context("cannot make a client for OpenSearch")?;
        let names = Names::new(alias);
        admin::init(&client, &names)
            .await
            .context("cannot make the search index")?;
        Ok(Self {
            client,
            names,
            highest: Mutex::default(),
        })
    }

    /// Every document, tombstones included, as far as the index has refreshed.
    pub(crate) async fn documents(&self) -> Result<Vec<Seen>> {
        let mut all = Vec::new();
        let mut after: Option<Value> = None;
        loop {
            let mut query = json!({"size": PAGE, "sort": [{"order_id": "asc"}], "_source": ["order_id", "version", "deleted", "status"]});
            if let (Some(after), Some(query)) = (after.take(), query.as_object_mut()) {
                query.insert("search_after".to_owned(), after);
            }
            // The read alias hides tombstones, so the write alias is read.
            let answer = self.post("_search", &query).await?;
            let hits = answer
                .pointer("/hits/hits")
                .and_then(Value::as_array)
                .context("an answer of _search has hits")?;
            for hit in hits {
                all.push(self.seen(hit.get("_source").unwrap_or(&Value::Null))?);
            }
            if hits.len() < PAGE {
                return Ok(all);
            }
            after = hits.last().and_then(|hit| hit.get("sort")).cloned();
        }
    }

    /// Makes everything that was written visible.
    pub(crate) async fn refresh(&self) -> Result<()> {
        self.post("_refresh", &json!({})).await.map(drop)
    }

    /// The orders with this word in the name of a line, the newest first.
    pub(crate) async fn search(&self, word: &str) -> Result<Found> {
        let query = if word.is_empty() {
            "sort:-created_at".to_owned()
        } else {
            format!("name:{word} sort:-created_at")
        };
        let page = Query::parse(&query)?
            .run(&self.client, &self.names.read, SHOWN, None)
            .await
            .context("cannot search")?;
        Ok(Found {
            query,
            orders: page.total,
            first: page.orders.iter().map(Hit::read).collect(),
        })
    }

    fn seen(&self, source: &Value) -> Result<Seen> {
        let text = |name: &str| {
            source
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let version = source
            .get("version")
            .and_then(Value::as_u64)
            .and_then(Version::new)
            .context("a document has a version")?;
        let order_id = text("order_id");
        let mut highest = self.highest.lock().unwrap_or_else(PoisonError::into_inner);
        let highest_seen = highest.entry(order_id.clone()).or_insert(version);
        *highest_seen = version.max(*highest_seen);
        let deleted = source
            .get("deleted")
            .and_then(Value::as_bool)
            .unwrap_or(false);
        let document = Document {
            order_id: OrderId::stored(order_id),
            version,
            deleted,
            highest_seen: *highest_seen,
        };
        Ok(Seen {
            document,
            status: text("status"),
        })
    }

    async fn post(&self, call: &str, body: &Value) -> Result<Value> {
        let path = format!("/{}/{call}", self.names.write);
        let answer = self
            .client
            .send(Method::Post, &path, Some(Body::json(body)))
            .await?;
        if !(200..300).contains(&answer.status) {
            bail!(
                "OpenSearch answers {path} with {}: {}",
                answer.status,
                String::from_utf8_lossy(&answer.body)
            );
        }
        serde_json::from_slice(&answer.body)
            .with_context(|| format!("OpenSearch answers {path} with no JSON"))
    }
}

impl Hit {
    fn read(order: &Value) -> Self {
        let text = |name: &str| {
            order
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let total = order
            .get("total_minor")
            .and_then(Value::as_i64)
            .unwrap_or_default();
        let currency = text("currency");
        let total = Currency::parse(&currency).map_or_else(
            || format!("{total} {currency}"),
            |currency| currency.display(total),
        );
        let lines = order
            .get("lines")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        Self {
            order_id: text("order_id"),
            user_id: text("user_id"),
            status: text("status"),
            total,
            lines,
        }
    }
}
