//! `sagaline dlq drop`.

use super::no_letter;
use crate::args::Global;
use crate::aside::piece::{Unusable, of_letter};
use crate::aside::store::{self, Queues, bucket, look, object};
use crate::commands::parked::{Dropped, reason_of};
use crate::error::CommandError;
use clap::Args;
use sagaline_lambda::{DeadLetters, Taken};
use std::collections::HashMap;

/// Which, and whether to do it.
#[derive(Debug, Args)]
pub(super) struct Discard {
    /// Keys of objects, ids of messages.
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Do it.
    #[arg(long)]
    yes: bool,
}

impl Discard {
    pub(super) async fn run(self, queues: &Queues, global: &Global) -> Result<(), CommandError> {
        let (keys, messages): (Vec<String>, Vec<String>) =
            self.ids.into_iter().partition(|id| id.contains('/'));
        for text in &keys {
            store::key(text)?;
        }
        // All of them are looked at before the first is gone.
        let mut dropped = Dropped::new(self.yes);
        let bucket = if keys.is_empty() {
            None
        } else {
            Some(bucket(global).await?)
        };
        if let Some(bucket) = &bucket {
            for key in &keys {
                dropped.add(key, reason_of(&object(bucket, key).await?));
            }
        }
        let letters = if messages.is_empty() {
            Vec::new()
        } else {
            found(&messages, queues, global).await?
        };
        for (_, letter) in &letters {
            dropped.add(&letter.id, what_of(letter));
        }
        if self.yes {
            if let Some(bucket) = &bucket {
                for key in &keys {
                    bucket.delete(key).await?;
                }
            }
            for (queue, letter) in &letters {
                queue.remove(letter).await?;
            }
        }
        dropped.tell(global.json);
        Ok(())
    }
}

/// The letters of these ids, each of which must be there. They were given back: the receipt of a standard queue's message still removes it
/// (Amazon SQS Developer Guide, "Receipt handles").
async fn found(
    ids: &[String],
    queues: &Queues,
    global: &Global,
) -> Result<Vec<(DeadLetters, Taken)>, CommandError> {
    let mut there = HashMap::new();
    for (_, queue) in queues.open(&store::aws(global).await?, None) {
        for taken in look(&queue).await? {
            there.insert(taken.id.clone(), (queue.clone(), taken));
        }
    }
    ids.iter()
        .map(|id| there.get(id).cloned().ok_or_else(|| no_letter(id)))
        .collect()
}

/// What a letter is, in one line.
fn what_of(letter: &Taken) -> String {
    match of_letter(&letter.body, None) {
        Ok(_) => letter.body.chars().take(120).collect(),
        Err(unusable @ (Unusable::Pointer { .. } | Unusable::Broken(_))) => unusable.to_string(),
    }
}
