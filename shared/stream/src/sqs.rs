//! An SQS event taken apart into its messages, each read on its own.

use crate::batch::{NotAnEvent, split};
use crate::envelope::scalar;
use crate::json::{Scanner, Syntax};
use crate::record::Origin;
use crate::time::EpochMillis;
use crate::typed::DecodeError;
use std::borrow::Cow;

/// A batch of SQS messages, in the order they were sent.
///
/// ```
/// # use sagaline_stream::{NotAnEvent, SqsBatch};
/// let batch = SqsBatch::parse(
///     br#"{"Records":[{"messageId":"m-1","body":"{}","attributes":{"ApproximateReceiveCount":"3"},"eventSource":"aws:sqs"}]}"#,
/// )?;
/// let message = batch.messages()[0].as_ref().expect("a whole message");
/// assert_eq!((message.message_id(), message.body(), message.receive_count()), ("m-1", "{}", Some(3)));
/// # Ok::<(), NotAnEvent>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqsBatch<'a> {
    messages: Vec<Result<Message<'a>, Box<BadMessage<'a>>>>,
}

impl<'a> SqsBatch<'a> {
    /// Splits and decodes an SQS event.
    ///
    /// # Errors
    /// [`NotAnEvent`] names the shape that it is instead.
    pub fn parse(payload: &'a [u8]) -> Result<Self, NotAnEvent> {
        Ok(Self {
            messages: split(payload, false)?
                .into_iter()
                .map(Message::decode)
                .collect(),
        })
    }

    /// The messages, or what could be read of them.
    pub fn messages(&self) -> &[Result<Message<'a>, Box<BadMessage<'a>>>] {
        &self.messages
    }
}

/// One message. It borrows from the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message<'a> {
    message_id: Cow<'a, str>,
    body: Cow<'a, str>,
    rest: Rest<'a>,
}

/// A message that cannot be read, with what could be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadMessage<'a> {
    message_id: Option<Cow<'a, str>>,
    rest: Rest<'a>,
    error: DecodeError,
}

/// What may be absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Rest<'a> {
    raw: &'a str,
    queue_arn: Option<Cow<'a, str>>,
    receive_count: Option<u32>,
    group_id: Option<Cow<'a, str>>,
    sent_at: Option<EpochMillis>,
    text_attributes: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl<'a> Message<'a> {
    /// The message's id, never empty.
    #[must_use]
    pub fn message_id(&self) -> &str {
        &self.message_id
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }

    /// How often it was received, this time included (F-SQS-2).
    #[must_use]
    pub const fn receive_count(&self) -> Option<u32> {
        self.rest.receive_count
    }

    /// The message group, on a FIFO queue.
    #[must_use]
    pub fn group_id(&self) -> Option<&str> {
        self.rest.group_id.as_deref()
    }

    /// When it was sent.
    #[must_use]
    pub const fn sent_at(&self) -> Option<EpochMillis> {
        self.rest.sent_at
    }

    /// The queue's ARN.
    #[must_use]
    pub fn queue_arn(&self) -> Option<&str> {
        self.rest.queue_arn.as_deref()
    }

    /// The text of a message attribute (`stringValue`).
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.rest
            .text_attributes
            .iter()
            .find(|(present, _)| present == name)
            .map(|(_, value)| value.as_ref())
    }

    /// The exact text of the message in the event.
    #[must_use]
    pub const fn raw(&self) -> &'a str {
        self.rest.raw
    }

    /// What parking and reporting need.
    #[must_use]
    pub fn origin(&self) -> Origin<'_> {
        self.rest.origin(Some(&self.message_id))
    }

    fn decode(raw: &'a str) -> Result<Self, Box<BadMessage<'a>>> {
        let mut message_id = None;
        let mut body = None;
        let mut rest = Rest {
            raw,
            ..Rest::default()
        };
        let mut fault = None;
        let mut scan = Scanner::new(raw);
        let outer = scan.members(|scan, name| {
            match name.text {
                "messageId" => message_id = scalar(scan)?.filter(|id| !id.is_empty()),
                "body" => body = text(scan)?,
                "eventSourceARN" => rest.queue_arn = scalar(scan)?,
                "eventSource" => {
                    fault = scalar(scan)?
                        .filter(|source| source != "aws:sqs")
                        .map(|source| {
                            DecodeError::new(format!("a record of {source:?}, not of a queue"))
                                .within("eventSource")
                        });
                }
                "attributes" => rest.read_attributes(scan)?,
                "messageAttributes" => rest.read_message_attributes(scan)?,
                _ => {
                    scan.step_over()?;
                }
            }
            Ok::<(), Syntax>(())
        });
        if let Err(syntax) = outer.and_then(|()| scan.end()) {
            fault.get_or_insert(*Box::<DecodeError>::from(syntax));
        }
        match (message_id, body, fault) {
            (Some(message_id), Some(body), None) => Ok(Self {
                message_id,
                body,
                rest,
            }),
            (message_id, body, fault) => {
                let missing = if body.is_none() { "body" } else { "messageId" };
                let error = fault
                    .unwrap_or_else(|| DecodeError::new("the message has none").within(missing));
                Err(Box::new(BadMessage {
                    message_id,
                    rest,
                    error,
                }))
            }
        }
    }
}

impl BadMessage<'_> {
    /// Why it cannot be read.
    #[must_use]
    pub const fn error(&self) -> &DecodeError {
        &self.error
    }

    /// The message's id, if it could be read.
    #[must_use]
    pub fn message_id(&self) -> Option<&str> {
        self.message_id.as_deref()
    }

    /// When it was sent, if it could be read.
    #[must_use]
    pub const fn sent_at(&self) -> Option<EpochMillis> {
        self.rest.sent_at
    }

    /// What parking and reporting need.
    #[must_use]
    pub fn origin(&self) -> Origin<'_> {
        self.rest.origin(self.message_id())
    }
}

impl<'a> Rest<'a> {
    fn origin<'r>(&'r self, message_id: Option<&'r str>) -> Origin<'r> {
        Origin {
            event_id: message_id,
            sequence: None,
            source_arn: self.queue_arn.as_deref(),
            raw: self.raw,
        }
    }

    /// The system's attributes: all are text, also the numbers.
    fn read_attributes(&mut self, scan: &mut Scanner<'a>) -> Result<(), Syntax> {
        if scan.peek() != Some(b'{') {
            return scan.step_over().map(drop);
        }
        scan.members(|scan, name| {
            match name.text {
                "ApproximateReceiveCount" => {
                    self.receive_count = scalar(scan)?.and_then(|text| text.parse().ok())
                }
                "MessageGroupId" => self.group_id = scalar(scan)?,
                "SentTimestamp" => {
                    self.sent_at = scalar(scan)?
                        .and_then(|text| text.parse().ok())
                        .map(EpochMillis::new)
                }
                _ => {
                    scan.step_over()?;
                }
            }
            Ok(())
        })
    }

    /// The sender's attributes: `{name:{"stringValue":..,"dataType":..}}`. Binary ones are left out.
    fn read_message_attributes(&mut self, scan: &mut Scanner<'a>) -> Result<(), Syntax> {
        if scan.peek() != Some(b'{') {
            return scan.step_over().map(drop);
        }
        scan.members(|scan, name| {
            if scan.peek() != Some(b'{') {
                return scan.step_over().map(drop);
            }
            scan.members(|scan, part| {
                match (part.text, name.resolve()) {
                    ("stringValue", Ok(name)) => self
                        .text_attributes
                        .extend(text(scan)?.map(|value| (name, value))),
                    _ => drop(scan.step_over()?),
                }
                Ok(())
            })
        })
    }
}

fn text<'a>(scan: &mut Scanner<'a>) -> Result<Option<Cow<'a, str>>, Syntax> {
    if scan.peek() == Some(b'"') {
        scalar(scan)
    } else {
        scan.step_over().map(|_| None)
    }
}
