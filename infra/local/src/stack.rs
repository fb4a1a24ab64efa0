//! The whole local stack: both servers and one deployment, owned by this process or shared by the one that started it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow};
use serde::{Deserialize, Serialize};

use crate::deploy::{DeployOptions, Deployment, deploy};
use crate::opensearch::{OpenSearch, check_listens};
use crate::progress::Progress;
use crate::root;
use crate::rundir::RunDir;
use crate::server::{Server, log_in};
use crate::setup::{Installed, install};

/// Names the file of a stack that runs already, for [`Stack::shared`].
pub const STACK_FILE_VARIABLE: &str = "SAGALINE_STACK";

/// What a stack may choose.
#[derive(Clone, Debug, Default)]
pub struct StackOptions {
    /// The URL of an OpenSearch server that already runs. Without it one is started, which needs Java and Maven.
    pub opensearch: Option<String>,
    /// The first deployment.
    pub deploy: DeployOptions,
}

/// A running stack. Dropping the one that started it stops it.
#[derive(Debug)]
pub struct Stack {
    facts: Facts,
    // In the order of their end: the servers before the folder that they write to.
    owned: Option<Owned>,
}

/// What another process needs to use a running stack.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Facts {
    aws_url: String,
    opensearch_url: String,
    python: PathBuf,
    deployment: Deployment,
}

#[derive(Debug)]
struct Owned {
    _aws: Server,
    _opensearch: Option<OpenSearch>,
    run: RunDir,
}

impl Stack {
    /// Installs what is missing, starts both servers at once, and deploys the template.
    ///
    /// It blocks for about ten seconds, minutes the first time: call it from a thread that may block.
    ///
    /// # Errors
    /// A missing prerequisite in one line, a failed installation, a server that does not come up, or a template that does not deploy.
    pub fn start(options: &StackOptions, progress: &Progress) -> Result<Self> {
        if let Some(url) = &options.opensearch {
            check_listens(url)?;
        }
        let installed = install(options.opensearch.as_deref(), progress)?;
        let run = RunDir::create(&installed.local)?;
        let (aws, opensearch) = std::thread::scope(|scope| {
            let opensearch = scope.spawn(|| start_opensearch(options, &installed, &run, progress));
            let aws = start_aws(&installed, &run, progress);
            let opensearch = opensearch
                .join()
                .unwrap_or_else(|_| Err(anyhow!("the start of OpenSearch stopped")));
            aws.and_then(|aws| opensearch.map(|opensearch| (aws, opensearch)))
        })?;
        let opensearch_url = opensearch
            .as_ref()
            .map(OpenSearch::url)
            .or(options.opensearch.as_deref())
            .unwrap_or_default()
            .trim_end_matches('/')
            .to_owned();
        let step = progress.step(&format!("template: deploying as `{}`", options.deploy.name));
        let deployment = deploy(
            &installed.python,
            aws.url(),
            &opensearch_url,
            &options.deploy,
        )?;
        step.done("deployed");
        let facts = Facts {
            aws_url: aws.url().to_owned(),
            opensearch_url,
            python: installed.python,
            deployment,
        };
        Ok(Self {
            facts,
            owned: Some(Owned {
                _aws: aws,
                _opensearch: opensearch,
                run,
            }),
        })
    }

    /// The stack that the file named by `SAGALINE_STACK` describes, else one of this process, started at the first call and gone with the process.
    ///
    /// # Errors
    /// As [`Stack::start`] and [`Stack::attach`]; every later call of the process gets the same answer.
    pub fn shared() -> Result<&'static Self> {
        static SHARED: OnceLock<Result<Stack, String>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| {
            let stack = match std::env::var_os(STACK_FILE_VARIABLE) {
                Some(file) => Self::attach(Path::new(&file)),
                None => Self::start(&StackOptions::default(), &Progress::stderr()),
            };
            stack.map_err(|error| format!("{error:#}"))
        });
        shared.as_ref().map_err(|error| anyhow!("{error}"))
    }

    /// Uses a stack that another process started and described by [`Stack::save`]. Dropping it stops nothing.
    ///
    /// # Errors
    /// The file is not there or is no description of a stack.
    pub fn attach(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read the stack's file {}", file.display()))?;
        let facts = serde_json::from_str(&text)
            .with_context(|| format!("{} describes no stack", file.display()))?;
        Ok(Self { facts, owned: None })
    }

    /// Writes the description of this stack for [`Stack::attach`].
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, file: &Path) -> Result<()> {
        let text =
            serde_json::to_string_pretty(&self.facts).context("cannot write a stack as JSON")?;
        std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
    }

    /// Deploys the template once more, under another name: fresh table, buckets, queues and index names on the same servers, in about two seconds.
    ///
    /// # Errors
    /// The template does not deploy.
    pub fn deploy(&self, options: &DeployOptions) -> Result<Deployment> {
        deploy(
            &self.facts.python,
            &self.facts.aws_url,
            &self.facts.opensearch_url,
            options,
        )
    }

    /// The first deployment.
    #[must_use]
    pub fn deployment(&self) -> &Deployment {
        &self.facts.deployment
    }

    /// The environment of the first deployment.
    #[must_use]
    pub fn env(&self) -> &BTreeMap<String, String> {
        &self.facts.deployment.env
    }

    /// Where the local AWS answers.
    #[must_use]
    pub fn aws_url(&self) -> &str {
        &self.facts.aws_url
    }

    /// Where OpenSearch answers.
    #[must_use]
    pub fn opensearch_url(&self) -> &str {
        &self.facts.opensearch_url
    }

    /// The folder of this run: the servers' logs, and room for the caller's. It goes with the stack. None if another process owns the stack.
    #[must_use]
    pub fn dir(&self) -> Option<&Path> {
        self.owned.as_ref().map(|owned| owned.run.path())
    }

    /// Stops the servers and removes what they wrote. The same as dropping the stack, said aloud.
    pub fn stop(self) {
        drop(self);
    }
}

fn start_aws(installed: &Installed, run: &RunDir, progress: &Progress) -> Result<Server> {
    let step = progress.step("local AWS: starting");
    let mut serve = Command::new(&installed.python);
    serve
        .arg(root().join("infra/local/serve.py"))
        .args(["--port", "0", "--dir"])
        .arg(run.path());
    let server = Server::start("the local AWS", serve, &log_in(run.path(), "aws"))?;
    step.done(server.url());
    Ok(server)
}

fn start_opensearch(
    options: &StackOptions,
    installed: &Installed,
    run: &RunDir,
    progress: &Progress,
) -> Result<Option<OpenSearch>> {
    if options.opensearch.is_some() {
        return Ok(None);
    }
    let step = progress.step("OpenSearch: starting");
    let server = OpenSearch::start(installed, run.path())?;
    step.done(server.url());
    Ok(Some(server))
}
