//! What the projector puts into the search retry queue when the index does not take a version, and redrive takes out:
//! `{"kind":"search","order_id":..,"version":..,"deleted":..}`. It holds no document: redrive reads the head again and writes what it finds,
//! so a message can only move the index forward.

use crate::document::SearchInput;
use crate::item::image_of;
use aws_sdk_dynamodb::types::AttributeValue;
use sagaline_stream::Failure;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use thiserror::Error;

/// A message of the search retry queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchMessage {
    /// The order.
    pub order_id: String,
    /// The version that was not written.
    pub version: i64,
    /// Whether it was a tombstone.
    pub deleted: bool,
}

/// Why a text is no message for the index.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BadSearchMessage {
    /// No JSON, or a field that is missing or of another type.
    #[error("the message cannot be read")]
    Unreadable(#[source] serde_json::Error),
    /// Another kind of message.
    #[error("the message is of the kind {kind:?}, not \"search\"")]
    Kind {
        /// What it says it is.
        kind: String,
    },
}

/// No tagged enum: those break when any dependency switches on serde_json's `arbitrary_precision` (F-RS-5).
#[derive(Serialize, Deserialize)]
struct Wire {
    kind: String,
    order_id: String,
    version: i64,
    deleted: bool,
}

impl SearchMessage {
    /// Reads a message's body.
    ///
    /// # Errors
    /// [`BadSearchMessage`].
    pub fn parse(body: &str) -> Result<Self, BadSearchMessage> {
        let Wire {
            kind,
            order_id,
            version,
            deleted,
        } = serde_json::from_str(body).map_err(BadSearchMessage::Unreadable)?;
        if kind == "search" {
            Ok(Self {
                order_id,
                version,
                deleted,
            })
        } else {
            Err(BadSearchMessage::Kind { kind })
        }
    }

    /// The message's body.
    #[must_use]
    pub fn to_body(&self) -> String {
        let order_id = serde_json::Value::from(self.order_id.as_str());
        format!(
            r#"{{"kind":"search","order_id":{order_id},"version":{},"deleted":{}}}"#,
            self.version, self.deleted
        )
    }

    /// What to write now, given a consistent read of the head: the head itself, or its tombstone when it was removed. `None` is stale: the
    /// head is gone, and its removal comes with a record of its own.
    ///
    /// # Errors
    /// Poison: what stands in the table is no head.
    pub fn resolve(
        &self,
        head: Option<&HashMap<String, AttributeValue>>,
    ) -> Result<Option<SearchInput>, Failure> {
        match head {
            Some(item) => SearchInput::from_head(&image_of(item)).map(Some),
            None if self.deleted => Ok(Some(SearchInput::tombstone(&self.order_id, self.version))),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_back_from_its_body_and_another_kind_is_refused() {
        let message = SearchMessage {
            order_id: "o-1\"\u{0}".to_owned(),
            version: 4,
            deleted: true,
        };
        assert_eq!(
            message.to_body(),
            r#"{"kind":"search","order_id":"o-1\"\u0000","version":4,"deleted":true}"#
        );
        assert_eq!(SearchMessage::parse(&message.to_body()).unwrap(), message);
        assert!(matches!(
            SearchMessage::parse(r#"{"kind":"archive","row":{}}"#),
            Err(BadSearchMessage::Unreadable(_))
        ));
        let other = r#"{"kind":"archive","order_id":"o-1","version":1,"deleted":false}"#;
        assert!(matches!(
            SearchMessage::parse(other),
            Err(BadSearchMessage::Kind { .. })
        ));
    }

    // C-49 (this crate's half)
    #[test]
    fn a_redriven_message_writes_the_head_as_it_stands_and_never_what_it_was() {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let head = HashMap::from([
            ("PK".to_owned(), text("ORDER#o-2")),
            ("version".to_owned(), AttributeValue::N("4".to_owned())),
        ]);
        let message = SearchMessage {
            order_id: "o-2".to_owned(),
            version: 1,
            deleted: false,
        };
        assert_eq!(
            message
                .resolve(Some(&head))
                .unwrap()
                .map(|input| input.version()),
            Some(4)
        );
        assert_eq!(message.resolve(None).unwrap(), None);

        let removed = SearchMessage {
            deleted: true,
            version: 6,
            ..message
        };
        assert_eq!(
            removed.resolve(None).unwrap(),
            Some(SearchInput::tombstone("o-2", 6))
        );
        assert_eq!(
            removed
                .resolve(Some(&head))
                .unwrap()
                .map(|input| input.deleted()),
            Some(false)
        );
    }
}
