//! Where rows lie, how often they are shown, and what the views make of them.

use serde_json::{Value, json};

use super::{Change, answered, objects, plain, query, write};
use crate::support::{Place, SOON, unique, until};

// C-44
#[tokio::test]
async fn rows_that_were_written_twice_are_shown_once() {
    let place = Place::shared().await;
    let order = unique("twice");
    let row = |version| {
        let head = json!({"status": {"S": "UNPAID"}});
        Change {
            order: &order,
            version,
            event: "MODIFY",
            at: Some(1_764_500_000),
            head,
        }
        .row(&plain())
    };
    let rows: Vec<_> = (1..=8).map(row).collect();
    write(&place, rows.clone()).await;
    write(&place, rows.clone()).await;
    let select = format!(
        "SELECT event_id, version, sequence_number FROM changes WHERE order_id = '{order}'"
    );
    until("Firehose delivered all of them", SOON, async || {
        (query(&place, &select).await.rows.len() == 16).then_some(())
    })
    .await;
    let changes = place.archive().changes(&order).await.unwrap();
    assert_eq!(
        objects(&changes),
        rows.iter().map(answered).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn a_row_lies_in_the_partition_of_its_event_and_not_of_its_arrival() {
    let place = Place::fresh("days").await;
    let row = |version, at, head| {
        Change {
            order: "o-1",
            version,
            event: "MODIFY",
            at,
            head,
        }
        .row(&plain())
    };
    let rows = vec![
        row(1, Some(1_764_547_199), json!({})),
        row(2, Some(1_764_547_200), json!({})),
        // Without a time of the record the head's own counts; without either the day is unknown.
        row(
            3,
            None,
            json!({"updated_at": {"S": "2024-02-29T23:59:59.999Z"}}),
        ),
        row(4, None, json!({})),
    ];
    write(&place, rows.clone()).await;
    let keys = place.objects(place.var("ARCHIVE_BUCKET")).await;
    let days: Vec<_> = keys
        .iter()
        .filter_map(|key| key.strip_prefix("changes/dt=")?.split('/').next())
        .collect();
    assert_eq!(
        days,
        ["2024-02-29", "2025-11-30", "2025-12-01", "unknown"],
        "{keys:?}"
    );
    let changes = place.archive().changes("o-1").await.unwrap();
    assert_eq!(
        objects(&changes),
        rows.iter().map(answered).collect::<Vec<_>>(),
        "all four are in the view"
    );
}

// C-42 (on real parts)
#[tokio::test]
async fn a_row_too_large_for_firehose_is_kept_beside_and_shown_with_the_others() {
    let place = Place::shared().await;
    let order = unique("large");
    let row = |version, bytes: usize| {
        let head = json!({"attributes": {"M": {"note": {"S": "x".repeat(bytes)}}}});
        Change {
            order: &order,
            version,
            event: "MODIFY",
            at: Some(1_764_500_000),
            head,
        }
        .row(&plain())
    };
    let rows = vec![row(1, 10), row(2, 1_024_000), row(3, 10)];
    write(&place, rows.clone()).await;
    let keys = place.objects(place.var("ARCHIVE_BUCKET")).await;
    assert!(
        keys.contains(&format!("oversize/dt=2025-11-30/{order}-2-{order}-2.json")),
        "{keys:?}"
    );
    let mut shown = objects(&place.archive().changes(&order).await.unwrap());
    let mut expected: Vec<_> = rows.iter().map(answered).collect();
    // The local Athena guesses the types of JSON and shows a time in a form of its own; the table declares text.
    shown[1]["event_time"] = Value::Null;
    expected[1]["event_time"] = Value::Null;
    assert!(shown == expected, "the large row is one of three");
}

#[tokio::test]
async fn the_views_count_what_happened_on_each_day() {
    let place = Place::fresh("counted").await;
    let (paid, back) = (unique("paid"), unique("back"));
    // 2031-05-01T10:00:00Z.
    let row = |order: &str, version, status: &str, kind: &str| {
        let head = json!({
            "status": {"S": status}, "state": {"S": status}, "currency": {"S": "EUR"}, "total_minor": {"N": "1250"},
            "last_event": {"M": {"kind": {"S": kind}, "actor": {"S": "saga"}, "reason": {"S": "why"}}},
        });
        let event = if version == 1 { "INSERT" } else { "MODIFY" };
        Change {
            order,
            version,
            event,
            at: Some(1_935_396_000),
            head,
        }
        .row(&plain())
    };
    let rows = vec![
        row(&paid, 1, "UNPAID", "OrderPlaced"),
        row(&paid, 2, "UNPAID", "StockReserved"),
        row(&paid, 3, "CONFIRMED", "PaymentApproved"),
        row(&back, 1, "UNPAID", "OrderPlaced"),
        row(&back, 2, "PROCESSING", "CancelRequested"),
        row(&back, 3, "CANCELLED", "RefundSucceeded"),
    ];
    write(&place, rows).await;

    let totals = query(&place, "SELECT * FROM daily_totals WHERE dt = '2031-05-01'").await;
    let expected = json!({
        "dt": "2031-05-01", "currency": "EUR", "changes": "6", "orders": "2", "placed": "2", "placed_minor": "2500",
        "confirmed": "1", "confirmed_minor": "1250", "cancelled": "1", "rejected": "0",
    });
    assert_eq!(objects(&totals), [expected]);
    let refunds = query(
        &place,
        "SELECT * FROM refunds_by_day WHERE dt = '2031-05-01'",
    )
    .await;
    assert_eq!(
        objects(&refunds),
        [json!({"dt": "2031-05-01", "currency": "EUR", "refunds": "1", "refunded_minor": "1250"})]
    );
    let timeline = place.archive().timeline(&back).await.unwrap();
    let steps: Vec<_> = objects(&timeline)
        .iter()
        .map(|row| (row["previous_status"].clone(), row["status"].clone()))
        .collect();
    assert_eq!(
        steps,
        [
            (Value::Null, json!("UNPAID")),
            (json!("UNPAID"), json!("PROCESSING")),
            (json!("PROCESSING"), json!("CANCELLED"))
        ]
    );
}
