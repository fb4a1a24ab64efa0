//! What the projector puts into the archive's retry queue when Firehose does not take a row, and redrive takes out.
//!
//! `{"kind":"archive","row":{..}}`, or for a large row `{"kind":"archive","bucket":..,"key":..}`: the line is in that object then.

use crate::row::Row;
use crate::text::write_text;
use serde::Deserialize;
use thiserror::Error;

/// A message above this goes as a pointer: SQS takes 1,048,576 bytes a call, of at most 10 messages.
pub const MAX_MESSAGE_BYTES: usize = 200_000;

/// A message of the archive's retry queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchiveMessage {
    /// The row itself.
    Row(Box<Row>),
    /// Where the row's line is kept.
    Pointer {
        /// The bucket.
        bucket: String,
        /// The key of the object.
        key: String,
    },
}

/// Why a text is no message for the archive.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BadArchiveMessage {
    /// No JSON, or a field of another type.
    #[error("the message cannot be read")]
    Unreadable(#[source] serde_json::Error),
    /// Another kind, or neither a row nor a bucket with a key.
    #[error("the message is no archive row and no pointer to one")]
    Shape,
}

/// No tagged enum: those break when any dependency switches on serde_json's `arbitrary_precision` (F-RS-5).
#[derive(Deserialize)]
struct Wire {
    kind: String,
    row: Option<Box<Row>>,
    bucket: Option<String>,
    key: Option<String>,
}

impl ArchiveMessage {
    /// Reads a message's body.
    ///
    /// # Errors
    /// [`BadArchiveMessage`].
    pub fn parse(body: &str) -> Result<Self, BadArchiveMessage> {
        let wire: Wire = serde_json::from_str(body).map_err(BadArchiveMessage::Unreadable)?;
        match wire {
            Wire {
                kind,
                row: Some(row),
                bucket: None,
                key: None,
            } if kind == "archive" => Ok(Self::Row(row)),
            Wire {
                kind,
                row: None,
                bucket: Some(bucket),
                key: Some(key),
            } if kind == "archive" => Ok(Self::Pointer { bucket, key }),
            Wire { .. } => Err(BadArchiveMessage::Shape),
        }
    }

    /// Reads the line that a pointer points to.
    ///
    /// # Errors
    /// [`BadArchiveMessage::Unreadable`].
    pub fn parse_line(line: &str) -> Result<Row, BadArchiveMessage> {
        serde_json::from_str(line).map_err(BadArchiveMessage::Unreadable)
    }

    /// The message's body.
    #[must_use]
    pub fn to_body(&self) -> String {
        match self {
            Self::Row(row) => format!(
                "{{\"kind\":\"archive\",\"row\":{}}}",
                row.to_line().trim_end_matches('\n')
            ),
            Self::Pointer { bucket, key } => {
                let mut body = "{\"kind\":\"archive\",\"bucket\":".to_owned();
                write_text(bucket, &mut body);
                body.push_str(",\"key\":");
                write_text(key, &mut body);
                body.push('}');
                body
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redaction::Redaction;
    use sagaline_stream::Image;

    #[test]
    fn a_message_of_either_kind_comes_back_from_its_body() {
        let head =
            Image::parse("{\"order_id\":{\"S\":\"o\\u2028\"},\"version\":{\"N\":\"1\"}}").unwrap();
        let row = Row::from_head(&head, &Redaction::new("", None)).unwrap();
        let message = ArchiveMessage::Row(Box::new(row.clone()));
        assert!(
            message
                .to_body()
                .starts_with(r#"{"kind":"archive","row":{"event_id":null,"#)
                && !message.to_body().contains('\n')
        );
        assert_eq!(ArchiveMessage::parse(&message.to_body()).unwrap(), message);
        assert_eq!(ArchiveMessage::parse_line(&row.to_line()).unwrap(), row);

        let pointer = ArchiveMessage::Pointer {
            bucket: "park".to_owned(),
            key: "spill/archive/\"".to_owned(),
        };
        assert_eq!(
            pointer.to_body(),
            r#"{"kind":"archive","bucket":"park","key":"spill/archive/\""}"#
        );
        assert_eq!(ArchiveMessage::parse(&pointer.to_body()).unwrap(), pointer);
    }

    #[test]
    fn what_is_no_message_for_the_archive_is_refused() {
        for body in [
            "",
            "[]",
            r#"{"kind":"archive"}"#,
            r#"{"kind":"archive","bucket":"b"}"#,
            r#"{"kind":"other","bucket":"b","key":"k"}"#,
        ] {
            assert!(ArchiveMessage::parse(body).is_err(), "{body}");
        }
    }
}
