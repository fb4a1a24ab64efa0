//! The columns of each list, and its rows.

use crate::tabular::{Cell, Column};
use sagaline_order::Sku;
use sagaline_store::{DueRow, ProductOrder, Refund, StatusRow, UpdatedRow, UserOrder};

pub(super) fn user_columns() -> Vec<Column> {
    vec![
        Column::text("order_id"),
        Column::text("user_id"),
        Column::text("created_at"),
        Column::text("status"),
        Column::integer("total_minor"),
        Column::text("currency"),
        Column::text("first_name"),
        Column::integer("line_count"),
    ]
}

pub(super) fn user(row: &UserOrder) -> Vec<Cell> {
    vec![
        row.order_id.as_str().into(),
        row.user_id.as_str().into(),
        row.created_at.to_string().into(),
        row.status.as_str().into(),
        row.total_minor.into(),
        row.currency.as_str().into(),
        row.first_name.clone().into(),
        row.line_count.into(),
    ]
}

pub(super) fn status_columns() -> Vec<Column> {
    vec![
        Column::text("order_id"),
        Column::text("created_at"),
        Column::text("status"),
        Column::text("user_id"),
        Column::integer("total_minor"),
    ]
}

pub(super) fn status(row: &StatusRow, status: &str) -> Vec<Cell> {
    vec![
        row.order_id.as_str().into(),
        row.created_at.to_string().into(),
        status.into(),
        row.user_id.as_str().into(),
        row.total_minor.into(),
    ]
}

pub(super) fn product_columns() -> Vec<Column> {
    vec![
        Column::text("order_id"),
        Column::text("created_at"),
        Column::text("sku"),
        Column::integer("qty"),
    ]
}

pub(super) fn product(row: &ProductOrder, sku: &Sku) -> Vec<Cell> {
    vec![
        row.order_id.as_str().into(),
        row.created_at.to_string().into(),
        sku.as_str().into(),
        i64::from(row.qty.get()).into(),
    ]
}

pub(super) fn changed_columns() -> Vec<Column> {
    vec![
        Column::text("order_id"),
        Column::text("updated_at"),
        Column::integer("version"),
        Column::text("status"),
    ]
}

pub(super) fn changed(row: &UpdatedRow) -> Vec<Cell> {
    vec![
        row.order_id.as_str().into(),
        row.updated_at.to_string().into(),
        i64::try_from(row.version.get()).ok().into(),
        row.status.as_str().into(),
    ]
}

pub(super) fn refund_columns() -> Vec<Column> {
    vec![
        Column::text("refund_id"),
        Column::text("order_id"),
        Column::text("at"),
        Column::integer("amount_minor"),
        Column::text("currency"),
    ]
}

pub(super) fn refund(row: &Refund) -> Vec<Cell> {
    vec![
        row.refund_id.as_str().into(),
        row.order_id.as_str().into(),
        row.at.to_string().into(),
        row.amount_minor.into(),
        row.currency.as_str().into(),
    ]
}

pub(super) fn overdue_columns() -> Vec<Column> {
    vec![Column::text("order_id"), Column::text("wake_at")]
}

pub(super) fn overdue(row: &DueRow) -> Vec<Cell> {
    vec![
        row.order_id.as_str().into(),
        row.wake_at.map(|at| at.to_string()).into(),
    ]
}
