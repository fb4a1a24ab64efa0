//! The memory table and the store over it keep the contract that every adapter keeps; and the contract notices a table that does not.

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use sagaline_store::{
    Action, Direction, Item, Key, Page, Query, Reason, Source, Table, TableError, TransactError,
    Update, WriteError,
};
use sagaline_testkit::{MemoryTable, contract};

#[tokio::test]
async fn the_memory_table_keeps_the_contract() {
    contract::run(MemoryTable::new()).await;
}

#[tokio::test]
async fn the_memory_table_keeps_it_with_one_item_a_page() {
    let table = MemoryTable::new();
    table.limit_pages(1);
    contract::run(table).await;
}

// C-22
#[tokio::test]
async fn the_memory_table_refuses_what_aws_refuses() {
    contract::strict(&MemoryTable::new()).await;
}

/// What a table can get wrong.
#[derive(Debug, Clone, Copy)]
enum Flaw {
    IgnoresConditions,
    KeepsOldItemsToItself,
    ShiftsReasons,
    WritesOneByOne,
    StartsEveryPageAnew,
    SortsOneWay,
    LosesEntriesOfTheIndex,
}

#[derive(Debug, Clone)]
struct Flawed(MemoryTable, Flaw);

impl Table for Flawed {
    async fn get(&self, key: Key, consistent: bool) -> Result<Option<Item>, TableError> {
        self.0.get(key, consistent).await
    }

    async fn transact(&self, mut actions: Vec<Action>) -> Result<(), TransactError> {
        match self.1 {
            Flaw::IgnoresConditions => {
                for action in &mut actions {
                    let (Action::Put { condition, .. } | Action::Update(Update { condition, .. })) =
                        action;
                    *condition = None;
                }
                self.0.transact(actions).await
            }
            Flaw::WritesOneByOne => {
                for action in actions {
                    self.0.transact(vec![action]).await?;
                }
                Ok(())
            }
            Flaw::KeepsOldItemsToItself => self.0.transact(actions).await.map_err(|error| {
                change(error, |reasons| {
                    reasons.iter_mut().for_each(|reason| reason.item = None)
                })
            }),
            Flaw::ShiftsReasons => self
                .0
                .transact(actions)
                .await
                .map_err(|error| change(error, |reasons| reasons.rotate_left(1))),
            Flaw::StartsEveryPageAnew | Flaw::SortsOneWay | Flaw::LosesEntriesOfTheIndex => {
                self.0.transact(actions).await
            }
        }
    }

    async fn query(&self, mut query: Query) -> Result<Page, TableError> {
        match (self.1, query.source) {
            // Ends the list where it would begin anew for ever.
            (Flaw::StartsEveryPageAnew, _) if query.start.take().is_some() => {
                let page = self.0.query(query).await?;
                Ok(Page { next: None, ..page })
            }
            (Flaw::SortsOneWay, _) => {
                query.direction = Direction::OldestFirst;
                self.0.query(query).await
            }
            (Flaw::LosesEntriesOfTheIndex, Source::Index(_)) => {
                let page = self.0.query(query).await?;
                Ok(Page {
                    items: page.items.into_iter().skip(1).collect(),
                    next: page.next,
                })
            }
            _ => self.0.query(query).await,
        }
    }

    async fn write(&self, action: Action) -> Result<Item, WriteError> {
        self.0.write(action).await
    }
}

fn change(error: TransactError, how: impl FnOnce(&mut [Reason])) -> TransactError {
    match error {
        TransactError::Cancelled(mut reasons) => {
            how(&mut reasons);
            TransactError::Cancelled(reasons)
        }
        TransactError::InProgress | TransactError::Table(_) => error,
    }
}

#[tokio::test(start_paused = true)]
async fn the_contract_notices_a_table_that_breaks_it() {
    let flaws = [
        Flaw::IgnoresConditions,
        Flaw::KeepsOldItemsToItself,
        Flaw::ShiftsReasons,
        Flaw::WritesOneByOne,
        Flaw::StartsEveryPageAnew,
        Flaw::SortsOneWay,
        Flaw::LosesEntriesOfTheIndex,
    ];
    for flaw in flaws {
        let run = AssertUnwindSafe(contract::run(Flawed(MemoryTable::new(), flaw)))
            .catch_unwind()
            .await;
        assert!(run.is_err(), "{flaw:?} went unnoticed");
    }
}
