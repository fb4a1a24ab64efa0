//! The fields of one record, read as far as they can be.
//!
//! The first fault is remembered and its value stepped over, so that what stands behind it (the sequence number, mostly) is still known
//! and a broken record can be parked or reported by name.

use crate::image::Image;
use crate::json::{RawString, Scanner, Syntax};
use crate::number::is_number;
use crate::record::{Origin, UserIdentity};
use crate::sequence::SequenceNumber;
use crate::time::{EpochMillis, creation_time};
use crate::typed::{DecodeError, Typed};
use std::borrow::Cow;

/// Attributes that 2017-style global tables add to an item (F-STR-18).
const REPLICATION_PREFIX: &str = "aws:rep:";

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Envelope<'a> {
    pub(crate) place: usize,
    pub(crate) raw: &'a str,
    pub(crate) event_id: Option<Cow<'a, str>>,
    pub(crate) event_name: Option<Cow<'a, str>>,
    pub(crate) stream_arn: Option<Cow<'a, str>>,
    pub(crate) identity: Option<UserIdentity<'a>>,
    pub(crate) created_at: Option<EpochMillis>,
    pub(crate) sequence: Option<SequenceNumber>,
    pub(crate) size_bytes: Option<u64>,
    pub(crate) keys: Option<Image<'a>>,
    pub(crate) new_image: Option<Image<'a>>,
    pub(crate) old_image: Option<Image<'a>>,
}

impl Envelope<'_> {
    pub(crate) fn origin(&self) -> Origin<'_> {
        Origin {
            event_id: self.event_id.as_deref(),
            sequence: self.sequence.as_ref(),
            source_arn: self.stream_arn.as_deref(),
            raw: self.raw,
        }
    }
}

/// Reads envelopes one after another, reusing its scratch memory.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    scan: Scanner<'a>,
    typed: Typed<'a>,
}

impl Default for Reader<'_> {
    fn default() -> Self {
        Self {
            scan: Scanner::new(""),
            typed: Typed::default(),
        }
    }
}

/// What the inner object says of the time, in any order of its members.
#[derive(Default)]
struct Moment<'a> {
    text: Option<Cow<'a, str>>,
    precision: Option<Cow<'a, str>>,
}

impl<'a> Reader<'a> {
    /// The record's fields, and the first fault if there is one.
    pub(crate) fn read(
        &mut self,
        raw: &'a str,
        place: usize,
    ) -> (Envelope<'a>, Option<DecodeError>) {
        self.scan.load(raw);
        let typed = &mut self.typed;
        let mut envelope = Envelope {
            place,
            raw,
            ..Envelope::default()
        };
        let mut fault = None;
        let outer = self.scan.members(|scan, name| {
            match name.text {
                "eventID" => envelope.event_id = scalar(scan)?,
                "eventName" => envelope.event_name = scalar(scan)?,
                "eventSourceARN" => envelope.stream_arn = scalar(scan)?,
                "eventSource" => {
                    if let Some(source) = scalar(scan)?.filter(|source| source != "aws:dynamodb") {
                        let error = DecodeError::new(format!(
                            "a record of {source:?}, not of a DynamoDB stream"
                        ));
                        note(&mut fault, error.within("eventSource"));
                    }
                }
                "userIdentity" => envelope.identity = identity(scan)?,
                "dynamodb" => inner(scan, typed, &mut envelope, &mut fault)?,
                _ => {
                    scan.step_over()?;
                }
            }
            Ok::<(), Syntax>(())
        });
        if let Err(syntax) = outer.and_then(|()| self.scan.end()) {
            note(&mut fault, *Box::<DecodeError>::from(syntax));
        }
        (envelope, fault)
    }
}

fn inner<'a>(
    scan: &mut Scanner<'a>,
    typed: &mut Typed<'a>,
    envelope: &mut Envelope<'a>,
    fault: &mut Option<DecodeError>,
) -> Result<(), Syntax> {
    if scan.peek() != Some(b'{') {
        if !scan.word("null") {
            note(
                fault,
                DecodeError::new("an object was expected").within("dynamodb"),
            );
            scan.step_over()?;
        }
        return Ok(());
    }
    let mut moment = Moment::default();
    scan.members(|scan, name| {
        match name.text {
            "ApproximateCreationDateTime" => moment.text = scalar(scan)?,
            "ApproximateCreationDateTimePrecision" => moment.precision = scalar(scan)?,
            "SequenceNumber" => {
                envelope.sequence =
                    scalar(scan)?.and_then(|text| SequenceNumber::new(text.into_owned()))
            }
            "SizeBytes" => envelope.size_bytes = scalar(scan)?.and_then(|text| text.parse().ok()),
            "Keys" => envelope.keys = image(scan, typed, "Keys", fault)?,
            "NewImage" => envelope.new_image = image(scan, typed, "NewImage", fault)?,
            "OldImage" => envelope.old_image = image(scan, typed, "OldImage", fault)?,
            _ => {
                scan.step_over()?;
            }
        }
        Ok::<(), Syntax>(())
    })?;
    envelope.created_at = moment
        .text
        .and_then(|text| creation_time(&text, moment.precision.as_deref()));
    Ok(())
}

/// An image that is absent, null or `{}` is none: an item always has its key.
fn image<'a>(
    scan: &mut Scanner<'a>,
    typed: &mut Typed<'a>,
    name: &'static str,
    fault: &mut Option<DecodeError>,
) -> Result<Option<Image<'a>>, Syntax> {
    scan.peek();
    let start = scan.at();
    if scan.word("null") {
        return Ok(None);
    }
    match typed.image(scan) {
        Ok(mut image) => {
            image.remove_prefixed(REPLICATION_PREFIX);
            Ok(Some(image).filter(|image| !image.is_empty()))
        }
        Err(error) => {
            note(fault, error.within(name).within("dynamodb"));
            scan.rewind(start);
            scan.step_over()?;
            Ok(None)
        }
    }
}

/// The identity as Lambda writes it (`type`, `principalId`) or as the streams API does (`Type`, `PrincipalId`).
fn identity<'a>(scan: &mut Scanner<'a>) -> Result<Option<UserIdentity<'a>>, Syntax> {
    if scan.peek() != Some(b'{') {
        scan.step_over()?;
        return Ok(None);
    }
    let mut identity = UserIdentity::default();
    scan.members(|scan, name| {
        match name.text {
            "type" | "Type" => identity.kind = scalar(scan)?,
            "principalId" | "PrincipalId" => identity.principal = scalar(scan)?,
            _ => {
                scan.step_over()?;
            }
        }
        Ok::<(), Syntax>(())
    })?;
    // One that says nothing is none, as null is.
    Ok(Some(identity).filter(|identity| *identity != UserIdentity::default()))
}

/// A text or a number as text. Anything else (null, mostly) is absent: none of these fields is worth losing a record for.
pub(crate) fn scalar<'a>(scan: &mut Scanner<'a>) -> Result<Option<Cow<'a, str>>, Syntax> {
    match scan.peek() {
        Some(b'"') => Ok(scan.string().and_then(RawString::resolve).map(Some)?),
        Some(b'-' | b'0'..=b'9') => {
            let number = scan.step_over()?;
            Ok(is_number(number).then_some(Cow::Borrowed(number)))
        }
        _ => scan.step_over().map(|_| None),
    }
}

/// Keeps the first fault.
fn note(fault: &mut Option<DecodeError>, error: DecodeError) {
    if fault.is_none() {
        *fault = Some(error);
    }
}
