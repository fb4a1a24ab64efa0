//! One deployment of `infra/template.yaml` to the local AWS, and what it answers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::{root, tool};

/// The stack's name when nothing else is asked for.
pub const DEFAULT_NAME: &str = "sagaline";

/// The four functions of the template, and the program of each.
const FUNCTIONS: [(&str, &str); 4] = [
    ("saga", "sagaline-saga-processor"),
    ("projector", "sagaline-projector"),
    ("sweeper", "sagaline-sweeper"),
    ("redrive", "sagaline-redrive"),
];

/// What a deployment may choose.
#[derive(Clone, Debug)]
pub struct DeployOptions {
    /// The stack's name: lower-case letters, digits and hyphens. Every resource is named after it, so another name gives fresh ones.
    pub name: String,
    /// Base URL of the payment gateway.
    pub payment_url: String,
    /// The executable of each function (`saga`, `projector`, `sweeper`, `redrive`), for the mapping runner.
    pub bootstraps: BTreeMap<String, PathBuf>,
    /// Other parameters of the template. They win over what this crate sets.
    pub parameters: BTreeMap<String, String>,
}

impl Default for DeployOptions {
    fn default() -> Self {
        Self {
            name: DEFAULT_NAME.to_owned(),
            // Nobody answers at the discard port: a deployment without a gateway is one whose payments stay unknown.
            payment_url: "http://127.0.0.1:9".to_owned(),
            bootstraps: bootstraps_in(&root().join("target/debug")),
            parameters: BTreeMap::new(),
        }
    }
}

/// The executables of the four functions in a folder that cargo builds into.
#[must_use]
pub fn bootstraps_in(dir: &Path) -> BTreeMap<String, PathBuf> {
    FUNCTIONS
        .iter()
        .map(|(name, program)| ((*name).to_owned(), dir.join(program)))
        .collect()
}

/// A deployed template.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Deployment {
    /// The stack's name.
    pub name: String,
    /// The template's outputs by name, e.g. `OrdersTable`, `GlueDatabase`.
    pub outputs: BTreeMap<String, String>,
    /// The environment for the command line and for tests: where the local AWS is, its credentials, and what the processors get.
    pub env: BTreeMap<String, String>,
    /// The mapping runner's configuration, `{"functions":{..},"mappings":[..]}`, with every setting as the template has it and every reference resolved.
    pub runner: serde_json::Value,
}

pub(crate) fn deploy(
    python: &Path,
    aws_url: &str,
    opensearch_url: &str,
    options: &DeployOptions,
) -> Result<Deployment> {
    let script = root().join("infra/local/deploy.py").display().to_string();
    let mut args = vec![
        script,
        "--endpoint-url".into(),
        aws_url.into(),
        "--stack-name".into(),
        options.name.clone(),
    ];
    let alias = if options.name == DEFAULT_NAME {
        "orders".to_owned()
    } else {
        format!("{}-orders", options.name)
    };
    let mut parameters = BTreeMap::from([
        ("OpenSearchEndpoint".to_owned(), opensearch_url.to_owned()),
        ("OpenSearchAlias".to_owned(), alias),
        ("PaymentUrl".to_owned(), options.payment_url.clone()),
    ]);
    parameters.extend(options.parameters.clone());
    for (name, value) in parameters {
        args.extend(["--parameter".to_owned(), format!("{name}={value}")]);
    }
    for (function, path) in &options.bootstraps {
        args.extend([
            "--bootstrap".to_owned(),
            format!("{function}={}", path.display()),
        ]);
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let answer = tool::output(python, &args)
        .with_context(|| format!("cannot deploy the template as `{}`", options.name))?;
    serde_json::from_str(&answer).context("cannot read what the deployment answered")
}
