//! Where things lie: the park bucket and the dead-letter queues, and what can be told from a key alone.

use super::piece::Who;
use crate::args::Global;
use crate::error::{Code, CommandError};
use crate::session::{self, vars};
use clap::Args;
use sagaline_lambda::config::park_bucket;
use sagaline_lambda::{
    Aws, BucketError, DeadLetterError, DeadLetters, Listed, ParkBucket, Taken, one_line,
};
use std::collections::HashSet;

/// What the mapping writes (F-OFD-4: `aws/lambda/<mapping>/<shard>/<yyyy>/<mm>/<dd>/<time>-<id>`).
pub(crate) const DOCUMENTS: &str = "aws/lambda/";
/// What the processors park.
pub(crate) const PARKED: &str = "parked/";

/// For how long messages are taken while they are only looked at, in seconds. They are given back at once afterwards.
const LOOK: u16 = 60;

/// A day in UTC, as in `2026-01-31`.
pub(crate) fn day(text: &str) -> Result<String, String> {
    let at = sagaline_order::Timestamp::parse(&format!("{text}T00:00:00Z"));
    match at {
        Some(at) if at.day() == text => Ok(text.to_owned()),
        Some(_) | None => Err("must be a day in UTC, as in 2026-01-31".to_owned()),
    }
}

/// The day in a key: the three folders that make one.
pub(crate) fn day_of(key: &str) -> Option<String> {
    let folders: Vec<&str> = key.split('/').collect();
    folders.windows(3).find_map(|three| match three {
        [year, month, date] => day(&format!("{year}-{month}-{date}")).ok(),
        _ => None,
    })
}

/// A key that may be shown, redriven or dropped: nothing else in the bucket is ours to touch.
pub(crate) fn key(text: &str) -> Result<&str, CommandError> {
    if text.starts_with(PARKED) || text.starts_with(DOCUMENTS) {
        Ok(text)
    } else {
        Err(CommandError::new(
            Code::BadInput,
            format!("'{text}' is no key under {PARKED} or {DOCUMENTS}"),
        )
        .advise("take it from `sagaline parked ls`"))
    }
}

/// The AWS configuration, once there are a Region and credentials.
pub(crate) async fn aws(global: &Global) -> Result<Aws, CommandError> {
    let aws = session::aws(global).await?;
    aws.check_credentials().await?;
    Ok(aws)
}

/// The park bucket.
pub(crate) async fn bucket(global: &Global) -> Result<ParkBucket, CommandError> {
    let name = park_bucket(&vars())?;
    Ok(ParkBucket::new(aws(global).await?.s3(), name))
}

/// An object that must be there.
pub(crate) async fn object(bucket: &ParkBucket, key: &str) -> Result<Vec<u8>, CommandError> {
    let found = bucket.get(key).await?;
    found.ok_or_else(|| nothing_at(bucket, key))
}

pub(crate) fn nothing_at(bucket: &ParkBucket, key: &str) -> CommandError {
    CommandError::new(
        Code::NothingAside,
        format!("nothing lies at s3://{}/{key}", bucket.name()),
    )
}

/// All objects under a prefix, from that day on.
pub(crate) async fn objects(
    bucket: &ParkBucket,
    prefix: &str,
    since: Option<&str>,
) -> Result<Vec<Listed>, CommandError> {
    let mut all = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = bucket.list(prefix, after.as_deref()).await?;
        let Some(last) = page.last() else {
            return Ok(all);
        };
        after = Some(last.key.clone());
        all.extend(page.into_iter().filter(|object| {
            since.is_none_or(|since| day_of(&object.key).is_none_or(|day| day.as_str() >= since))
        }));
    }
}

/// What was parked, for one or for all.
pub(crate) async fn parked(
    bucket: &ParkBucket,
    who: Option<Who>,
    since: Option<&str>,
) -> Result<Vec<Listed>, CommandError> {
    let prefix = match who {
        Some(who) => format!("{PARKED}{}/", who.as_str()),
        None => PARKED.to_owned(),
    };
    objects(bucket, &prefix, since).await
}

/// The dead-letter queues of the two retry queues; `<stack>-search-dead` and `<stack>-archive-dead` in the template.
#[derive(Debug, Clone, Args)]
pub(crate) struct Queues {
    /// The dead-letter queue of the search retry queue (`<stack>-search-dead`).
    #[arg(
        long,
        global = true,
        env = "SEARCH_DEAD_LETTER_QUEUE_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    search_queue: Option<String>,
    /// The dead-letter queue of the archive retry queue (`<stack>-archive-dead`).
    #[arg(
        long,
        global = true,
        env = "ARCHIVE_DEAD_LETTER_QUEUE_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    archive_queue: Option<String>,
}

impl Queues {
    /// Those that are named, for one sink or for both.
    pub(crate) fn open(&self, aws: &Aws, who: Option<Who>) -> Vec<(Who, DeadLetters)> {
        let queues = [
            (Who::Search, &self.search_queue),
            (Who::Archive, &self.archive_queue),
        ];
        queues
            .into_iter()
            .filter(|(sink, _)| who.is_none_or(|who| who == *sink))
            .filter_map(|(sink, url)| {
                let url = url.as_deref().filter(|url| !url.is_empty())?;
                Some((sink, DeadLetters::new(aws.sqs(), url)))
            })
            .collect()
    }
}

/// All messages of a queue, each once; then they are given back.
pub(crate) async fn look(queue: &DeadLetters) -> Result<Vec<Taken>, CommandError> {
    let mut all: Vec<Taken> = Vec::new();
    let mut seen = HashSet::new();
    let read = loop {
        match queue.take(LOOK).await {
            Ok(taken) => {
                let before = all.len();
                all.extend(
                    taken
                        .into_iter()
                        .filter(|taken| seen.insert(taken.id.clone())),
                );
                if all.len() == before {
                    break Ok(());
                }
            }
            Err(error) => break Err(error),
        }
    };
    for taken in &all {
        queue.give_back(taken).await?;
    }
    read?;
    Ok(all)
}

impl From<BucketError> for CommandError {
    fn from(error: BucketError) -> Self {
        let what = one_line(&error);
        Self::new(of_code(error.code()), what)
    }
}

impl From<DeadLetterError> for CommandError {
    fn from(error: DeadLetterError) -> Self {
        let what = one_line(&error);
        Self::new(of_code(error.code.as_deref()), what)
    }
}

/// The codes of S3 and SQS (their API references, common errors and ReceiveMessage).
fn of_code(code: Option<&str>) -> Code {
    match code {
        Some(
            "NoSuchBucket"
            | "QueueDoesNotExist"
            | "AWS.SimpleQueueService.NonExistentQueue"
            | "InvalidAddress"
            | "PermanentRedirect",
        ) => Code::BadConfiguration,
        Some("AccessDenied" | "AccessDeniedException" | "KMS.AccessDeniedException") => {
            Code::Refused
        }
        Some(
            "InvalidAccessKeyId"
            | "SignatureDoesNotMatch"
            | "ExpiredToken"
            | "InvalidClientTokenId",
        ) => Code::Credentials,
        Some(_) | None => Code::Unavailable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_day_of_either_kind_of_key_is_found() {
        let of = |key| day_of(key);
        assert_eq!(
            of("parked/saga/2026/01/31/1100-e1.json").as_deref(),
            Some("2026-01-31")
        );
        assert_eq!(
            of("aws/lambda/0-1/shardId-1/2025/11/30/2025-11-30T10.55.00-0").as_deref(),
            Some("2025-11-30")
        );
        assert_eq!(of("parked/saga/none.json"), None);
        assert!(day("2026-02-30").is_err() && day("today").is_err());
    }

    #[test]
    fn only_what_was_put_aside_may_be_touched() {
        assert!(key("parked/saga/x").is_ok() && key("aws/lambda/x").is_ok());
        assert!(key("spill/archive/x").is_err() && key("").is_err());
    }
}
