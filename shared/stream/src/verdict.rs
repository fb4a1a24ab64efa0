//! What a handler says of a record.

use std::borrow::Cow;
use std::fmt;
use thiserror::Error;

/// Any error, as a cause.
pub type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// The record is settled and may be acknowledged.
///
/// The order of the variants is the precedence of [`combine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// The handler itself has put the record aside, for one of several sinks that refused it. (A record that is bad as a whole is a
    /// [`Failure::poison`], and the engine parks it.)
    Parked,
    /// Handed to something that will finish it later: a retry queue, a wake time in the store.
    Deferred,
    /// Old news: the target already has this version or a newer one.
    Stale,
    /// The work is done.
    Done,
    /// None of this consumer's business.
    Skipped,
}

/// What the engine does with a failed record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Disposition {
    /// Nothing can work until a person acts (bad configuration, missing permission): the invocation fails.
    Fatal,
    /// It may work later: the record is reported and comes again.
    Retry,
    /// It will never work: the record is parked and acknowledged.
    Poison,
}

/// The record is not settled: what to do, why, and the cause.
///
/// ```
/// # use sagaline_stream::{Disposition, Failure};
/// let cause = std::io::Error::other("connection reset");
/// let failure = Failure::retry("the store did not answer").because(cause);
/// assert_eq!(failure.disposition(), Disposition::Retry);
/// assert_eq!(failure.to_string(), "the store did not answer");
/// assert_eq!(failure.chain(), "the store did not answer: connection reset");
/// ```
#[derive(Debug, Error)]
#[error("{reason}")]
pub struct Failure {
    disposition: Disposition,
    reason: Cow<'static, str>,
    source: Option<BoxError>,
}

impl Failure {
    /// It may work later.
    pub fn retry(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Disposition::Retry, reason)
    }

    /// It will never work. The reason is what an operator sees first on the parked record.
    pub fn poison(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Disposition::Poison, reason)
    }

    /// Nothing will work until a person acts.
    pub fn fatal(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Disposition::Fatal, reason)
    }

    /// A failure of that disposition, for errors that carry one.
    pub fn new(disposition: Disposition, reason: impl Into<Cow<'static, str>>) -> Self {
        Self {
            disposition,
            reason: reason.into(),
            source: None,
        }
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, cause: impl Into<BoxError>) -> Self {
        self.source = Some(cause.into());
        self
    }

    /// What the engine does with the record.
    #[must_use]
    pub const fn disposition(&self) -> Disposition {
        self.disposition
    }

    /// Why, in one line, without the cause.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The reason and all its causes in one line.
    #[must_use]
    pub fn chain(&self) -> String {
        chain(self)
    }
}

/// A task that panicked or was aborted is its record's failure, to be retried. With this, `handle.await?` in a handler is safe.
impl From<tokio::task::JoinError> for Failure {
    fn from(error: tokio::task::JoinError) -> Self {
        match error.try_into_panic() {
            Ok(payload) => Self::retry(format!(
                "a task of the handler panicked: {}",
                panic_text(payload.as_ref())
            )),
            Err(cancelled) => Self::retry("a task of the handler was aborted").because(cancelled),
        }
    }
}

/// The one verdict of a record that several sinks judged: the first of failed, parked, deferred, stale, done, skipped.
///
/// Of two failures the graver stays: fatal, then retry (the record comes again and its poison is met again), then poison.
///
/// # Errors
/// The failure that stays, if either failed.
pub fn combine(
    a: Result<Verdict, Failure>,
    b: Result<Verdict, Failure>,
) -> Result<Verdict, Failure> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok(a.min(b)),
        (Ok(_), Err(failure)) | (Err(failure), Ok(_)) => Err(failure),
        (Err(a), Err(b)) => Err(if a.disposition <= b.disposition { a } else { b }),
    }
}

/// An error and all its causes in one line, for a log or a reason. An error that repeats its cause is shown as it is.
#[must_use]
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// What a panic said.
pub(crate) fn panic_text(payload: &(dyn std::any::Any + Send)) -> &str {
    payload
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// How a record ended, for counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// See [`Verdict::Done`].
    Done,
    /// See [`Verdict::Stale`].
    Stale,
    /// See [`Verdict::Skipped`].
    Skipped,
    /// Put aside for an operator.
    Parked,
    /// See [`Verdict::Deferred`].
    Deferred,
    /// Not settled: it comes again.
    Failed,
}

impl From<Verdict> for Ending {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Parked => Self::Parked,
            Verdict::Deferred => Self::Deferred,
            Verdict::Stale => Self::Stale,
            Verdict::Done => Self::Done,
            Verdict::Skipped => Self::Skipped,
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Done => "done",
            Self::Stale => "stale",
            Self::Skipped => "skipped",
            Self::Parked => "parked",
            Self::Deferred => "deferred",
            Self::Failed => "failed",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_verdicts_the_first_of_failed_parked_deferred_stale_done_skipped_stays() {
        use Verdict::{Deferred, Done, Parked, Skipped, Stale};
        let order = [Parked, Deferred, Stale, Done, Skipped];
        for (i, a) in order.into_iter().enumerate() {
            for (j, b) in order.into_iter().enumerate() {
                assert_eq!(combine(Ok(a), Ok(b)).ok(), order.get(i.min(j)).copied());
            }
            assert!(combine(Ok(a), Err(Failure::retry("later"))).is_err());
        }
        let both = combine(Err(Failure::poison("bad")), Err(Failure::retry("later")));
        assert_eq!(
            both.err().map(|failure| failure.disposition()),
            Some(Disposition::Retry)
        );
        let both = combine(Err(Failure::fatal("stop")), Err(Failure::retry("later")));
        assert_eq!(
            both.err().map(|failure| failure.disposition()),
            Some(Disposition::Fatal)
        );
    }
}
