//! `sagaline dlq redrive`.

use super::{name, no_letter, nothing_named, read};
use crate::args::Global;
use crate::aside::hands::Hands;
use crate::aside::job::{Job, Manner, Place};
use crate::aside::objects::{self, Keys, pieces_of};
use crate::aside::pace::rate;
use crate::aside::piece::{Who, of_document, of_letter};
use crate::aside::store::{self, DOCUMENTS, Queues, bucket};
use crate::error::{Code, CommandError};
use clap::Args;
use sagaline_lambda::{DeadLetters, Taken};
use sagaline_stream::FailureDocument;
use std::collections::HashSet;
use std::path::PathBuf;

/// For how long a message is taken while it is redriven, in seconds.
const WORK: u16 = 300;

#[derive(Debug, Args)]
pub(super) struct Redrive {
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

impl Redrive {
    pub(super) async fn run(self, queues: &Queues, global: &Global) -> Result<(), CommandError> {
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
            let lies = Place {
                name: place,
                pieces: Ok(pieces),
            };
            let went = Box::pin(job.take(&[lies])).await;
            return job.finish(went.result);
        }
        let (keys, messages): (Vec<String>, Vec<String>) =
            self.ids.iter().cloned().partition(|id| id.contains('/'));
        for text in &keys {
            store::key(text)?;
        }
        let hands = Hands::open(global).await?;
        let mut job = Job::new(&hands, manner, None);
        let went = self.everything(&mut job, keys, messages, queues, global);
        let went = Box::pin(went).await;
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
            let listed = store::objects(&bucket, DOCUMENTS, None).await?;
            Keys::Listed(listed.into_iter().map(|object| object.key).collect())
        } else {
            Keys::Named(keys)
        };
        let went = objects::take(job, &bucket, &keys, |key, bytes| {
            let is_wanted = self.who.is_none_or(|who| is_of(bytes, who));
            is_wanted.then(|| pieces_of(key, bytes, self.to))
        });
        Box::pin(went).await
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
            let result = tokio::select! {
                result = self.queue(job, queue, only.as_deref_mut(), &mut kept) => result,
                _ = tokio::signal::ctrl_c() => Err(interrupted()),
            };
            // Also after an error or an interruption: what was not settled is to be seen again.
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
        while !job.is_hopeless() {
            let taken = queue.take(WORK).await?;
            let fresh: Vec<Taken> = taken
                .into_iter()
                .filter(|taken| seen.insert(taken.id.clone()))
                .collect();
            if fresh.is_empty() {
                return Ok(());
            }
            // Kept until it is removed, so that an error on the way gives all of them back.
            kept.extend(fresh.iter().cloned());
            let wanted: Vec<&Taken> = fresh
                .iter()
                .filter(|taken| only.as_deref_mut().is_none_or(|ids| ids.remove(&taken.id)))
                .collect();
            let places: Vec<Place> = wanted
                .iter()
                .map(|taken| Place {
                    name: taken.id.clone(),
                    pieces: of_letter(&taken.body, self.to),
                })
                .collect();
            let went = Box::pin(job.take(&places)).await;
            for (taken, _) in wanted
                .iter()
                .zip(went.settled)
                .filter(|(_, settled)| *settled)
            {
                queue.remove(taken).await?;
                job.removed();
                kept.retain(|kept| kept.id != taken.id);
            }
            went.result?;
        }
        Ok(())
    }
}

/// Whether a document is of that one's function.
fn is_of(document: &[u8], who: Who) -> bool {
    let function = FailureDocument::parse(document)
        .ok()
        .and_then(|document| document.function_arn);
    function.as_deref().and_then(Who::of_function) == Some(who)
}

fn interrupted() -> CommandError {
    CommandError::new(
        Code::Unavailable,
        "interrupted; what was taken is given back",
    )
    .advise("run the same command again: what is settled is gone, the rest is where it was")
}
