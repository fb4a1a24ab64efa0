//! The arguments, as `cargo xtask demo` passes them on.

use std::path::PathBuf;

/// Runs the pipeline on real parts and checks the result.
#[derive(Debug, clap::Parser)]
#[command(name = "sagaline-demo")]
pub(crate) struct Args {
    /// Leaves everything running until Ctrl-C and prints every address.
    #[arg(long)]
    pub(crate) keep: bool,
    /// Prints the result as one JSON document on stdout.
    #[arg(long)]
    pub(crate) json: bool,
    /// Orders to load, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    pub(crate) orders: Option<PathBuf>,
    /// Products and their stock.
    #[arg(long, value_name = "FILE")]
    pub(crate) catalogue: Option<PathBuf>,
    /// Uses an OpenSearch server that already runs.
    #[arg(long, value_name = "URL")]
    pub(crate) opensearch: Option<String>,
}
