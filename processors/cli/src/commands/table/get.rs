//! `sagaline table get`: one item, readable; or why there is none.

use super::advice::{Asked, Sort};
use super::explain::{explain, unread};
use super::key::KeyArgs;
use super::shown;
use crate::args::Global;
use crate::error::CommandError;
use crate::output;
use crate::session::Session;
use clap::Args;
use sagaline_store::{Item, Key, Table};
use serde_json::json;

/// Shows an item, every attribute with its type and meaning; strongly consistent.
///
/// If there is none, it says why: no such partition, wrong case, a time that does not sort, a local time, a key of another kind, a missing shard.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline table get 'ORDER#o-1'
  sagaline table get 'USER#u-1/USER#ORDERS#20260131T083000.000Z#o-1'
  sagaline table get --pk 'PRODUCT#mug' --sk 'PRODUCT#INVENTORY' --json")]
pub(super) struct Get {
    #[command(flatten)]
    key: KeyArgs,
}

impl Get {
    pub(super) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let key = self.key.read()?;
        let session = Session::open(global).await?;
        let item = item(session.store.table(), &key, global).await?;
        if global.json {
            output::json(&shown::json(&item));
        } else {
            output::line(&shown::people(&item));
        }
        Ok(())
    }
}

/// The item, or why there is none.
pub(super) async fn item<T: Table>(
    table: &T,
    key: &Key,
    global: &Global,
) -> Result<Item, CommandError> {
    let found = table.get(key.clone(), true).await;
    if let Some(item) = found.map_err(|source| unread(&key.to_string(), source))? {
        return Ok(item);
    }
    let asked = Asked {
        index: None,
        pk: key.pk.clone(),
        sk: Sort::Is(key.sk.clone()),
    };
    let why = explain(table, &asked).await?;
    if global.json {
        output::json(&json!({"item": null, "why": why.json()}));
    }
    Err(why.into_error())
}
