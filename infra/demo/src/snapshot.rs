//! The world as it can be seen from outside, collected for the checks, and the timelines that people read.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use sagaline_order::{Context as SagaContext, Currency, OrderId, Sku, Timestamp, Version};
use sagaline_store::value::{as_integer, to_json};
use sagaline_store::{Item, read_head};
use sagaline_testkit::invariants::{Commit, Feed, Guard, Head, Payment, Refund, World};
use serde::Serialize;
use serde_json::Value;

use crate::input::Input;
use crate::parts::Parts;

/// The world, and what its history says in words.
pub(crate) struct Snapshot {
    pub(crate) world: World,
    /// The moments of every order, in their order.
    pub(crate) timelines: BTreeMap<OrderId, Vec<Moment>>,
}

/// One version of an order, for people.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Moment {
    pub(crate) version: Version,
    pub(crate) at: Timestamp,
    pub(crate) actor: String,
    /// The recorded changes.
    pub(crate) changes: Vec<String>,
    pub(crate) reason: String,
}

/// Takes everything in.
pub(crate) async fn take(parts: &Parts, input: &Input) -> Result<Snapshot> {
    let now = sagaline_lambda::now();
    let context = SagaContext {
        now,
        config: parts.store.saga_config(now).await,
    };
    parts.bus.listen().await?;
    parts.index.refresh().await?;
    let (payments, refunds) = ledger(parts)?;
    let (given_up_records, parked_records) = park_bucket(parts).await?;
    let mut snapshot = Snapshot {
        world: World {
            context,
            heads: Vec::new(),
            history: Vec::new(),
            guards: Vec::new(),
            initial_stock: input
                .stock
                .iter()
                .map(|(sku, stock)| (sku.clone(), i64::from(*stock)))
                .collect(),
            stock: BTreeMap::new(),
            payments,
            refunds,
            messages: Some(parts.bus.heard()),
            documents: parts
                .index
                .documents()
                .await?
                .into_iter()
                .map(|seen| seen.document)
                .collect(),
            archived: versions(parts, "changes").await?,
            view: versions(parts, "order_changes").await?,
            feeds: feeds(parts),
            given_up_records,
            parked_records,
        },
        timelines: BTreeMap::new(),
    };
    let scan = aws_sdk_dynamodb::Client::new(&parts.sdk)
        .scan()
        .table_name(parts.setting("ORDERS_TABLE")?)
        .consistent_read(true);
    let mut items = scan.into_paginator().items().send();
    while let Some(item) = items.next().await {
        let item = item.context("cannot read the table")?;
        snapshot.sort(&item).with_context(|| {
            format!(
                "cannot read the item {:?} / {:?}",
                item.get("PK"),
                item.get("SK")
            )
        })?;
    }
    for moments in snapshot.timelines.values_mut() {
        moments.sort_by_key(|moment| moment.version);
    }
    Ok(snapshot)
}

impl Snapshot {
    /// Puts an item of the table where it belongs. What no check looks at (links, metrics, look-ups) is passed over.
    fn sort(&mut self, item: &Item) -> Result<()> {
        let (pk, sk) = (text(item, "PK")?, text(item, "SK")?);
        let world = &mut self.world;
        if sk == sagaline_store::HEAD_SK {
            world.heads.push(Head {
                order: read_head(item)?,
                in_due_index: item.contains_key("due_pk"),
            });
        } else if sk.starts_with("HISTORY#") {
            let order_id = OrderId::stored(
                pk.strip_prefix("ORDER#")
                    .context("history belongs to an order")?,
            );
            let version = version(item, "version")?;
            let events = item
                .get("events")
                .and_then(|events| events.as_l().ok())
                .context("a history row has events")?;
            let events: Vec<Value> = events.iter().map(to_json).collect();
            let moment = Moment {
                version,
                at: Timestamp::parse(text(item, "at")?).context("a history row has a time")?,
                actor: text(item, "actor")?.to_owned(),
                changes: events
                    .iter()
                    .filter_map(|event| event.get("kind")?.as_str())
                    .map(str::to_owned)
                    .collect(),
                reason: text(item, "reason")?.to_owned(),
            };
            let changes = events
                .into_iter()
                .map(serde_json::from_value)
                .collect::<Result<_, _>>()
                .context("an event is not known")?;
            self.timelines
                .entry(order_id.clone())
                .or_default()
                .push(moment);
            world.history.push(Commit {
                order_id,
                version,
                changes,
            });
        } else if let Some(request) = pk.strip_prefix("REQUEST#") {
            let order_id = OrderId::stored(text(item, "order_id")?);
            world.guards.push(Guard {
                request_id: request.to_owned(),
                order_id,
                result_version: version(item, "result_version")?,
            });
        } else if sk == "PRODUCT#INVENTORY" {
            let stock = item
                .get("stock")
                .and_then(as_integer)
                .and_then(|stock| i64::try_from(stock).ok())
                .context("stock is a number")?;
            world.stock.insert(
                Sku::stored(
                    pk.strip_prefix("PRODUCT#")
                        .context("stock belongs to a product")?,
                ),
                stock,
            );
        }
        Ok(())
    }
}

fn text<'a>(item: &'a Item, name: &str) -> Result<&'a str> {
    item.get(name)
        .and_then(|value| value.as_s().ok())
        .map(String::as_str)
        .with_context(|| format!("it has no text {name}"))
}

fn version(item: &Item, name: &str) -> Result<Version> {
    let number = item
        .get(name)
        .and_then(as_integer)
        .and_then(|number| u64::try_from(number).ok());
    number
        .and_then(Version::new)
        .with_context(|| format!("it has no version in {name}"))
}

/// What the gateway wrote into its own book.
fn ledger(parts: &Parts) -> Result<(Vec<Payment>, Vec<Refund>)> {
    let (mut payments, mut refunds) = (Vec::new(), Vec::new());
    for (order_id, account) in parts.gateway.ledger() {
        for payment in account.payments {
            let charged =
                payment.status == sagaline_testkit::gateway::book::PaymentStatus::Approved;
            refunds.extend(payment.refunds.iter().map(|refund| Refund {
                key: refund.key.clone(),
                payment_id: payment.payment_id.clone(),
            }));
            payments.push(Payment {
                key: payment.key,
                order_id: OrderId::stored(order_id.clone()),
                payment_id: payment.payment_id,
                amount_minor: payment.amount_minor,
                currency: Currency::parse(&payment.currency).with_context(|| {
                    format!("the gateway has a payment in {}", payment.currency)
                })?,
                charged_minor: if charged { payment.amount_minor } else { 0 },
                refunded_minor: payment.refunded_minor,
            });
        }
    }
    Ok((payments, refunds))
}

/// The versions in a table or view of the archive, each as often as it stands there.
async fn versions(parts: &Parts, from: &str) -> Result<Vec<(OrderId, Version)>> {
    let select = format!(
        "SELECT order_id, version, COUNT(*) AS times FROM {from} WHERE event_name <> 'REMOVE' GROUP BY order_id, version"
    );
    let mut versions = Vec::new();
    for row in parts
        .archive
        .query(&select, |_| {})
        .await
        .context("cannot read the archive")?
        .rows
    {
        let [Some(order_id), Some(version), Some(times)] = row.as_slice() else {
            bail!("the archive has a row without order or version: {row:?}")
        };
        let version = version
            .parse()
            .ok()
            .and_then(Version::new)
            .with_context(|| format!("the archive has version {version} of {order_id}"))?;
        let times: usize = times
            .parse()
            .with_context(|| format!("Athena counts {times}"))?;
        versions.extend(std::iter::repeat_n(
            (OrderId::stored(order_id), version),
            times,
        ));
    }
    Ok(versions)
}

/// What the mappings of streams and queues did. A queue's records end when they are deleted: what comes again is not read anew.
fn feeds(parts: &Parts) -> Vec<Feed> {
    let status = parts
        .runner
        .status()
        .into_iter()
        .filter(|mapping| !mapping.source.starts_with("rate("));
    let feed = |mapping: sagaline_mapping::MappingStatus| {
        let from_queue = mapping.deleted > 0 || mapping.source.contains("retry");
        Feed {
            read: if from_queue {
                mapping.deleted
            } else {
                mapping.polled
            },
            filtered: if from_queue { 0 } else { mapping.filtered_out },
            given_up: mapping.dropped + mapping.delivered_on_failure,
            // One function serves both queues, so its sums belong to neither.
            outcomes: if from_queue {
                None
            } else {
                parts.counters.of(&mapping.function)
            },
            name: mapping.mapping,
        }
    };
    status.map(feed).collect()
}

/// Records in the documents of given-up batches, and parked records.
async fn park_bucket(parts: &Parts) -> Result<(u64, u64)> {
    let s3 = aws_sdk_s3::config::Builder::from(&parts.sdk)
        .force_path_style(true)
        .build();
    let s3 = aws_sdk_s3::Client::from_conf(s3);
    let bucket = parts.setting("PARK_BUCKET")?;
    let (mut given_up, mut parked) = (0, 0);
    let mut pages = s3.list_objects_v2().bucket(bucket).into_paginator().send();
    while let Some(page) = pages.next().await {
        for key in page
            .context("cannot list the park bucket")?
            .contents()
            .iter()
            .filter_map(|object| object.key())
        {
            if key.starts_with("parked/") {
                parked += 1;
            } else if key.starts_with("aws/lambda/") {
                let object = s3
                    .get_object()
                    .bucket(bucket)
                    .key(key)
                    .send()
                    .await
                    .with_context(|| format!("cannot read {key}"))?;
                let bytes = object
                    .body
                    .collect()
                    .await
                    .with_context(|| format!("cannot read {key}"))?
                    .into_bytes();
                let document: Value =
                    serde_json::from_slice(&bytes).with_context(|| format!("{key} is no JSON"))?;
                given_up += document
                    .pointer("/DDBStreamBatchInfo/batchSize")
                    .and_then(Value::as_u64)
                    .unwrap_or(0);
            }
        }
    }
    Ok((given_up, parked))
}
