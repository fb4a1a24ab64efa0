//! An event taken apart into raw records.
//!
//! Splitting looks at brackets and quotes only. What is inside a record is read later, record by record ([`Record`]), so one that is
//! broken costs none of its neighbours. What is no event at all is refused here, by the name of the shape that it has.

use crate::json::{Scanner, Syntax};
use crate::record::{Record, Undecodable, decode_all};
use thiserror::Error;

/// Why a payload is not the event that was expected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotAnEvent {
    /// Nothing, or only white space.
    #[error("the payload is empty")]
    Empty,
    /// The payload begins with a byte order mark.
    #[error("the payload begins with a byte order mark, which JSON does not allow")]
    ByteOrderMark,
    /// The payload is no UTF-8 text.
    #[error("the payload is no UTF-8 text (byte {at})")]
    NotUtf8 {
        /// Offset of the first bad byte.
        at: usize,
    },
    /// The payload is no JSON, or is cut off.
    #[error("the payload is no JSON: line {line}, byte {at}: {what}")]
    NotJson {
        /// Line of the fault, from 1.
        line: usize,
        /// Offset of the fault.
        at: usize,
        /// What is wrong there.
        what: &'static str,
    },
    /// A list of records without the object around it. Only [`Batch::parse_file`] takes it.
    #[error("a bare list of records, not an event with `Records`")]
    BareList,
    /// A text, number, boolean or null.
    #[error("a single JSON value, not an event with `Records`")]
    Scalar,
    /// One record without the event around it.
    #[error("a single record, not an event with `Records`")]
    SingleRecord,
    /// An EventBridge envelope: the record would be in `detail`.
    #[error("an EventBridge envelope (`detail-type`, `detail`), not an event with `Records`")]
    EventBridge,
    /// The document that Lambda sends to an on-failure destination.
    #[error("an on-failure document (`requestContext`), not an event with `Records`")]
    FailureDocument,
    /// Another object.
    #[error("an object without `Records`")]
    NoRecords,
    /// `Records` is something else than one list.
    #[error("`Records` is not one list")]
    RecordsNotAList,
}

/// An event of DynamoDB Streams, split into its raw records, in the order they were sent.
///
/// ```
/// # use sagaline_stream::{Batch, NotAnEvent};
/// let batch = Batch::parse(br#"{"Records":[{"eventID":"a"},{"eventID":tru}]}"#)?;
/// assert_eq!(batch.raw(), [r#"{"eventID":"a"}"#, r#"{"eventID":tru}"#]);
/// assert_eq!(Batch::parse(b"[]"), Err(NotAnEvent::BareList));
/// # Ok::<(), NotAnEvent>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch<'a> {
    raw: Vec<&'a str>,
}

impl<'a> Batch<'a> {
    /// Splits an event as Lambda delivers it: `{"Records":[...]}`.
    ///
    /// # Errors
    /// [`NotAnEvent`] names the shape that it is instead.
    pub fn parse(payload: &'a [u8]) -> Result<Self, NotAnEvent> {
        Ok(Self {
            raw: split(payload, false)?,
        })
    }

    /// Splits an event that was kept in a file: as [`Batch::parse`], and also a bare list of records.
    ///
    /// # Errors
    /// [`NotAnEvent`] names the shape that it is instead.
    pub fn parse_file(payload: &'a [u8]) -> Result<Self, NotAnEvent> {
        Ok(Self {
            raw: split(payload, true)?,
        })
    }

    pub(crate) const fn of_raw(raw: Vec<&'a str>) -> Self {
        Self { raw }
    }

    /// The number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.raw.len()
    }

    /// Whether there is no record. AWS sends such a batch at the end of a tumbling window (F-ESM-16).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// The exact text of each record.
    #[must_use]
    pub fn raw(&self) -> &[&'a str] {
        &self.raw
    }

    /// Decodes each record on its own, in order.
    pub fn records(&self) -> impl Iterator<Item = Result<Record<'a>, Box<Undecodable<'a>>>> + '_ {
        decode_all(&self.raw)
    }
}

/// The one way from a payload to the raw elements of its `Records`, for streams and SQS.
pub(crate) fn split(payload: &[u8], bare_list_too: bool) -> Result<Vec<&str>, NotAnEvent> {
    if payload.starts_with(b"\xef\xbb\xbf")
        || payload.starts_with(b"\xff\xfe")
        || payload.starts_with(b"\xfe\xff")
    {
        return Err(NotAnEvent::ByteOrderMark);
    }
    let text = std::str::from_utf8(payload).map_err(|error| NotAnEvent::NotUtf8 {
        at: error.valid_up_to(),
    })?;
    split_text(text, bare_list_too)
}

pub(crate) fn split_text(text: &str, bare_list_too: bool) -> Result<Vec<&str>, NotAnEvent> {
    let mut scan = Scanner::new(text);
    let located = |syntax: Syntax| NotAnEvent::NotJson {
        line: 1 + text
            .bytes()
            .take(syntax.at)
            .filter(|byte| *byte == b'\n')
            .count(),
        at: syntax.at,
        what: syntax.what,
    };
    let found = match scan.peek() {
        None => return Err(NotAnEvent::Empty),
        Some(b'{') => event_object(&mut scan).map_err(located)?,
        Some(b'[') => {
            let elements = list(&mut scan).map_err(located)?;
            if bare_list_too {
                Ok(elements)
            } else {
                Err(NotAnEvent::BareList)
            }
        }
        Some(_) => {
            let scalar = scan.step_over().map_err(located)?;
            if serde_json::from_str::<serde::de::IgnoredAny>(scalar).is_err() {
                return Err(located(Syntax {
                    at: 0,
                    what: "a value was expected",
                }));
            }
            Err(NotAnEvent::Scalar)
        }
    };
    scan.end().map_err(located)?;
    found
}

/// Reads the outer object to its end; a fault of its shape is the inner result.
fn event_object<'a>(scan: &mut Scanner<'a>) -> Result<Result<Vec<&'a str>, NotAnEvent>, Syntax> {
    let mut records = None;
    let mut shape = NotAnEvent::NoRecords;
    let mut twisted = false;
    scan.members(|scan, name| {
        match name.text {
            "Records" if records.is_none() && scan.peek() == Some(b'[') => {
                records = Some(list(scan)?);
                return Ok(());
            }
            "Records" => twisted = true,
            "detail-type" | "detail" => shape = NotAnEvent::EventBridge,
            "requestContext" | "DDBStreamBatchInfo" | "timeWindowInfo" => {
                shape = NotAnEvent::FailureDocument
            }
            "dynamodb" | "eventID" => shape = NotAnEvent::SingleRecord,
            _ => {}
        }
        scan.step_over().map(drop)
    })?;
    Ok(match records {
        Some(records) if !twisted => Ok(records),
        None if !twisted => Err(shape),
        Some(_) | None => Err(NotAnEvent::RecordsNotAList),
    })
}

fn list<'a>(scan: &mut Scanner<'a>) -> Result<Vec<&'a str>, Syntax> {
    scan.expect(b'[', "a list was expected")?;
    let mut elements = Vec::new();
    if scan.eat(b']') {
        return Ok(elements);
    }
    loop {
        elements.push(scan.step_over()?);
        if !scan.eat(b',') {
            scan.expect(b']', "a comma or the end of the list was expected")?;
            return Ok(elements);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-52
    #[test]
    fn what_is_no_event_is_refused_by_the_name_of_its_shape() {
        #[track_caller]
        fn check(payload: &[u8], expected: &NotAnEvent) {
            assert_eq!(
                Batch::parse(payload).as_ref(),
                Err(expected),
                "{}",
                String::from_utf8_lossy(payload)
            );
        }
        check(b"", &NotAnEvent::Empty);
        check(b" \n", &NotAnEvent::Empty);
        check(b"\xef\xbb\xbf{\"Records\":[]}", &NotAnEvent::ByteOrderMark);
        check(b"{\"Records\":[\"\xff\"]}", &NotAnEvent::NotUtf8 { at: 13 });
        check(br#"[{"eventID":"a"}]"#, &NotAnEvent::BareList);
        check(b"null", &NotAnEvent::Scalar);
        check(br#""Records""#, &NotAnEvent::Scalar);
        check(
            br#"{"eventID":"a","dynamodb":{}}"#,
            &NotAnEvent::SingleRecord,
        );
        let envelope = br#"{"version":"0","id":"1","detail-type":"order","source":"x","detail":{"eventID":"a","dynamodb":{}}}"#;
        check(envelope, &NotAnEvent::EventBridge);
        check(
            br#"{"requestContext":{},"DDBStreamBatchInfo":{}}"#,
            &NotAnEvent::FailureDocument,
        );
        check(b"{}", &NotAnEvent::NoRecords);
        check(br#"{"records":[]}"#, &NotAnEvent::NoRecords);
        check(br#"{"Records":null}"#, &NotAnEvent::RecordsNotAList);
        check(br#"{"Records":{}}"#, &NotAnEvent::RecordsNotAList);
        check(
            br#"{"Records":[],"Records":[]}"#,
            &NotAnEvent::RecordsNotAList,
        );
        for garbage in [
            "garbage",
            "{",
            "{]",
            "{\"Records\":[}",
            "{\"Records\":[{]}",
            "{\"Records\":[]} x",
            "{\"Records\":[{},]}",
            "{'a':1}",
        ] {
            assert!(
                matches!(
                    Batch::parse(garbage.as_bytes()),
                    Err(NotAnEvent::NotJson { .. })
                ),
                "{garbage}"
            );
        }
    }

    // C-51 (this crate's half): nothing of a file that is cut off is used, and the message has the line.
    #[test]
    fn a_file_that_is_cut_off_is_refused_whole() {
        let whole =
            "{\"Records\":[\n{\"eventID\":\"a\"},\n{\"eventID\":\"b\"},\n{\"eventID\":\"c\"}\n]}";
        assert_eq!(
            Batch::parse_file(whole.as_bytes()).map(|batch| batch.len()),
            Ok(3)
        );
        for end in 1..whole.len() {
            let cut = whole.get(..end).expect("ASCII");
            assert!(
                matches!(
                    Batch::parse_file(cut.as_bytes()),
                    Err(NotAnEvent::NotJson { .. })
                ),
                "{cut}"
            );
        }
        let cut = whole.get(..55).expect("ASCII");
        assert!(
            matches!(
                Batch::parse_file(cut.as_bytes()),
                Err(NotAnEvent::NotJson { line: 4, .. })
            ),
            "{cut}"
        );
    }

    // C-52
    #[test]
    fn a_bare_list_is_taken_from_a_file_only() {
        let list = br#" [ {"eventID":"a"} , {"eventID":"b"} ] "#;
        assert_eq!(Batch::parse(list), Err(NotAnEvent::BareList));
        assert_eq!(Batch::parse_file(list).map(|batch| batch.len()), Ok(2));
    }
}
