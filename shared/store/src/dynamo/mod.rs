//! The table in DynamoDB, through the AWS SDK.
//!
//! Transactions and single writes are sent once: the SDK's own retries are off for them, so that the store alone decides what is repeated (the
//! guard makes a commit safe to repeat; an addition to the stock is not). Reads and batches keep the client's retry settings, and every call its
//! time-outs: a batch replaces whole items without a condition, which does no harm twice.

mod expression;
mod failure;

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::types::{
    KeysAndAttributes, Put, PutRequest, ReturnValue, ReturnValuesOnConditionCheckFailure,
    TransactWriteItem, Update as SdkUpdate, WriteRequest,
};

use crate::key::{Key, PK, SK};
use crate::row;
use crate::table::{
    Action, Direction, GotMany, Item, Page, Query, Source, Table, TableError, TransactError,
    WriteError,
};
use crate::value::s;
use expression::Expression;

/// A DynamoDB table.
#[derive(Debug, Clone)]
pub struct DynamoTable {
    client: Client,
    name: String,
}

impl DynamoTable {
    /// The table of this name, through this client.
    #[must_use]
    pub fn new(client: Client, name: impl Into<String>) -> Self {
        Self {
            client,
            name: name.into(),
        }
    }

    fn transact_item(&self, action: Action) -> Result<TransactWriteItem, TableError> {
        let all_old = ReturnValuesOnConditionCheckFailure::AllOld;
        let item = TransactWriteItem::builder();
        Ok(match action {
            Action::Put {
                item: new,
                condition,
            } => {
                let expression = Expression::of_condition(condition.as_ref());
                let put = Put::builder()
                    .table_name(&self.name)
                    .set_item(Some(new))
                    .set_condition_expression(expression.condition)
                    .set_expression_attribute_names(expression.names)
                    .set_expression_attribute_values(expression.values)
                    .return_values_on_condition_check_failure(all_old);
                item.put(put.build().map_err(failure::unbuilt)?)
            }
            Action::Update(update) => {
                let expression = Expression::of_update(&update);
                let update = SdkUpdate::builder()
                    .table_name(&self.name)
                    .set_key(Some(key_item(&update.key)))
                    .set_update_expression(expression.update)
                    .set_condition_expression(expression.condition)
                    .set_expression_attribute_names(expression.names)
                    .set_expression_attribute_values(expression.values)
                    .return_values_on_condition_check_failure(all_old);
                item.update(update.build().map_err(failure::unbuilt)?)
            }
        }
        .build())
    }
}

impl Table for DynamoTable {
    async fn get(&self, key: Key, consistent: bool) -> Result<Option<Item>, TableError> {
        let request = self
            .client
            .get_item()
            .table_name(&self.name)
            .set_key(Some(key_item(&key)))
            .consistent_read(consistent);
        Ok(request.send().await.map_err(failure::of_read)?.item)
    }

    async fn transact(&self, actions: Vec<Action>) -> Result<(), TransactError> {
        let items = actions
            .into_iter()
            .map(|action| self.transact_item(action))
            .collect::<Result<Vec<_>, _>>()?;
        let request = self
            .client
            .transact_write_items()
            .set_transact_items(Some(items));
        request
            .customize()
            .config_override(sent_once())
            .send()
            .await
            .map_err(failure::of_transaction)?;
        Ok(())
    }

    async fn get_many(&self, keys: Vec<Key>, consistent: bool) -> Result<GotMany, TableError> {
        let wanted = KeysAndAttributes::builder()
            .set_keys(Some(keys.iter().map(key_item).collect()))
            .consistent_read(consistent)
            .build()
            .map_err(failure::unbuilt)?;
        let request = self.client.batch_get_item();
        let got = request.request_items(&self.name, wanted).send().await;
        let got = got.map_err(failure::of_read)?;
        let mine = |all: Option<HashMap<String, KeysAndAttributes>>| all?.remove(&self.name);
        let left = mine(got.unprocessed_keys).map_or_else(Vec::new, |left| left.keys);
        Ok(GotMany {
            items: got
                .responses
                .and_then(|mut all| all.remove(&self.name))
                .unwrap_or_default(),
            unprocessed: left.iter().filter_map(key_of).collect(),
        })
    }

    async fn put_many(&self, items: Vec<Item>) -> Result<Vec<Item>, TableError> {
        let put = |item: Item| {
            let put = PutRequest::builder().set_item(Some(item)).build();
            put.map(|put| WriteRequest::builder().put_request(put).build())
        };
        let puts = items.into_iter().map(put).collect::<Result<Vec<_>, _>>();
        let request = self.client.batch_write_item();
        let puts = puts.map_err(failure::unbuilt)?;
        let written = request.request_items(&self.name, puts).send().await;
        let left = written.map_err(failure::of_read)?.unprocessed_items;
        let left = left.and_then(|mut all| all.remove(&self.name));
        let item = |left: WriteRequest| left.put_request.map(|put| put.item);
        Ok(left.into_iter().flatten().filter_map(item).collect())
    }

    async fn query(&self, query: Query) -> Result<Page, TableError> {
        let (index, consistent) = match query.source {
            Source::Table { consistent } => (None, consistent.then_some(true)),
            Source::Index(index) => (Some(index.name().to_owned()), None),
        };
        let found = self
            .client
            .query()
            .table_name(&self.name)
            .set_index_name(index)
            .set_consistent_read(consistent)
            .key_condition_expression("#p = :p AND #s BETWEEN :from AND :to")
            .expression_attribute_names("#p", query.source.partition())
            .expression_attribute_names("#s", query.source.sort())
            .expression_attribute_values(":p", s(query.partition))
            .expression_attribute_values(":from", s(query.from))
            .expression_attribute_values(":to", s(query.to))
            .scan_index_forward(query.direction == Direction::OldestFirst)
            .limit(i32::try_from(query.limit).unwrap_or(i32::MAX))
            .set_exclusive_start_key(query.start)
            .send()
            .await
            .map_err(failure::of_read)?;
        // Some endpoints send an empty map for "no more".
        Ok(Page {
            items: found.items.unwrap_or_default(),
            next: found.last_evaluated_key.filter(|key| !key.is_empty()),
        })
    }

    async fn write(&self, action: Action) -> Result<Item, WriteError> {
        let all_old = ReturnValuesOnConditionCheckFailure::AllOld;
        match action {
            Action::Put { item, condition } => {
                let expression = Expression::of_condition(condition.as_ref());
                let request = self
                    .client
                    .put_item()
                    .table_name(&self.name)
                    .set_item(Some(item.clone()))
                    .set_condition_expression(expression.condition)
                    .set_expression_attribute_names(expression.names)
                    .set_expression_attribute_values(expression.values)
                    .return_values_on_condition_check_failure(all_old);
                request
                    .customize()
                    .config_override(sent_once())
                    .send()
                    .await
                    .map_err(failure::of_put)?;
                Ok(item)
            }
            Action::Update(update) => {
                let expression = Expression::of_update(&update);
                let request = self
                    .client
                    .update_item()
                    .table_name(&self.name)
                    .set_key(Some(key_item(&update.key)))
                    .set_update_expression(expression.update)
                    .set_condition_expression(expression.condition)
                    .set_expression_attribute_names(expression.names)
                    .set_expression_attribute_values(expression.values)
                    .return_values(ReturnValue::AllNew)
                    .return_values_on_condition_check_failure(all_old);
                let written = request
                    .customize()
                    .config_override(sent_once())
                    .send()
                    .await
                    .map_err(failure::of_update)?;
                Ok(written.attributes.unwrap_or_default())
            }
        }
    }
}

fn sent_once() -> aws_sdk_dynamodb::config::Builder {
    aws_sdk_dynamodb::config::Builder::new().retry_config(RetryConfig::disabled())
}

fn key_of(item: &Item) -> Option<Key> {
    let text = |name: &str| item.get(name)?.as_s().ok().cloned();
    Some(Key {
        pk: text(PK)?,
        sk: text(SK)?,
    })
}

fn key_item(key: &Key) -> Item {
    row::item::<0>(key, [])
}
