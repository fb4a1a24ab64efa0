//! The single table: key schema, the one commit, every access pattern.
//!
//! # Theory of operation
//!
//! All that is known of orders stands in one DynamoDB table. An order is one item, its *head*; its history, the rows that list it for users and
//! products, the look-ups and the stock stand beside it, each under a key that [`Key`] alone knows how to spell.
//!
//! An order is written by one function, always by one transaction, always in the same order of actions: the head on condition of its version,
//! the *request guard* on condition that it is new, the history row, then what else the event needs. The guard is what makes the rest simple.
//! Whatever happens to the answer of a commit, the same commit can be sent again by anyone: either it is written now, or the guard says that it
//! was written before. So an unknown outcome is never guessed and never investigated; it is repeated.
//!
//! A commit that records the intent to call the payment gateway yields a [`CommittedIntent`], which cannot be made in any other way but by a
//! consistent read that still shows the operation as requested. A repeat that turns out to be applied already yields none.
//!
//! What this crate refuses to know: rules of the saga, clocks, random ids, and everything about batches of a stream.
//!
//! Start reading at [`Store::commit`], then `commit/plan.rs` (what is written) and `commit/reasons.rs` (what a refusal means). What is not of
//! orders in it, the reading of a cancelled transaction and the hash over a payload, is [`sagaline_stream::guard`].

mod key;
mod table;

mod commit;
mod guard;
mod intent;

mod head;
mod row;
pub mod size;
pub mod value;

mod read;
mod store;

mod dynamo;

mod error;

pub use aws_sdk_dynamodb::types::AttributeValue;
pub use commit::{Commit, Committed, Placed, Placement};
pub use dynamo::DynamoTable;
pub use error::{CommitError, Disposition, StockError, StoreError};
pub use guard::{Claim, GUARD_KEPT, Guard};
pub use head::read_head;
pub use intent::{CommittedIntent, IntentKind};
pub use key::{
    DUE_SHARDS, HEAD_SK, Index, Key, PK, PRODUCT_SHARDS, REFUND_SHARDS, SK, STATUS_SHARDS,
    UPDATED_SHARDS,
};
pub use read::cursor::{Cursor, CursorError, CursorKey};
pub use read::history::HistoryRow;
pub use read::list::{Consistency, Listing, PAGE_ROWS, Rows, Span};
pub use read::lists::{ListedStatus, ProductTotals};
pub use read::lookups::{Home, Metrics};
pub use read::rows::{DueRow, ProductOrder, Refund, StatusRow, UpdatedRow, UserOrder};
pub use sagaline_stream::guard::{PayloadHash, ReasonCode};
pub use store::{OrderRepository, Store};
pub use table::{
    Action, BATCH_GET_ITEMS, BATCH_WRITE_ITEMS, Cause, Condition, Direction, GotMany, Item, Page,
    Query, Reason, Source, Table, TableError, TransactError, Update, WriteError,
};
