//! The real parts: stack, gateway, bus listener, index, runner. Started in the order in which they need each other, stopped in reverse.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use sagaline_archive::Archive;
use sagaline_local::{DeployOptions, Progress, Stack, StackOptions, bootstraps_in};
use sagaline_mapping::{Config, Options, Runner};
use sagaline_store::{DynamoTable, Store};
use sagaline_testkit::gateway::{self, GatewaySimulator};
use serde_json::{Value, json};

use crate::args::Args;
use crate::bus::BusListener;
use crate::counters::Counters;
use crate::index::Index;
use crate::input::Input;

/// How often the sweeper runs here. The template says a minute, the least that EventBridge has; nobody wants to watch that.
const SWEEPS: &str = "rate(2 seconds)";

/// Everything that runs.
pub(crate) struct Parts {
    pub(crate) stack: Stack,
    pub(crate) gateway: GatewaySimulator,
    pub(crate) runner: Runner,
    pub(crate) counters: Arc<Counters>,
    pub(crate) sdk: SdkConfig,
    pub(crate) store: Store<DynamoTable>,
    pub(crate) bus: BusListener,
    pub(crate) index: Index,
    pub(crate) archive: Archive,
    /// The folder with the command line and the bootstraps.
    pub(crate) built: PathBuf,
}

impl Parts {
    /// Starts everything; the functions wait for orders then.
    pub(crate) async fn start(args: &Args, input: &Input) -> Result<Self> {
        let built = std::env::current_exe().context("cannot find this program's own file")?;
        let built = built
            .parent()
            .context("this program's own file lies nowhere")?
            .to_path_buf();
        let gateway = gateway::start(SocketAddr::from(([127, 0, 0, 1], 0)))
            .await
            .context("cannot start the payment gateway")?;
        let deploy = DeployOptions {
            payment_url: gateway.url(),
            bootstraps: bootstraps_in(&built),
            ..DeployOptions::default()
        };
        let options = StackOptions {
            opensearch: args.opensearch.clone(),
            deploy,
        };
        let stack =
            tokio::task::spawn_blocking(move || Stack::start(&options, &Progress::stderr()));
        let stack = stack.await.context("the start of the stack stopped")??;

        let sdk = sdk(stack.env())?;
        let store = Store::new(DynamoTable::new(
            aws_sdk_dynamodb::Client::new(&sdk),
            setting(&stack, "ORDERS_TABLE")?,
        ));
        furnish(&store, input).await?;
        let index = Index::create(
            stack.opensearch_url(),
            setting(&stack, "OPENSEARCH_ALIAS")?,
            &sdk,
        )
        .await?;
        let bus = BusListener::start(&sdk, setting(&stack, "EVENT_BUS")?).await?;
        let outputs = &stack.deployment().outputs;
        let output = |name: &str| {
            outputs
                .get(name)
                .with_context(|| format!("the template has no output {name}"))
        };
        let archive = Archive::new(
            aws_sdk_athena::Client::new(&sdk),
            output("ArchiveDatabase")?,
            output("AuditWorkGroup")?,
        );
        let counters = Counters::new(&sagaline_local::root().join(".local/demo.log"))?;
        let runner = run(&stack, &sdk, &counters).await?;
        Ok(Self {
            stack,
            gateway,
            runner,
            counters,
            sdk,
            store,
            bus,
            index,
            archive,
            built,
        })
    }

    /// A setting of the processors, e.g. `ORDERS_TABLE`.
    pub(crate) fn setting(&self, name: &str) -> Result<&str> {
        setting(&self.stack, name)
    }

    /// The command line's program.
    pub(crate) fn sagaline(&self) -> PathBuf {
        self.built.join("sagaline")
    }

    /// Ends everything; no process stays.
    pub(crate) async fn stop(self) {
        self.runner.stop().await;
        self.gateway.stop().await;
        let stack = self.stack;
        // It waits for the servers' end.
        if tokio::task::spawn_blocking(move || stack.stop())
            .await
            .is_err()
        {
            eprintln!("the stack did not stop in order; its servers end with this process");
        }
    }
}

fn setting<'a>(stack: &'a Stack, name: &str) -> Result<&'a str> {
    stack
        .env()
        .get(name)
        .map(String::as_str)
        .with_context(|| format!("the deployment sets no {name}"))
}

/// The clients' configuration: the deployment's own, not what this machine has for the real AWS.
fn sdk(env: &BTreeMap<String, String>) -> Result<SdkConfig> {
    let var = |name: &str| {
        env.get(name)
            .cloned()
            .with_context(|| format!("the deployment sets no {name}"))
    };
    let credentials = Credentials::new(
        var("AWS_ACCESS_KEY_ID")?,
        var("AWS_SECRET_ACCESS_KEY")?,
        None,
        None,
        "local stack",
    );
    Ok(SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(var("AWS_REGION")?))
        .endpoint_url(var("AWS_ENDPOINT_URL")?)
        .credentials_provider(
            aws_credential_types::provider::SharedCredentialsProvider::new(credentials),
        )
        .build())
}

/// Short times, so that nobody waits, and the stock of the catalogue.
async fn furnish(store: &Store<DynamoTable>, input: &Input) -> Result<()> {
    let times = json!({
        "pay_deadline_s": 45, "step_deadline_s": 8, "unknown_grace_s": 1, "recheck_s": 5,
        "undo_attempts": 3, "undo_deadline_s": 60, "transition_budget": 64,
    });
    let Value::Object(times) = times else {
        return Err(anyhow!("the saga's settings are an object"));
    };
    store
        .put_config("saga", &times)
        .await
        .context("cannot write the saga's settings")?;
    for (sku, stock) in &input.stock {
        store
            .set_stock(sku, *stock, None)
            .await
            .with_context(|| format!("cannot set the stock of {sku}"))?;
    }
    Ok(())
}

/// The runner with the template's own mappings, but for the pace of the sweeper.
async fn run(stack: &Stack, sdk: &SdkConfig, counters: &Arc<Counters>) -> Result<Runner> {
    let mut config = stack.deployment().runner.clone();
    let mappings = config
        .get_mut("mappings")
        .and_then(Value::as_array_mut)
        .context("the runner's configuration has mappings")?;
    for schedule in mappings
        .iter_mut()
        .filter_map(|mapping| mapping.get_mut("schedule"))
    {
        *schedule = SWEEPS.into();
    }
    let config = Config::parse(&config.to_string(), Path::new("."))
        .context("the runner does not take the template's mappings")?;
    let options = Options {
        output: counters.output(),
        endpoint_url: Some(stack.aws_url().to_owned()),
        ..Options::default()
    };
    Runner::start(&config, &options, sdk)
        .await
        .context("cannot start the mapping runner")
}
