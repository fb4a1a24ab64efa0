//! `sagaline schema`: checks the description of a table.
//!
//! A file is read in three stages, each only if the one before was passed: JSON with every name once, the JSON Schema, the rules. It refuses to
//! know any real table: nothing is called. Start reading at `schema/rules/mod.rs`, which lists the rules.

mod document;
mod model;
mod rules;
mod template;
mod time;

use crate::args::Global;
use crate::error::{Code, CommandError};
use crate::output;
use clap::{Args, Subcommand};
use model::Schema;
use rules::{Finding, SHAPE, Severity, cut};
use serde::Deserialize as _;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The JSON Schema of such files, as it stands beside ours.
const META: &str = include_str!("../../../../infra/schema/table.schema.json");

/// Checks the description of a table: `infra/schema/orders.schema.json` is ours.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Checks a file: its JSON, its shape, and the rules that keep a table healthy.
    Check(Check),
    /// Lists the rules.
    Rules,
    /// Prints the JSON Schema of such files, for editors.
    Print,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline schema check infra/schema/orders.schema.json
  sagaline schema check table.json --json
  sagaline schema rules

Exit codes: 0 no error, warnings are listed; 1 errors; 2 the file cannot be read, or is no JSON.
The shape is described in infra/schema/table.schema.json; `sagaline schema print` prints it.")]
struct Check {
    /// The file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl SchemaArgs {
    pub(crate) fn run(self, global: &Global) -> Result<(), CommandError> {
        match self.action {
            Action::Check(Check { file }) => check(&file, global),
            Action::Rules => {
                show_rules(global);
                Ok(())
            }
            Action::Print => {
                output::line(META.trim_end());
                Ok(())
            }
        }
    }
}

fn check(file: &Path, global: &Global) -> Result<(), CommandError> {
    let name = file.display();
    let unreadable = |what: String| CommandError::new(Code::UnreadableFile, what);
    let bytes = std::fs::read(file)
        .map_err(|error| unreadable(format!("{name} cannot be read: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        unreadable(format!("{name} is no text: {error}")).advise("save it as UTF-8")
    })?;
    let document = document::parse(&text).map_err(|error| {
        unreadable(format!("{name} is no JSON: {error}"))
            .advise("correct it at that line and column")
    })?;
    let findings = lint(&document)?;
    let count = |severity| {
        let of = |finding: &&Finding| finding.rule.severity == severity;
        findings.iter().filter(of).count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    if global.json {
        output::json(&json!({
            "file": name.to_string(), "errors": errors, "warnings": warnings,
            "findings": findings.iter().map(as_json).collect::<Vec<_>>(),
        }));
    } else if findings.is_empty() {
        output::line(&format!("{name}: nothing found"));
    } else {
        for finding in &findings {
            output::line(&shown(finding));
        }
    }
    let counted = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    };
    let summary = format!(
        "{name}: {}, {}",
        counted(errors, "error"),
        counted(warnings, "warning")
    );
    if errors > 0 {
        return Err(CommandError::new(Code::CheckFailed, summary));
    }
    if warnings > 0 {
        eprintln!("{summary}");
    }
    Ok(())
}

/// Everything that is to be said about a document. The rules are held against it only when its shape is right.
fn lint(document: &Value) -> Result<Vec<Finding>, CommandError> {
    // Ours, and checked by a test: that it cannot be used is a fault of this program.
    let broken = |what: String| CommandError::new(Code::BadData, what);
    let meta: Value = serde_json::from_str(META).map_err(|error| broken(error.to_string()))?;
    let validator =
        jsonschema::draft202012::new(&meta).map_err(|error| broken(error.to_string()))?;
    let shape: Vec<Finding> = validator
        .iter_errors(document)
        .map(|error| Finding {
            rule: SHAPE,
            path: error.instance_path().to_string(),
            what: cut(&error.to_string()),
        })
        .collect();
    if !shape.is_empty() {
        return Ok(shape);
    }
    match Schema::deserialize(document) {
        Ok(schema) => Ok(rules::check(&schema)),
        // The JSON Schema lets nothing pass that cannot be read; should it, the file is told so and not the program.
        Err(error) => Ok(vec![Finding {
            rule: SHAPE,
            path: String::new(),
            what: cut(&error.to_string()),
        }]),
    }
}

fn as_json(finding: &Finding) -> Value {
    json!({
        "rule": finding.rule.id, "severity": finding.rule.severity.as_str(), "path": finding.path,
        "what": finding.what, "do": finding.rule.advice,
    })
}

fn shown(finding: &Finding) -> String {
    let Finding { rule, path, what } = finding;
    let place = if path.is_empty() { "/" } else { path };
    format!(
        "{}[{}] {place}\n  {what}\n  do: {}",
        rule.severity.as_str(),
        rule.id,
        rule.advice
    )
}

fn show_rules(global: &Global) {
    if global.json {
        let rules: Vec<Value> = rules::ALL
            .iter()
            .map(|rule| json!({"rule": rule.id, "severity": rule.severity.as_str(), "what": rule.what, "do": rule.advice}))
            .collect();
        output::json(&json!({"rules": rules}));
        return;
    }
    for rule in rules::ALL {
        output::line(&format!(
            "{} ({})\n  {}\n  do: {}",
            rule.id,
            rule.severity.as_str(),
            rule.what,
            rule.advice
        ));
    }
}
