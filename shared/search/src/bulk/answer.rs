//! What a `_bulk` answer means: a pure function over its literal status and body.
//!
//! Items are matched by their position, but only after their number, operation and ids agree (F-OS-1); otherwise nothing is known, and
//! everything is sent again, which external versions make harmless. Judged by status first, then by type, never by reason (F-OS-3).

use crate::bulk::plan::Outcome;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// What the answer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answered {
    /// One outcome an item, in the order they were sent.
    Items(Vec<Outcome>),
    /// The request was refused as a whole because of something in it, or of its size. One item alone: `alone` is its outcome.
    Split {
        /// The outcome if there is nothing left to split.
        alone: Outcome,
    },
    /// Nothing is known of any item.
    Again {
        /// Why.
        reason: String,
    },
}

#[derive(Deserialize)]
struct BulkBody {
    items: Vec<BTreeMap<String, ItemBody>>,
}

#[derive(Deserialize)]
struct ItemBody {
    #[serde(rename = "_id")]
    id: Option<String>,
    #[serde(rename = "_index")]
    index: Option<String>,
    status: Option<u16>,
    error: Option<Value>,
}

/// Longest reason that is passed on, in bytes: the server's may hold whole documents.
const MAX_REASON_BYTES: usize = 500;

/// Judges the answer to a request for that alias with these ids.
pub(crate) fn judge<'i>(
    alias: &str,
    status: u16,
    body: &[u8],
    ids: impl ExactSizeIterator<Item = &'i str>,
) -> Answered {
    let again = |what: &str| Answered::Again {
        reason: format!("{what} (status {status}): {}", excerpt(body)),
    };
    match status {
        200..=299 => match serde_json::from_slice::<BulkBody>(body) {
            Ok(answer) => matched(alias, &answer.items, ids).unwrap_or_else(again),
            Err(_) => again("the answer is no bulk answer"),
        },
        // Too large is said by the server, or by whatever stands before it, in any form.
        413 => Answered::Split {
            alone: Outcome::Refused(format!(
                "the document is too large for the server: {}",
                excerpt(body)
            )),
        },
        // One bad item can spoil the whole request (F-OS-5). If not even a single item is told in OpenSearch's own words what is wrong with
        // it, something in between refuses, and the document is innocent.
        400 => match serde_json::from_slice::<Value>(body) {
            Ok(answer) if answer.get("error").is_some() => Answered::Split {
                alone: Outcome::Refused(describe(status, answer.get("error"))),
            },
            Ok(_) | Err(_) => Answered::Split {
                alone: Outcome::Retry(format!("refused with status 400: {}", excerpt(body))),
            },
        },
        401 | 403 | 404 => {
            again("the request is not allowed, or there is no such index: configuration?")
        }
        _ => again("the request failed"),
    }
}

fn matched<'i>(
    alias: &str,
    items: &[BTreeMap<String, ItemBody>],
    ids: impl ExactSizeIterator<Item = &'i str>,
) -> Result<Answered, &'static str> {
    if items.len() != ids.len() {
        return Err("the answer has another number of items");
    }
    let outcomes = items
        .iter()
        .zip(ids)
        .map(|(item, id)| match item.first_key_value() {
            Some((operation, body))
                if operation == "index" && item.len() == 1 && body.id.as_deref() == Some(id) =>
            {
                Ok(outcome(alias, body))
            }
            Some(_) | None => Err("the answer's items are not those that were sent"),
        });
    outcomes.collect::<Result<_, _>>().map(Answered::Items)
}

fn outcome(alias: &str, item: &ItemBody) -> Outcome {
    let kind = item
        .error
        .as_ref()
        .and_then(|error| error.get("type"))
        .and_then(Value::as_str);
    let Some(status) = item.status else {
        return Outcome::Retry("the item has no status".to_owned());
    };
    let reason = || describe(status, item.error.as_ref());
    match (status, kind) {
        (200..=299, _) => Outcome::Done,
        (409, None | Some("version_conflict_engine_exception")) => Outcome::Stale,
        // A server that protects itself says nothing about the document, whatever status it dresses it in.
        (
            400 | 413,
            Some(
                "cluster_block_exception"
                | "circuit_breaking_exception"
                | "index_not_found_exception",
            ),
        ) => Outcome::Retry(reason()),
        // An alias without a write index: the document has met no index yet, so none has refused it (tried with 2.19.6).
        (400, Some("illegal_argument_exception")) if item.index.as_deref() == Some(alias) => {
            Outcome::Retry(reason())
        }
        (400 | 413, _) => Outcome::Refused(reason()),
        _ => Outcome::Retry(reason()),
    }
}

/// `400 mapper_parsing_exception: failed to parse field ...`.
fn describe(status: u16, error: Option<&Value>) -> String {
    let part = |name: &str| {
        error
            .and_then(|error| error.get(name))
            .and_then(Value::as_str)
    };
    let text = match (part("type"), part("reason")) {
        (Some(kind), Some(reason)) => format!("{status} {kind}: {reason}"),
        (Some(text), None) | (None, Some(text)) => format!("{status} {text}"),
        (None, None) => {
            error.map_or_else(|| status.to_string(), |error| format!("{status} {error}"))
        }
    };
    clip(&text)
}

fn excerpt(body: &[u8]) -> String {
    clip(&String::from_utf8_lossy(
        body.get(..MAX_REASON_BYTES * 2).unwrap_or(body),
    ))
}

fn clip(text: &str) -> String {
    text.get(..text.floor_char_boundary(MAX_REASON_BYTES))
        .unwrap_or(text)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(status: u16, body: &str, ids: &[&str]) -> Answered {
        judge("orders-write", status, body.as_bytes(), ids.iter().copied())
    }

    // C-32, C-35
    #[test]
    fn each_item_is_judged_by_its_status_then_its_type() {
        #[track_caller]
        fn check(item: &str, expected: &str) {
            let index = if item.contains("_index") {
                ""
            } else {
                r#""_index":"orders-v1","#
            };
            let body = format!(
                r#"{{"took":1,"errors":true,"items":[{{"index":{{{index}"_id":"o-1",{item}}}}}]}}"#
            );
            let Answered::Items(outcomes) = judged(200, &body, &["o-1"]) else {
                panic!("not matched: {body}")
            };
            let name = match outcomes.first() {
                Some(Outcome::Done) => "done",
                Some(Outcome::Stale) => "stale",
                Some(Outcome::Refused(_)) => "refused",
                Some(Outcome::Retry(_)) => "retry",
                None => "nothing",
            };
            assert_eq!(name, expected, "{item}");
        }
        check(r#""status":201,"result":"created""#, "done");
        check(r#""status":200,"result":"updated""#, "done");
        check(
            r#""status":409,"error":{"type":"version_conflict_engine_exception","reason":"[o-1]: version conflict"}"#,
            "stale",
        );
        check(r#""status":409"#, "stale");
        check(
            r#""status":409,"error":{"type":"snapshot_in_progress_exception"}"#,
            "retry",
        );
        check(
            r#""status":429,"error":{"type":"rejected_execution_exception","reason":"full"}"#,
            "retry",
        );
        check(
            r#""status":429,"error":{"type":"circuit_breaking_exception"}"#,
            "retry",
        );
        check(
            r#""status":429,"error":{"type":"cluster_block_exception","reason":"disk usage exceeded flood-stage watermark"}"#,
            "retry",
        );
        check(r#""status":429"#, "retry");
        check(
            r#""status":500,"error":{"type":"process_cluster_event_timeout_exception"}"#,
            "retry",
        );
        check(
            r#""status":503,"error":{"type":"unavailable_shards_exception"}"#,
            "retry",
        );
        check(
            r#""status":403,"error":{"type":"cluster_block_exception","reason":"index [orders-v1] blocked by: [FORBIDDEN/8]"}"#,
            "retry",
        );
        check(
            r#""status":403,"error":{"type":"security_exception"}"#,
            "retry",
        );
        check(
            r#""status":404,"error":{"type":"index_not_found_exception"}"#,
            "retry",
        );
        check(
            r#""status":400,"error":{"type":"mapper_parsing_exception","reason":"failed to parse"}"#,
            "refused",
        );
        check(
            r#""status":400,"error":{"type":"document_parsing_exception"}"#,
            "refused",
        );
        check(
            r#""status":400,"error":{"type":"strict_dynamic_mapping_exception"}"#,
            "refused",
        );
        check(
            r#""status":400,"error":{"type":"illegal_argument_exception"}"#,
            "refused",
        );
        let no_write_index = r#""_index":"orders-write","status":400,"error":{"type":"illegal_argument_exception","reason":"no write index"}"#;
        check(no_write_index, "retry");
        check(r#""status":400"#, "refused");
        check(r#""status":400,"error":"text""#, "refused");
        check(r#""result":"created""#, "retry");
        check(r#""status":302"#, "retry");
    }

    #[test]
    fn items_that_are_not_those_that_were_sent_are_an_unknown_outcome() {
        let done = |operation: &str, id: &str| {
            format!(r#"{{"{operation}":{{"_id":"{id}","status":201}}}}"#)
        };
        let body = |items: &[String]| format!(r#"{{"items":[{}]}}"#, items.join(","));
        let sent = ["o-1", "o-2"];
        let unknown = |body: &str| {
            assert!(
                matches!(judged(200, body, &sent), Answered::Again { .. }),
                "{body}"
            )
        };
        assert_eq!(
            judged(
                200,
                &body(&[done("index", "o-1"), done("index", "o-2")]),
                &sent
            ),
            Answered::Items(vec![Outcome::Done, Outcome::Done])
        );
        unknown(&body(&[done("index", "o-1")]));
        unknown(&body(&[done("index", "o-2"), done("index", "o-1")]));
        unknown(&body(&[done("index", "o-1"), done("create", "o-2")]));
        unknown(&body(&[
            done("index", "o-1"),
            r#"{"index":{"status":201}}"#.to_owned(),
        ]));
        unknown(&body(&[done("index", "o-1"), "{}".to_owned()]));
        unknown(r#"{"errors":false}"#);
        unknown("<html>200</html>");
        unknown("");
    }

    // C-36, C-40
    #[test]
    fn a_whole_answer_is_judged_whatever_form_its_body_has() {
        let again = |status, body: &str| {
            assert!(
                matches!(judged(status, body, &["o-1"]), Answered::Again { .. }),
                "{status}"
            )
        };
        again(429, "too many requests");
        again(503, "<html>Service Unavailable</html>");
        again(500, "");
        again(502, "{}");
        again(
            401,
            r#"{"message":"The security token included in the request is expired"}"#,
        );
        again(403, "throttled");
        again(404, r#"{"error":{"type":"index_not_found_exception"}}"#);
        again(302, "");

        let alone = |status, body: &str| match judged(status, body, &["o-1"]) {
            Answered::Split { alone } => alone,
            other @ (Answered::Items(_) | Answered::Again { .. }) => panic!("{status}: {other:?}"),
        };
        assert!(matches!(
            alone(413, "<html>Too Large</html>"),
            Outcome::Refused(_)
        ));
        let error = r#"{"error":{"type":"illegal_argument_exception","reason":"id [..] is too long"},"status":400}"#;
        assert_eq!(
            alone(400, error),
            Outcome::Refused("400 illegal_argument_exception: id [..] is too long".to_owned())
        );
        assert!(matches!(
            alone(400, "<html>Bad Request</html>"),
            Outcome::Retry(_)
        ));
    }
}
