//! Rows of the lists, as JSON and as people read them.

use super::printer::{Shape, Shown};
use crate::output;
use sagaline_order::Status;
use sagaline_store::{ProductOrder, Refund, StatusRow, UpdatedRow, UserOrder};
use serde_json::json;

pub(super) const USER: Shape = Shape {
    name: "orders",
    header: &["order", "placed", "status", "total", "lines", "first"],
};
pub(super) const PHONE: Shape = Shape {
    name: "orders",
    header: &[
        "order", "placed", "user", "status", "total", "lines", "first",
    ],
};
pub(super) const STATUS: Shape = Shape {
    name: "orders",
    header: &["order", "placed", "user", "total (minor units)"],
};
pub(super) const PRODUCT: Shape = Shape {
    name: "orders",
    header: &["order", "placed", "pieces"],
};
pub(super) const REFUNDS: Shape = Shape {
    name: "refunds",
    header: &["refund", "at", "order", "amount"],
};
pub(super) const CHANGED: Shape = Shape {
    name: "orders",
    header: &["order", "changed", "version", "status"],
};

pub(super) fn user_order(row: &UserOrder) -> Shown {
    Shown {
        json: json!({"order_id": row.order_id, "created_at": row.created_at, "status": row.status, "total_minor": row.total_minor,
            "currency": row.currency, "first_name": row.first_name, "line_count": row.line_count}),
        cells: vec![
            row.order_id.to_string(),
            row.created_at.to_string(),
            row.status.clone(),
            output::amount(row.total_minor, &row.currency),
            row.line_count.to_string(),
            row.first_name.clone().unwrap_or_default(),
        ],
    }
}

/// The same with the user: a phone may be that of several.
pub(super) fn phone_order(row: &UserOrder) -> Shown {
    let mut shown = user_order(row);
    if let Some(members) = shown.json.as_object_mut() {
        members.insert("user_id".to_owned(), row.user_id.as_str().into());
    }
    shown.cells.insert(2, row.user_id.to_string());
    shown
}

pub(super) fn in_status(row: &StatusRow, status: Status) -> Shown {
    Shown {
        json: json!({"order_id": row.order_id, "created_at": row.created_at, "status": status.as_str(), "user_id": row.user_id,
            "total_minor": row.total_minor}),
        cells: vec![
            row.order_id.to_string(),
            row.created_at.to_string(),
            row.user_id.to_string(),
            row.total_minor.to_string(),
        ],
    }
}

pub(super) fn product_order(row: &ProductOrder) -> Shown {
    Shown {
        json: json!({"order_id": row.order_id, "created_at": row.created_at, "qty": row.qty.get()}),
        cells: vec![
            row.order_id.to_string(),
            row.created_at.to_string(),
            row.qty.get().to_string(),
        ],
    }
}

pub(super) fn refund(row: &Refund) -> Shown {
    Shown {
        json: json!({"refund_id": row.refund_id, "order_id": row.order_id, "at": row.at, "amount_minor": row.amount_minor,
            "currency": row.currency}),
        cells: vec![
            row.refund_id.to_string(),
            row.at.to_string(),
            row.order_id.to_string(),
            output::amount(row.amount_minor, &row.currency),
        ],
    }
}

pub(super) fn changed(row: &UpdatedRow) -> Shown {
    Shown {
        json: json!({"order_id": row.order_id, "updated_at": row.updated_at, "version": row.version, "status": row.status}),
        cells: vec![
            row.order_id.to_string(),
            row.updated_at.to_string(),
            row.version.to_string(),
            row.status.clone(),
        ],
    }
}
