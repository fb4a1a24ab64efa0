//! What a row holds: all of it, nothing of what is hidden.

use sagaline_archive::{HashKeys, Redaction, Row};
use serde_json::{Value, json};

use super::{Change, answered, objects, plain, query, write};
use crate::support::{Place, unique};

// C-30 (the archive's half), C-31
#[tokio::test]
async fn rows_come_back_as_they_went_in_with_attributes_of_every_type() {
    let place = Place::shared().await;
    let order = unique("golden");
    let head = json!({
        "status": {"S": "CONFIRMED"}, "state": {"S": "Confirmed"}, "currency": {"S": "EUR"}, "total_minor": {"N": "9007199254740993"},
        "last_event": {"M": {"kind": {"S": "PaymentApproved"}, "actor": {"S": "gateway"}, "reason": {"S": "paid, \"at last\""}}},
        "b": {"B": "3q2+7w=="}, "bs": {"BS": ["AQ==", "AA=="]}, "bool": {"BOOL": true}, "null": {"NULL": true}, "empty": {"S": ""},
        "n": {"N": "12345678901234567890123456789012345678"}, "ns": {"NS": ["9", "10", "-0.1", "18446744073709551617"]}, "ss": {"SS": ["b", "a"]},
        "l": {"L": [{"S": "é"}, {"L": []}, {"M": {"z": {"N": "1E-130"}, "a": {"BOOL": false}}}]}, "ключ": {"S": "値"},
    });
    let change = |version, event| Change {
        order: &order,
        version,
        event,
        at: Some(1_764_500_000),
        head: head.clone(),
    };
    let (first, last) = (
        change(3, "MODIFY").row(&plain()),
        change(3, "REMOVE").row(&plain()),
    );
    write(&place, vec![first.clone(), last.clone()]).await;

    let changes = place.archive().changes(&order).await.unwrap();
    assert_eq!(objects(&changes), [answered(&first), answered(&last)]);
    let image = [
        r#""b":{"B":"3q2+7w=="},"bool":{"BOOL":true},"bs":{"BS":["AA==","AQ=="]},"currency":{"S":"EUR"},"empty":{"S":""},"#,
        r#""l":{"L":[{"S":"é"},{"L":[]},{"M":{"a":{"BOOL":false},"z":{"N":"1E-130"}}}]},"#,
        r#""last_event":{"M":{"actor":{"S":"gateway"},"kind":{"S":"PaymentApproved"},"reason":{"S":"paid, \"at last\""}}},"#,
        r#""n":{"N":"12345678901234567890123456789012345678"},"ns":{"NS":["-0.1","10","18446744073709551617","9"]},"null":{"NULL":true},"#,
        r#""ss":{"SS":["a","b"]},"state":{"S":"Confirmed"},"status":{"S":"CONFIRMED"},"total_minor":{"N":"9007199254740993"},"#,
        r#""version":{"N":"3"},"ключ":{"S":"値"}}"#,
    ]
    .concat();
    let shown = objects(&changes);
    let expected = format!(r#"{{"PK":{{"S":"ORDER#{order}"}},"SK":{{"S":"ORDER#DETAIL"}},{image}"#);
    assert_eq!(shown[0]["new_image"], json!(expected));
    assert_eq!(
        (&shown[1]["old_image"], &shown[1]["new_image"]),
        (&json!(expected), &Value::Null)
    );
    assert_eq!(
        (&shown[0]["total_minor"], &shown[1]["version"]),
        (&json!("9007199254740993"), &json!("4"))
    );
}

// C-43
#[tokio::test]
async fn a_row_stays_one_row_whatever_its_texts_hold() {
    let place = Place::shared().await;
    let order = unique("lines");
    let note = "line\nfeed\rreturn\u{2028}separator\\n\u{0}end";
    let change = |version, note: &str| Change {
        order: &order,
        version,
        event: "MODIFY",
        at: Some(1_764_500_000),
        head: json!({"attributes": {"M": {"note": {"S": note}}}}),
    };
    let rows = vec![
        change(1, "a").row(&plain()),
        change(2, note).row(&plain()),
        change(3, "\n").row(&plain()),
    ];
    let joined: String = rows.iter().map(Row::to_line).collect();
    assert_eq!(
        (joined.matches('\n').count(), joined.lines().count()),
        (3, 3)
    );
    write(&place, rows.clone()).await;

    let changes = place.archive().changes(&order).await.unwrap();
    assert_eq!(
        objects(&changes),
        rows.iter().map(answered).collect::<Vec<_>>()
    );
    let image: Value =
        serde_json::from_str(objects(&changes)[1]["new_image"].as_str().unwrap()).unwrap();
    assert_eq!(image["attributes"]["M"]["note"]["S"], note);
}

#[tokio::test]
async fn personal_data_and_tokens_are_in_no_row_and_their_equality_is() {
    let place = Place::shared().await;
    let order = unique("hidden");
    let row = |version, street: &str, redaction: &Redaction| {
        let head = json!({
            "payment_token": {"S": "tok_secret"}, "phone_masked": {"S": "+49*****678"},
            "shipping": {"M": {"name": {"S": "Ada"}, "street": {"S": street}}},
        });
        Change {
            order: &order,
            version,
            event: "MODIFY",
            at: Some(1_764_500_000),
            head,
        }
        .row(redaction)
    };
    let keys = HashKeys::parse(r#"{"current":"k1","keys":{"k1":"SmVmZQ=="}}"#).unwrap();
    let (bare, hashed) = (
        Redaction::new("shipping,phone_masked", None),
        Redaction::new("shipping,phone_masked", Some(keys)),
    );
    let rows = vec![
        row(1, "Baker Street", &bare),
        row(2, "Baker Street", &hashed),
        row(3, "Baker Street", &hashed),
        row(4, "Elm", &hashed),
    ];
    write(&place, rows).await;

    let select =
        format!("SELECT new_image FROM order_changes WHERE order_id = '{order}' ORDER BY version");
    let images: Vec<String> = query(&place, &select)
        .await
        .rows
        .into_iter()
        .map(|row| row[0].clone().unwrap())
        .collect();
    for image in &images {
        for secret in ["Baker", "Elm", "Ada", "tok_secret", "678"] {
            assert!(!image.contains(secret), "{image}");
        }
    }
    let shipping: Vec<Value> = images
        .iter()
        .map(|image| serde_json::from_str::<Value>(image).unwrap()["shipping"]["S"].clone())
        .collect();
    assert_eq!(shipping[0], "redacted");
    assert!(shipping[1].as_str().unwrap().starts_with("redacted:k1:"));
    assert_eq!(shipping[1], shipping[2]);
    assert_ne!(shipping[2], shipping[3]);
}
