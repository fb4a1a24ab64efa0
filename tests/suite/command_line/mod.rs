//! The command line from outside: what it prints as JSON, how it ends, and what it leaves in the table.

mod archive;
mod aside;
mod import;
mod index;
mod lists;
mod operate;
mod orders;
mod refusals;
mod stock;
mod table;

use sagaline_order::UserId;
use sagaline_store::Metrics;

use crate::support::Place;

/// The arguments of a small order of its own.
pub(super) fn create<'a>(
    id: &'a str,
    user: &'a str,
    request: &'a str,
    line: &'a str,
) -> Vec<&'a str> {
    vec![
        "create",
        "--order-id",
        id,
        "--user",
        user,
        "--request-id",
        request,
        "--line",
        line,
        "--currency",
        "EUR",
    ]
}

pub(super) async fn metrics(place: &Place, user: &str) -> Metrics {
    place
        .store()
        .metrics(&UserId::parse(user).unwrap())
        .await
        .unwrap()
}
