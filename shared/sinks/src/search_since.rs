//! What was written lately, compared with the index: the operator's `verify --since` and the scheduled check are the same.

use futures::stream::TryStreamExt as _;
use sagaline_order::{OrderId, Seconds, Timestamp};
use sagaline_search::verify::{Verifier, VerifyError};
use sagaline_store::{Consistency, Item, Store, Table};
use sagaline_stream::BoxError;
use std::future::Future;
use std::pin::pin;

/// Orders that are compared at a time.
const PAGE_ORDERS: usize = 100;

/// How far clocks may be apart.
const SKEW: Seconds = Seconds(60);

/// The heads of these orders, strongly consistent, without those that are not there.
///
/// # Errors
/// The store's error.
pub async fn heads<T: Table>(store: &Store<T>, ids: Vec<String>) -> Result<Vec<Item>, BoxError> {
    let ids: Vec<OrderId> = ids.into_iter().map(OrderId::stored).collect();
    let heads = store.load_items(&ids, Consistency::Strong).await?;
    Ok(heads.into_iter().flatten().collect())
}

/// Compares the orders that were written from `from` to `now`, page by page; `on_page` hears how many heads each had. Stopped in the middle,
/// the verifier has what was found until then.
///
/// # Errors
/// [`VerifyError`]
pub async fn verify_since<T, R, F>(
    verifier: &mut Verifier<'_, R>,
    store: &Store<T>,
    (from, now): (Timestamp, Timestamp),
    mut on_page: impl FnMut(usize),
) -> Result<(), VerifyError>
where
    T: Table,
    R: Fn(Vec<String>) -> F,
    F: Future<Output = Result<Vec<Item>, BoxError>>,
{
    let rows = store.updated(from, now.plus(SKEW)).stream();
    let mut pages = pin!(rows.try_chunks(PAGE_ORDERS));
    loop {
        let page = pages.try_next().await;
        let page = page.map_err(|error| VerifyError::Heads(error.1.into()))?;
        let Some(rows) = page else {
            return Ok(());
        };
        let ids = rows.iter().map(|row| row.order_id.to_string());
        let heads = heads(store, ids.collect())
            .await
            .map_err(VerifyError::Heads)?;
        verifier.check(&heads).await?;
        on_page(heads.len());
    }
}
