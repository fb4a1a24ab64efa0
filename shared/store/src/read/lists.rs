//! The lists of orders and refunds, each a method. Lists from an index follow the table a little later (F-GSI-1); re-read the head before
//! acting on a row (F-GSI-3).

use sagaline_order::{OrderId, Quantity, RefundId, Seconds, Sku, Status, Timestamp, UserId};

use super::list::{Cursor, List, Paging, Rows, Span};
use super::rows::{DueRow, ProductOrder, Refund, StatusRow, UpdatedRow, UserOrder};
use crate::error::StoreError;
use crate::key::{
    DUE_SHARDS, Index, PRODUCT_ORDERS_PREFIX, PRODUCT_SHARDS, REFUND_SHARDS, SK, STATUS_SHARDS,
    UPDATED_SHARDS, USER_ORDERS_PREFIX, due_pk, product_orders_pk, refund_pk, split_at_time,
    status_pk, updated_pk, user_pk,
};
use crate::row::Row;
use crate::store::Store;
use crate::table::{Direction, Item, Source, Table};

/// A status that the index `by_status` lists. Any other would give an empty list, which means something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedStatus(Status);

impl ListedStatus {
    /// `None` unless the index lists it.
    #[must_use]
    pub fn new(status: Status) -> Option<Self> {
        status.is_indexed().then_some(Self(status))
    }
}

impl<T: Table> Store<T> {
    /// A user's orders, placed in `span`; strongly consistent.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn user_orders(
        &self,
        user: &UserId,
        span: Span,
        direction: Direction,
        (cursor, size): (Option<&Cursor>, u32),
    ) -> Result<Rows<UserOrder>, StoreError> {
        let list = List {
            source: Source::Table { consistent: true },
            partitions: vec![user_pk(user)],
            bounds: span.bounds(USER_ORDERS_PREFIX),
            direction,
        };
        Rows::read(self.page(&list, Paging { cursor, size }).await?, |item| {
            let row = Row(item);
            let (created_at, order_id) = at_time(&row, SK, USER_ORDERS_PREFIX)?;
            Ok(UserOrder {
                order_id,
                created_at,
                status: row.text("status")?.to_owned(),
                total_minor: row.number("total_minor")?,
                currency: row.text("currency")?.to_owned(),
                first_name: row.optional_text("first_name").map(str::to_owned),
                line_count: row.number("line_count")?,
            })
        })
    }

    /// The orders in one status, placed in `span`, merged over the shards of the index.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn by_status(
        &self,
        ListedStatus(status): ListedStatus,
        span: Span,
        direction: Direction,
        (cursor, size): (Option<&Cursor>, u32),
    ) -> Result<Rows<StatusRow>, StoreError> {
        let list = List {
            source: Source::Index(Index::ByStatus),
            partitions: (0..STATUS_SHARDS)
                .map(|shard| status_pk(status, shard))
                .collect(),
            bounds: span.bounds(""),
            direction,
        };
        Rows::read(self.page(&list, Paging { cursor, size }).await?, |item| {
            let row = Row(item);
            let (created_at, order_id) = at_time(&row, Index::ByStatus.sort(), "")?;
            Ok(StatusRow {
                order_id,
                created_at,
                user_id: UserId::stored(row.text("user_id")?),
                total_minor: row.number("total_minor")?,
            })
        })
    }

    /// The orders of one shard (of [`DUE_SHARDS`]) that are to be looked at by `until`, the longest overdue first.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn due(
        &self,
        shard: u32,
        until: Timestamp,
        (cursor, size): (Option<&Cursor>, u32),
    ) -> Result<Rows<DueRow>, StoreError> {
        let list = List {
            source: Source::Index(Index::Due),
            partitions: vec![due_pk(shard % DUE_SHARDS)],
            // Everything before, and everything at `until` itself: `$` follows `#`. Nothing is left out below, whatever its form.
            bounds: ("\u{1}".to_owned(), format!("{}$", until.basic())),
            direction: Direction::OldestFirst,
        };
        Rows::read(self.page(&list, Paging { cursor, size }).await?, |item| {
            let row = Row(item);
            let order_id = row
                .pk()?
                .strip_prefix("ORDER#")
                .ok_or_else(|| row.bad("it is no order"))?;
            let wake_at = row
                .optional_text(Index::Due.sort())
                .and_then(|key| split_at_time(key, ""))
                .map(|(at, _)| at);
            Ok(DueRow {
                order_id: OrderId::stored(order_id),
                wake_at,
            })
        })
    }

    /// The orders that were last written in `[from, until)`, oldest first: what changed since.
    ///
    /// Reads every day of the range, [`UPDATED_SHARDS`] queries each, until the page is full.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn updated(
        &self,
        from: Timestamp,
        until: Timestamp,
        (cursor, size): (Option<&Cursor>, u32),
    ) -> Result<Rows<UpdatedRow>, StoreError> {
        let source = Source::Index(Index::ByUpdated);
        let partitions = |day: &str| {
            (0..UPDATED_SHARDS)
                .map(|shard| updated_pk(day, shard))
                .collect()
        };
        let page = self
            .by_day(source, partitions, (from, until), Paging { cursor, size })
            .await?;
        Rows::read(page, |item| {
            let row = Row(item);
            let (updated_at, order_id) = at_time(&row, Index::ByUpdated.sort(), "")?;
            Ok(UpdatedRow {
                order_id,
                updated_at,
                version: row.version("version")?,
                status: row.text("status")?.to_owned(),
            })
        })
    }

    /// The refunds recorded in `[from, until)`, oldest first.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn refunds(
        &self,
        from: Timestamp,
        until: Timestamp,
        (cursor, size): (Option<&Cursor>, u32),
    ) -> Result<Rows<Refund>, StoreError> {
        let source = Source::Table { consistent: true };
        let partitions = |day: &str| {
            (0..REFUND_SHARDS)
                .map(|shard| refund_pk(day, shard))
                .collect()
        };
        let page = self
            .by_day(source, partitions, (from, until), Paging { cursor, size })
            .await?;
        Rows::read(page, |item| {
            let row = Row(item);
            let (at, _) = at_time(&row, SK, "")?;
            Ok(Refund {
                refund_id: RefundId::stored(row.text("refund_id")?),
                order_id: OrderId::stored(row.text("order_id")?),
                at,
                amount_minor: row.number("amount_minor")?,
                currency: row.text("currency")?.to_owned(),
            })
        })
    }

    /// The orders of a product, placed in `span`, merged over its shards. Eventually consistent: a list for people.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn product_orders(
        &self,
        sku: &Sku,
        span: Span,
        direction: Direction,
        (cursor, size): (Option<&Cursor>, u32),
    ) -> Result<Rows<ProductOrder>, StoreError> {
        let list = List {
            source: Source::Table { consistent: false },
            partitions: (0..PRODUCT_SHARDS)
                .map(|shard| product_orders_pk(sku, shard))
                .collect(),
            bounds: span.bounds(PRODUCT_ORDERS_PREFIX),
            direction,
        };
        Rows::read(self.page(&list, Paging { cursor, size }).await?, |item| {
            let row = Row(item);
            let (created_at, order_id) = at_time(&row, SK, PRODUCT_ORDERS_PREFIX)?;
            let qty = row.number("qty")?;
            let qty = Quantity::new(qty).ok_or_else(|| row.bad(format!("its qty is {qty}")))?;
            Ok(ProductOrder {
                order_id,
                created_at,
                qty,
            })
        })
    }

    /// A list whose partitions are named by the UTC day, over several days, oldest first.
    async fn by_day(
        &self,
        source: Source,
        partitions: impl Fn(&str) -> Vec<String>,
        (from, until): (Timestamp, Timestamp),
        paging: Paging<'_>,
    ) -> Result<Rows<Item>, StoreError> {
        let mut rows = Vec::new();
        let mut at = paging
            .cursor
            .and_then(|cursor| split_at_time(cursor.as_str(), ""))
            .map_or(from, |(at, _)| at.max(from));
        let bounds = Span::between(from, until).bounds("");
        let mut left = paging.size.max(1);
        let mut next = None;
        while at < until && next.is_none() {
            let day = at.day();
            let list = List {
                source,
                partitions: partitions(&day),
                bounds: bounds.clone(),
                direction: Direction::OldestFirst,
            };
            let page = self
                .page(
                    &list,
                    Paging {
                        size: left,
                        ..paging
                    },
                )
                .await?;
            left = left.saturating_sub(u32::try_from(page.rows.len()).unwrap_or(u32::MAX));
            rows.extend(page.rows);
            next = page.next;
            let Some(midnight) = next_midnight(&day) else {
                break;
            };
            at = midnight;
            if left == 0 && next.is_none() && at < until {
                // The page is full at the end of a day: go on behind its last row.
                next = rows
                    .last()
                    .and_then(|item: &Item| item.get(source.sort())?.as_s().ok())
                    .map(Cursor::from_text);
            }
        }
        Ok(Rows { rows, next })
    }
}

fn at_time(
    row: &Row<'_>,
    attribute: &str,
    prefix: &str,
) -> Result<(Timestamp, OrderId), StoreError> {
    let key = row.text(attribute)?;
    let (at, rest) = split_at_time(key, prefix)
        .ok_or_else(|| row.bad(format!("its {attribute} {key} holds no time in our form")))?;
    Ok((at, OrderId::stored(rest)))
}

/// The beginning of the day after; a UTC day has 86,400 seconds.
fn next_midnight(day: &str) -> Option<Timestamp> {
    let later = Timestamp::parse(&format!("{day}T00:00:00Z"))?.plus(Seconds(86_400));
    (later.day() != day).then_some(later)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_ends_at_midnight_also_across_months() {
        let check = |day: &str, expected: &str| {
            assert_eq!(next_midnight(day), Timestamp::parse(expected), "{day}")
        };
        check("2026-01-31", "2026-02-01T00:00:00Z");
        check("2024-02-28", "2024-02-29T00:00:00Z");
        check("2025-12-31", "2026-01-01T00:00:00Z");
    }

    #[test]
    fn only_statuses_of_the_index_can_be_asked_for() {
        assert!(ListedStatus::new(Status::Unpaid).is_some());
        assert!(ListedStatus::new(Status::Confirmed).is_none());
    }
}
