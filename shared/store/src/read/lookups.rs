//! Single rows by their key, strongly consistent, and the users of a phone.

use sagaline_order::{OrderId, PaymentId, RequestId, UserId};

use super::list::{Cursor, List, Paging, Rows};
use crate::error::StoreError;
use crate::guard::Guard;
use crate::key::{Key, PHONE_USER_PREFIX, phone_pk};
use crate::row::Row;
use crate::store::Store;
use crate::table::{Direction, Source, Table};

/// A user's counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Orders placed, ever.
    pub order_count: i64,
    /// Orders now in `UNPAID`.
    pub unpaid_count: i64,
}

impl<T: Table> Store<T> {
    /// The order that a payment belongs to.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn order_of_payment(
        &self,
        payment: &PaymentId,
    ) -> Result<Option<OrderId>, StoreError> {
        let item = self.item(Key::payment(payment)).await?;
        item.map(|item| Row(&item).text("order_id").map(OrderId::stored))
            .transpose()
    }

    /// What a request id stands for, as long as it is remembered.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn guard(&self, request: &RequestId) -> Result<Option<Guard>, StoreError> {
        self.item(Key::guard(request))
            .await?
            .map(|item| Guard::read(request, &item))
            .transpose()
    }

    /// A user's counters; 0 for a user who never ordered.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn metrics(&self, user: &UserId) -> Result<Metrics, StoreError> {
        let item = self.item(Key::metrics(user)).await?.unwrap_or_default();
        let row = Row(&item);
        // A counter that nothing was added to yet is 0, as an addition sees it.
        let counter = |name| {
            if item.contains_key(name) {
                row.number(name)
            } else {
                Ok(0)
            }
        };
        Ok(Metrics {
            order_count: counter("order_count")?,
            unpaid_count: counter("unpaid_count")?,
        })
    }

    /// The users who gave a phone, by its keyed hash; their orders are [`Store::user_orders`].
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn users_of_phone(
        &self,
        hash: &str,
        (cursor, size): (Option<&Cursor>, u32),
    ) -> Result<Rows<UserId>, StoreError> {
        let list = List {
            source: Source::Table { consistent: true },
            partitions: vec![phone_pk(hash)],
            // `$` follows `#`.
            bounds: (PHONE_USER_PREFIX.to_owned(), "USER$".to_owned()),
            direction: Direction::OldestFirst,
        };
        Rows::read(self.page(&list, Paging { cursor, size }).await?, |item| {
            Row(item).text("user_id").map(UserId::stored)
        })
    }
}
