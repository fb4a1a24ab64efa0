//! Files of orders.

use std::fs;
use std::path::{Path, PathBuf};

use sagaline_store::Metrics;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::metrics;
use crate::support::{Place, unique};

/// A file of orders.
fn file(folder: &Path, orders: &[Value]) -> PathBuf {
    let lines: Vec<_> = orders.iter().map(Value::to_string).collect();
    let path = folder.join("orders.ndjson");
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    path
}

// C-28
#[tokio::test]
async fn of_equal_requests_in_one_file_the_first_wins_in_whatever_order_they_come() {
    let place = Place::shared().await;
    let folder = TempDir::new().unwrap();
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let (user, request) = (unique("u"), unique("r"));
        let of = |qty: u32| json!({"user_id": user, "request_id": request, "currency": "EUR", "lines": [{"sku": "mug", "qty": qty, "unit_minor": 100}]});
        let three = [of(1), of(1), of(2)];
        let file = file(folder.path(), &order.map(|at: usize| three[at].clone()));
        let said = place
            .sagaline(&["import", file.to_str().unwrap(), "--json"])
            .await
            .refused(4, "SL3006");
        let told = said.json();
        let refused = told["refused"].as_array().unwrap();
        let (qty, expected) = if order[0] == 2 {
            (2, (1, 0, 2))
        } else {
            (1, (1, 1, 1))
        };
        assert_eq!(
            (
                told["placed"].as_u64().unwrap(),
                told["already_applied"].as_u64().unwrap(),
                refused.len()
            ),
            expected,
            "{order:?}: {told}"
        );
        assert!(
            refused.iter().all(|line| line["code"] == "SL3003"),
            "{told}"
        );
        let listed = place.json(&["ls", "--user", &user]).await;
        let id = listed["orders"][0]["order_id"].as_str().unwrap().to_owned();
        assert_eq!(
            place.json(&["show", &id]).await["order"]["lines"][0]["qty"],
            qty,
            "{order:?}"
        );
        assert_eq!(
            metrics(&place, &user).await,
            Metrics {
                order_count: 1,
                unpaid_count: 1
            },
            "{order:?}"
        );
    }
}

#[tokio::test]
async fn an_import_repeated_has_no_second_effect() {
    let place = Place::fresh("import").await;
    let folder = TempDir::new().unwrap();
    let order = |n: u32| {
        let lines: Vec<_> = (0..=n % 40).map(|line| json!({"sku": format!("s-{line}"), "name": "煎茶", "qty": 1, "unit_minor": 100})).collect();
        json!({"user_id": "u-1", "currency": "JPY", "lines": lines, "attributes": {"channel": "web", "ratio": 10.5}})
    };
    let orders: Vec<_> = (0..45).map(order).collect();
    let file = file(folder.path(), &orders);
    let args = ["import", file.to_str().unwrap()];
    let first = place.json(&args).await;
    assert_eq!(
        (&first["placed"], &first["already_applied"]),
        (&json!(45), &json!(0))
    );
    let before = place.stored().await;
    let again = place.json(&args).await;
    assert_eq!(
        (&again["placed"], &again["already_applied"]),
        (&json!(0), &json!(45))
    );
    assert_eq!(place.stored().await, before);
    assert_eq!(
        metrics(&place, "u-1").await,
        Metrics {
            order_count: 45,
            unpaid_count: 45
        }
    );
}

#[tokio::test]
async fn bad_input_is_refused_with_its_field_and_stores_nothing() {
    let place = Place::fresh("bad").await;
    let folder = TempDir::new().unwrap();
    let good = || json!({"order_id": "o-1", "user_id": "u-1", "request_id": "r-1", "currency": "EUR", "lines": [{"sku": "mug", "qty": 1, "unit_minor": 100}]});
    let mut orders = vec![good()];
    let mut fields = Vec::new();
    let mut bad = |field: &'static str, change: &dyn Fn(&mut Value)| {
        let mut order = good();
        change(&mut order);
        orders.push(order);
        fields.push(field);
    };
    let many: Vec<_> = (0..41)
        .map(|n| json!({"sku": format!("s-{n}"), "qty": 1, "unit_minor": 1}))
        .collect();
    let twice = json!([{"sku": "mug", "qty": 1, "unit_minor": 1}, {"sku": "mug", "qty": 2, "unit_minor": 1}]);
    bad("lines[0].qty", &|order| order["lines"][0]["qty"] = 0.into());
    bad("lines[0].qty", &|order| {
        order["lines"][0]["qty"] = (-3).into()
    });
    bad("lines[0].qty", &|order| {
        order["lines"][0]["qty"] = json!(1.5)
    });
    bad("lines", &|order| order["lines"] = many.clone().into());
    bad("lines", &|order| order["lines"] = json!([]));
    bad("lines[1].sku", &|order| order["lines"] = twice.clone());
    bad("currency", &|order| order["currency"] = "XXQ".into());
    bad("lines[0].unit_minor", &|order| {
        order["lines"][0]["unit_minor"] = i64::MAX.into();
        order["lines"][0]["qty"] = 2.into();
    });
    bad("lines[0].unit_minor", &|order| {
        order["lines"][0]["unit_minor"] = (-1).into()
    });
    bad("order_id", &|order| order["order_id"] = "".into());
    bad("order_id", &|order| {
        order["order_id"] = "x".repeat(300).into()
    });
    bad("order_id", &|order| order["order_id"] = "a#b".into());
    bad("user_id", &|order| order["user_id"] = "u/1".into());
    bad("request_id", &|order| order["request_id"] = "r#1".into());
    bad("lines[0].sku", &|order| {
        order["lines"][0]["sku"] = "x".repeat(65).into()
    });
    bad("order", &|order| {
        order["lines"][0]["name"] = "x".repeat(410_000).into()
    });
    bad("phone", &|order| order["phone"] = "0151 23".into());
    bad("attributes", &|order| {
        order["attributes"] = json!({"note": "x".repeat(9_000)})
    });

    let file = file(folder.path(), &orders);
    let said = place
        .sagaline(&["import", file.to_str().unwrap()])
        .await
        .refused(2, "SL0004");
    for (place, field) in fields.iter().enumerate() {
        let named = format!("line {}: {field}", place + 2);
        assert!(
            said.err
                .lines()
                .any(|line| line.trim_start().starts_with(&named)),
            "{named}: {}",
            said.err
        );
    }
    assert!(
        !said.err.contains("line 1:"),
        "the first line is fine: {}",
        said.err
    );
    assert_eq!(place.stored().await, Vec::<String>::new());

    let long = "x".repeat(300);
    for (id, line, currency, field) in [
        ("o-1", "mug:0:1250", "EUR", "lines[0].qty"),
        ("o-1", "mug:-1:1250", "EUR", "lines[0].qty"),
        (
            "o-1",
            "mug:2:9223372036854775807",
            "EUR",
            "lines[0].unit_minor",
        ),
        ("o-1", "mug:1:1250", "EURO", "currency"),
        ("", "mug:1:1250", "EUR", "order_id"),
        ("a#b", "mug:1:1250", "EUR", "order_id"),
        (&long, "mug:1:1250", "EUR", "order_id"),
    ] {
        let args = [
            "create",
            "--order-id",
            id,
            "--user",
            "u-1",
            "--line",
            line,
            "--currency",
            currency,
        ];
        let said = place.sagaline(&args).await.refused(2, "SL0002");
        assert!(
            said.err.contains(&format!(": {field}: ")),
            "{field}: {}",
            said.err
        );
    }
    assert_eq!(place.stored().await, Vec::<String>::new());

    // What the caller asks for explicitly is placed, without the bad lines.
    let said = place
        .sagaline(&["import", file.to_str().unwrap(), "--skip-invalid", "--json"])
        .await
        .ok()
        .json();
    assert_eq!(
        (&said["placed"], said["invalid"].as_array().unwrap().len()),
        (&json!(1), fields.len())
    );
}
