//! Orders themselves: their columns, and how all of them are read.
//!
//! A head is read as tolerantly as can be: an export of a hundred thousand orders must not end at one odd attribute, which becomes NULL.

use crate::commands::table::explain::text;
use crate::error::{Code, CommandError};
use crate::session::Session;
use crate::tabular::{Cell, Column};
use futures::stream::{self, Stream, TryStreamExt as _};
use sagaline_lambda::one_line;
use sagaline_search::backfill::{Segment, State, scan_page};
use sagaline_store::value::{as_integer, to_json};
use sagaline_store::{Item, PK};

/// Parts of the table that are read beside each other.
const SEGMENTS: u32 = 4;

const TEXTS: [&str; 3] = ["user_id", "status", "state"];
const MORE_TEXTS: [&str; 6] = [
    "currency",
    "created_at",
    "updated_at",
    "wake_at",
    "payment_id",
    "tracking",
];

pub(super) fn columns() -> Vec<Column> {
    let mut columns = vec![Column::text("order_id"), Column::integer("version")];
    columns.extend(TEXTS.map(Column::text));
    columns.push(Column::integer("total_minor"));
    columns.extend(MORE_TEXTS.map(Column::text));
    columns.extend([Column::integer("line_count"), Column::text("lines")]);
    columns
}

/// The row of an order; its lines are JSON text.
pub(super) fn row(head: &Item) -> Vec<Cell> {
    let texts = |names: &[&str]| -> Vec<Cell> {
        let cell = |name: &&str| {
            Some(text(head, name))
                .filter(|text| !text.is_empty())
                .into()
        };
        names.iter().map(cell).collect()
    };
    let integer = |name: &str| -> Cell {
        let number = head.get(name).and_then(as_integer);
        number.and_then(|number| i64::try_from(number).ok()).into()
    };
    let id = Some(text(head, "order_id")).filter(|id| !id.is_empty());
    let id = id.or_else(|| text(head, PK).strip_prefix("ORDER#"));
    let mut row = vec![id.into(), integer("version")];
    row.extend(texts(&TEXTS));
    row.push(integer("total_minor"));
    row.extend(texts(&MORE_TEXTS));
    let lines = head.get("lines");
    let count = lines.and_then(|lines| lines.as_l().ok());
    row.push(
        count
            .and_then(|lines| i64::try_from(lines.len()).ok())
            .into(),
    );
    row.push(lines.map(|lines| to_json(lines).to_string()).into());
    row
}

/// Every head, page by page, the parts of the table beside each other: no more than a page of each is held.
pub(super) fn scan(session: &Session) -> impl Stream<Item = Result<Vec<Item>, CommandError>> {
    let segments = State::new(SEGMENTS).segments;
    let pages = segments
        .into_iter()
        .map(|segment| Box::pin(pages(session, segment)));
    stream::select_all(pages)
}

fn pages(
    session: &Session,
    segment: Segment,
) -> impl Stream<Item = Result<Vec<Item>, CommandError>> {
    let client = session.aws.dynamodb();
    stream::try_unfold((client, segment), async |(client, segment)| {
        if segment.finished {
            return Ok(None);
        }
        let page = scan_page(&client, &session.table, SEGMENTS, &segment)
            .await
            .map_err(|error| {
                CommandError::new(
                    Code::Unavailable,
                    format!("the table: {}", one_line(error.as_ref())),
                )
            })?;
        let segment = Segment {
            finished: page.next.is_none(),
            after: page.next,
            ..segment
        };
        Ok(Some((page.heads, (client, segment))))
    })
    .try_filter(|heads| std::future::ready(!heads.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sagaline_store::value::{from_json, n, s};
    use serde_json::json;

    #[test]
    fn an_odd_head_is_a_row_with_what_can_be_read_of_it() {
        let odd = Item::from([
            (PK.to_owned(), s("ORDER#o-1")),
            ("version".to_owned(), n("3.0")),
            ("total_minor".to_owned(), s("much")),
            ("status".to_owned(), n(5)),
            (
                "lines".to_owned(),
                from_json(&json!([{"sku": "mug", "qty": 2}])),
            ),
        ]);
        let row = row(&odd);
        assert_eq!(row.len(), columns().len());
        assert_eq!(row.first(), Some(&Cell::Text("o-1".to_owned())));
        assert_eq!(row.get(1), Some(&Cell::Integer(3)));
        assert_eq!(
            row.last(),
            Some(&Cell::Text(r#"[{"qty":2,"sku":"mug"}]"#.to_owned()))
        );
        assert_eq!(
            row.iter().filter(|cell| **cell == Cell::Null).count(),
            row.len() - 4
        );
    }
}
