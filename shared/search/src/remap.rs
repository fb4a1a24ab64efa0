//! A new index in the place of the old one, without a missing read and without a lost write: the server's side of it.
//!
//! # How it stays right
//!
//! Before the first document is copied, every writer writes every document to both indices, under names that do not change their meaning when
//! the aliases for reading and writing do: `orders-write-next` is the new index, `orders-write-old` the old one, from the beginning to the end.
//! So both are complete at the moment of the swap, which is one call, and both stay so until the old one is given up: the way back is one
//! call, too. Versions decide what an index keeps, so copying and live writes cannot disturb each other.
//!
//! Deletions are copied as well: a tombstone of an order that has no head goes over with its version. What has a head goes over as the
//! table has it, so an index that was ahead of a restored table is not so any more.
//!
//! It refuses to know who writes, and how those are told to write to both. Start reading at [`Layout`].

use crate::admin::{self, AdminError, Names, aliased, alive, ask};
use crate::backfill::{name_of, write_out};
use crate::bulk::request::VersionRule;
use crate::client::SearchClient;
use crate::document::{SearchInput, document_id};
use crate::sink::{SearchSink, SinkVerdict};
use crate::verify::{VerifyError, documents, tombstones};
use aws_sdk_dynamodb::types::AttributeValue;
use opensearch::http::Method;
use sagaline_stream::BoxError;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::future::Future;
use thiserror::Error;

/// Tombstones that are copied at a time.
const PAGE_TOMBSTONES: usize = 500;

/// Why a step was not taken.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RemapError {
    /// The server did not answer, or not with success.
    #[error("the index could not be changed")]
    Index(#[from] AdminError),
    /// Something could not be read.
    #[error("the deletions could not be copied")]
    Read(#[from] VerifyError),
    /// A tombstone was not written.
    #[error("the deletion of {order_id} could not be copied: {reason}")]
    Write {
        /// Of the first one.
        order_id: String,
        /// Why.
        reason: String,
    },
    /// An alias is on no index, or on several.
    #[error("the alias {alias} is on {count} indices, not on one")]
    Alias {
        /// The alias.
        alias: String,
        /// How many.
        count: usize,
    },
}

/// Which index each alias is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The alias that all names follow from.
    pub alias: String,
    /// The one that is read.
    pub read: String,
    /// The one that is written.
    pub write: String,
    /// The one to come.
    pub next: Option<String>,
    /// The one that is left.
    pub old: Option<String>,
    /// The highest generation there is, whether an alias leads to it or not.
    pub newest: u32,
    /// Every index of this alias by its name.
    pub indices: Vec<String>,
}

impl Layout {
    /// Asks the server.
    ///
    /// # Errors
    /// [`RemapError`]; also when reading or writing leads to no index, or to several.
    pub async fn read(client: &SearchClient, names: &Names) -> Result<Self, RemapError> {
        let one = async |alias: &str| match on(client, alias).await?.as_slice() {
            [index] => Ok(index.clone()),
            several => Err(RemapError::Alias {
                alias: alias.to_owned(),
                count: several.len(),
            }),
        };
        let maybe =
            async |alias: &str| Ok::<_, RemapError>(on(client, alias).await?.into_iter().next());
        let pattern = format!("/{}-v*/_alias", names.read);
        let indices = ask(client, Method::Get, &pattern, None).await?;
        let prefix = format!("{}-v", names.read);
        let generation = |index: &String| index.strip_prefix(&prefix)?.parse().ok();
        let indices = indices.as_object().into_iter().flatten();
        let indices: Vec<String> = indices.map(|(index, _)| index.clone()).collect();
        Ok(Self {
            alias: names.read.clone(),
            read: one(&names.read).await?,
            write: one(&names.write).await?,
            next: maybe(&names.next).await?,
            old: maybe(&names.old).await?,
            newest: indices.iter().filter_map(generation).max().unwrap_or(0),
            indices,
        })
    }

    /// Whether that index is there.
    #[must_use]
    pub fn has(&self, index: &str) -> bool {
        // One whose name follows no rule leads nowhere but to the aliases.
        [&self.read, &self.write]
            .into_iter()
            .chain(&self.next)
            .chain(&self.old)
            .chain(&self.indices)
            .any(|there| there == index)
    }

    /// The name of an index of that generation.
    #[must_use]
    pub fn generation(&self, generation: u32) -> String {
        Names::new(&self.alias).index(generation)
    }
}

/// Makes the new index from this version's mapping, and the aliases that lead to both. What is there stays.
///
/// # Errors
/// [`AdminError`].
pub async fn prepare(
    client: &SearchClient,
    names: &Names,
    from: &str,
    to: &str,
) -> Result<(), AdminError> {
    admin::write_template(client, names).await?;
    admin::make_index(client, to).await?;
    let actions = [
        add(from, &names.old, json!({"is_write_index": true})),
        add(to, &names.next, json!({"is_write_index": true})),
    ];
    change(client, &actions).await
}

/// Moves reading and writing to the new index, in one call. It fails as a whole, also when a remap that was given up has taken its aliases
/// away. What is written is visible first.
///
/// # Errors
/// [`AdminError`].
pub async fn swap(
    client: &SearchClient,
    names: &Names,
    from: &str,
    to: &str,
) -> Result<(), AdminError> {
    let both = [(&names.old, from), (&names.next, to)];
    exchange(client, names, both, (from, to)).await
}

/// Moves reading and writing back to the old index.
///
/// # Errors
/// [`AdminError`].
pub async fn swap_back(
    client: &SearchClient,
    names: &Names,
    from: &str,
    to: &str,
) -> Result<(), AdminError> {
    let both = [(&names.old, from), (&names.next, to)];
    exchange(client, names, both, (to, from)).await
}

async fn exchange(
    client: &SearchClient,
    names: &Names,
    both: [(&String, &str); 2],
    (leave, take): (&str, &str),
) -> Result<(), AdminError> {
    refresh(client, take).await?;
    // Only while both are written: the server checks it with the change.
    let mut actions = Vec::with_capacity(8);
    for (alias, index) in both {
        actions.push(remove(index, alias));
        actions.push(add(index, alias, json!({"is_write_index": true})));
    }
    actions.extend([
        remove(leave, &names.read),
        remove(leave, &names.write),
        add(take, &names.read, json!({"filter": alive()})),
        add(take, &names.write, json!({"is_write_index": true})),
    ]);
    change(client, &actions).await?;
    refresh(client, take).await
}

/// Takes the aliases away that led to both. Nobody writes to them any more.
///
/// # Errors
/// [`AdminError`].
pub async fn clear(client: &SearchClient, names: &Names) -> Result<(), AdminError> {
    let mut actions = Vec::new();
    for alias in [&names.next, &names.old] {
        actions.extend(
            on(client, alias)
                .await?
                .iter()
                .map(|index| remove(index, alias)),
        );
    }
    if actions.is_empty() {
        Ok(())
    } else {
        change(client, &actions).await
    }
}

/// Deletes an index that no alias leads to. False if it is not there, or an alias leads to it.
///
/// # Errors
/// [`AdminError`].
pub async fn drop_index(client: &SearchClient, index: &str) -> Result<bool, AdminError> {
    match ask(client, Method::Get, &format!("/{index}/_alias"), None).await {
        Ok(found)
            if found
                .pointer(&format!("/{index}/aliases"))
                .and_then(Value::as_object)
                .is_some_and(serde_json::Map::is_empty) => {}
        Ok(_) | Err(AdminError::Refused { status: 404, .. }) => return Ok(false),
        Err(error) => return Err(error),
    }
    ask(client, Method::Delete, &format!("/{index}"), None).await?;
    Ok(true)
}

/// Makes visible what was written to an index.
///
/// # Errors
/// [`AdminError`].
pub async fn refresh(client: &SearchClient, index: &str) -> Result<(), AdminError> {
    ask(client, Method::Post, &format!("/{index}/_refresh"), None)
        .await
        .map(drop)
}

/// Copies the tombstones of an index to the alias of `sink`, with their versions, as far as their orders have no head. `reread` gives heads
/// by order id, strongly consistent, without those that are not there. Returns how many were written.
///
/// # Errors
/// [`RemapError`].
pub async fn copy_deletions<R, F>(
    client: &SearchClient,
    index: &str,
    sink: &SearchSink,
    reread: R,
) -> Result<u64, RemapError>
where
    R: Fn(Vec<String>) -> F,
    F: Future<Output = Result<Vec<HashMap<String, AttributeValue>>, BoxError>>,
{
    refresh(client, index).await?;
    let (mut scroll, mut copied) = (None, 0);
    loop {
        let (page, next) = tombstones(client, index, PAGE_TOMBSTONES, scroll.as_deref()).await?;
        if !page.is_empty() {
            let ids = page.iter().map(|(order_id, _)| order_id.clone()).collect();
            let heads = reread(ids).await.map_err(VerifyError::Heads)?;
            let alive: HashSet<&str> = heads
                .iter()
                .filter_map(|head| name_of(head).strip_prefix("ORDER#"))
                .collect();
            let gone = page
                .iter()
                .filter(|(order_id, _)| !alive.contains(order_id.as_str()));
            let inputs = gone
                .map(|(order_id, version)| SearchInput::tombstone(order_id, *version))
                .collect();
            for (input, verdict) in write_out(sink, VersionRule::External, inputs).await {
                match verdict {
                    SinkVerdict::Done => copied += 1,
                    SinkVerdict::Stale => {}
                    SinkVerdict::Refused(reason) | SinkVerdict::Retry(reason) => {
                        let order_id = input.order_id().to_owned();
                        return Err(RemapError::Write { order_id, reason });
                    }
                    SinkVerdict::Behind(_) => {}
                }
            }
        }
        match next {
            Some(next) => scroll = Some(next),
            None => return Ok(copied),
        }
    }
}

/// The versions that an index holds of these orders, in their order.
///
/// # Errors
/// [`VerifyError`].
pub async fn versions(
    client: &SearchClient,
    index: &str,
    order_ids: &[&str],
) -> Result<Vec<Option<i64>>, VerifyError> {
    let mut versions = Vec::with_capacity(order_ids.len());
    for page in order_ids.chunks(PAGE_TOMBSTONES) {
        let ids: Vec<_> = page.iter().map(|order_id| document_id(order_id)).collect();
        let found = documents(client, index, &ids).await?;
        versions.extend(
            found
                .into_iter()
                .map(|document| document.map(|document| document.version)),
        );
    }
    Ok(versions)
}

async fn on(client: &SearchClient, alias: &str) -> Result<Vec<String>, AdminError> {
    Ok(aliased(client, alias)
        .await?
        .into_iter()
        .map(|(index, _)| index)
        .collect())
}

fn add(index: &str, alias: &str, how: Value) -> Value {
    let mut action = json!({"index": index, "alias": alias});
    if let (Some(action), Value::Object(how)) = (action.as_object_mut(), how) {
        action.extend(how);
    }
    json!({"add": action})
}

fn remove(index: &str, alias: &str) -> Value {
    json!({"remove": {"index": index, "alias": alias, "must_exist": true}})
}

async fn change(client: &SearchClient, actions: &[Value]) -> Result<(), AdminError> {
    ask(
        client,
        Method::Post,
        "/_aliases",
        Some(&json!({"actions": actions})),
    )
    .await
    .map(drop)
}
