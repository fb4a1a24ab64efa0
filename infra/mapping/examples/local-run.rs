//! Runs a mappings file: `cargo run -p sagaline-mapping --example local-run -- --mappings FILE [--endpoint-url URL] [--once]`.
//!
//! `sagaline local run` does the same with the project's template as the default.

use std::process::ExitCode;

use aws_config::BehaviorVersion;
use clap::Parser;
use sagaline_mapping::{Config, RunArgs, RunError, RunOptions, run};

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    run: RunArgs,
    #[arg(long)]
    endpoint_url: Option<String>,
    #[arg(long)]
    json: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match start(&arguments).await {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

async fn start(arguments: &Arguments) -> Result<u8, RunError> {
    let file = arguments
        .run
        .mappings
        .clone()
        .unwrap_or_else(|| "mappings.json".into());
    let config = Config::load(&file)?;
    let mut loader = aws_config::defaults(BehaviorVersion::latest());
    if let Some(url) = &arguments.endpoint_url {
        loader = loader.endpoint_url(url);
    }
    let sdk = loader.load().await;
    run(
        &config,
        &RunOptions::new(
            &arguments.run,
            arguments.endpoint_url.clone(),
            arguments.json,
        ),
        &sdk,
    )
    .await
}
