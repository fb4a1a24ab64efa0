//! Rows that are read from the heads: what an index lists is a little behind, so an order that has moved on meanwhile is left out.

use super::printer::{Shape, Shown};
use crate::output;
use sagaline_order::{Order, State, Timestamp};
use serde_json::json;

pub(super) const STATE: Shape = Shape {
    name: "orders",
    header: &["order", "placed", "state", "user", "total", "next wake"],
};
pub(super) const STUCK: Shape = Shape {
    name: "orders",
    header: &["order", "stuck since", "before", "user", "total", "why"],
};
pub(super) const OVERDUE: Shape = Shape {
    name: "orders",
    header: &["order", "overdue for", "since", "state", "user", "total"],
};

pub(super) fn of_order(order: &Order) -> Shown {
    Shown {
        json: json!({"order_id": order.order_id, "created_at": order.created_at, "user_id": order.user_id,
            "status": order.status().as_str(), "state": order.state, "total_minor": order.total_minor,
            "currency": order.currency.code(), "wake_at": order.wake_at}),
        cells: vec![
            order.order_id.to_string(),
            order.created_at.to_string(),
            format!("{:?}", order.state),
            order.user_id.to_string(),
            total(order),
            order.wake_at.map(|at| at.to_string()).unwrap_or_default(),
        ],
    }
}

pub(super) fn in_state(order: &Order, state: State) -> Option<Shown> {
    (order.state == state).then(|| of_order(order))
}

pub(super) fn stuck(order: &Order) -> Option<Shown> {
    let attention = order.attention.as_ref();
    let attention = attention.filter(|_| order.state == State::NeedsOperator)?;
    let mut shown = of_order(order);
    if let Some(members) = shown.json.as_object_mut() {
        members.insert("attention".to_owned(), json!(attention));
    }
    shown.cells = vec![
        order.order_id.to_string(),
        attention.since.to_string(),
        format!("{:?}", attention.from),
        order.user_id.to_string(),
        total(order),
        attention.reason.clone(),
    ];
    Some(shown)
}

pub(super) fn overdue(order: &Order, now: Timestamp) -> Option<Shown> {
    let wake_at = order.wake_at.filter(|at| *at <= now)?;
    let seconds = (now.as_millis() - wake_at.as_millis()) / 1_000;
    let mut shown = of_order(order);
    if let Some(members) = shown.json.as_object_mut() {
        members.insert("overdue_s".to_owned(), seconds.into());
    }
    shown.cells = vec![
        order.order_id.to_string(),
        length(seconds),
        wake_at.to_string(),
        format!("{:?}", order.state),
        order.user_id.to_string(),
        total(order),
    ];
    Some(shown)
}

fn total(order: &Order) -> String {
    output::amount(order.total_minor.get(), order.currency.code())
}

/// The two largest units: `2d 3h`, `5m 7s`.
fn length(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (1.., _, _) => format!("{days}d {}h", hours % 24),
        (_, 1.., _) => format!("{hours}h {}m", minutes % 60),
        (_, _, 1..) => format!("{minutes}m {}s", seconds % 60),
        _ => format!("{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_shows_its_two_largest_units() {
        let check = |seconds, expected: &str| assert_eq!(length(seconds), expected);
        check(0, "0s");
        check(59, "59s");
        check(307, "5m 7s");
        check(3_600, "1h 0m");
        check(2 * 86_400 + 3 * 3_600 + 5, "2d 3h");
    }
}
