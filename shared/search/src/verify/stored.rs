//! What the index holds, read by document id and in the order of order ids.

use super::{Drift, VerifyError};
use crate::admin::{AdminError, ask};
use crate::client::{ClientError, SearchClient};
use crate::document::{SearchInput, document_id};
use crate::pause::pause;
use backon::{BackoffBuilder as _, ExponentialBuilder};
use opensearch::http::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::time::Duration;

/// How often a question is asked again whose answer may be another one soon.
const RETRIES: usize = 5;

/// How long the server keeps a scroll between two pages of it.
const SCROLL_KEPT: &str = "5m";

/// A document and its version.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) version: i64,
    pub(super) source: Value,
}

impl Stored {
    pub(super) fn is_tombstone(&self) -> bool {
        self.source.get("deleted") == Some(&Value::Bool(true))
    }
}

/// A document that a search found.
#[derive(Debug)]
pub(super) struct Hit {
    pub(super) id: String,
    order_id: Option<String>,
}

impl Hit {
    /// The order that the document would be of, by its order id or, where that is damaged, by its own id; `None` if of no order.
    pub(super) fn order_id(&self) -> Option<&str> {
        [self.order_id.as_deref(), Some(self.id.as_str())]
            .into_iter()
            .flatten()
            .find(|order_id| document_id(order_id) == self.id)
    }
}

#[derive(Deserialize)]
struct Got {
    docs: Vec<GotDocument>,
}

#[derive(Deserialize)]
struct GotDocument {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    found: bool,
    #[serde(rename = "_version")]
    version: Option<i64>,
    #[serde(rename = "_source")]
    source: Option<Value>,
    error: Option<Value>,
}

/// The documents of these ids, in their order; realtime, so that nothing must be refreshed. An alias's filter does not hold for it.
pub(crate) async fn documents(
    client: &SearchClient,
    alias: &str,
    ids: &[impl AsRef<str>],
) -> Result<Vec<Option<Stored>>, VerifyError> {
    // The server refuses an empty list.
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let path = format!("/{alias}/_mget");
    let bad = |why: String| VerifyError::Answer {
        path: path.clone(),
        why,
    };
    let ids: Vec<&str> = ids.iter().map(AsRef::as_ref).collect();
    let answer = ask_again(client, &path, &json!({"ids": ids})).await?;
    let got: Got = serde_json::from_value(answer).map_err(|error| bad(error.to_string()))?;
    // Position counts only once number and ids agree, as with a bulk answer.
    if !got
        .docs
        .iter()
        .map(|document| document.id.as_str())
        .eq(ids.iter().copied())
    {
        return Err(bad(
            "its documents are not those that were asked for".to_owned()
        ));
    }
    let document = |got: GotDocument| match (got.error, got.found, got.version, got.source) {
        (Some(error), ..) => Err(bad(format!("{} could not be read: {error}", got.id))),
        (None, false, ..) => Ok(None),
        (None, true, Some(version), Some(source)) => Ok(Some(Stored { version, source })),
        (None, true, ..) => Err(bad(format!("{} has no version or no content", got.id))),
    };
    got.docs.into_iter().map(document).collect()
}

/// A page of the documents that are no tombstones, in the order of their order ids, and where the next page begins. Those without an order id
/// come last, and no further than one page.
pub(super) async fn alive(
    client: &SearchClient,
    alias: &str,
    size: usize,
    after: Option<&Value>,
) -> Result<(Vec<Hit>, Option<Value>), VerifyError> {
    let path = format!("/{alias}/_search");
    let mut body = json!({
        "size": size,
        "_source": ["order_id"],
        "track_total_hits": false,
        "query": {"bool": {"must_not": [{"term": {"deleted": true}}]}},
        "sort": [{"order_id": {"order": "asc", "missing": "_last"}}],
    });
    if let (Some(members), Some(after)) = (body.as_object_mut(), after) {
        members.insert("search_after".to_owned(), after.clone());
    }
    let answer = ask_again(client, &path, &body).await?;
    let bad = |why: &str| VerifyError::Answer {
        path: path.clone(),
        why: why.to_owned(),
    };
    let found = hits(&answer).map_err(bad)?;
    let next = found
        .last()
        .filter(|_| found.len() >= size)
        .and_then(|hit| hit.get("sort"))
        .filter(|sort| sort.get(0).is_some_and(Value::is_string))
        .cloned();
    let hit = |hit: &Value| {
        let id = hit.get("_id").and_then(Value::as_str)?.to_owned();
        let order_id = hit.pointer("/_source/order_id").and_then(Value::as_str);
        Some(Hit {
            id,
            order_id: order_id.map(str::to_owned),
        })
    };
    let hits = found.iter().map(hit).collect::<Option<_>>();
    Ok((hits.ok_or_else(|| bad("a hit has no id"))?, next))
}

/// The next page of the tombstones of an index, each as (order id, version), and by what to ask for the page after it. A scroll: it needs
/// nothing of the mapping, which may be the reason why the index is replaced.
pub(crate) async fn tombstones(
    client: &SearchClient,
    index: &str,
    size: usize,
    scroll: Option<&str>,
) -> Result<(Vec<(String, i64)>, Option<String>), VerifyError> {
    let (path, body) = match scroll {
        None => (
            format!("/{index}/_search?scroll={SCROLL_KEPT}"),
            json!({"size": size, "sort": ["_doc"], "version": true, "_source": ["order_id"], "query": {"term": {"deleted": true}}}),
        ),
        Some(id) => (
            "/_search/scroll".to_owned(),
            json!({"scroll": SCROLL_KEPT, "scroll_id": id}),
        ),
    };
    // The second page is asked for once: a repetition would get the third.
    let answer = match scroll {
        None => ask_again(client, &path, &body).await?,
        Some(_) => ask(client, Method::Post, &path, Some(&body)).await?,
    };
    let bad = |why: &str| VerifyError::Answer {
        path: path.clone(),
        why: why.to_owned(),
    };
    let found = hits(&answer).map_err(bad)?;
    let next = answer.get("_scroll_id").and_then(Value::as_str);
    let tombstone = |hit: &Value| {
        let id = hit.get("_id").and_then(Value::as_str)?;
        let order_id = hit.pointer("/_source/order_id").and_then(Value::as_str);
        // A tombstone that does not say whose it is has the order's id for its own, unless that is hashed.
        let order_id = order_id
            .filter(|order_id| document_id(order_id) == id)
            .unwrap_or(id);
        Some((
            order_id.to_owned(),
            hit.get("_version").and_then(Value::as_i64)?,
        ))
    };
    let tombstones: Option<Vec<_>> = found.iter().map(tombstone).collect();
    let tombstones = tombstones.ok_or_else(|| bad("a hit has no id or no version"))?;
    let next = next.filter(|_| !found.is_empty()).map(str::to_owned);
    Ok((tombstones, next))
}

/// The hits of a search that every shard answered: one that failed would hide its documents.
fn hits(answer: &Value) -> Result<&Vec<Value>, &'static str> {
    let failed = answer.pointer("/_shards/failed").and_then(Value::as_u64);
    if answer.get("timed_out") == Some(&Value::Bool(true))
        || failed.is_some_and(|failed| failed > 0)
    {
        return Err("not every shard answered");
    }
    let found = answer.pointer("/hits/hits").and_then(Value::as_array);
    found.ok_or("it has no hits")
}

/// How a document differs from what its head says; `None` if it does not.
pub(super) fn compare(head: &SearchInput, document: Option<&Stored>) -> Option<Drift> {
    let Some(document) = document else {
        return Some(Drift::Missing);
    };
    match document.version.cmp(&head.version()) {
        Ordering::Less => Some(Drift::Stale),
        Ordering::Greater => Some(Drift::Ahead),
        Ordering::Equal => {
            let wanted = head
                .document()
                .ok()
                .and_then(|wanted| serde_json::from_str::<Value>(wanted).ok());
            (wanted.as_ref() != Some(&document.source)).then_some(Drift::Damaged)
        }
    }
}

/// Asks, and asks again while the server is busy or away.
async fn ask_again(client: &SearchClient, path: &str, body: &Value) -> Result<Value, AdminError> {
    let mut pauses = ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(200))
        .with_max_delay(Duration::from_secs(5))
        .with_max_times(RETRIES)
        .with_jitter()
        .build();
    loop {
        let answer = ask(client, Method::Post, path, Some(body)).await;
        let passing = matches!(
            answer,
            Err(AdminError::Client(ClientError::NoAnswer { .. })
                | AdminError::Refused {
                    status: 429 | 500..,
                    ..
                })
        );
        match pauses.next().filter(|_| passing) {
            Some(length) => pause(length).await,
            None => return answer,
        }
    }
}
