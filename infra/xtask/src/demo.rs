//! `cargo xtask demo`: sets up, builds, and becomes the demo.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Result, anyhow};
use sagaline_local::{Progress, install};

use crate::{DemoArgs, tool};

const PACKAGE: &str = "sagaline-demo";

pub(crate) fn run(args: &DemoArgs) -> Result<()> {
    let progress = Progress::stderr();
    let step = progress.step("prerequisites: looking");
    sagaline_local::check_prerequisites(args.opensearch.as_deref())?;
    step.done("all there");
    install(args.opensearch.as_deref(), &progress)?;
    eprintln!("  functions and command line: building (minutes the first time) ...");
    let functions = tool::FUNCTIONS.map(|function| function.package);
    tool::build(&[functions.as_slice(), &[tool::COMMAND_LINE, PACKAGE]].concat())?;

    let mut demo = Command::new(tool::built_dir()?.join(PACKAGE));
    demo.args(args.keep.then_some("--keep"))
        .args(args.json.then_some("--json"));
    let files = [("--orders", &args.orders), ("--catalogue", &args.catalogue)];
    for (flag, file) in files {
        demo.args(
            file.iter()
                .flat_map(|file| [flag.as_ref(), file.as_os_str()]),
        );
    }
    demo.args(args.opensearch.iter().flat_map(|url| ["--opensearch", url]));
    // This process becomes the demo: signals reach it, and its exit code is ours.
    Err(anyhow!(demo.exec()).context("cannot start the demo"))
}
