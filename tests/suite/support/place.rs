//! A deployment of the template to the local AWS, the clients for it, and the command line as its operator has it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_sdk_dynamodb::types::AttributeValue;
use sagaline_archive::Archive;
use sagaline_local::{DeployOptions, Deployment, Stack};
use sagaline_store::{DynamoTable, Item, Store};
use serde_json::Value;
use tokio::process::Command;

/// The servers, started by whoever runs the tests or else by this process.
pub(crate) async fn stack() -> &'static Stack {
    let shared = tokio::task::spawn_blocking(Stack::shared).await.unwrap();
    shared.expect("the local stack runs; `cargo xtask test` starts it")
}

/// A name that no other test and no other run uses.
pub(crate) fn unique(what: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let nth = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{what}-{}-{nth}", std::process::id())
}

/// A program of the workspace, where cargo puts it.
pub(crate) fn built(program: &str) -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let folder = this
        .parent()
        .and_then(|deps| deps.parent())
        .expect("cargo puts tests into a folder of its target folder");
    let path = folder.join(program);
    assert!(
        path.is_file(),
        "{} is missing: `cargo xtask test` builds it, and so does `cargo build --bins`",
        path.display()
    );
    path
}

/// One deployment.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) deployment: Deployment,
    pub(crate) sdk: SdkConfig,
}

/// What a program said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) took: Duration,
}

impl Place {
    /// The deployment that all tests share which need no table of their own. No pipeline watches it.
    pub(crate) async fn shared() -> Self {
        Self::of(stack().await.deployment().clone())
    }

    /// A deployment of one's own.
    pub(crate) async fn fresh(what: &str) -> Self {
        Self::fresh_with(DeployOptions {
            name: unique(what),
            bootstraps: BTreeMap::new(),
            ..DeployOptions::default()
        })
        .await
    }

    pub(crate) async fn fresh_with(options: DeployOptions) -> Self {
        let stack = stack().await;
        let deployed = tokio::task::spawn_blocking(move || stack.deploy(&options));
        Self::of(deployed.await.unwrap().expect("the template deploys"))
    }

    fn of(deployment: Deployment) -> Self {
        let var = |name: &str| deployment.env[name].clone();
        let credentials = Credentials::new(
            var("AWS_ACCESS_KEY_ID"),
            var("AWS_SECRET_ACCESS_KEY"),
            None,
            None,
            "local stack",
        );
        let sdk = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(var("AWS_REGION")))
            .endpoint_url(var("AWS_ENDPOINT_URL"))
            .credentials_provider(
                aws_credential_types::provider::SharedCredentialsProvider::new(credentials),
            )
            .build();
        Self { deployment, sdk }
    }

    /// What the processors have in their environment.
    pub(crate) fn var(&self, name: &str) -> &str {
        let found = self.deployment.env.get(name);
        found.unwrap_or_else(|| panic!("the deployment sets no {name}"))
    }

    /// An output of the template.
    pub(crate) fn output(&self, name: &str) -> &str {
        let found = self.deployment.outputs.get(name);
        found.unwrap_or_else(|| panic!("the template has no output {name}"))
    }

    pub(crate) fn table(&self) -> DynamoTable {
        DynamoTable::new(self.dynamodb(), self.var("ORDERS_TABLE"))
    }

    pub(crate) fn store(&self) -> Store<DynamoTable> {
        Store::new(self.table())
    }

    pub(crate) fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        aws_sdk_dynamodb::Client::new(&self.sdk)
    }

    pub(crate) fn sqs(&self) -> aws_sdk_sqs::Client {
        aws_sdk_sqs::Client::new(&self.sdk)
    }

    pub(crate) fn s3(&self) -> aws_sdk_s3::Client {
        let config = aws_sdk_s3::config::Builder::from(&self.sdk)
            .force_path_style(true)
            .build();
        aws_sdk_s3::Client::from_conf(config)
    }

    pub(crate) fn archive(&self) -> Archive {
        let client = aws_sdk_athena::Client::new(&self.sdk);
        Archive::new(
            client,
            self.output("ArchiveDatabase"),
            self.output("AuditWorkGroup"),
        )
    }

    /// Every item of the table.
    pub(crate) async fn items(&self) -> Vec<Item> {
        let scan = self
            .dynamodb()
            .scan()
            .table_name(self.var("ORDERS_TABLE"))
            .consistent_read(true);
        let items = scan.into_paginator().items().send();
        items.collect::<Result<_, _>>().await.unwrap()
    }

    /// The keys of all items but those of the configuration, for "nothing was stored".
    pub(crate) async fn stored(&self) -> Vec<String> {
        let text = |item: &Item, name: &str| match item.get(name) {
            Some(AttributeValue::S(text)) => text.clone(),
            other => panic!("{name} is {other:?}"),
        };
        let keys = self.items().await;
        let keys = keys
            .iter()
            .map(|item| format!("{} {}", text(item, "PK"), text(item, "SK")));
        let mut keys: Vec<_> = keys.filter(|key| !key.starts_with("GLOBAL#")).collect();
        keys.sort();
        keys
    }

    /// The keys of a bucket's objects.
    pub(crate) async fn objects(&self, bucket: &str) -> Vec<String> {
        let list = self.s3().list_objects_v2().bucket(bucket);
        let mut pages = list.into_paginator().send();
        let mut keys = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.unwrap();
            keys.extend(
                page.contents()
                    .iter()
                    .filter_map(|object| object.key().map(str::to_owned)),
            );
        }
        keys
    }

    /// Messages in a queue, also those that somebody works on.
    pub(crate) async fn waiting(&self, queue_url: &str) -> u64 {
        use aws_sdk_sqs::types::QueueAttributeName as Name;
        let names = [
            Name::ApproximateNumberOfMessages,
            Name::ApproximateNumberOfMessagesNotVisible,
        ];
        let asked = self
            .sqs()
            .get_queue_attributes()
            .queue_url(queue_url)
            .set_attribute_names(Some(names.to_vec()));
        let answer = asked.send().await.unwrap();
        let counts = answer.attributes().into_iter().flat_map(|all| all.values());
        counts.map(|count| count.parse::<u64>().unwrap()).sum()
    }

    /// Runs the command line with this deployment's environment and nothing else.
    pub(crate) async fn sagaline(&self, args: &[&str]) -> Said {
        self.sagaline_in(&[], args).await
    }

    /// The same with other variables on top; an empty value takes one away.
    pub(crate) async fn sagaline_in(&self, vars: &[(&str, &str)], args: &[&str]) -> Said {
        let mut command = self.command(vars, args);
        let began = Instant::now();
        let ended = tokio::time::timeout(Duration::from_secs(60), command.output()).await;
        let output = ended
            .unwrap_or_else(|_| panic!("sagaline {args:?} did not end"))
            .unwrap();
        Said {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
            took: began.elapsed(),
        }
    }

    /// The command line as [`Place::sagaline_in`] runs it, for tests that end it before its time.
    pub(crate) fn command(&self, vars: &[(&str, &str)], args: &[&str]) -> Command {
        let mut command = Command::new(built("sagaline"));
        command
            .args(args)
            .env_clear()
            .envs(&self.deployment.env)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        for (name, value) in vars {
            match *value {
                "" => command.env_remove(name),
                value => command.env(name, value),
            };
        }
        command
    }

    /// Runs the command line and takes its one JSON document.
    pub(crate) async fn json(&self, args: &[&str]) -> Value {
        let said = self.sagaline(&[args, &["--json"]].concat()).await;
        said.ok().json()
    }
}

impl Said {
    /// Insists on success.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        self.ended(0)
    }

    /// Insists on an exit code.
    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Self {
        assert_eq!(
            self.code, code,
            "stdout: {}\nstderr: {}",
            self.out, self.err
        );
        self
    }

    /// Insists on a refusal: exit code, the first line's error code, nothing but talk on stderr.
    #[track_caller]
    pub(crate) fn refused(self, code: i32, error: &str) -> Self {
        let said = self.ended(code);
        let first = said.err.lines().next().unwrap_or_default();
        assert!(
            first.starts_with(&format!("error[{error}]: ")) && first.contains("; "),
            "{}",
            said.err
        );
        said
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}
