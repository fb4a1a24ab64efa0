//! `sagaline replay`: feeds a file of stream records to a handler, and shows what it says of each.

use crate::args::Global;
use crate::aside::budget::invocation;
use crate::aside::hands::Hands;
use crate::aside::piece::Who;
use crate::error::{Code, CommandError};
use crate::output;
use clap::{Args, ValueEnum};
use sagaline_archive::{Redaction, Row};
use sagaline_lambda::config::DEFAULT_REDACT;
use sagaline_saga::{Looked, look};
use sagaline_search::SearchInput;
use sagaline_sinks::{Ours, ours};
use sagaline_stream::{
    Batch, Budget, Ending, Engine, Failure, MemoryParking, NotAnEvent, Record, RecordHandler,
    Report, Verdict,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The time for a whole file.
const FILE: Duration = Duration::from_secs(3_600);

/// Feeds a file of stream records to a handler and shows each verdict.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline replay records.json
  sagaline replay records.json --to search
  sagaline replay records.json --to saga --json

A file holds {\"Records\":[..]} or a bare list of records. Without --to the records are decoded and projected only: nothing is asked of anyone
and nothing is written. With --to they go through that handler for good: the saga drives orders, search writes heads as they stand now, the
archive gets rows. A file that is cut off is refused whole.")]
pub(crate) struct Replay {
    /// The file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The handler. It writes.
    #[arg(long, value_name = "HANDLER")]
    to: Option<Handler>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Handler {
    /// Read heads again and write them to the index.
    Search,
    /// Write rows.
    Archive,
    /// Drive orders.
    Saga,
}

impl Replay {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let name = self.file.display().to_string();
        let bytes = std::fs::read(&self.file).map_err(|error| {
            CommandError::new(
                Code::UnreadableFile,
                format!("{name} cannot be read: {error}"),
            )
        })?;
        // The whole file is split before the first record is handled.
        let batch = Batch::parse_file(&bytes).map_err(|error| refused(&name, &error))?;
        let projected = Projecting::default();
        let result = match self.to {
            None => {
                let engine = Engine::new("replay", MemoryParking::default());
                Box::pin(engine.run(&batch, &projected, &invocation(FILE))).await
            }
            Some(handler) => {
                let who = match handler {
                    Handler::Search => Who::Search,
                    Handler::Archive => Who::Archive,
                    Handler::Saga => Who::Saga,
                };
                Box::pin(Box::pin(Hands::open(global)).await?.feed(who, &batch, FILE)).await?
            }
        };
        let report = match &result {
            Ok(outcome) => &outcome.report,
            Err(error) => error
                .report()
                .ok_or_else(|| CommandError::new(Code::BadInput, format!("{name}: {error}")))?,
        };
        let seen = projected
            .seen
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        // Offline this is what would be parked; a handler that is fed from a file has nowhere to park it.
        let refused = if self.to.is_some() {
            "refused"
        } else {
            "parked"
        };
        tell(&batch, report, &seen, refused, global.json);
        let counts = &report.counts;
        // A projection is only shown; what a handler was to do and did not is an error.
        let (failed, refused) = match self.to {
            Some(_) => (counts.failed(), counts.parked()),
            None => (0, 0),
        };
        if failed > 0 {
            return Err(CommandError::new(
                Code::Unavailable,
                format!("{failed} records of {name} could not be settled now"),
            ));
        }
        if refused > 0 {
            return Err(CommandError::new(
                Code::CheckFailed,
                format!("{refused} records of {name} were refused"),
            ));
        }
        Ok(())
    }
}

fn refused(name: &str, error: &NotAnEvent) -> CommandError {
    let what = if let NotAnEvent::NotJson { line, what, .. } = error {
        format!("{name}: line {line}: no JSON, or cut off: {what}")
    } else {
        format!("{name}: {error}")
    };
    let advice = if matches!(error, NotAnEvent::FailureDocument) {
        "use `sagaline dlq redrive --file` for it"
    } else if matches!(error, NotAnEvent::EventBridge) {
        "take the record out of `detail`; nothing was handled"
    } else {
        "a file holds {\"Records\":[..]} or a bare list of records; nothing was handled"
    };
    CommandError::new(Code::BadInput, what).advise(advice)
}

/// Says what each handler would make of a record, without any of them.
#[derive(Debug, Default)]
struct Projecting {
    seen: Mutex<BTreeMap<usize, Value>>,
}

impl RecordHandler for Projecting {
    async fn handle(&self, record: &Record<'_>, _: &Budget) -> Result<Verdict, Failure> {
        let projected = project(record);
        let verdict = match &projected {
            Ok((verdict, _)) => Ok(*verdict),
            Err(failure) => Err(Failure::new(failure.disposition(), failure.chain())),
        };
        if let Ok((_, seen)) = projected {
            self.seen
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(record.place(), seen);
        }
        verdict
    }
}

fn project(record: &Record<'_>) -> Result<(Verdict, Value), Failure> {
    let saga = match look(record)? {
        Looked::At(order_id) => format!("drive {order_id}"),
        Looked::NotOurs => "skip".to_owned(),
        Looked::Unchanged(_) => "skip: the version stayed".to_owned(),
    };
    if ours(record)? != Ours::Yes {
        return Ok((
            Verdict::Skipped,
            json!({"saga": saga, "search": null, "archive": null}),
        ));
    }
    let input = SearchInput::from_record(record)?;
    let row = Row::from_record(record, &Redaction::new(DEFAULT_REDACT, None))?;
    let search = match input.document() {
        Ok(document) => {
            json!({"version": input.version(), "deleted": input.deleted(), "document": serde_json::from_str::<Value>(document).ok()})
        }
        Err(reason) => {
            json!({"version": input.version(), "deleted": input.deleted(), "refused": reason})
        }
    };
    let archive: Option<Value> = serde_json::from_str(&row.to_line()).ok();
    Ok((
        Verdict::Done,
        json!({"order_id": input.order_id(), "saga": saga, "search": search, "archive": archive}),
    ))
}

fn tell(
    batch: &Batch<'_>,
    report: &Report,
    seen: &BTreeMap<usize, Value>,
    refused: &str,
    json: bool,
) {
    let verdict = |ending: Ending| {
        if ending == Ending::Parked {
            refused.to_owned()
        } else {
            ending.to_string()
        }
    };
    let names: Vec<[Option<String>; 2]> = batch
        .records()
        .map(|record| match record {
            Ok(record) => [
                record.event_id().map(str::to_owned),
                record.sequence().map(ToString::to_string),
            ],
            Err(broken) => [
                broken.origin().event_id.map(str::to_owned),
                broken.sequence().map(ToString::to_string),
            ],
        })
        .collect();
    let named = |place: usize| names.get(place).cloned().unwrap_or_default();
    if json {
        let records: Vec<Value> = report
            .handled
            .iter()
            .map(|handled| {
                let [event_id, sequence] = named(handled.place);
                json!({"place": handled.place, "event_id": event_id, "sequence_number": sequence, "verdict": verdict(handled.ending),
                    "detail": handled.why, "projection": seen.get(&handled.place)})
            })
            .collect();
        output::json(&json!({"records": records}));
        return;
    }
    let rows = report.handled.iter().map(|handled| {
        let [_, sequence] = named(handled.place);
        let what = match (&handled.why, seen.get(&handled.place)) {
            (Some(why), _) => why.clone(),
            (None, Some(seen)) => in_words(seen),
            (None, None) => String::new(),
        };
        [
            handled.place.to_string(),
            sequence.unwrap_or_default(),
            verdict(handled.ending),
            what,
        ]
    });
    output::line(&output::table(["record", "sequence", "verdict", ""], rows));
    let counts = &report.counts;
    output::line(&format!(
        "{} done, {} stale, {} skipped, {} {refused}, {} deferred, {} failed",
        counts.done(),
        counts.stale(),
        counts.skipped(),
        counts.parked(),
        counts.deferred(),
        counts.failed()
    ));
}

fn in_words(seen: &Value) -> String {
    let saga = seen.get("saga").and_then(Value::as_str).unwrap_or("skip");
    let (Some(search), Some(archive)) = (
        seen.get("search").filter(|search| !search.is_null()),
        seen.get("archive").filter(|archive| !archive.is_null()),
    ) else {
        return format!("saga: {saga}");
    };
    let version = search.get("version").cloned().unwrap_or_default();
    let form = match (
        search.get("refused").and_then(Value::as_str),
        search.get("deleted"),
    ) {
        (Some(reason), _) => format!("refused, {reason}"),
        (None, Some(Value::Bool(true))) => format!("tombstone v{version}"),
        (None, _) => format!("document v{version}"),
    };
    let order = seen
        .get("order_id")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let expired = match archive.get("ttl_expired") {
        Some(Value::Bool(true)) => ", expired",
        _ => "",
    };
    format!("{order}: saga: {saga}; search: {form}; archive: row v{version}{expired}")
}
