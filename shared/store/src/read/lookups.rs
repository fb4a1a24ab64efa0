//! Single rows by their key, strongly consistent, and the pages that are made of a few of them.

use futures::future::try_join;
use sagaline_order::{Order, OrderId, PaymentId, RequestId, UserId};

use super::list::Span;
use super::rows::UserOrder;
use crate::error::StoreError;
use crate::guard::Guard;
use crate::key::Key;
use crate::row::Row;
use crate::store::Store;
use crate::table::Table;

/// Orders that the home page shows.
const HOME_ORDERS: u32 = 3;

/// A user's counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Orders placed, ever.
    pub order_count: i64,
    /// Orders now in `UNPAID`.
    pub unpaid_count: i64,
}

/// What a user's home page shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Home {
    /// The last three orders, the newest first.
    pub orders: Vec<UserOrder>,
    /// The counters, the unpaid orders among them.
    pub metrics: Metrics,
}

impl<T: Table> Store<T> {
    /// A user's home page; strongly consistent. One Query and one GetItem, sent at once: one round trip of waiting.
    ///
    /// Not one BatchGetItem: that takes whole keys, and the keys of the last orders hold times that only a query finds. Not one Query either:
    /// the counters' row stands before all orders of the partition, so the one query would read through every order between.
    ///
    /// The two reads are not of one moment (F-TX-2): the count may already know an order that the list does not show yet.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn home(&self, user: &UserId) -> Result<Home, StoreError> {
        let listing = self.user_orders(user, Span::ALL);
        let (orders, metrics) = try_join(listing.first(HOME_ORDERS), self.metrics(user)).await?;
        Ok(Home { orders, metrics })
    }

    /// The order that a payment belongs to: its look-up, then its head.
    ///
    /// # Errors
    /// [`StoreError`]; [`StoreError::BadItem`] for a look-up whose order is gone.
    pub async fn order_by_payment(&self, payment: &PaymentId) -> Result<Option<Order>, StoreError> {
        let Some(id) = self.order_of_payment(payment).await? else {
            return Ok(None);
        };
        let order = self.load(&id).await?;
        order.map(Some).ok_or_else(|| StoreError::BadItem {
            what: format!("item {}", Key::payment(payment)),
            reason: format!("it names order {id}, which is not there"),
        })
    }

    /// The id of the order that a payment belongs to.
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
}
