//! What would be done with a piece of work: the dry run. Reads the table, writes nothing.

use super::hands::order_named;
use super::piece::{Content, Piece, Who};
use crate::error::CommandError;
use sagaline_archive::{ArchiveMessage, Redaction, Row};
use sagaline_order::OrderId;
use sagaline_saga::{Looked, look};
use sagaline_search::{SearchInput, SearchMessage, image_of};
use sagaline_sinks::{Ours, ours};
use sagaline_store::{Store, Table};
use sagaline_stream::{Failure, Record};

/// What would be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) order_id: Option<String>,
    /// The version that the piece speaks of.
    pub(crate) version: Option<i64>,
    pub(crate) would: String,
}

impl Plan {
    pub(super) fn nothing(why: &str) -> Self {
        Self {
            order_id: None,
            version: None,
            would: format!("do nothing: {why}"),
        }
    }
}

/// A head as far as a plan needs it.
struct Head {
    version: i64,
    state: String,
    finished: bool,
}

/// What would be done with a piece.
pub(crate) async fn plan<T: Table>(piece: &Piece, store: &Store<T>) -> Result<Plan, CommandError> {
    let raw = match &piece.content {
        Content::Record(raw) => raw,
        Content::Message(body) => return message(piece.who, body, store).await,
    };
    let record = match Record::decode(raw) {
        Ok(record) => record,
        Err(broken) => return unreadable(piece.who, raw, &broken.error().to_string(), store).await,
    };
    match piece.who {
        Who::Saga => match look(&record) {
            Ok(Looked::At(order_id)) => saga(order_id, version_of(&record), store).await,
            Ok(Looked::NotOurs | Looked::Unchanged(_)) => {
                Ok(Plan::nothing("not the business of the saga"))
            }
            Err(failure) => unreadable(piece.who, raw, &failure.chain(), store).await,
        },
        Who::Search | Who::Archive | Who::Projector => match ours(&record) {
            Ok(Ours::Yes) => sinks(piece.who, raw, &record, store).await,
            Ok(Ours::No | Ours::Unchanged) => Ok(Plan::nothing("not the business of the sinks")),
            Err(failure) => unreadable(piece.who, raw, &failure.chain(), store).await,
        },
    }
}

async fn message<T: Table>(who: Who, body: &str, store: &Store<T>) -> Result<Plan, CommandError> {
    if who == Who::Archive {
        return Ok(match ArchiveMessage::parse(body) {
            Ok(ArchiveMessage::Row(row)) => row_plan(&row),
            Ok(ArchiveMessage::Pointer { key, .. }) => Plan {
                order_id: None,
                version: None,
                would: format!("put the spilled row {key} into the archive"),
            },
            Err(error) => Plan::nothing(&sagaline_lambda::one_line(&error)),
        });
    }
    match SearchMessage::parse(body) {
        Ok(message) => search(&message, store).await,
        Err(error) => Ok(Plan::nothing(&sagaline_lambda::one_line(&error))),
    }
}

/// A record that its handler refuses.
async fn unreadable<T: Table>(
    who: Who,
    raw: &str,
    why: &str,
    store: &Store<T>,
) -> Result<Plan, CommandError> {
    let Some(order_id) = order_named(raw) else {
        return Ok(Plan::nothing(why));
    };
    let plan = match who {
        Who::Saga => saga(order_id, None, store).await?,
        Who::Search | Who::Projector => {
            let message = SearchMessage {
                order_id: order_id.to_string(),
                version: 0,
                deleted: false,
            };
            let plan = search(&message, store).await?;
            let rest = if who == Who::Projector {
                "; no row for the archive"
            } else {
                ""
            };
            Plan {
                version: None,
                would: format!("{}{rest}", plan.would),
                ..plan
            }
        }
        Who::Archive => return Ok(Plan::nothing(why)),
    };
    Ok(Plan {
        would: format!("{} (the record itself: {why})", plan.would),
        ..plan
    })
}

async fn saga<T: Table>(
    order_id: OrderId,
    version: Option<i64>,
    store: &Store<T>,
) -> Result<Plan, CommandError> {
    let would = match head(&order_id, store).await? {
        None => "do nothing, stale: there is no such order".to_owned(),
        Some(head) if head.finished => format!(
            "do nothing, stale: the order is finished at v{} ({})",
            head.version, head.state
        ),
        Some(head) => format!(
            "drive the order, which is at v{} ({})",
            head.version, head.state
        ),
    };
    Ok(Plan {
        order_id: Some(order_id.to_string()),
        version,
        would,
    })
}

async fn sinks<T: Table>(
    who: Who,
    raw: &str,
    record: &Record<'_>,
    store: &Store<T>,
) -> Result<Plan, CommandError> {
    let input = match SearchInput::from_record(record) {
        Ok(input) => input,
        Err(failure) => return unreadable(who, raw, &failure.chain(), store).await,
    };
    // Columns only: no image is shown, so nothing need be hidden.
    let row = Row::from_record(record, &Redaction::new("", None));
    let row = row.as_ref().map_or_else(
        |failure: &Failure| Plan::nothing(&failure.chain()),
        row_plan,
    );
    if who == Who::Archive {
        return Ok(row);
    }
    let plan = search(&input.message(), store).await?;
    if who == Who::Search {
        return Ok(plan);
    }
    Ok(Plan {
        would: format!("{}; {}", plan.would, row.would),
        ..plan
    })
}

async fn search<T: Table>(message: &SearchMessage, store: &Store<T>) -> Result<Plan, CommandError> {
    let present = head(&OrderId::stored(&message.order_id), store).await?;
    let would = match present {
        Some(head) if head.version > message.version => format!(
            "write the head, which is at v{}; stale if the index holds that",
            head.version
        ),
        Some(head) => format!("write the head, which is at v{}", head.version),
        None if message.deleted => format!("write a tombstone, v{}", message.version),
        None => "do nothing, stale: the head is gone".to_owned(),
    };
    Ok(Plan {
        order_id: Some(message.order_id.clone()),
        version: Some(message.version),
        would,
    })
}

fn row_plan(row: &Row) -> Plan {
    Plan {
        order_id: Some(row.order_id.clone()),
        version: Some(row.version),
        would: format!("put the row of v{} into the archive", row.version),
    }
}

async fn head<T: Table>(
    order_id: &OrderId,
    store: &Store<T>,
) -> Result<Option<Head>, CommandError> {
    let Some(item) = store.load_item(order_id).await? else {
        return Ok(None);
    };
    let image = image_of(&item);
    let version = image.n_i64("version").and_then(Result::ok);
    Ok(Some(Head {
        version: version.unwrap_or_default(),
        state: image.s("state").unwrap_or("no state").to_owned(),
        finished: image.get("due_pk").is_none(),
    }))
}

fn version_of(record: &Record<'_>) -> Option<i64> {
    record.new_image()?.n_i64("version")?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sagaline_store::AttributeValue;
    use sagaline_testkit::MemoryTable;
    use std::collections::HashMap;

    /// A table with o-2 at v4, unfinished.
    fn store() -> Store<MemoryTable> {
        let table = MemoryTable::new();
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let head = HashMap::from([
            ("PK".to_owned(), text("ORDER#o-2")),
            ("SK".to_owned(), text("ORDER#DETAIL")),
            ("state".to_owned(), text("Paying")),
            ("due_pk".to_owned(), text("DUE#1")),
            ("due_sk".to_owned(), text("20261130T100000.000Z#o-2")),
            ("version".to_owned(), AttributeValue::N("4".to_owned())),
        ]);
        table.put(head).unwrap();
        Store::new(table)
    }

    fn record(name: &str, order: &str, image: &str) -> String {
        format!(
            r#"{{"eventID":"e","eventName":"{name}","dynamodb":{{"SequenceNumber":"1","Keys":{{"PK":{{"S":"ORDER#{order}"}},"SK":{{"S":"ORDER#DETAIL"}}}},"{image}":{{"PK":{{"S":"ORDER#{order}"}},"due_pk":{{"S":"DUE#1"}},"version":{{"N":"1"}}}}}}}}"#
        )
    }

    // C-49
    #[tokio::test]
    async fn a_dry_run_says_for_each_consumer_what_would_be_done_now() {
        async fn check(who: Who, record: String, expected: &str) {
            let piece = Piece {
                who,
                content: Content::Record(record),
            };
            assert_eq!(plan(&piece, &store()).await.unwrap().would, expected);
        }
        let v1 = || record("INSERT", "o-2", "NewImage");
        check(
            Who::Search,
            v1(),
            "write the head, which is at v4; stale if the index holds that",
        )
        .await;
        check(Who::Archive, v1(), "put the row of v1 into the archive").await;
        check(Who::Saga, v1(), "drive the order, which is at v4 (Paying)").await;
        check(Who::Projector, v1(), "write the head, which is at v4; stale if the index holds that; put the row of v1 into the archive").await;
        check(
            Who::Search,
            record("INSERT", "o-9", "NewImage"),
            "do nothing, stale: the head is gone",
        )
        .await;
        check(
            Who::Search,
            record("REMOVE", "o-9", "OldImage"),
            "write a tombstone, v2",
        )
        .await;
        check(
            Who::Saga,
            record("REMOVE", "o-2", "OldImage"),
            "do nothing: not the business of the saga",
        )
        .await;
        check(
            Who::Saga,
            record("UPSERT", "o-2", "NewImage"),
            "drive the order, which is at v4 (Paying) (the record itself: eventName: the unknown event name \"UPSERT\")",
        )
        .await;
        check(
            Who::Archive,
            record("UPSERT", "o-2", "NewImage"),
            "do nothing: eventName: the unknown event name \"UPSERT\"",
        )
        .await;
    }
}
