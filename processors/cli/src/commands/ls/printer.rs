//! Prints a list while it is read: JSON row by row inside one document, tables for people in pieces.
//!
//! Nothing is printed before the first rows are there, so that a list which cannot be read at all is an error and nothing else. One that breaks
//! off later leaves its document cut; the exit code says so.

use crate::error::CommandError;
use crate::output;
use futures::{StreamExt as _, TryStreamExt as _};
use sagaline_order::{Order, OrderId};
use sagaline_store::{
    BATCH_GET_ITEMS, Consistency, Cursor, Listing, Source, Store, StoreError, Table, read_head,
};
use serde_json::{Value, json};
use std::pin::pin;

/// Rows of one table for people; its header is repeated after them.
const PIECE: usize = 500;
/// The most rows of one read of a shard.
const PAGE_ROWS: u32 = 1_000;

/// One row.
pub(super) struct Shown {
    pub(super) json: Value,
    pub(super) cells: Vec<String>,
}

/// What the rows of a list have in common.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Their name in JSON.
    pub(super) name: &'static str,
    pub(super) header: &'static [&'static str],
}

pub(super) struct Printer {
    json: bool,
    /// Rows that may still be printed.
    left: u32,
    shape: Shape,
    begun: bool,
    first: bool,
    piece: Vec<Vec<String>>,
}

impl Printer {
    pub(super) fn new(json: bool, limit: u32) -> Self {
        Self {
            json,
            left: limit,
            shape: Shape {
                name: "orders",
                header: &[],
            },
            begun: false,
            first: true,
            piece: Vec::new(),
        }
    }

    /// Prints rows as they stand in the list. Answers where to go on, if there is more.
    pub(super) async fn list<T, R, S>(
        &mut self,
        list: Listing<'_, T, R, S>,
        shape: Shape,
        shown: impl Fn(&R) -> Shown,
    ) -> Result<Option<Cursor>, CommandError>
    where
        T: Table,
        R: Send,
        S: Copy + Into<Source> + Send,
    {
        self.shape = shape;
        let list = list.page_size(self.left.saturating_add(1).min(PAGE_ROWS));
        let mut rows = pin!(list.stream_with_cursors());
        let mut last = None;
        while let Some((row, cursor)) = rows.try_next().await? {
            if self.left == 0 {
                return Ok(last);
            }
            self.row(shown(&row));
            last = Some(cursor);
        }
        Ok(None)
    }

    /// Prints what the heads of the listed orders show: `None` of one that has moved on. A head that cannot be read is a row that says so.
    pub(super) async fn heads<T, R, S>(
        &mut self,
        store: &Store<T>,
        list: Listing<'_, T, R, S>,
        shape: Shape,
        id: impl Fn(&R) -> &OrderId,
        shown: impl Fn(&Order) -> Option<Shown>,
    ) -> Result<Option<Cursor>, CommandError>
    where
        T: Table,
        R: Send,
        S: Copy + Into<Source> + Send,
    {
        self.shape = shape;
        let list = list.page_size(self.left.saturating_add(1).min(PAGE_ROWS));
        // As many as fit into one batch, and no more than are wanted.
        let together = usize::try_from(self.left.saturating_add(1)).unwrap_or(BATCH_GET_ITEMS);
        let chunks = list.stream_with_cursors();
        let mut chunks = pin!(chunks.try_chunks(together.min(BATCH_GET_ITEMS)));
        let mut last = None;
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|broken| CommandError::of_store(&broken.1))?;
            let ids: Vec<OrderId> = chunk.iter().map(|(row, _)| id(row).clone()).collect();
            let items = store.load_items(&ids, Consistency::Strong).await?;
            for ((order_id, item), (_, cursor)) in ids.iter().zip(items).zip(chunk) {
                if self.left == 0 {
                    return Ok(last);
                }
                match item.as_ref().map(read_head) {
                    Some(Ok(order)) => {
                        if let Some(shown) = shown(&order) {
                            self.row(shown);
                        }
                    }
                    Some(Err(error)) => self.row(broken(order_id, &error, shape)),
                    None => {}
                }
                last = Some(cursor);
            }
        }
        Ok(None)
    }

    /// Prints the one row there is.
    pub(super) fn only(&mut self, shape: Shape, shown: Shown) {
        self.shape = shape;
        self.row(shown);
    }

    /// Ends the list.
    pub(super) fn finish(mut self, next: Option<&Cursor>) {
        let next = next.map(Cursor::as_str);
        if self.json {
            self.begin();
            output::line(&format!("],\"next\":{}}}", json!(next)));
        } else {
            if !self.piece.is_empty() || !self.begun {
                self.flush();
            }
            if let Some(next) = next {
                eprintln!("more: --cursor {next}");
            }
        }
    }

    fn row(&mut self, shown: Shown) {
        self.left = self.left.saturating_sub(1);
        if self.json {
            self.begin();
            let comma = if self.first { "" } else { "," };
            output::part(&format!("{comma}{}", shown.json));
        } else {
            self.piece.push(shown.cells);
            if self.piece.len() >= PIECE {
                self.flush();
            }
        }
        self.first = false;
    }

    fn begin(&mut self) {
        if !self.begun {
            output::part(&format!("{{\"{}\":[", self.shape.name));
            self.begun = true;
        }
    }

    fn flush(&mut self) {
        let rows = std::mem::take(&mut self.piece);
        output::line(&output::table(self.shape.header.iter(), rows));
        self.begun = true;
    }
}

fn broken(order_id: &OrderId, error: &StoreError, shape: Shape) -> Shown {
    let error = error.to_string();
    let mut cells = vec![order_id.to_string()];
    cells.resize(shape.header.len().saturating_sub(1), String::new());
    cells.push(error.clone());
    Shown {
        json: json!({"order_id": order_id, "error": error}),
        cells,
    }
}
