//! `sagaline dlq`: what the mappings gave up on, and the dead letters of both retry queues.

mod discard;
mod redrive;

use crate::args::Global;
use crate::aside::piece::{Unusable, Who, of_document, of_letter};
use crate::aside::store::{self, DOCUMENTS, Queues, bucket, day, day_of, look, object};
use crate::error::{Code, CommandError};
use crate::output;
use clap::{Args, Subcommand};
use sagaline_lambda::Taken;
use sagaline_order::Timestamp;
use sagaline_stream::FailureDocument;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Shows, redrives and drops what the mappings gave up on, and the dead letters of both retry queues.
///
/// On-failure documents lie in PARK_BUCKET under aws/lambda/; dead letters in the queues that --search-queue and --archive-queue name.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline dlq ls --since 2026-01-31
  sagaline dlq show aws/lambda/MAPPING/SHARD/2026/01/31/2026-01-31T08.30.00-ID
  sagaline dlq redrive --who search --all --search-queue https://sqs.eu-west-1.amazonaws.com/123456789012/shop-search-dead
  sagaline dlq redrive --all --rate 10/s --yes
  sagaline dlq redrive --file document.json
  sagaline dlq drop 3f1c8a52-6d0e-4b7b-9a51-2f7d3c9e8b10 --yes

An ID is the key of an object or the id of a message. The queues are SEARCH_DEAD_LETTER_QUEUE_URL and ARCHIVE_DEAD_LETTER_QUEUE_URL, in the
template <stack>-search-dead and <stack>-archive-dead. Without --yes, redrive and drop only say what they would do. What is settled is removed,
so a redrive that was stopped goes on when it is run again (messages that it had taken come back after 5 minutes at most). A document from a queue is only a
pointer: it has no records, so what helps is to compare with the table.")]
pub(crate) struct Dlq {
    #[command(flatten)]
    queues: Queues,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Lists documents and dead letters.
    Ls {
        /// Only documents of this UTC day or later.
        #[arg(long, value_name = "DAY", value_parser = day)]
        since: Option<String>,
    },
    /// Shows one document or dead letter.
    Show {
        /// The key of an object or the id of a message.
        #[arg(value_name = "ID", required_unless_present = "file")]
        id: Option<String>,
        /// A document that was kept in a file.
        #[arg(long, value_name = "FILE", conflicts_with = "id")]
        file: Option<PathBuf>,
    },
    /// Takes records and messages up again.
    Redrive(redrive::Redrive),
    /// Removes documents and dead letters for good, without doing anything about them.
    Drop(discard::Discard),
}

impl Dlq {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        match self.action {
            Action::Ls { since } => ls(&self.queues, since.as_deref(), global).await,
            Action::Show { id, file } => match (id, file) {
                (_, Some(file)) => show_document(&name(&file), &read(&file)?, global),
                (Some(id), None) => show(&id, &self.queues, global).await,
                (None, None) => Err(nothing_named()),
            },
            Action::Redrive(redrive) => Box::pin(redrive.run(&self.queues, global)).await,
            Action::Drop(discard) => discard.run(&self.queues, global).await,
        }
    }
}

/// One line of the listing.
struct Listed {
    id: String,
    kind: &'static str,
    who: Option<Who>,
    since: String,
    what: String,
}

async fn ls(queues: &Queues, since: Option<&str>, global: &Global) -> Result<(), CommandError> {
    let bucket = bucket(global).await?;
    let mut listed = Vec::new();
    for found in store::objects(&bucket, DOCUMENTS, since).await? {
        let bytes = object(&bucket, &found.key).await?;
        let document = FailureDocument::parse(&bytes);
        listed.push(Listed {
            kind: match &document {
                Ok(document) if document.is_pointer() => "pointer",
                Ok(_) => "document",
                Err(_) => "unusable",
            },
            who: document
                .as_ref()
                .ok()
                .and_then(|document| Who::of_function(document.function_arn.as_deref()?)),
            since: day_of(&found.key).unwrap_or_default(),
            what: match &document {
                Ok(document) => summary(document),
                Err(error) => sagaline_lambda::one_line(error),
            },
            id: found.key,
        });
    }
    let queues = queues.open(&store::aws(global).await?, None);
    for (sink, queue) in &queues {
        for taken in look(queue).await? {
            listed.push(letter(*sink, taken));
        }
    }
    if queues.len() < 2 {
        eprintln!(
            "a queue that is not named is not listed: --search-queue, --archive-queue, or their variables, name them"
        );
    }
    if global.json {
        let rows: Vec<Value> = listed
            .iter()
            .map(|row| json!({"id": row.id, "kind": row.kind, "who": row.who.map(Who::as_str), "since": row.since, "what": row.what}))
            .collect();
        output::json(&json!({"dlq": rows}));
        return Ok(());
    }
    let rows = listed.into_iter().map(|row| {
        [
            row.kind.to_owned(),
            row.who.map_or("?", Who::as_str).to_owned(),
            row.since,
            row.what,
            row.id,
        ]
    });
    output::line(&output::table(["kind", "who", "since", "what", "id"], rows));
    Ok(())
}

fn summary(document: &FailureDocument) -> String {
    let range = &document.range;
    let records = range.batch_size.map_or_else(
        || "records".to_owned(),
        |records| format!("{records} records"),
    );
    format!(
        "{}: {records} of {}, {} to {}",
        document.condition, range.shard_id, range.start, range.end
    )
}

fn letter(sink: Who, taken: Taken) -> Listed {
    let pieces = of_letter(&taken.body, None);
    let sent = taken.sent_at_ms.and_then(Timestamp::from_millis);
    Listed {
        kind: match &pieces {
            Ok(_) => "letter",
            Err(Unusable::Pointer { .. }) => "pointer",
            Err(Unusable::Broken(_)) => "unusable",
        },
        who: Some(sink),
        since: sent.map(Timestamp::rfc3339).unwrap_or_default(),
        what: match &pieces {
            Ok(_) => taken.body.chars().take(120).collect(),
            Err(unusable) => unusable.to_string(),
        },
        id: taken.id,
    }
}

async fn show(id: &str, queues: &Queues, global: &Global) -> Result<(), CommandError> {
    if id.contains('/') {
        let key = store::key(id)?;
        let bytes = object(&bucket(global).await?, key).await?;
        return show_document(key, &bytes, global);
    }
    for (_, queue) in queues.open(&store::aws(global).await?, None) {
        if let Some(taken) = look(&queue).await?.into_iter().find(|taken| taken.id == id) {
            return output::document(id, taken.body.as_bytes(), global.json);
        }
    }
    Err(no_letter(id))
}

/// A document as it is, and of one without records what helps instead.
fn show_document(place: &str, bytes: &[u8], global: &Global) -> Result<(), CommandError> {
    match of_document(bytes, Some(Who::Projector)) {
        Ok(_) => {}
        Err(pointer @ Unusable::Pointer { .. }) => {
            eprintln!("{place}: {pointer}; {}", pointer.advice());
        }
        Err(broken @ Unusable::Broken(_)) => return Err(broken.into_error(place)),
    }
    output::document(place, bytes, global.json)
}

/// Used where a command names neither what to redrive nor all of it.
fn nothing_named() -> CommandError {
    CommandError::new(Code::Usage, "nothing to redrive is named")
        .advise("name what to redrive, or pass --all")
}

fn no_letter(id: &str) -> CommandError {
    CommandError::new(
        Code::NothingAside,
        format!("no dead letter {id} is in the queues that are named"),
    )
    .advise("look with `sagaline dlq ls`; a message that somebody else has taken is not to be seen for a while")
}

fn name(file: &std::path::Path) -> String {
    file.display().to_string()
}

fn read(file: &std::path::Path) -> Result<Vec<u8>, CommandError> {
    std::fs::read(file).map_err(|error| {
        CommandError::new(
            Code::UnreadableFile,
            format!("{} cannot be read: {error}", file.display()),
        )
    })
}
