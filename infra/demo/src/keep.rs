//! `--keep`: everything stays, and here is how to get at it.

use std::fs;

use anyhow::{Context, Result};
use sagaline_local::root;

use crate::parts::Parts;
use crate::report::Report;

/// The file to source, below the workspace's root.
const ENVIRONMENT: &str = ".local/demo.env";

/// Prints every address and three commands to try; on stderr when stdout is one JSON document.
pub(crate) fn explain(parts: &Parts, report: &Report, json: bool) -> Result<()> {
    let mut exports: Vec<_> = parts
        .stack
        .env()
        .iter()
        .map(|(name, value)| format!("export {name}={}", quoted(value)))
        .collect();
    exports.push(format!(
        "export PATH={}:\"$PATH\"",
        quoted(&parts.built.display().to_string())
    ));
    let file = root().join(ENVIRONMENT);
    fs::write(&file, exports.join("\n") + "\n")
        .with_context(|| format!("cannot write {}", file.display()))?;

    let order = report
        .timeline
        .as_ref()
        .map_or("ORDER", |timeline| timeline.order_id.as_str());
    let pids = parts.runner.pids();
    let functions = pids
        .iter()
        .map(|(pid, name)| format!("{name} {pid}"))
        .collect::<Vec<_>>()
        .join(", ");
    let saga = pids
        .iter()
        .find(|(_, name)| name.ends_with("saga"))
        .map_or_else(|| "PID".to_owned(), |(pid, _)| pid.to_string());
    let log = root().join(".local/demo.log");
    let text = format!(
        "Still running, until Ctrl-C:\n\
         \x20 local AWS          {aws}\n\
         \x20 OpenSearch         {search}\n\
         \x20 payment gateway    {gateway}/ledger\n\
         \x20 functions          {functions} (name and process id)\n\
         \x20 their log          {log}\n\n\
         Try, in another terminal, after `source {file}`:\n\
         \x20 sagaline show {order}\n\
         \x20 sagaline create --order-id try-1 --user u-1 --currency EUR --line tea-sencha:2:1290 --payment-token timeout-charged\n\
         \x20 kill -9 {saga}; sagaline cancel try-1 --reason 'changed my mind'; sagaline show try-1",
        aws = parts.stack.aws_url(),
        search = parts.stack.opensearch_url(),
        gateway = parts.gateway.url(),
        log = log.display(),
        file = file.display(),
    );
    if json {
        eprintln!("{text}");
    } else {
        println!("\n{text}");
    }
    Ok(())
}

/// Quoted for the shell.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_with_a_quote_stays_one_word_of_the_shell() {
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }
}
