//! The index on the real server: what it keeps, what it refuses, what it hides.

mod documents;
mod server;
mod versions;

mod crowd;
mod load;

mod drift;
mod remap;

use sagaline_search::SearchInput;
use serde_json::json;

use crate::support::{Index, head, stack, unique};

/// An index of one's own on the server that all tests share.
pub(super) async fn index(what: &str) -> Index {
    let server = stack().await.opensearch_url();
    Index::at(server, &unique(what)).made().await
}

pub(super) fn bare(id: &str, version: u64) -> SearchInput {
    head(id, version, &json!({"status": {"S": "UNPAID"}}))
}
