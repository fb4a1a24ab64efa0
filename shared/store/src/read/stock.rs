//! The stock of products, by hand. Orders take and give back in their own commits.

use sagaline_order::Sku;

use crate::error::{StockError, StoreError};
use crate::key::Key;
use crate::row::Row;
use crate::store::Store;
use crate::table::{Action, Condition, Item, Table, TableError, Update, WriteError};
use crate::value::n;

const STOCK: &str = "stock";

impl<T: Table> Store<T> {
    /// What there is of a product; a product that nobody stocked has 0.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn stock(&self, sku: &Sku) -> Result<i64, StoreError> {
        stock_of(self.item(Key::stock(sku)).await?.as_ref())
    }

    /// Sets the stock, if it is what the caller expects it to be. Answers what there is then.
    ///
    /// # Errors
    /// [`StockError`]
    pub async fn set_stock(
        &self,
        sku: &Sku,
        stock: u32,
        expect: Option<i64>,
    ) -> Result<i64, StockError> {
        let mut update = Update::of(Key::stock(sku)).set(STOCK, n(stock));
        update.condition = expect.map(|expect| match expect {
            // A missing item counts as 0.
            0 => Condition::NotExistsOr(STOCK, n(0)),
            _ => Condition::Is(STOCK, n(expect)),
        });
        match self.table().write(Action::Update(update)).await {
            Ok(item) => Ok(stock_of(Some(&item))?),
            Err(WriteError::ConditionFailed(there)) => Err(StockError::NotAsExpected {
                sku: sku.clone(),
                have: stock_of(there.as_ref())?,
            }),
            Err(error) => Err(not_written(sku, error)),
        }
    }

    /// Adds to the stock, or takes from it what is there. Answers what there is then. Never sent twice.
    ///
    /// # Errors
    /// [`StockError`]
    pub async fn add_stock(&self, sku: &Sku, change: i64) -> Result<i64, StockError> {
        let mut update = Update::of(Key::stock(sku)).add(STOCK, change);
        let want = change.saturating_neg();
        update.condition = (want > 0).then_some(Condition::AtLeast(STOCK, want));
        match self.table().write(Action::Update(update)).await {
            Ok(item) => Ok(stock_of(Some(&item))?),
            Err(WriteError::ConditionFailed(there)) => Err(StockError::NotEnough {
                sku: sku.clone(),
                have: stock_of(there.as_ref())?,
                want,
            }),
            Err(error) => Err(not_written(sku, error)),
        }
    }
}

fn stock_of(item: Option<&Item>) -> Result<i64, StoreError> {
    item.map_or(Ok(0), |item| Row(item).number(STOCK))
}

fn not_written(sku: &Sku, error: WriteError) -> StockError {
    let source = match error {
        WriteError::Table(source) => source,
        other @ (WriteError::Conflict | WriteError::ConditionFailed(_)) => {
            TableError::Unavailable(other.into())
        }
    };
    StockError::Write {
        sku: sku.clone(),
        source,
    }
}
