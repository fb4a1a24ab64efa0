use super::*;
use crate::mapping::mapping;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A head with every attribute of the table, the redacted and the unknown ones too.
const HEAD: &str = r#"{"PK":{"S":"ORDER#o-1"},"SK":{"S":"ORDER#DETAIL"},"order_id":{"S":"o-1"},"user_id":{"S":"u-1"},"version":{"N":"3.0"},
    "schema":{"N":"1"},"status":{"S":"CONFIRMED"},"state":{"S":"Confirmed"},"currency":{"S":"EUR"},"total_minor":{"N":"9007199254740993"},
    "lines":{"L":[{"M":{"sku":{"S":"SKU-1"},"name":{"S":"A cup"},"qty":{"N":"2"},"unit_minor":{"N":"1250.0"}}}]},
    "created_at":{"S":"2026-01-31T08:30:00.000Z"},"updated_at":{"S":"2026-01-31T08:30:05Z"},"shipping":{"M":{"name":{"S":"Ada"}}},
    "phone_masked":{"S":"+49***"},"payment_token":{"S":"tok_1"},"attributes":{"M":{"ratio":{"N":"10.5"},"blob":{"B":"3q2+7w=="}}},
    "payment_id":{"S":"p-1"},"tracking":{"S":"T1"},"steps":{"M":{}},"due_pk":{"S":"DUE#1"},"extra":{"B":"3q2+7w=="},"more":{"BS":["AA=="]}}"#;

fn of(head: &str) -> SearchInput {
    SearchInput::from_head(&Image::parse(head).unwrap()).unwrap()
}

fn document(input: &SearchInput) -> Value {
    serde_json::from_str(input.document().unwrap()).unwrap()
}

// C-30, C-31, C-37
#[test]
fn only_the_known_fields_leave_the_table_and_every_digit_with_them() {
    let input = of(HEAD);
    assert_eq!(
        (input.order_id(), input.version(), input.deleted()),
        ("o-1", 3, false)
    );
    let expected = json!({
        "order_id": "o-1", "user_id": "u-1", "status": "CONFIRMED", "state": "Confirmed", "total_minor": 9_007_199_254_740_993_i64,
        "currency": "EUR", "created_at": "2026-01-31T08:30:00.000Z", "updated_at": "2026-01-31T08:30:05.000Z", "version": 3, "deleted": false,
        "lines": [{"sku": "SKU-1", "name": "A cup", "qty": 2, "unit_minor": 1250}], "payment_id": "p-1", "tracking": "T1",
        "attributes": {"ratio": "10.5", "blob": "3q2+7w=="},
    });
    assert_eq!(document(&input), expected);
    assert!(
        input
            .document()
            .unwrap()
            .contains(r#""total_minor":9007199254740993,"#)
    );
}

// C-45 (the mapping's part)
#[test]
fn the_mapping_has_the_fields_of_the_projection_and_types_that_hold_them() {
    fn check(fields: &Value, properties: &Value) {
        let names = |value: &Value| {
            value
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect::<BTreeSet<_>>()
        };
        assert_eq!(names(fields), names(properties));
        for (name, value) in fields.as_object().unwrap() {
            let mapped = &properties[name];
            match mapped["type"].as_str().unwrap() {
                "keyword" | "text" => assert!(value.is_string(), "{name}"),
                "long" => assert!(value.is_i64() && mapped["coerce"] == json!(false), "{name}"),
                "boolean" => assert!(value.is_boolean(), "{name}"),
                "date" => assert_eq!(
                    value.as_str().unwrap().len(),
                    "2026-01-31T08:30:00.000Z".len(),
                    "{name}"
                ),
                "flat_object" => assert!(value.is_object(), "{name}"),
                "nested" => check(&value[0], &mapped["properties"]),
                other => panic!("{name} is {other}"),
            }
        }
    }
    let mapping = mapping();
    assert_eq!(
        (&mapping["dynamic"], &mapping["date_detection"]),
        (&json!("false"), &json!(false))
    );
    check(&document(&of(HEAD)), &mapping["properties"]);
}

// C-45 (the columns' part)
#[test]
fn what_index_and_archive_both_hold_has_the_same_type_in_both() {
    let mapping = mapping();
    let mut shared = 0;
    for (name, glue) in sagaline_archive::columns::COLUMNS {
        if let Some(mapped) = mapping["properties"].get(name) {
            let expected = if glue == "bigint" { "long" } else { "keyword" };
            assert_eq!(mapped["type"], json!(expected), "{name}");
            shared += 1;
        }
    }
    assert_eq!(
        shared, 6,
        "order_id, version, status, state, total_minor, currency"
    );
}

// C-39 (this crate's half): however free the attributes are, they stay inside the one field.
#[test]
fn free_attributes_never_become_fields_of_their_own() {
    let keys: Vec<String> = (0..1_500)
        .map(|n| format!(r#""k{n}":{{"N":"{n}"}}"#))
        .collect();
    let deep = (0..28).fold(r#"{"S":"leaf"}"#.to_owned(), |inner, n| {
        format!(r#"{{"M":{{"d{n}":{inner}}}}}"#)
    });
    let head = format!(
        r#"{{"order_id":{{"S":"o"}},"version":{{"N":"1"}},"attributes":{{"M":{{{},"deep":{deep}}}}}}}"#,
        keys.join(",")
    );
    let document = document(&of(&head));
    assert_eq!(
        document.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["attributes", "deleted", "order_id", "version"]
    );
    assert_eq!(document["attributes"].as_object().unwrap().len(), 1_501);
}

// C-23, C-31
#[test]
fn an_amount_that_is_no_64_bit_integer_refuses_its_version_and_nothing_else_does() {
    #[track_caller]
    fn check(attribute: &str, refused: bool) {
        let input = of(&format!(
            r#"{{"order_id":{{"S":"o"}},"version":{{"N":"1"}},{attribute}}}"#
        ));
        assert_eq!(
            input.document().is_err(),
            refused,
            "{attribute}: {:?}",
            input.document()
        );
    }
    check(r#""total_minor":{"N":"1250.0"}"#, false);
    check(r#""total_minor":{"N":"9223372036854775807"}"#, false);
    check(r#""total_minor":{"NULL":true}"#, false);
    check(r#""total_minor":{"N":"9223372036854775808"}"#, true);
    check(r#""total_minor":{"N":"18446744073709551617"}"#, true);
    check(
        r#""total_minor":{"N":"12345678901234567890123456789012345678"}"#,
        true,
    );
    check(r#""total_minor":{"N":"-0.1"}"#, true);
    check(r#""total_minor":{"S":"12"}"#, true);
    check(r#""lines":{"L":[{"M":{"unit_minor":{"N":"12.5"}}}]}"#, true);
    check(r#""lines":{"L":[{"M":{"qty":{"N":"1E30"}}}]}"#, true);
    check(
        r#""status":{"N":"7"},"created_at":{"S":"soon"},"lines":{"S":"none"},"attributes":{"L":[]},"tracking":{"NULL":true}"#,
        false,
    );
}

// C-23
#[test]
fn a_head_without_a_usable_version_or_order_is_poison() {
    #[track_caller]
    fn check(head: &str, expected: Option<i64>) {
        assert_eq!(
            SearchInput::from_head(&Image::parse(head).unwrap())
                .ok()
                .map(|input| input.version()),
            expected,
            "{head}"
        );
    }
    check(r#"{"order_id":{"S":"o"},"version":{"N":"3E0"}}"#, Some(3));
    check(r#"{"PK":{"S":"ORDER#o"},"version":{"N":"3.0"}}"#, Some(3));
    check(r#"{"order_id":{"S":"o"},"version":{"S":"3"}}"#, None);
    check(r#"{"order_id":{"S":"o"},"version":{"N":"12.5"}}"#, None);
    check(r#"{"order_id":{"S":"o"},"version":{"N":"0"}}"#, None);
    check(r#"{"order_id":{"S":"o"},"version":{"N":"-1"}}"#, None);
    check(
        r#"{"order_id":{"S":"o"},"version":{"N":"9223372036854775808"}}"#,
        None,
    );
    check(r#"{"order_id":{"S":"o"}}"#, None);
    check(r#"{"version":{"N":"3"}}"#, None);
}

// C-03, C-33, C-34
#[test]
fn a_removed_head_becomes_a_tombstone_one_version_later() {
    let input = SearchInput::from_removed(&Image::parse(HEAD).unwrap()).unwrap();
    assert_eq!(
        (input.order_id(), input.version(), input.deleted()),
        ("o-1", 4, true)
    );
    assert_eq!(
        input.document(),
        Ok(r#"{"order_id":"o-1","version":4,"deleted":true}"#)
    );
    let last = r#"{"order_id":{"S":"o"},"version":{"N":"9223372036854775807"}}"#;
    assert!(SearchInput::from_removed(&Image::parse(last).unwrap()).is_err());
}

// C-03, C-09
#[test]
fn a_record_without_its_optional_parts_is_enough_and_without_its_image_poison() {
    let raw = |body: &str| {
        format!(r#"{{"dynamodb":{{{body}}}}}"#).replacen('{', r#"{"eventName":"@","#, 1)
    };
    let from = |name: &str, body: &str| {
        let raw = raw(body).replace('@', name);
        SearchInput::from_record(&Record::decode(&raw).unwrap())
            .map(|input| (input.version(), input.deleted()))
    };
    let head = r#"{"order_id":{"S":"o"},"version":{"N":"2"}}"#;
    assert_eq!(
        from("INSERT", &format!(r#""NewImage":{head}"#)).unwrap(),
        (2, false)
    );
    assert_eq!(
        from("MODIFY", &format!(r#""NewImage":{head},"OldImage":null"#)).unwrap(),
        (2, false)
    );
    assert_eq!(
        from("REMOVE", &format!(r#""OldImage":{head}"#)).unwrap(),
        (3, true)
    );
    assert!(from("REMOVE", r#""Keys":{}"#).is_err());
    assert!(from("MODIFY", &format!(r#""OldImage":{head},"NewImage":{{}}"#)).is_err());
}

#[test]
fn different_orders_have_different_ids_and_all_of_them_fit() {
    let long = "é".repeat(257);
    let ids = [
        "o-1",
        "",
        &"x".repeat(512),
        &"x".repeat(513),
        &long,
        "sha256:x",
    ]
    .map(|id| document_id(id).into_owned());
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    assert!(
        ids.iter()
            .all(|id| !id.is_empty() && id.len() <= MAX_ID_BYTES)
    );
    assert_eq!(ids.first().map(String::as_str), Some("o-1"));
    let hashed = document_id(&long).into_owned();
    assert_ne!(
        document_id(&hashed),
        document_id(&long),
        "an order that is called like a hash is hashed itself"
    );
}
