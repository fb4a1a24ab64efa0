//! The lists of orders and refunds, each a method that says where its rows stand. Lists from an index follow the table a little later (F-GSI-1);
//! re-read the head before acting on a row (F-GSI-3).
//!
//! | list | default order | consistency |
//! |---|---|---|
//! | `user_orders`, `orders_of_phone` | newest first | strong by default: a customer sees the order just placed |
//! | `product_orders` | newest first | eventual by default: a list for people |
//! | `refunds`, `history`, `users_of_phone` | oldest first | strong by default: accounts and evidence |
//! | `by_status` | newest first | of an index: eventual |
//! | `due`, `overdue`, `updated` | oldest first | of an index: eventual |

use futures::TryStreamExt as _;
use sagaline_order::{Sku, Status, Timestamp, UserId};

use super::list::{Consistency, Listed, Listing, Span};
use super::merge::Partitions;
use super::rows::{DueRow, ProductOrder, Refund, StatusRow, UpdatedRow, UserOrder};
use crate::error::StoreError;
use crate::key::{
    DUE_SHARDS, Index, PHONE_USER_PREFIX, PRODUCT_ORDERS_PREFIX, PRODUCT_SHARDS, REFUND_SHARDS,
    STATUS_SHARDS, UPDATED_SHARDS, USER_ORDERS_PREFIX, due_pk, phone_pk, product_orders_pk,
    refund_pk, status_pk, updated_pk, user_pk,
};
use crate::row::Row;
use crate::store::Store;
use crate::table::{Direction, Table};

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

/// What was sold of a product.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProductTotals {
    /// Orders placed.
    pub orders: u64,
    /// Pieces in them.
    pub qty: u64,
}

impl<T: Table> Store<T> {
    /// A user's orders, placed in `span`.
    pub fn user_orders(&self, user: &UserId, span: Span) -> Listing<'_, T, UserOrder, Consistency> {
        self.orders_of_users(
            "user_orders",
            format!("{user} {}", span.arguments()),
            std::slice::from_ref(user),
            span,
        )
    }

    /// The orders of every user who gave a phone, placed in `span`. The phone is given by its keyed hashes: one with the present key, and one
    /// with each key that an older look-up may have been written with. Reads the users at once, their orders when the list is read.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn orders_of_phone(
        &self,
        hashes: &[String],
        span: Span,
    ) -> Result<Listing<'_, T, UserOrder, Consistency>, StoreError> {
        let mut users: Vec<UserId> = self.users_of_phone(hashes).stream().try_collect().await?;
        // The same user once under each key.
        users.sort_unstable();
        users.dedup();
        let arguments = format!("{} {}", hashes.join(" "), span.arguments());
        Ok(self.orders_of_users("orders_of_phone", arguments, &users, span))
    }

    fn orders_of_users(
        &self,
        list: &'static str,
        arguments: String,
        users: &[UserId],
        span: Span,
    ) -> Listing<'_, T, UserOrder, Consistency> {
        self.list(Listed {
            list,
            arguments,
            partitions: Partitions::Of(users.iter().map(user_pk).collect()),
            bounds: span.bounds(USER_ORDERS_PREFIX),
            direction: Direction::NewestFirst,
            source: Consistency::Strong,
            read: UserOrder::read,
        })
    }

    /// The users who gave a phone, by its keyed hashes; a user may come once for each.
    pub fn users_of_phone(&self, hashes: &[String]) -> Listing<'_, T, UserId, Consistency> {
        self.list(Listed {
            list: "users_of_phone",
            arguments: hashes.join(" "),
            partitions: Partitions::Of(hashes.iter().map(|hash| phone_pk(hash)).collect()),
            // `$` follows `#`.
            bounds: (PHONE_USER_PREFIX.to_owned(), "USER$".to_owned()),
            direction: Direction::OldestFirst,
            source: Consistency::Strong,
            read: |item| Row(item).text("user_id").map(UserId::stored),
        })
    }

    /// The orders in one status, placed in `span`, merged over the shards of the index.
    pub fn by_status(
        &self,
        ListedStatus(status): ListedStatus,
        span: Span,
    ) -> Listing<'_, T, StatusRow, Index> {
        self.list(Listed {
            list: "by_status",
            arguments: format!("{} {}", status.as_str(), span.arguments()),
            partitions: Partitions::Of(
                (0..STATUS_SHARDS)
                    .map(|shard| status_pk(status, shard))
                    .collect(),
            ),
            bounds: span.bounds(""),
            direction: Direction::NewestFirst,
            source: Index::ByStatus,
            read: StatusRow::read,
        })
    }

    /// The orders of one shard (of [`DUE_SHARDS`]) that are to be looked at by `until`, the longest overdue first. `until` may move on from page
    /// to page.
    pub fn due(&self, shard: u32, until: Timestamp) -> Listing<'_, T, DueRow, Index> {
        let shard = shard % DUE_SHARDS;
        self.due_in("due", shard.to_string(), vec![due_pk(shard)], until)
    }

    /// The same over all shards, merged.
    pub fn overdue(&self, until: Timestamp) -> Listing<'_, T, DueRow, Index> {
        let partitions = (0..DUE_SHARDS).map(due_pk).collect();
        self.due_in("overdue", String::new(), partitions, until)
    }

    fn due_in(
        &self,
        list: &'static str,
        arguments: String,
        partitions: Vec<String>,
        until: Timestamp,
    ) -> Listing<'_, T, DueRow, Index> {
        self.list(Listed {
            list,
            arguments,
            partitions: Partitions::Of(partitions),
            // Everything before, and everything at `until` itself: `$` follows `#`. Nothing is left out below, whatever its form.
            bounds: ("\u{1}".to_owned(), format!("{}$", until.basic())),
            direction: Direction::OldestFirst,
            source: Index::Due,
            read: DueRow::read,
        })
    }

    /// The orders that were last written in `[from, until)`: what changed since. `until` may move on from page to page.
    ///
    /// An order that is written again while the list is read moves behind the reader, and comes once more.
    ///
    /// Reads every day of the range, [`UPDATED_SHARDS`] queries each, until the page is full.
    pub fn updated(&self, from: Timestamp, until: Timestamp) -> Listing<'_, T, UpdatedRow, Index> {
        self.list(Listed {
            list: "updated",
            arguments: from.basic(),
            partitions: Partitions::ByDay {
                from,
                until,
                shards: UPDATED_SHARDS,
                name: updated_pk,
            },
            bounds: Span::between(from, until).bounds(""),
            direction: Direction::OldestFirst,
            source: Index::ByUpdated,
            read: UpdatedRow::read,
        })
    }

    /// The refunds recorded in `[from, until)`; of one day: [`Span::of_day`].
    pub fn refunds(
        &self,
        from: Timestamp,
        until: Timestamp,
    ) -> Listing<'_, T, Refund, Consistency> {
        let span = Span::between(from, until);
        self.list(Listed {
            list: "refunds",
            arguments: span.arguments(),
            partitions: Partitions::ByDay {
                from,
                until,
                shards: REFUND_SHARDS,
                name: refund_pk,
            },
            bounds: span.bounds(""),
            direction: Direction::OldestFirst,
            source: Consistency::Strong,
            read: Refund::read,
        })
    }

    /// The orders of a product, placed in `span`, merged over its shards.
    pub fn product_orders(
        &self,
        sku: &Sku,
        span: Span,
    ) -> Listing<'_, T, ProductOrder, Consistency> {
        self.list(Listed {
            list: "product_orders",
            arguments: format!("{sku} {}", span.arguments()),
            partitions: Partitions::Of(
                (0..PRODUCT_SHARDS)
                    .map(|shard| product_orders_pk(sku, shard))
                    .collect(),
            ),
            bounds: span.bounds(PRODUCT_ORDERS_PREFIX),
            direction: Direction::NewestFirst,
            source: Consistency::Eventual,
            read: ProductOrder::read,
        })
    }

    /// What was ordered of a product in `span`: of every order placed, whatever became of it, for the rows are written at placement. Reads each
    /// row once, a megabyte a query.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn product_totals(
        &self,
        sku: &Sku,
        span: Span,
        consistency: Consistency,
    ) -> Result<ProductTotals, StoreError> {
        self.product_orders(sku, span)
            .consistency(consistency)
            // As many as DynamoDB puts into a page by itself: a row is far above 100 bytes (F-CAP-5: 1 MB).
            .page_size(10_000)
            .stream()
            .try_fold(ProductTotals::default(), async |sum, row| {
                Ok(ProductTotals {
                    orders: sum.orders.saturating_add(1),
                    qty: sum.qty.saturating_add(u64::from(row.qty.get())),
                })
            })
            .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_statuses_of_the_index_can_be_asked_for() {
        assert!(ListedStatus::new(Status::Unpaid).is_some());
        assert!(ListedStatus::new(Status::Confirmed).is_none());
    }
}
