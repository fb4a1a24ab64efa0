//! One record of a DynamoDB stream, read from its raw text.
//!
//! Everything that AWS may leave out is optional here, and stays absent: no time becomes 1970, no missing image an empty one
//! (F-STR-8, F-STR-13). What a consumer needs it asks for with [`Record::change`], and hears as poison when it is not there.

use crate::envelope::{Envelope, Reader};
use crate::image::Image;
use crate::sequence::SequenceNumber;
use crate::time::EpochMillis;
use crate::typed::DecodeError;
use crate::verdict::Failure;
use std::borrow::Cow;
use std::fmt;

/// What happened to the item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventName {
    /// The item was created (also by an update, F-STR-9).
    Insert,
    /// The item was changed or replaced.
    Modify,
    /// The item was deleted.
    Remove,
}

impl EventName {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Insert => "INSERT",
            Self::Modify => "MODIFY",
            Self::Remove => "REMOVE",
        }
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who made the change, where the record says so. On nearly all records it does not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserIdentity<'a> {
    /// `Service` for a TTL delete.
    pub kind: Option<Cow<'a, str>>,
    /// `dynamodb.amazonaws.com` for a TTL delete.
    pub principal: Option<Cow<'a, str>>,
}

/// A record with the images that its kind of change must have. See [`Record::change`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'r, 'a> {
    /// The item as it was created.
    Insert {
        /// The new item.
        new: &'r Image<'a>,
    },
    /// The item as it is now, and as it was if the stream's view says so.
    Modify {
        /// The new item.
        new: &'r Image<'a>,
        /// The item before.
        old: Option<&'r Image<'a>>,
    },
    /// The item is gone; [`Record::require_old_image`] for consumers that need what it was.
    Remove {
        /// The item before.
        old: Option<&'r Image<'a>>,
    },
}

/// What can be said of a record even when it is broken: enough to park or report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin<'r> {
    /// `eventID`, or the message id on SQS.
    pub event_id: Option<&'r str>,
    /// The sequence number; none on SQS.
    pub sequence: Option<&'r SequenceNumber>,
    /// The ARN of the stream or queue.
    pub source_arn: Option<&'r str>,
    /// The exact text of the record.
    pub raw: &'r str,
}

/// A decoded record. It borrows from the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record<'a> {
    envelope: Envelope<'a>,
    event_name: EventName,
}

/// A record that cannot be read, with what could be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecodable<'a> {
    envelope: Envelope<'a>,
    error: DecodeError,
}

impl<'a> Record<'a> {
    /// Decodes one raw record, as of place 0 in its batch.
    ///
    /// # Errors
    /// [`Undecodable`] when it is no JSON object, an image holds what is no typed value, or the event name is missing or unknown.
    ///
    /// ```
    /// # use sagaline_stream::Record;
    /// let raw = r#"{"eventID":"e1","eventName":"MODIFY","dynamodb":{"SequenceNumber":"1200","NewImage":{"id":{"S":1}}}}"#;
    /// let broken = Record::decode(raw).expect_err("S holds a number");
    /// assert_eq!(broken.error().to_string(), "dynamodb.NewImage.id: S must hold a string");
    /// assert_eq!(broken.sequence().map(|s| s.as_str()), Some("1200"));
    /// ```
    pub fn decode(raw: &'a str) -> Result<Self, Box<Undecodable<'a>>> {
        decode_at(&mut Reader::default(), raw, 0)
    }

    /// The record's place in its batch, from 0.
    #[must_use]
    pub const fn place(&self) -> usize {
        self.envelope.place
    }

    /// The exact text of the record.
    #[must_use]
    pub const fn raw(&self) -> &'a str {
        self.envelope.raw
    }

    /// What happened.
    #[must_use]
    pub const fn event_name(&self) -> EventName {
        self.event_name
    }

    /// The event's id, the same on every delivery (F-STR-12).
    #[must_use]
    pub fn event_id(&self) -> Option<&str> {
        self.envelope.event_id.as_deref()
    }

    /// The sequence number.
    #[must_use]
    pub const fn sequence(&self) -> Option<&SequenceNumber> {
        self.envelope.sequence.as_ref()
    }

    /// When the change was made, to the second (F-STR-13): it is no version. `None` is unknown.
    #[must_use]
    pub const fn created_at(&self) -> Option<EpochMillis> {
        self.envelope.created_at
    }

    /// The size that AWS states.
    #[must_use]
    pub const fn size_bytes(&self) -> Option<u64> {
        self.envelope.size_bytes
    }

    /// The stream's ARN.
    #[must_use]
    pub fn stream_arn(&self) -> Option<&str> {
        self.envelope.stream_arn.as_deref()
    }

    /// The table's name, from the stream's ARN.
    #[must_use]
    pub fn table_name(&self) -> Option<&str> {
        table_name(self.stream_arn()?)
    }

    /// The item's key attributes.
    #[must_use]
    pub const fn keys(&self) -> Option<&Image<'a>> {
        self.envelope.keys.as_ref()
    }

    /// The item after the change. `None` when the record has none: the key absent, null, or the `{}` that some producers send (F-STR-8).
    /// Without the `aws:rep:*` attributes of old global tables (F-STR-18).
    #[must_use]
    pub const fn new_image(&self) -> Option<&Image<'a>> {
        self.envelope.new_image.as_ref()
    }

    /// The item before the change; as [`Record::new_image`].
    #[must_use]
    pub const fn old_image(&self) -> Option<&Image<'a>> {
        self.envelope.old_image.as_ref()
    }

    /// Who made the change, where the record says so.
    #[must_use]
    pub const fn user_identity(&self) -> Option<&UserIdentity<'a>> {
        self.envelope.identity.as_ref()
    }

    /// Whether this is TTL's own delete: a REMOVE by the service, and by its principal (F-STR-10: both must match).
    #[must_use]
    pub fn is_ttl_delete(&self) -> bool {
        self.event_name == EventName::Remove
            && self.user_identity().is_some_and(|who| {
                who.kind.as_deref() == Some("Service")
                    && who.principal.as_deref() == Some("dynamodb.amazonaws.com")
            })
    }

    /// Whether this is probably TTL's delete, replicated by a global table: such a record carries no identity (F-STR-10). Inferred: a
    /// REMOVE without identity of an item whose `ttl_attribute` (seconds) had passed when it was deleted.
    #[must_use]
    pub fn is_probable_ttl_delete(&self, ttl_attribute: &str) -> bool {
        let expired = || {
            let expiry = i64::try_from(self.old_image()?.n_integer(ttl_attribute)?.ok()?).ok()?;
            Some(EpochMillis::new(expiry.checked_mul(1_000)?) <= self.created_at()?)
        };
        self.event_name == EventName::Remove
            && self.user_identity().is_none()
            && expired() == Some(true)
    }

    /// The change with the images it must have.
    ///
    /// # Errors
    /// Poison, when an INSERT or MODIFY has no new image. (A stream of `KEYS_ONLY` has none by design: its consumers do not ask.)
    pub fn change(&self) -> Result<Change<'_, 'a>, Failure> {
        let old = self.old_image();
        Ok(match self.event_name {
            EventName::Insert => Change::Insert {
                new: self.require_new_image()?,
            },
            EventName::Modify => Change::Modify {
                new: self.require_new_image()?,
                old,
            },
            EventName::Remove => Change::Remove { old },
        })
    }

    /// The new image, for a consumer that cannot do without.
    ///
    /// # Errors
    /// Poison, when there is none.
    pub fn require_new_image(&self) -> Result<&Image<'a>, Failure> {
        self.new_image()
            .ok_or_else(|| Failure::poison(format!("{} without NewImage", self.event_name)))
    }

    /// The old image, for a consumer that cannot do without.
    ///
    /// # Errors
    /// Poison, when there is none.
    pub fn require_old_image(&self) -> Result<&Image<'a>, Failure> {
        self.old_image()
            .ok_or_else(|| Failure::poison(format!("{} without OldImage", self.event_name)))
    }

    /// The item's identity as text: its keys, canonically. Records without keys share one identity, so that they keep their order.
    #[must_use]
    pub fn item_key(&self) -> String {
        self.keys().map(Image::to_canonical).unwrap_or_default()
    }

    /// What parking and reporting need.
    #[must_use]
    pub fn origin(&self) -> Origin<'_> {
        self.envelope.origin()
    }
}

impl<'a> Undecodable<'a> {
    /// Why it cannot be read.
    #[must_use]
    pub const fn error(&self) -> &DecodeError {
        &self.error
    }

    /// The record's place in its batch, from 0.
    #[must_use]
    pub const fn place(&self) -> usize {
        self.envelope.place
    }

    /// The exact text of the record.
    #[must_use]
    pub const fn raw(&self) -> &'a str {
        self.envelope.raw
    }

    /// The sequence number, if it could be read.
    #[must_use]
    pub const fn sequence(&self) -> Option<&SequenceNumber> {
        self.envelope.sequence.as_ref()
    }

    /// When the change was made, if it could be read.
    #[must_use]
    pub const fn created_at(&self) -> Option<EpochMillis> {
        self.envelope.created_at
    }

    /// What parking and reporting need.
    #[must_use]
    pub fn origin(&self) -> Origin<'_> {
        self.envelope.origin()
    }
}

/// The table in the ARN of a table or a stream, in any partition and in the forms of local emulators:
/// `arn:aws:dynamodb:eu-west-1:123456789012:table/orders/stream/2026-01-31T08:30:00.000`.
///
/// ```
/// # use sagaline_stream::table_name;
/// assert_eq!(table_name("arn:aws-cn:dynamodb:cn-north-1:123456789012:table/orders/stream/2026-01-31T08:30:00.000"), Some("orders"));
/// assert_eq!(table_name("arn:aws:dynamodb:ddblocal:000000000000:table/orders"), Some("orders"));
/// assert_eq!(table_name("arn:scylla:alternator:alternator_orders:scylla:table/orders"), Some("orders"));
/// assert_eq!(table_name("arn:aws:sqs:eu-west-1:123456789012:queue"), None);
/// assert_eq!(table_name("arn:aws:glue:eu-west-1:123456789012:table/audit/orders"), None);
/// ```
#[must_use]
pub fn table_name(arn: &str) -> Option<&str> {
    let mut parts = arn.splitn(6, ':');
    let (Some("arn"), Some(_), Some("dynamodb" | "alternator")) =
        (parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    let resource = parts.nth(2)?.strip_prefix("table/")?;
    resource.split('/').next().filter(|name| !name.is_empty())
}

/// Decodes the raw records of a batch, each on its own, with one reader for all.
pub(crate) fn decode_all<'r, 'a>(
    raw: &'r [&'a str],
) -> impl Iterator<Item = Result<Record<'a>, Box<Undecodable<'a>>>> + use<'r, 'a> {
    let mut reader = Reader::default();
    raw.iter()
        .enumerate()
        .map(move |(place, raw)| decode_at(&mut reader, raw, place))
}

fn decode_at<'a>(
    reader: &mut Reader<'a>,
    raw: &'a str,
    place: usize,
) -> Result<Record<'a>, Box<Undecodable<'a>>> {
    let (envelope, fault) = reader.read(raw, place);
    let undecodable = |envelope, error| Box::new(Undecodable { envelope, error });
    if let Some(error) = fault {
        return Err(undecodable(envelope, error));
    }
    let event_name = match envelope.event_name.as_deref() {
        Some("INSERT") => EventName::Insert,
        Some("MODIFY") => EventName::Modify,
        Some("REMOVE") => EventName::Remove,
        Some(other) => {
            let error =
                DecodeError::new(format!("the unknown event name {other:?}")).within("eventName");
            return Err(undecodable(envelope, error));
        }
        None => {
            return Err(undecodable(
                envelope,
                DecodeError::new("the record has no event name").within("eventName"),
            ));
        }
    };
    Ok(Record {
        envelope,
        event_name,
    })
}
