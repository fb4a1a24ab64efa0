//! `sagaline table doctor`: whether the table, its stream, what reads it and what watches it are as the template says.
//!
//! `template.rs` reads what is expected, `facts.rs` asks AWS what is there, `checks.rs` compares; only `facts.rs` knows of the network. What
//! cannot be found out is said to be unknown, never to be well.

mod asker;
mod checks;
mod facts;
mod template;

use crate::args::Global;
use crate::error::{Code, CommandError};
use crate::output;
use crate::session::Session;
use checks::{Check, Verdict};
use clap::Args;
use facts::Facts;
use serde_json::{Value, json};
use template::Template;

/// Compares the table, its stream, mappings, queues and alarms with the template.
///
/// Checked: key schema, indexes and projections, stream view type, time to live, point-in-time recovery, deletion protection; that the stream has
/// exactly two readers, each with the settings of the template; how far behind they are; retry queues and dead letters; alarms. Exit code 1 if
/// anything fails. What the endpoint does not tell is unknown.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline table doctor
  sagaline table doctor --stack shop --json | jq '.checks[] | select(.verdict != \"ok\")'

Needs: dynamodb:DescribeTable, DescribeTimeToLive and DescribeContinuousBackups; lambda:ListEventSourceMappings; cloudwatch:DescribeAlarms and
GetMetricStatistics; sqs:GetQueueUrl and GetQueueAttributes. What is not permitted is unknown.")]
pub(super) struct Doctor {
    /// The name of the stack, where the table's name is not <stack>-orders.
    #[arg(long, value_name = "NAME")]
    stack: Option<String>,
}

impl Doctor {
    pub(super) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let session = Session::open(global).await?;
        let stack = self
            .stack
            .as_deref()
            .or_else(|| session.table.strip_suffix("-orders"));
        let template = Template::embedded()
            .map_err(|bad| CommandError::new(Code::BadData, format!("the template: {bad}")))?;
        let expected = template
            .expected()
            .map_err(|bad| CommandError::new(Code::BadData, format!("the template: {bad}")))?;
        let facts = Box::pin(Facts::gather(&session, stack, &expected)).await;
        let checks = checks::all(&expected, &facts);
        if global.json {
            output::json(&of_checks(&session.table, stack, &checks));
        } else {
            output::line(&people(&checks));
        }
        let failed = checks
            .iter()
            .filter(|check| check.verdict == Verdict::Fail)
            .count();
        if failed == 0 {
            return Ok(());
        }
        Err(CommandError::new(
            Code::CheckFailed,
            format!("{failed} of {} checks fail", checks.len()),
        )
        .advise("do what stands beside each, then run it again"))
    }
}

fn of_checks(table: &str, stack: Option<&str>, checks: &[Check]) -> Value {
    let count = |verdict: Verdict| {
        checks
            .iter()
            .filter(|check| check.verdict == verdict)
            .count()
    };
    let all: Vec<_> = checks
        .iter()
        .map(|check| {
            json!({"area": check.area, "check": check.name, "verdict": check.verdict.word(), "found": check.found, "wanted": check.wanted,
                "todo": check.todo})
        })
        .collect();
    json!({"table": table, "stack": stack, "ok": count(Verdict::Ok), "warn": count(Verdict::Warn), "fail": count(Verdict::Fail),
        "unknown": count(Verdict::Unknown), "checks": all})
}

/// What is well is one line an area; all else is shown with what to do.
fn people(checks: &[Check]) -> String {
    let mut areas: Vec<&str> = Vec::new();
    for check in checks {
        if !areas.contains(&check.area.as_str()) {
            areas.push(&check.area);
        }
    }
    let mut rows = Vec::new();
    for area in areas {
        let of_area = || checks.iter().filter(|check| check.area == area);
        let well: Vec<_> = of_area()
            .filter(|check| check.verdict == Verdict::Ok)
            .collect();
        if !well.is_empty() {
            let found: Vec<_> = well
                .iter()
                .map(|check| {
                    [check.name.as_str(), check.found.as_str()]
                        .join(" ")
                        .trim_end()
                        .to_owned()
                })
                .collect();
            rows.push(["ok".to_owned(), area.to_owned(), wrapped(&found.join("; "))]);
        }
        for check in of_area().filter(|check| check.verdict != Verdict::Ok) {
            let wanted = check
                .wanted
                .as_ref()
                .map_or_else(String::new, |wanted| format!(", wanted {wanted}"));
            let todo = if check.todo.is_empty() {
                String::new()
            } else {
                format!("\n-> {}", wrapped(&check.todo))
            };
            let what = wrapped(&format!("{}: {}{wanted}", check.name, check.found));
            rows.push([
                check.verdict.word().to_owned(),
                area.to_owned(),
                format!("{what}{todo}"),
            ]);
        }
    }
    output::table(["", "what", "found"], rows)
}

/// Lines of at most so many characters, broken at blanks.
fn wrapped(text: &str) -> String {
    const WIDE: usize = 110;
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { break };
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDE {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}
