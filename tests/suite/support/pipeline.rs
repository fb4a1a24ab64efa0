//! The whole pipeline: a deployment of its own, the simulated gateway, a made index, and the runner with the real bootstraps and the
//! template's own mappings.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use sagaline_local::{DeployOptions, bootstraps_in};
use sagaline_mapping::{Config, Options, Output, Runner};
use sagaline_order::{Order, OrderId, Sku};
use sagaline_store::{DynamoTable, Store};
use sagaline_testkit::gateway::{self, GatewaySimulator};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::bus::Bus;
use super::index::Index;
use super::place::{Place, built, stack, unique};
use super::wait::{SOON, until};

/// How often the sweeper runs. The template says a minute, the least that EventBridge has.
const SWEEPS: &str = "rate(1 second)";

/// Everything that runs.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) place: Place,
    pub(crate) store: Store<DynamoTable>,
    pub(crate) gateway: GatewaySimulator,
    pub(crate) index: Index,
    pub(crate) bus: Bus,
    /// What the shelves held at first.
    pub(crate) stock: BTreeMap<Sku, i64>,
    /// Every line of every function.
    pub(crate) lines: Arc<Mutex<Vec<(String, String)>>>,
    pub(crate) runner: Option<Runner>,
    set_up: SetUp,
    state: TempDir,
}

/// What differs from the template's own set-up.
#[derive(Debug, Default)]
pub(crate) struct SetUp {
    /// Variables of every function.
    pub(crate) env: Vec<(&'static str, String)>,
    /// The function that gets nothing of the stream.
    pub(crate) unfed: Option<&'static str>,
}

impl Pipeline {
    /// Everything, at rest.
    pub(crate) async fn start(what: &str) -> Self {
        Self::start_as(what, SetUp::default()).await
    }

    pub(crate) async fn start_as(what: &str, set_up: SetUp) -> Self {
        let gateway = gateway::start(SocketAddr::from(([127, 0, 0, 1], 0)))
            .await
            .unwrap();
        let programs = built("sagaline-saga-processor")
            .parent()
            .unwrap()
            .to_path_buf();
        let bootstraps = bootstraps_in(&programs);
        for program in bootstraps.values() {
            built(program.file_name().unwrap().to_str().unwrap());
        }
        let place = Place::fresh_with(DeployOptions {
            name: unique(what),
            payment_url: gateway.url(),
            bootstraps,
            parameters: BTreeMap::new(),
        })
        .await;
        let store = place.store();
        store.put_config("saga", &short_times()).await.unwrap();
        let server = stack().await.opensearch_url();
        let index = Index::at(server, place.var("OPENSEARCH_ALIAS"))
            .made()
            .await;
        let bus = Bus::of(&place).await;
        let mut pipeline = Self {
            place,
            store,
            gateway,
            index,
            bus,
            stock: BTreeMap::new(),
            lines: Arc::default(),
            runner: None,
            set_up,
            state: TempDir::new().unwrap(),
        };
        pipeline.start_runner().await;
        pipeline
    }

    /// Feeds the functions, from where they were left.
    pub(crate) async fn start_runner(&mut self) {
        let state = Some(self.state.path().to_path_buf());
        self.run(state).await;
    }

    /// Feeds the functions from the beginning of the stream: all that ever happened comes again.
    pub(crate) async fn replay(&mut self) {
        self.run(None).await;
    }

    async fn run(&mut self, state: Option<std::path::PathBuf>) {
        assert!(self.runner.is_none(), "one runner at a time");
        let mut config = self.place.deployment.runner.clone();
        for mapping in config["mappings"].as_array_mut().unwrap() {
            let function = mapping["function"].as_str().unwrap().to_owned();
            // The hourly comparison stays hourly.
            if let Some(schedule) = mapping
                .get_mut("schedule")
                .filter(|_| function.ends_with("sweeper"))
            {
                *schedule = SWEEPS.into();
            }
            let unfed = self
                .set_up
                .unfed
                .is_some_and(|name| function.ends_with(name));
            if unfed && mapping.get("table").is_some() {
                mapping["Enabled"] = false.into();
            }
        }
        for function in config["functions"].as_object_mut().unwrap().values_mut() {
            for (name, value) in &self.set_up.env {
                function["env"][*name] = value.as_str().into();
            }
        }
        let config = Config::parse(&config.to_string(), Path::new(".")).unwrap();
        let lines = Arc::clone(&self.lines);
        let output = Output::new(move |function: &str, line: &str| {
            lines
                .lock()
                .unwrap()
                .push((function.to_owned(), line.to_owned()));
        });
        let options = Options {
            state,
            output,
            endpoint_url: Some(self.place.var("AWS_ENDPOINT_URL").to_owned()),
            ..Options::default()
        };
        let runner = Runner::start(&config, &options, &self.place.sdk)
            .await
            .unwrap();
        self.runner = Some(runner);
    }

    pub(crate) async fn stop_runner(&mut self) {
        if let Some(runner) = self.runner.take() {
            runner.stop().await;
        }
    }

    /// Ends everything in order.
    pub(crate) async fn stop(mut self) {
        self.stop_runner().await;
        self.gateway.stop().await;
    }

    /// Puts so many on the shelf.
    pub(crate) async fn shelve(&mut self, sku: &str, stock: u32) {
        let sku = Sku::parse(sku).unwrap();
        self.store.set_stock(&sku, stock, None).await.unwrap();
        self.stock.insert(sku, stock.into());
    }

    /// Places an order of one line through the command line.
    pub(crate) async fn place_order(&self, id: &str, line: &str, token: &str) {
        let args = [
            "create",
            "--order-id",
            id,
            "--user",
            "u-1",
            "--line",
            line,
            "--currency",
            "EUR",
            "--payment-token",
            token,
            "--request-id",
        ];
        let request = format!("place-{id}");
        let said = self.place.json(&[&args[..], &[&request]].concat()).await;
        assert_eq!(said["result"], "created");
    }

    pub(crate) async fn order(&self, id: &str) -> Order {
        let found = self.store.load(&OrderId::stored(id)).await.unwrap();
        found.unwrap_or_else(|| panic!("there is no order {id}"))
    }

    /// Waits until the order is as it should be.
    pub(crate) async fn until(&self, id: &str, what: &str, is: impl Fn(&Order) -> bool) -> Order {
        until(&format!("{id} is {what}"), SOON, async || {
            Some(self.order(id).await).filter(|order| is(order))
        })
        .await
    }

    /// Makes what a function does not finish come again soon. The template's six minutes are for the cloud.
    pub(crate) async fn hurry(&self, queue_url: &str) {
        let visibility = aws_sdk_sqs::types::QueueAttributeName::VisibilityTimeout;
        let queue = self.place.sqs().set_queue_attributes().queue_url(queue_url);
        queue.attributes(visibility, "2").send().await.unwrap();
    }

    /// Settles a pending payment by hand, or whatever else the gateway's own door takes.
    pub(crate) async fn settle(&self, payment_id: &str, status: &str) {
        let url = format!("{}/payments/{payment_id}/settle", self.gateway.url());
        let settle = reqwest::Client::new()
            .post(url)
            .json(&json!({"status": status}));
        settle.send().await.unwrap().error_for_status().unwrap();
    }

    /// The sum of one of the counters of a function.
    pub(crate) fn count(&self, function: &str, counter: &str) -> u64 {
        let lines = self.lines.lock().unwrap();
        let of = lines.iter().filter(|(name, _)| name.ends_with(function));
        let objects = of.filter_map(|(_, line)| serde_json::from_str::<Value>(line).ok());
        objects
            .filter_map(|object| object.get(counter)?.as_u64())
            .sum()
    }
}

/// So short that no test waits long for a deadline, and long enough for a busy machine.
fn short_times() -> Map<String, Value> {
    let times = json!({
        "pay_deadline_s": 45, "step_deadline_s": 8, "unknown_grace_s": 1, "recheck_s": 2,
        "undo_attempts": 3, "undo_deadline_s": 60, "transition_budget": 64,
    });
    times.as_object().unwrap().clone()
}
