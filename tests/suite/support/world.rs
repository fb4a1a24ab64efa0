//! The world as it can be seen from outside, collected for the checks of the invariants.

use std::collections::BTreeMap;

use sagaline_archive::Table;
use sagaline_mapping::MappingStatus;
use sagaline_order::{Context, Currency, OrderId, Sku, Version};
use sagaline_store::value::{as_integer, to_json};
use sagaline_store::{HEAD_SK, Item, read_head};
use sagaline_testkit::gateway::book::PaymentStatus;
use sagaline_testkit::invariants::{
    Commit, Document, Feed, Guard, Head, Outcomes, Payment, Refund, World, check,
};

use super::pipeline::Pipeline;

impl Pipeline {
    /// Insists on every invariant.
    pub(crate) async fn check_invariants(&mut self) {
        let world = self.world().await;
        assert!(
            !world.heads.is_empty(),
            "a world without orders proves nothing"
        );
        let broken: Vec<_> = check(&world)
            .into_iter()
            .filter(|check| !check.ok)
            .collect();
        assert!(broken.is_empty(), "{broken:#?}");
    }

    /// (order, version) of every row of a table or view, as often as it is there; rows of a REMOVE left out.
    pub(crate) async fn archived(&self, table: &str) -> Vec<(OrderId, Version)> {
        let select = format!(
            "SELECT order_id, version FROM {table} WHERE event_name <> 'REMOVE' ORDER BY order_id, version"
        );
        versions(&self.place.archive().query(&select, |_| {}).await.unwrap())
    }

    async fn world(&mut self) -> World {
        let now = sagaline_lambda::now();
        let place = self.place.clone();
        let (payments, refunds) = self.ledger();
        let mut world = World {
            context: Context {
                now,
                config: self.store.saga_config(now).await,
            },
            heads: Vec::new(),
            history: Vec::new(),
            guards: Vec::new(),
            initial_stock: self.stock.clone(),
            stock: BTreeMap::new(),
            payments,
            refunds,
            messages: Some(self.bus.heard(&place).await),
            documents: self.documents().await,
            archived: self.archived("changes").await,
            view: self.archived("order_changes").await,
            feeds: self.feeds(),
            given_up_records: 0,
            parked_records: 0,
        };
        for key in place.objects(place.var("PARK_BUCKET")).await {
            assert!(
                !key.starts_with("aws/lambda/"),
                "a mapping gave up on records: {key}"
            );
            world.parked_records += u64::from(key.starts_with("parked/"));
        }
        for item in place.items().await {
            sort(&mut world, &item);
        }
        world
    }

    async fn documents(&self) -> Vec<Document> {
        let versions = self.index.versions().await;
        let of = |(id, (version, deleted))| {
            let version = Version::new(version).unwrap();
            Document {
                order_id: OrderId::stored(id),
                version,
                deleted,
                highest_seen: version,
            }
        };
        versions.into_iter().map(of).collect()
    }

    /// What the gateway wrote into its own book.
    fn ledger(&self) -> (Vec<Payment>, Vec<Refund>) {
        let (mut payments, mut refunds) = (Vec::new(), Vec::new());
        for (order_id, account) in self.gateway.ledger() {
            for payment in account.payments {
                let charged = payment.status == PaymentStatus::Approved;
                refunds.extend(payment.refunds.iter().map(|refund| Refund {
                    key: refund.key.clone(),
                    payment_id: payment.payment_id.clone(),
                }));
                payments.push(Payment {
                    key: payment.key,
                    order_id: OrderId::stored(order_id.clone()),
                    payment_id: payment.payment_id,
                    amount_minor: payment.amount_minor,
                    currency: Currency::parse(&payment.currency).unwrap(),
                    charged_minor: if charged { payment.amount_minor } else { 0 },
                    refunded_minor: payment.refunded_minor,
                });
            }
        }
        (payments, refunds)
    }

    fn feeds(&self) -> Vec<Feed> {
        let status = self.runner.as_ref().expect("a runner runs").status();
        let feeds = status
            .into_iter()
            .filter(|mapping| !mapping.source.starts_with("rate("));
        feeds.map(|mapping| self.feed(mapping)).collect()
    }

    fn feed(&self, mapping: MappingStatus) -> Feed {
        // What comes to a queue again is read again: its messages end when they are deleted. One function serves both queues.
        let of_queue = mapping.source.contains("retry");
        let count = |counter| self.count(&mapping.function, counter);
        let outcomes = Outcomes {
            records_in: count("RecordsIn"),
            done: count("RecordsDone"),
            stale: count("RecordsStale"),
            skipped: count("RecordsSkipped"),
            parked: count("RecordsParked"),
            deferred: count("RecordsDeferred"),
            failed: count("RecordsFailed"),
        };
        Feed {
            read: if of_queue {
                mapping.deleted
            } else {
                mapping.polled
            },
            filtered: if of_queue { 0 } else { mapping.filtered_out },
            given_up: mapping.dropped + mapping.delivered_on_failure,
            outcomes: (!of_queue).then_some(outcomes),
            name: mapping.mapping,
        }
    }
}

/// Puts an item of the table where it belongs. What no check looks at is passed over.
fn sort(world: &mut World, item: &Item) {
    let (pk, sk) = (text(item, "PK"), text(item, "SK"));
    if sk == HEAD_SK {
        world.heads.push(Head {
            order: read_head(item).unwrap(),
            in_due_index: item.contains_key("due_pk"),
        });
    } else if sk.starts_with("HISTORY#") {
        let events = item["events"].as_l().unwrap().iter().map(to_json);
        world.history.push(Commit {
            order_id: OrderId::stored(pk.strip_prefix("ORDER#").unwrap()),
            version: version(item, "version"),
            changes: events
                .map(|event| serde_json::from_value(event).unwrap())
                .collect(),
        });
    } else if let Some(request) = pk.strip_prefix("REQUEST#") {
        world.guards.push(Guard {
            request_id: request.to_owned(),
            order_id: OrderId::stored(text(item, "order_id")),
            result_version: version(item, "result_version"),
        });
    } else if sk == "PRODUCT#INVENTORY" {
        let sku = Sku::stored(pk.strip_prefix("PRODUCT#").unwrap());
        let stock = as_integer(&item["stock"]).unwrap();
        world.stock.insert(sku, stock.try_into().unwrap());
    }
}

fn text<'a>(item: &'a Item, name: &str) -> &'a str {
    item[name].as_s().unwrap()
}

fn version(item: &Item, name: &str) -> Version {
    let number = as_integer(&item[name]).unwrap();
    Version::new(number.try_into().unwrap()).unwrap()
}

fn versions(table: &Table) -> Vec<(OrderId, Version)> {
    let of = |row: &Vec<Option<String>>| {
        let [Some(order), Some(version)] = row.as_slice() else {
            panic!("a row is {row:?}")
        };
        (
            OrderId::stored(order.as_str()),
            Version::new(version.parse().unwrap()).unwrap(),
        )
    };
    table.rows.iter().map(of).collect()
}
