//! Configuration items: read at most once a minute each. What cannot be read leaves the last known value in force, else the defaults.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use sagaline_order::{SagaConfig, Timestamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::key::Key;
use crate::row;
use crate::store::Store;
use crate::table::{Action, Table, WriteError};
use crate::value::{from_json, map_to_json};

/// How long a value is used before it is read again.
const FRESH_MILLIS: u64 = 60_000;

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
