//! Which list is asked for: all of the command line checked before anyone is asked.

use super::Ls;
use crate::commands::table::instant;
use crate::error::{Code, CommandError};
use sagaline_lambda::now;
use sagaline_order::{PaymentId, Sku, State, Status, Timestamp, UserId};
use sagaline_store::{ListedStatus, Span};

pub(super) enum Which {
    User(UserId, Span),
    Status(ListedStatus, Status, Span),
    State(ListedStatus, State, Span),
    Stuck(ListedStatus, Span),
    Overdue,
    Phone(String, Span),
    Payment(PaymentId),
    Product(Sku, Span),
    Refunds(Timestamp, Timestamp),
    Changed(Timestamp, Timestamp),
}

impl Ls {
    pub(super) fn which(&self) -> Result<Which, CommandError> {
        // clap waives what an option requires if the line holds another one that excludes it.
        if self.totals && self.product.is_none() {
            return Err(CommandError::new(
                Code::Usage,
                "--totals is for --product only",
            ));
        }
        if let Some(user) = &self.user {
            let user = UserId::parse(user).map_err(|error| bad(format!("user id {error}")))?;
            return Ok(Which::User(user, self.span()?));
        }
        if let Some(status) = self.status {
            let status = Status::from(status);
            return Ok(Which::Status(listed(status)?, status, self.span()?));
        }
        if let Some(state) = self.state {
            let state = State::from(state);
            let status = match state {
                State::Placed | State::Paying => Status::Unpaid,
                State::Unwinding => Status::Processing,
                State::NeedsOperator => Status::Exception,
                State::Confirmed | State::Cancelled | State::Rejected => {
                    return Err(CommandError::new(
                        Code::Usage,
                        format!("{state:?} orders are not kept in a list"),
                    )
                    .advise(format!("run `sagaline search state:{state:?}`")));
                }
            };
            return Ok(Which::State(listed(status)?, state, self.span()?));
        }
        if self.stuck {
            return Ok(Which::Stuck(listed(Status::Exception)?, self.span()?));
        }
        if self.overdue {
            return Ok(Which::Overdue);
        }
        if let Some(phone) = &self.phone {
            let digits = phone.strip_prefix('+').unwrap_or_default();
            let fits = (7..=15).contains(&digits.len())
                && digits.bytes().all(|digit| digit.is_ascii_digit())
                && !digits.starts_with('0');
            if !fits {
                return Err(bad(
                    "--phone must be E.164: + and 7 to 15 digits, the first not 0",
                ));
            }
            return Ok(Which::Phone(phone.clone(), self.span()?));
        }
        if let Some(payment) = &self.payment_id {
            if payment.is_empty() {
                return Err(bad("--payment-id is empty"));
            }
            return Ok(Which::Payment(PaymentId::stored(payment)));
        }
        if let Some(sku) = &self.product {
            let sku = Sku::parse(sku).map_err(|error| bad(format!("sku {error}")))?;
            return Ok(Which::Product(sku, self.span()?));
        }
        if let Some(range) = &self.refunds {
            let (from, to) = range.split_once("..").unwrap_or((range, range));
            let range = (
                time("--refunds", from, false)?,
                time("--refunds", to, true)?,
            );
            return forward(range).map(|(from, until)| Which::Refunds(from, until));
        }
        let since = self.changed_since.as_deref().unwrap_or_default();
        let until = self.to.as_deref().map(|to| time("--to", to, true));
        let until = until.transpose()?.unwrap_or_else(now);
        forward((time("--changed-since", since, false)?, until))
            .map(|(from, until)| Which::Changed(from, until))
    }

    fn span(&self) -> Result<Span, CommandError> {
        let end = |option: &str, text: &Option<String>, is_end: bool| {
            let text = text.as_deref();
            text.map(|text| time(option, text, is_end)).transpose()
        };
        let (from, until) = (
            end("--from", &self.from, false)?,
            end("--to", &self.to, true)?,
        );
        if let (Some(from), Some(until)) = (from, until) {
            forward((from, until))?;
        }
        Ok(Span { from, until })
    }
}

pub(super) fn no_payment(payment: &PaymentId) -> CommandError {
    CommandError::new(Code::NoOrder, format!("no order has payment {payment}"))
        .advise("check the id; the look-up is written when the gateway names the payment")
}

fn listed(status: Status) -> Result<ListedStatus, CommandError> {
    ListedStatus::new(status).ok_or_else(|| {
        let what = format!("{} orders are not kept in a list", status.as_str());
        CommandError::new(Code::Usage, what)
    })
}

fn time(option: &str, text: &str, is_end: bool) -> Result<Timestamp, CommandError> {
    instant(text, is_end).ok_or_else(|| {
        bad(format!("{option} '{text}' is no time")).advise(
            "write a UTC day as 2026-01-31, or a time as 2026-01-31T08:30:00Z or with its offset, +01:00",
        )
    })
}

fn forward((from, until): (Timestamp, Timestamp)) -> Result<(Timestamp, Timestamp), CommandError> {
    if from < until {
        return Ok((from, until));
    }
    Err(bad(format!("the range from {from} to {until} is empty"))
        .advise("give the earlier time first"))
}

fn bad(what: impl Into<String>) -> CommandError {
    CommandError::new(Code::BadInput, what).advise("correct it")
}
