//! `sagaline parked`: records that were put aside because they will never work as they are.

use crate::args::Global;
use crate::aside::hands::Hands;
use crate::aside::job::{Job, Manner};
use crate::aside::objects::{self, Keys, pieces_of};
use crate::aside::pace::rate;
use crate::aside::piece::Who;
use crate::aside::store::{self, DOCUMENTS, PARKED, bucket, day, day_of, key, object};
use crate::error::CommandError;
use crate::output;
use clap::{Args, Subcommand};
use sagaline_lambda::Listed;
use serde_json::{Value, json};

/// Shows, redrives and drops what was put aside in PARK_BUCKET.
///
/// Parked records lie under parked/WHO/, what a mapping itself gave up on under aws/lambda/ (`sagaline dlq ls` says more of those).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline parked ls --who search --since 2026-01-31
  sagaline parked show parked/search/2026/01/31/1100-e1.json
  sagaline parked redrive --who search --all
  sagaline parked redrive --who search --all --rate 10/s --yes
  sagaline parked drop parked/search/2026/01/31/1100-e1.json --yes

Without --yes, redrive and drop only say what they would do. Redrive goes through the processors' own handlers: the saga drives the order,
search reads the head again and writes what it finds, the archive gets the row. Old news is stale, never applied. What is settled is removed,
so a redrive that was stopped goes on when it is run again. Records of one order are taken in turn, those of others beside them.")]
pub(crate) struct ParkedArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Lists what lies there.
    Ls {
        /// Only what was parked for this one.
        #[arg(long, value_name = "WHO")]
        who: Option<Who>,
        /// Only what was put aside on this UTC day or later.
        #[arg(long, value_name = "DAY", value_parser = day)]
        since: Option<String>,
    },
    /// Shows one object.
    Show {
        /// Its key.
        key: String,
    },
    /// Takes records up again.
    Redrive {
        /// The keys of the objects.
        #[arg(
            value_name = "KEY",
            required_unless_present = "all",
            conflicts_with = "all"
        )]
        keys: Vec<String>,
        /// Whose records, with --all.
        #[arg(long, value_name = "WHO", requires = "all")]
        who: Option<Who>,
        /// All that was parked for --who.
        #[arg(long, requires = "who")]
        all: bool,
        /// At most so many a second.
        #[arg(long, value_name = "N/s", value_parser = rate)]
        rate: Option<u32>,
        /// Do it.
        #[arg(long)]
        yes: bool,
    },
    /// Removes objects for good, without doing anything about them.
    Drop {
        /// Their keys.
        #[arg(value_name = "KEY", required = true)]
        keys: Vec<String>,
        /// Do it.
        #[arg(long)]
        yes: bool,
    },
}

impl ParkedArgs {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        match self.action {
            Action::Ls { who, since } => ls(who, since.as_deref(), global).await,
            Action::Show { key } => show(&key, global).await,
            Action::Redrive {
                keys,
                who,
                rate,
                yes,
                ..
            } => {
                let manner = Manner {
                    act: yes,
                    rate,
                    json: global.json,
                };
                redrive(keys, who, manner, global).await
            }
            Action::Drop { keys, yes } => drop_them(&keys, yes, global).await,
        }
    }
}

async fn ls(who: Option<Who>, since: Option<&str>, global: &Global) -> Result<(), CommandError> {
    let bucket = bucket(global).await?;
    let mut objects = store::parked(&bucket, who, since).await?;
    if who.is_none() {
        objects.extend(store::objects(&bucket, DOCUMENTS, since).await?);
    }
    if global.json {
        let rows: Vec<Value> = objects
            .iter()
            .map(|Listed { key, bytes }| {
                json!({"key": key, "who": parked_by(key), "day": day_of(key), "bytes": bytes})
            })
            .collect();
        output::json(&json!({"parked": rows}));
        return Ok(());
    }
    let rows = objects.iter().map(|Listed { key, bytes }| {
        [
            parked_by(key).to_owned(),
            day_of(key).unwrap_or_default(),
            bytes.to_string(),
            key.clone(),
        ]
    });
    output::line(&output::table(["who", "day", "bytes", "key"], rows));
    Ok(())
}

/// The folder's name, or `mapping` for what no processor of ours wrote.
fn parked_by(key: &str) -> &str {
    match key.strip_prefix(PARKED) {
        Some(rest) => rest.split('/').next().unwrap_or_default(),
        None => "mapping",
    }
}

async fn show(text: &str, global: &Global) -> Result<(), CommandError> {
    let key = key(text)?;
    let bytes = object(&bucket(global).await?, key).await?;
    output::document(key, &bytes, global.json)
}

async fn redrive(
    keys: Vec<String>,
    who: Option<Who>,
    manner: Manner,
    global: &Global,
) -> Result<(), CommandError> {
    for text in &keys {
        key(text)?;
    }
    let bucket = bucket(global).await?;
    let hands = Hands::open(global).await?;
    let keys = match who {
        None => Keys::Named(keys),
        Some(_) => {
            let listed = store::parked(&bucket, who, None).await?;
            Keys::Listed(listed.into_iter().map(|object| object.key).collect())
        }
    };
    let mut job = Job::new(&hands, manner, Some(keys.len()));
    let went = objects::take(&mut job, &bucket, &keys, |key, bytes| {
        Some(pieces_of(key, bytes, None))
    });
    let went = Box::pin(went).await;
    job.finish(went)
}

async fn drop_them(keys: &[String], yes: bool, global: &Global) -> Result<(), CommandError> {
    for text in keys {
        key(text)?;
    }
    let bucket = bucket(global).await?;
    // All of them are looked at before the first is gone.
    let mut dropped = Dropped::new(yes);
    for key in keys {
        dropped.add(key, reason_of(&object(&bucket, key).await?));
    }
    if yes {
        for key in keys {
            bucket.delete(key).await?;
        }
    }
    dropped.tell(global.json);
    Ok(())
}

/// Why an object was put aside: by a processor, or by a mapping.
pub(crate) fn reason_of(object: &[u8]) -> String {
    let object: Value = serde_json::from_slice(object).unwrap_or_default();
    let reason = object
        .get("reason")
        .or_else(|| object.pointer("/requestContext/condition"));
    let reason = reason.and_then(Value::as_str);
    reason.unwrap_or("no reason is given").to_owned()
}

/// What is dropped, or would be.
#[derive(Debug)]
pub(crate) struct Dropped {
    yes: bool,
    told: Vec<(String, String)>,
}

impl Dropped {
    pub(crate) const fn new(yes: bool) -> Self {
        Self {
            yes,
            told: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, place: &str, reason: String) {
        self.told.push((place.to_owned(), reason));
    }

    pub(crate) fn tell(&self, json: bool) {
        if json {
            let rows: Vec<Value> = self
                .told
                .iter()
                .map(|(key, reason)| json!({"key": key, "reason": reason}))
                .collect();
            output::json(&json!({"dry_run": !self.yes, "dropped": rows}));
            return;
        }
        let verdict = if self.yes {
            "dropped"
        } else {
            "would be dropped"
        };
        for (place, reason) in &self.told {
            output::line(&format!("{place}: {verdict} ({reason})"));
        }
        if !self.yes {
            output::line("dry run: nothing was removed; --yes does it");
        }
    }
}
