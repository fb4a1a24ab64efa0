//! Configuration items: read at most once a minute each. What cannot be read leaves the last known value in force, else the defaults.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use sagaline_order::{SagaConfig, Timestamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::StoreError;
use crate::key::{Key, PK, SK};
use crate::row;
use crate::store::Store;
use crate::table::{Action, Condition, Table, WriteError};
use crate::value::{from_json, map_to_json};

/// How long a value is used before it is read again.
const FRESH_MILLIS: u64 = 60_000;

/// The attribute that every replaced item has.
const REVISION: &str = "revision";

/// The values read so far, by name.
#[derive(Debug, Default)]
pub(crate) struct ConfigCache(Mutex<HashMap<String, Cached>>);

#[derive(Debug, Clone)]
struct Cached {
    read_at: Timestamp,
    /// `None` if there is no such item.
    value: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
struct SearchConfig {
    #[serde(default)]
    targets: Vec<String>,
}

impl<T: Table> Store<T> {
    /// The saga's settings in force at `now`.
    pub async fn saga_config(&self, now: Timestamp) -> SagaConfig {
        self.config("saga", now).await.unwrap_or_default()
    }

    /// The aliases that search documents are written to, if the configuration names any.
    pub async fn search_targets(&self, now: Timestamp) -> Option<Vec<String>> {
        let config: SearchConfig = self.config("search", now).await?;
        Some(config.targets).filter(|targets| !targets.is_empty())
    }

    /// Writes a configuration item. Others see it within a minute.
    ///
    /// # Errors
    /// [`WriteError`]; sending it again is safe.
    pub async fn put_config(
        &self,
        name: &str,
        value: &Map<String, Value>,
    ) -> Result<(), WriteError> {
        let mut item = row::item(&Key::config(name), []);
        item.extend(
            value
                .iter()
                .map(|(name, value)| (name.clone(), from_json(value))),
        );
        self.table()
            .write(Action::Put {
                item,
                condition: None,
            })
            .await?;
        self.configs.lock().remove(name);
        Ok(())
    }

    /// A configuration item as it stands now, past the cache and strongly consistent; `None` if there is none.
    ///
    /// # Errors
    /// [`StoreError`] if the table does not answer.
    pub async fn stored_config(
        &self,
        name: &str,
    ) -> Result<Option<Map<String, Value>>, StoreError> {
        let item = self.item(Key::config(name)).await?;
        Ok(item.map(|mut item| {
            item.remove(PK);
            item.remove(SK);
            map_to_json(&item)
        }))
    }

    /// Writes a configuration item in the place of the one that was read before, unless somebody else was faster: then false, and nothing is
    /// written. `revision` is new with every write. An item without a revision was made by hand, and is replaced.
    ///
    /// # Errors
    /// [`WriteError`], but never for the condition.
    pub async fn replace_config(
        &self,
        name: &str,
        read: Option<&Map<String, Value>>,
        revision: &str,
        mut value: Map<String, Value>,
    ) -> Result<bool, WriteError> {
        let condition = match read {
            None => Some(Condition::NotExists),
            Some(read) => read
                .get(REVISION)
                .map(|revision| Condition::Is(REVISION, from_json(revision))),
        };
        value.insert(REVISION.to_owned(), revision.into());
        let mut item = row::item(&Key::config(name), []);
        item.extend(
            value
                .into_iter()
                .map(|(name, value)| (name, from_json(&value))),
        );
        let written = self.table().write(Action::Put { item, condition }).await;
        self.configs.lock().remove(name);
        match written {
            Ok(_) => Ok(true),
            Err(WriteError::ConditionFailed(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The value in force; `None` if there is no such item.
    async fn config<C: DeserializeOwned>(&self, name: &str, now: Timestamp) -> Option<C> {
        let known = self.configs.lock().get(name).cloned();
        let fresh = known
            .as_ref()
            .filter(|known| known.read_at.as_millis().abs_diff(now.as_millis()) < FRESH_MILLIS);
        let value = match fresh {
            Some(fresh) => fresh.value.clone(),
            None => {
                let value = match self.read_config::<C>(name).await {
                    Ok(value) => value,
                    Err(error) => {
                        tracing::warn!(config = name, %error, "configuration cannot be read, the last known value stays in force");
                        known.and_then(|known| known.value)
                    }
                };
                self.configs.lock().insert(
                    name.to_owned(),
                    Cached {
                        read_at: now,
                        value: value.clone(),
                    },
                );
                value
            }
        };
        // Only what parsed is kept.
        value.and_then(|value| serde_json::from_value(value).ok())
    }

    async fn read_config<C: DeserializeOwned>(&self, name: &str) -> Result<Option<Value>, String> {
        let Some(item) = self
            .item(Key::config(name))
            .await
            .map_err(|error| error.to_string())?
        else {
            return Ok(None);
        };
        let value = Value::Object(map_to_json(&item));
        serde_json::from_value::<C>(value.clone()).map_err(|error| error.to_string())?;
        Ok(Some(value))
    }
}

impl ConfigCache {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Cached>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
