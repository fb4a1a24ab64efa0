//! From what lies in the bucket or a queue to pieces of work. Pure.

use crate::error::{Code, CommandError};
use clap::ValueEnum;
use sagaline_stream::{FailureDocument, Parked, SqsBatch, StreamRange};
use serde_json::Value;
use std::fmt;

/// Whose work it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Who {
    /// The saga processor.
    Saga,
    /// The projector: search and archive.
    Projector,
    /// The index alone.
    Search,
    /// The archive alone.
    Archive,
}

impl Who {
    pub(crate) const ALL: [Self; 4] = [Self::Saga, Self::Projector, Self::Search, Self::Archive];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Saga => "saga",
            Self::Projector => "projector",
            Self::Search => "search",
            Self::Archive => "archive",
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|who| who.as_str() == name)
    }

    /// By the last word of a function's name, as the template makes them: `<stack>-saga`, `<stack>-projector`. A version or alias may follow.
    pub(crate) fn of_function(arn: &str) -> Option<Self> {
        let name = arn.rsplit_once(":function:").map_or(arn, |(_, name)| name);
        let name = name.split(':').next().unwrap_or_default();
        match name.rsplit('-').next() {
            Some("saga") => Some(Self::Saga),
            Some("projector") => Some(Self::Projector),
            Some(_) | None => None,
        }
    }
}

/// One piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) who: Who,
    pub(crate) content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// A record of the stream, as it came.
    Record(String),
    /// The body of a message of a retry queue.
    Message(String),
}

impl Piece {
    /// The order that it is of, as far as can be told without its handler.
    pub(crate) fn order(&self) -> Option<String> {
        let (Content::Record(text) | Content::Message(text)) = &self.content;
        let value: Value = serde_json::from_str(text).ok()?;
        let at = |path: &str| {
            value
                .pointer(path)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        match &self.content {
            Content::Record(_) => at("/dynamodb/Keys/PK/S"),
            Content::Message(_) => at("/order_id")
                .or_else(|| at("/row/order_id"))
                .map(|order_id| format!("ORDER#{order_id}")),
        }
    }
}

/// Why nothing can be taken up from what lies there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// It says where records were, and has none.
    Pointer {
        range: Box<StreamRange>,
        /// The UTC day of the document, if it says so.
        day: Option<String>,
    },
    /// Something else, in one line.
    Broken(String),
}

impl Unusable {
    /// What helps instead.
    pub(crate) fn advice(&self) -> String {
        match self {
            Self::Pointer { day, .. } => {
                let day = day.as_deref().unwrap_or("DAY");
                format!(
                    "run `sagaline search verify --repair` and `sagaline archive verify --date {day}` instead: they find what is missing by the table"
                )
            }
            Self::Broken(_) => "look at it with `show`; nothing was done".to_owned(),
        }
    }

    pub(crate) fn into_error(self, place: &str) -> CommandError {
        let code = match self {
            Self::Pointer { .. } => Code::StillAside,
            Self::Broken(_) => Code::BadInput,
        };
        CommandError::new(code, format!("{place}: {self}")).advise(self.advice())
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pointer { range, .. } => {
                let StreamRange {
                    stream_arn,
                    shard_id,
                    start,
                    end,
                    ..
                } = &**range;
                write!(
                    f,
                    "only a pointer, without records: shard {shard_id}, sequence numbers {start} to {end}, of {stream_arn}"
                )
            }
            Self::Broken(reason) => f.write_str(reason),
        }
    }
}

/// The piece of a parked object.
pub(crate) fn of_parked(bytes: &[u8]) -> Result<Vec<Piece>, Unusable> {
    let parked: Parked = serde_json::from_slice(bytes)
        .map_err(|error| Unusable::Broken(format!("not a parked record: {error}")))?;
    let who = Who::of_name(&parked.who)
        .ok_or_else(|| Unusable::Broken(format!("parked by '{}', nobody we know", parked.who)))?;
    // Redrive parks whole messages of the retry queues under the name of their sink.
    let message = match who {
        Who::Search | Who::Archive => message_body(&parked.record),
        Who::Saga | Who::Projector => None,
    };
    Ok(vec![Piece {
        who,
        content: message.map_or(Content::Record(parked.record), Content::Message),
    }])
}

/// The pieces of an on-failure document, for that consumer or, if none is given, for the one whose function it names.
pub(crate) fn of_document(bytes: &[u8], to: Option<Who>) -> Result<Vec<Piece>, Unusable> {
    let document = FailureDocument::parse(bytes)
        .map_err(|error| Unusable::Broken(sagaline_lambda::one_line(&error)))?;
    let batch = match document.batch() {
        None => {
            let day = document.timestamp.as_deref();
            return Err(Unusable::Pointer {
                range: Box::new(document.range.clone()),
                day: day.and_then(|at| at.get(..10)).map(str::to_owned),
            });
        }
        Some(Ok(batch)) => batch,
        Some(Err(error)) => {
            return Err(Unusable::Broken(format!("its payload: {error}")));
        }
    };
    let function = document.function_arn.as_deref().unwrap_or_default();
    let who = to.or_else(|| Who::of_function(function)).ok_or_else(|| {
        Unusable::Broken(format!(
            "whose records they are is not to be told from the function '{function}': pass --to"
        ))
    })?;
    let piece = |raw: &&str| Piece {
        who,
        content: Content::Record((*raw).to_owned()),
    };
    Ok(batch.raw().iter().map(piece).collect())
}

/// The pieces of a dead letter: a message of the retry queue, or an on-failure document that a mapping sent to a queue.
pub(crate) fn of_letter(body: &str, to: Option<Who>) -> Result<Vec<Piece>, Unusable> {
    let value: Value = serde_json::from_str(body)
        .map_err(|error| Unusable::Broken(format!("not JSON: {error}")))?;
    match value.get("kind").and_then(Value::as_str) {
        Some(kind) => match Who::of_name(kind) {
            Some(who @ (Who::Search | Who::Archive)) => Ok(vec![Piece {
                who,
                content: Content::Message(body.to_owned()),
            }]),
            Some(Who::Saga | Who::Projector) | None => Err(Unusable::Broken(format!(
                "a message of the unknown kind '{kind}'"
            ))),
        },
        None => of_document(body.as_bytes(), to),
    }
}

/// The body, if this is the raw text of a queue's message.
fn message_body(raw: &str) -> Option<String> {
    let event = format!("{{\"Records\":[{raw}]}}");
    let batch = SqsBatch::parse(event.as_bytes()).ok()?;
    match batch.messages() {
        [Ok(message)] => Some(message.body().to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARD: &str = r#""DDBStreamBatchInfo":{"shardId":"shardId-7","startSequenceNumber":"1100","endSequenceNumber":"1300","batchSize":3,"streamArn":"arn:aws:dynamodb:eu-west-1:1:table/orders/stream/x"}"#;

    fn document(function: &str, rest: &str) -> String {
        format!(
            r#"{{"requestContext":{{"requestId":"r","functionArn":"arn:aws:lambda:eu-west-1:1:function:{function}","condition":"RetryAttemptsExhausted","approximateInvokeCount":4}},"version":"1.0","timestamp":"2026-11-30T10:00:00.000Z",{rest}}}"#
        )
    }

    // C-50
    #[test]
    fn a_document_without_records_is_only_a_pointer_and_names_its_range() {
        let pointer = of_document(document("shop-saga", SHARD).as_bytes(), None).unwrap_err();
        assert_eq!(
            pointer.to_string(),
            "only a pointer, without records: shard shardId-7, sequence numbers 1100 to 1300, of arn:aws:dynamodb:eu-west-1:1:table/orders/stream/x"
        );
        let advice = pointer.advice();
        assert!(
            advice.contains("`sagaline search verify --repair`"),
            "{advice}"
        );
        assert!(
            advice.contains("`sagaline archive verify --date 2026-11-30`"),
            "{advice}"
        );
        assert_eq!(
            of_letter(&document("shop-saga", SHARD), None),
            Err(pointer),
            "the same from a queue"
        );
    }

    // C-50
    #[test]
    fn a_document_with_a_payload_is_the_work_of_its_function() {
        let payload = r#","payload":"{\"Records\":[{\"eventID\":\"a\"},{\"eventID\":tru}]}""#;
        let records = |who| {
            [r#"{"eventID":"a"}"#, r#"{"eventID":tru}"#].map(|raw| Piece {
                who,
                content: Content::Record(raw.to_owned()),
            })
        };
        let read = |function: &str, to| {
            of_document(
                document(function, &format!("{SHARD}{payload}")).as_bytes(),
                to,
            )
        };
        assert_eq!(read("shop-saga", None).unwrap(), records(Who::Saga));
        assert_eq!(
            read("my-shop-projector:live", None).unwrap(),
            records(Who::Projector)
        );
        assert_eq!(
            read("other", Some(Who::Search)).unwrap(),
            records(Who::Search)
        );
        assert!(
            read("other", None)
                .unwrap_err()
                .to_string()
                .contains("--to")
        );
    }

    // C-50
    #[test]
    fn the_document_of_a_window_is_refused_in_one_line() {
        let window = document(
            "shop-saga",
            r#""timeWindowInfo":{"windowStart":"a","windowEnd":"b"}"#,
        );
        let error = of_document(window.as_bytes(), None)
            .unwrap_err()
            .into_error("d.json")
            .to_string();
        assert!(error.starts_with("error[SL0002]: d.json: an on-failure document of a tumbling window (`timeWindowInfo`)"), "{error}");
        assert_eq!(error.lines().count(), 1);
    }

    #[test]
    fn what_redrive_parked_is_a_message_and_what_the_projector_parked_a_record() {
        let parked = |who: &str, record: &str| {
            let object = serde_json::json!({"who": who, "reason": "r", "error": "e", "function": "f", "request_id": "r", "stream_arn": null,
                "sequence_number": null, "event_id": null, "parked_at": "2026-11-30T10:00:00.000Z", "record": record});
            of_parked(object.to_string().as_bytes())
        };
        let message = r#"{"messageId":"m","body":"{\"kind\":\"search\"}","eventSource":"aws:sqs"}"#;
        let content = |pieces: Result<Vec<Piece>, Unusable>| pieces.unwrap().pop().unwrap().content;
        assert_eq!(
            content(parked("search", message)),
            Content::Message(r#"{"kind":"search"}"#.to_owned())
        );
        let record = r#"{"eventID":"a","dynamodb":{}}"#;
        for who in ["saga", "projector", "search", "archive"] {
            assert_eq!(
                content(parked(who, record)),
                Content::Record(record.to_owned())
            );
        }
        assert!(parked("nobody", record).is_err() && of_parked(b"{}").is_err());
    }

    #[test]
    fn a_piece_names_its_order_in_any_form() {
        let of = |content| Piece {
            who: Who::Archive,
            content,
        };
        let record = |raw: &str| of(Content::Record(raw.to_owned())).order();
        let message = |body: &str| of(Content::Message(body.to_owned())).order();
        let named = Some("ORDER#o-1".to_owned());
        assert_eq!(
            record(r#"{"dynamodb":{"Keys":{"PK":{"S":"ORDER#o-1"}}}}"#),
            named
        );
        assert_eq!(message(r#"{"kind":"search","order_id":"o-1"}"#), named);
        assert_eq!(
            message(r#"{"kind":"archive","row":{"order_id":"o-1"}}"#),
            named
        );
        assert_eq!(
            message(r#"{"kind":"archive","bucket":"b","key":"k"}"#),
            None
        );
        assert_eq!((record("{tru"), message("")), (None, None));
    }

    #[test]
    fn a_dead_letter_is_a_message_of_its_kind() {
        let body = r#"{"kind":"archive","bucket":"b","key":"k"}"#;
        assert_eq!(
            of_letter(body, None).unwrap(),
            [Piece {
                who: Who::Archive,
                content: Content::Message(body.to_owned())
            }]
        );
        for broken in ["", "{}", "[]", r#"{"kind":"saga"}"#] {
            assert!(
                matches!(of_letter(broken, None), Err(Unusable::Broken(_))),
                "{broken}"
            );
        }
    }
}
