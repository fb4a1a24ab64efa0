//! One row a change of a head: who, what, when and why in columns, and the whole item before and after as lossless text.
//!
//! The same encoder serves the stream and a backfill from the table. It knows no Firehose: a row is one JSON object on one line, and where
//! it goes is the writer's business. Rows are kept one a record: two images make about 3 KB, so packing several into the 5 KB that are billed
//! (F-FH-3) would save less than half, and would need de-aggregation on the way.

use crate::redaction::Redaction;
use crate::text::write_text;
use sagaline_order::Timestamp;
use sagaline_stream::{EventName, Failure, Image, Record};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The day of a row whose time is unknown.
pub const UNKNOWN_DAY: &str = "unknown";

/// One change of one head, as the archive keeps it. The fields are the columns, in order; see [`crate::columns`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The stream's id of the change; null for a row that no record made.
    pub event_id: Option<String>,
    /// `INSERT`, `MODIFY` or `REMOVE`; `BACKFILL` for a row made from the table.
    pub event_name: String,
    /// The order.
    pub order_id: String,
    /// The version that the change made. A REMOVE makes one more than the version it removed.
    pub version: i64,
    /// When: RFC 3339, UTC, milliseconds; null when neither the record nor the head says so.
    pub event_time: Option<String>,
    /// What the customer sees, of a REMOVE what was seen last.
    pub status: Option<String>,
    /// The state of the saga, of a REMOVE the last.
    pub state: Option<String>,
    /// The kind of event that made this version. Null for a REMOVE: the item does not say who removed it.
    pub cause_kind: Option<String>,
    /// Who made it.
    pub cause_actor: Option<String>,
    /// Why.
    pub cause_reason: Option<String>,
    /// The order's total in minor units; null when it is no `i64`, the image has its digits.
    pub total_minor: Option<i64>,
    /// The currency.
    pub currency: Option<String>,
    /// The head after the change as canonical DynamoDB JSON, hidden attributes replaced.
    pub new_image: Option<String>,
    /// The head before it.
    pub old_image: Option<String>,
    /// The record's sequence number.
    pub sequence_number: Option<String>,
    /// Whether TTL deleted the head.
    pub ttl_expired: bool,
    /// The UTC day of `event_time`, else [`UNKNOWN_DAY`]: the partition.
    pub dt: String,
}

impl Row {
    /// The row of a stream record.
    ///
    /// # Errors
    /// Poison: an INSERT or MODIFY without a new image, a REMOVE without an old one, or a head without a usable version or order id.
    pub fn from_record(record: &Record<'_>, redaction: &Redaction) -> Result<Self, Failure> {
        let removed = record.event_name() == EventName::Remove;
        let head = if removed {
            record.require_old_image()?
        } else {
            record.require_new_image()?
        };
        let mut row = Self::of_head(head, record.event_name().as_str())?;
        if removed {
            row.version = row
                .version
                .checked_add(1)
                .ok_or_else(|| Failure::poison("the removed head has the last version there is"))?;
            (row.cause_kind, row.cause_actor, row.cause_reason) = (None, None, None);
        }
        if let Some(at) = record.created_at() {
            row.set_time(Timestamp::from_millis(at.as_millis()));
        }
        row.event_id = record.event_id().map(str::to_owned);
        row.sequence_number = record
            .sequence()
            .map(|sequence| sequence.as_str().to_owned());
        row.new_image = record.new_image().map(|image| redaction.encode(image));
        row.old_image = record.old_image().map(|image| redaction.encode(image));
        row.ttl_expired = record.is_ttl_delete();
        Ok(row)
    }

    /// The row of a head as it stands in the table, for a backfill.
    ///
    /// # Errors
    /// Poison: a head without a usable version or order id.
    pub fn from_head(head: &Image<'_>, redaction: &Redaction) -> Result<Self, Failure> {
        let mut row = Self::of_head(head, "BACKFILL")?;
        row.new_image = Some(redaction.encode(head));
        Ok(row)
    }

    /// What the columns say of a head; images and the record's own columns are still empty.
    fn of_head(head: &Image<'_>, event_name: &str) -> Result<Self, Failure> {
        let text = |name: &str| head.s(name).map(str::to_owned);
        let order_id = head
            .s("PK")
            .and_then(|key| key.strip_prefix("ORDER#"))
            .or_else(|| head.s("order_id"));
        let order_id = order_id
            .ok_or_else(|| Failure::poison("the head has no order id"))?
            .to_owned();
        let version = match head.n_i64("version") {
            Some(Ok(version)) if version >= 1 => version,
            Some(Ok(version)) => {
                return Err(Failure::poison(format!("the head's version is {version}")));
            }
            Some(Err(error)) => {
                return Err(Failure::poison("the head has no usable version").because(error));
            }
            None => return Err(Failure::poison("the head has no version")),
        };
        let cause = |name: &str| {
            head.m("last_event")
                .and_then(|cause| cause.s(name))
                .map(str::to_owned)
        };
        let mut row = Self {
            event_id: None,
            event_name: event_name.to_owned(),
            order_id,
            version,
            event_time: None,
            status: text("status"),
            state: text("state"),
            cause_kind: cause("kind"),
            cause_actor: cause("actor"),
            cause_reason: cause("reason"),
            total_minor: head.n_i64("total_minor").and_then(Result::ok),
            currency: text("currency"),
            new_image: None,
            old_image: None,
            sequence_number: None,
            ttl_expired: false,
            dt: UNKNOWN_DAY.to_owned(),
        };
        row.set_time(head.s("updated_at").and_then(Timestamp::parse));
        Ok(row)
    }

    /// An unknown time changes nothing.
    fn set_time(&mut self, at: Option<Timestamp>) {
        if let Some(at) = at {
            self.event_time = Some(at.rfc3339());
            self.dt = at.day();
        }
    }

    /// The row as one JSON object and exactly one line feed, at its end. Every column is there; unknown values are null.
    #[must_use]
    pub fn to_line(&self) -> String {
        let images = self.new_image.as_ref().map_or(0, String::len)
            + self.old_image.as_ref().map_or(0, String::len);
        let mut line = Line {
            out: String::with_capacity(640 + images + images / 4),
        };
        line.text("event_id", self.event_id.as_deref());
        line.text("event_name", Some(&self.event_name));
        line.text("order_id", Some(&self.order_id));
        line.plain("version", Some(self.version));
        line.text("event_time", self.event_time.as_deref());
        line.text("status", self.status.as_deref());
        line.text("state", self.state.as_deref());
        line.text("cause_kind", self.cause_kind.as_deref());
        line.text("cause_actor", self.cause_actor.as_deref());
        line.text("cause_reason", self.cause_reason.as_deref());
        line.plain("total_minor", self.total_minor);
        line.text("currency", self.currency.as_deref());
        line.text("new_image", self.new_image.as_deref());
        line.text("old_image", self.old_image.as_deref());
        line.text("sequence_number", self.sequence_number.as_deref());
        line.plain("ttl_expired", Some(self.ttl_expired));
        line.text("dt", Some(&self.dt));
        line.out.push_str("}\n");
        line.out
    }

    /// The key of the row in the archive bucket, when it is too large for Firehose: `oversize/dt=<day>/<order>-<version>-<event>.json`.
    #[must_use]
    pub fn oversize_key(&self) -> String {
        format!("oversize/dt={}/{}.json", self.dt, self.file_name())
    }

    /// The key of the row in the park bucket, when it is too large for its queue: `spill/archive/<day>/<order>-<version>-<event>.json`.
    ///
    /// `day` is the UTC day of spilling, `2026-01-31`.
    #[must_use]
    pub fn spill_key(&self, day: &str) -> String {
        format!("spill/archive/{day}/{}.json", self.file_name())
    }

    /// The same row has the same name, so that writing it again makes no second object.
    fn file_name(&self) -> String {
        let event = match &self.event_id {
            Some(id) => key_part(id),
            None => short_hash(&self.to_line()),
        };
        format!("{}-{}-{event}", key_part(&self.order_id), self.version)
    }
}

/// Ids come from outside, and a key has 1,024 bytes and its own slashes: an id that is not plain enters it as a hash.
fn key_part(id: &str) -> String {
    let plain = (1..=128).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':' | b'-'));
    if plain { id.to_owned() } else { short_hash(id) }
}

fn short_hash(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
        .chars()
        .take(32)
        .collect()
}

struct Line {
    out: String,
}

impl Line {
    fn name(&mut self, name: &str) {
        self.out.push(if self.out.is_empty() { '{' } else { ',' });
        self.out.push('"');
        self.out.push_str(name);
        self.out.push_str("\":");
    }

    fn text(&mut self, name: &str, value: Option<&str>) {
        self.name(name);
        match value {
            Some(text) => write_text(text, &mut self.out),
            None => self.out.push_str("null"),
        }
    }

    fn plain(&mut self, name: &str, value: Option<impl ToString>) {
        self.name(name);
        self.out
            .push_str(&value.map_or_else(|| "null".to_owned(), |value| value.to_string()));
    }
}

#[cfg(test)]
mod tests;
