//! Which orders are exported, checked before anyone is asked.

use super::Export;
use crate::commands::table::key::bad;
use crate::commands::table::moment::instant;
use crate::error::CommandError;
use sagaline_lambda::now;
use sagaline_order::{Sku, Timestamp, UserId};
use sagaline_store::{ListedStatus, Span};

/// What is exported.
pub(super) enum Pattern {
    User(UserId, Span),
    Status(ListedStatus, Span),
    Product(Sku, Span),
    Phone(String, Span),
    Changed(Timestamp, Timestamp),
    Refunds(Timestamp, Timestamp),
    Overdue(Timestamp),
    All,
}

impl Export {
    pub(super) fn pattern(&self) -> Result<Pattern, CommandError> {
        let input = |what: &str, error: String| bad(format!("{what} {error}")).advise("correct it");
        if let Some(user) = &self.user {
            let user = UserId::parse(user).map_err(|error| input("user id", error.to_string()))?;
            return Ok(Pattern::User(user, self.span()?));
        }
        if let Some(status) = self.status {
            let status =
                ListedStatus::new(status.into()).ok_or_else(|| bad("this status is not listed"))?;
            return Ok(Pattern::Status(status, self.span()?));
        }
        if let Some(sku) = &self.product {
            let sku = Sku::parse(sku).map_err(|error| input("sku", error.to_string()))?;
            return Ok(Pattern::Product(sku, self.span()?));
        }
        if let Some(phone) = &self.phone {
            return Ok(Pattern::Phone(phone.clone(), self.span()?));
        }
        if let Some(since) = &self.changed_since {
            let until = self
                .to
                .as_deref()
                .map(|to| time("--to", to, true))
                .transpose()?;
            return forward(
                time("--changed-since", since, false)?,
                until.unwrap_or_else(now),
            )
            .map(|(from, until)| Pattern::Changed(from, until));
        }
        if let Some(range) = &self.refunds {
            let (from, to) = range.split_once("..").unwrap_or((range, range));
            return forward(
                time("--refunds", from, false)?,
                time("--refunds", to, true)?,
            )
            .map(|(from, until)| Pattern::Refunds(from, until));
        }
        Ok(if self.overdue {
            Pattern::Overdue(now())
        } else {
            Pattern::All
        })
    }

    pub(super) fn span(&self) -> Result<Span, CommandError> {
        let from = self
            .from
            .as_deref()
            .map(|from| time("--from", from, false))
            .transpose()?;
        let until = self
            .to
            .as_deref()
            .map(|to| time("--to", to, true))
            .transpose()?;
        if let (Some(from), Some(until)) = (from, until) {
            forward(from, until)?;
        }
        Ok(Span { from, until })
    }
}

fn time(option: &str, text: &str, is_end: bool) -> Result<Timestamp, CommandError> {
    instant(text, is_end).ok_or_else(|| {
        bad(format!("{option} '{text}' is no time"))
            .advise("write a UTC day as 2026-01-31, or a time as 2026-01-31T08:30:00Z or with its offset, +01:00")
    })
}

fn forward(from: Timestamp, until: Timestamp) -> Result<(Timestamp, Timestamp), CommandError> {
    if from < until {
        return Ok((from, until));
    }
    Err(bad(format!("the range from {from} to {until} is empty"))
        .advise("give the earlier time first"))
}
