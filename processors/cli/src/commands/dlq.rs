//! `sagaline dlq`: what the mappings gave up on, and the dead letters of both retry queues.

use crate::args::Global;
use crate::aside::hands::Hands;
use crate::aside::job::{Job, Manner, rate};
use crate::aside::piece::{Unusable, Who, of_document, of_letter};
use crate::aside::store::{self, DOCUMENTS, Queues, bucket, day, day_of, look, object};
use crate::commands::parked::{nothing_named, one};
use crate::error::{Code, CommandError};
use crate::output;
use clap::{Args, Subcommand};
use sagaline_lambda::{DeadLetters, Taken};
use sagaline_order::Timestamp;
use sagaline_stream::FailureDocument;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::PathBuf;

/// For how long a message is taken while it is redriven, in seconds.
const WORK: u16 = 300;

/// Shows and redrives what the mappings gave up on, and the dead letters of both retry queues.
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

An ID is the key of an object or the id of a message. The queues are SEARCH_DEAD_LETTER_QUEUE_URL and ARCHIVE_DEAD_LETTER_QUEUE_URL, in the
template <stack>-search-dead and <stack>-archive-dead. Without --yes, redrive only says what it would do. A document from a queue is only a
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
    Redrive(Redrive),
}

#[derive(Debug, Args)]
struct Redrive {
    /// Keys of objects, ids of messages.
    #[arg(value_name = "ID", conflicts_with_all = ["all", "file"])]
    ids: Vec<String>,
    /// A document that was kept in a file. The file stays.
    #[arg(long, value_name = "FILE", conflicts_with = "all")]
    file: Option<PathBuf>,
    /// All documents and dead letters, or all of --who.
    #[arg(long)]
    all: bool,
    /// Only what is of this one: documents of its function, letters of its queue.
    #[arg(long, value_name = "WHO", requires = "all")]
    who: Option<Who>,
    /// Whose records those of a document are, where its function's name does not say it.
    #[arg(long, value_name = "WHO")]
    to: Option<Who>,
    /// At most so many a second.
    #[arg(long, value_name = "N/s", value_parser = rate)]
    rate: Option<u32>,
    /// Do it.
    #[arg(long)]
    yes: bool,
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

impl Redrive {
    async fn run(self, queues: &Queues, global: &Global) -> Result<(), CommandError> {
        if self.ids.is_empty() && self.file.is_none() && !self.all {
            return Err(nothing_named());
        }
        let manner = Manner {
            act: self.yes,
            rate: self.rate,
            json: global.json,
        };
        if let Some(file) = &self.file {
            let place = name(file);
            // What has no records is said without asking anyone for anything.
            let pieces =
                of_document(&read(file)?, self.to).map_err(|bad| bad.into_error(&place))?;
            let hands = Hands::open(global).await?;
            let mut job = Job::new(&hands, manner, Some(1));
            let went = job.take(&place, Ok(pieces)).await.map(drop);
            return job.finish(went);
        }
        let (keys, messages): (Vec<String>, Vec<String>) =
            self.ids.iter().cloned().partition(|id| id.contains('/'));
        for text in &keys {
            store::key(text)?;
        }
        let hands = Hands::open(global).await?;
        let mut job = Job::new(&hands, manner, None);
        let went = self
            .everything(&mut job, keys, messages, queues, global)
            .await;
        job.finish(went)
    }

    async fn everything(
        &self,
        job: &mut Job<'_, '_>,
        keys: Vec<String>,
        messages: Vec<String>,
        queues: &Queues,
        global: &Global,
    ) -> Result<(), CommandError> {
        self.documents(job, keys, global).await?;
        if !self.all && messages.is_empty() {
            return Ok(());
        }
        let mut missing: HashSet<String> = messages.into_iter().collect();
        let only = if self.all { None } else { Some(&mut missing) };
        self.letters(job, queues, only, global).await?;
        missing
            .iter()
            .next()
            .map_or(Ok(()), |id| Err(no_letter(id)))
    }

    async fn documents(
        &self,
        job: &mut Job<'_, '_>,
        keys: Vec<String>,
        global: &Global,
    ) -> Result<(), CommandError> {
        if keys.is_empty() && !self.all {
            return Ok(());
        }
        let bucket = bucket(global).await?;
        let keys = if self.all {
            let found = store::objects(&bucket, DOCUMENTS, None).await?;
            found.into_iter().map(|object| object.key).collect()
        } else {
            keys
        };
        for key in &keys {
            if let Some(who) = self.who {
                let bytes = object(&bucket, key).await?;
                let document = FailureDocument::parse(&bytes).ok();
                let function = document.and_then(|document| document.function_arn);
                if function.as_deref().and_then(Who::of_function) != Some(who) {
                    continue;
                }
            }
            one(job, &bucket, key, self.to).await?;
            if job.is_hopeless() {
                break;
            }
        }
        Ok(())
    }

    /// The letters of the queues, or those of them that are named; what is found is struck from the names.
    async fn letters(
        &self,
        job: &mut Job<'_, '_>,
        queues: &Queues,
        mut only: Option<&mut HashSet<String>>,
        global: &Global,
    ) -> Result<(), CommandError> {
        let queues = queues.open(&store::aws(global).await?, self.who);
        for (_, queue) in &queues {
            let mut kept = Vec::new();
            let result = self.queue(job, queue, only.as_deref_mut(), &mut kept).await;
            // Also after an error: what was not settled is to be seen again.
            for taken in &kept {
                queue.give_back(taken).await?;
            }
            result?;
        }
        Ok(())
    }

    async fn queue(
        &self,
        job: &mut Job<'_, '_>,
        queue: &DeadLetters,
        mut only: Option<&mut HashSet<String>>,
        kept: &mut Vec<Taken>,
    ) -> Result<(), CommandError> {
        let mut seen = HashSet::new();
        loop {
            let taken = queue.take(WORK).await?;
            let fresh: Vec<Taken> = taken
                .into_iter()
                .filter(|taken| seen.insert(taken.id.clone()))
                .collect();
            if fresh.is_empty() {
                return Ok(());
            }
            // Kept until it is removed, so that an error on the way gives all of them back.
            let from = kept.len();
            kept.extend(fresh);
            let mut at = from;
            while let Some(taken) = kept.get(at) {
                let wanted = match only.as_deref_mut() {
                    Some(names) => names.remove(&taken.id),
                    None => true,
                };
                if wanted && !job.is_hopeless() {
                    let pieces = of_letter(&taken.body, self.to);
                    if job.take(&taken.id, pieces).await? {
                        queue.remove(taken).await?;
                        job.removed();
                        kept.remove(at);
                        continue;
                    }
                }
                at += 1;
            }
        }
    }
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
