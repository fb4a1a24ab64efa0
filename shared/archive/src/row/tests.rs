use super::*;
use crate::columns::{COLUMNS, PARTITION};
use serde_json::{Value, json};

const HEAD: &str = r#"{"PK":{"S":"ORDER#o-1"},"order_id":{"S":"o-1"},"version":{"N":"3"},"status":{"S":"UNPAID"},"state":{"S":"Paying"},
    "total_minor":{"N":"1250.0"},"currency":{"S":"EUR"},"updated_at":{"S":"2026-01-31T23:59:59.5Z"},"payment_token":{"S":"tok_1"},
    "last_event":{"M":{"id":{"S":"r-1"},"kind":{"S":"PaymentDue"},"actor":{"S":"saga"},"reason":{"S":"stock is reserved"}}}}"#;

fn none() -> Redaction {
    Redaction::new("", None)
}

fn record(name: &str, more: &str, dynamodb: &str) -> String {
    format!(
        r#"{{"eventID":"e-1","eventName":"{name}",{more}"dynamodb":{{"SequenceNumber":"1200",{dynamodb}}}}}"#
    )
}

fn row(raw: &str) -> Row {
    Row::from_record(&Record::decode(raw).unwrap(), &none()).unwrap()
}

fn parsed(row: &Row) -> Value {
    serde_json::from_str(&row.to_line()).unwrap()
}

#[test]
fn a_row_has_every_column_in_order_and_null_where_nothing_is_known() {
    let line = row(&record(
        "MODIFY",
        "",
        &format!(r#""ApproximateCreationDateTime":1764500000,"NewImage":{HEAD}"#),
    ))
    .to_line();
    let image = r#"{\"PK\":{\"S\":\"ORDER#o-1\"},\"currency\":{\"S\":\"EUR\"},\"last_event\":{\"M\":{\"actor\":{\"S\":\"saga\"},\"id\":{\"S\":\"r-1\"},\"kind\":{\"S\":\"PaymentDue\"},\"reason\":{\"S\":\"stock is reserved\"}}},\"order_id\":{\"S\":\"o-1\"},\"payment_token\":{\"S\":\"redacted\"},\"state\":{\"S\":\"Paying\"},\"status\":{\"S\":\"UNPAID\"},\"total_minor\":{\"N\":\"1250.0\"},\"updated_at\":{\"S\":\"2026-01-31T23:59:59.5Z\"},\"version\":{\"N\":\"3\"}}"#;
    let expected = [
        r#"{"event_id":"e-1","event_name":"MODIFY","order_id":"o-1","version":3,"event_time":"2025-11-30T10:53:20.000Z","status":"UNPAID","#,
        r#""state":"Paying","cause_kind":"PaymentDue","cause_actor":"saga","cause_reason":"stock is reserved","total_minor":1250,"#,
        r#""currency":"EUR","new_image":""#,
        image,
        r#"","old_image":null,"sequence_number":"1200","ttl_expired":false,"dt":"2025-11-30"}"#,
        "\n",
    ];
    assert_eq!(line, expected.concat());
}

// C-45
#[test]
fn row_and_columns_have_the_same_names_and_types_whatever_is_known() {
    let full = row(&record(
        "MODIFY",
        "",
        &format!(r#""NewImage":{HEAD},"OldImage":{HEAD}"#),
    ));
    let bare = row(
        r#"{"eventName":"INSERT","dynamodb":{"NewImage":{"order_id":{"S":"o"},"version":{"N":"1"}}}}"#,
    );
    for row in [full, bare] {
        let line = row.to_line();
        let value = parsed(&row);
        let names: Vec<&str> = COLUMNS
            .iter()
            .chain([&PARTITION])
            .map(|(name, _)| *name)
            .collect();
        let positions: Vec<usize> = names
            .iter()
            .map(|name| line.find(&format!("\"{name}\":")).unwrap())
            .collect();
        assert!(
            positions.is_sorted() && value.as_object().unwrap().len() == names.len(),
            "{line}"
        );
        for (name, glue) in COLUMNS {
            let fits = match glue {
                "string" => value[name].is_string() || value[name].is_null(),
                "bigint" => value[name].is_i64() || value[name].is_null(),
                "boolean" => value[name].is_boolean(),
                other => panic!("{name} is {other}"),
            };
            assert!(fits, "{name}: {}", value[name]);
        }
        assert_eq!(serde_json::from_value::<Row>(value).unwrap(), row);
    }
}

// C-31, C-45
#[test]
fn a_total_that_is_no_64_bit_integer_is_null_and_keeps_its_digits_in_the_image() {
    #[track_caller]
    fn check(total: &str, expected: Value) {
        let head = format!(
            r#"{{"order_id":{{"S":"o"}},"version":{{"N":"1"}},"total_minor":{{"N":"{total}"}}}}"#
        );
        let row = row(&record("INSERT", "", &format!(r#""NewImage":{head}"#)));
        assert_eq!(parsed(&row)["total_minor"], expected);
        assert!(
            row.new_image
                .unwrap()
                .contains(&format!(r#"{{"N":"{total}"}}"#))
        );
    }
    check("10", json!(10));
    check("9007199254740993", json!(9_007_199_254_740_993_i64));
    check("18446744073709551617", Value::Null);
    check("12345678901234567890123456789012345678", Value::Null);
    check("-0.1", Value::Null);
    check("1E-130", Value::Null);
}

// C-30: binary is its base64 text, exactly; every type comes back from the row as it was.
#[test]
fn an_image_comes_back_from_its_row_with_every_type_and_digit() {
    let image = r#"{"a":{"B":"3q2+7w=="},"b":{"BS":["AA==","AQ=="]},"c":{"N":"12345678901234567890123456789012345678"},"d":{"N":"1E-130"},
        "e":{"NS":["-0.1","9"]},"f":{"SS":["x","y"]},"g":{"NULL":true},"h":{"BOOL":false},"i":{"S":""},"j":{"M":{}},"k":{"L":[{"B":""}]},
        "order_id":{"S":"o"},"version":{"N":"1"}}"#;
    let row = row(&record("INSERT", "", &format!(r#""NewImage":{image}"#)));
    let line: Row = serde_json::from_str(&row.to_line()).unwrap();
    assert_eq!(
        Image::parse(&line.new_image.unwrap()).unwrap(),
        Image::parse(image).unwrap()
    );
}

// C-43
#[test]
fn joined_rows_are_as_many_lines_and_give_every_note_back() {
    let note = "LF\n CR\r LS\u{2028} PS\u{2029} backslash-n\\n NUL\0 quote\" é 😀";
    let text = serde_json::to_string(note).unwrap();
    let head = format!(
        r#"{{"order_id":{{"S":"o"}},"version":{{"N":"1"}},"note":{{"S":{text}}},"last_event":{{"M":{{"reason":{{"S":{text}}}}}}}}}"#
    );
    let one = row(&record("INSERT", "", &format!(r#""NewImage":{head}"#)));
    let joined = [one.to_line(), one.to_line(), one.to_line()].concat();
    assert_eq!(joined.bytes().filter(|byte| *byte == b'\n').count(), 3);
    assert!(!joined.contains(['\r', '\u{2028}', '\u{2029}', '\0']));
    for line in joined.split_terminator('\n') {
        let row: Row = serde_json::from_str(line).unwrap();
        assert_eq!(row.cause_reason.as_deref(), Some(note));
        assert_eq!(
            Image::parse(&row.new_image.unwrap()).unwrap().s("note"),
            Some(note)
        );
    }
}

// C-03, C-47
#[test]
fn a_removal_is_one_version_later_and_only_the_whole_identity_is_a_ttl_delete() {
    #[track_caller]
    fn check(name: &str, identity: &str, expired: bool) {
        let image = if name == "REMOVE" {
            "OldImage"
        } else {
            "NewImage"
        };
        let row = row(&record(
            name,
            &format!(r#""userIdentity":{identity},"#),
            &format!(r#""{image}":{HEAD}"#),
        ));
        assert_eq!(row.ttl_expired, expired, "{name} {identity}");
        assert_eq!(row.version, if name == "REMOVE" { 4 } else { 3 });
    }
    check(
        "REMOVE",
        r#"{"type":"Service","principalId":"dynamodb.amazonaws.com"}"#,
        true,
    );
    check(
        "REMOVE",
        r#"{"principalId":"dynamodb.amazonaws.com"}"#,
        false,
    );
    check(
        "REMOVE",
        r#"{"type":"Service","principalId":"replication.dynamodb.amazonaws.com"}"#,
        false,
    );
    check(
        "REMOVE",
        r#"{"type":"AssumedRole","principalId":"dynamodb.amazonaws.com"}"#,
        false,
    );
    check("REMOVE", "null", false);
    check(
        "INSERT",
        r#"{"type":"Service","principalId":"dynamodb.amazonaws.com"}"#,
        false,
    );

    let removed = row(&record("REMOVE", "", &format!(r#""OldImage":{HEAD}"#)));
    assert!(removed.new_image.is_none() && removed.old_image.is_some());
    assert_eq!(
        (removed.status.as_deref(), removed.cause_kind),
        (Some("UNPAID"), None),
        "the last status, but not the last cause"
    );
    let nothing = record("REMOVE", "", r#""Keys":{}"#);
    assert!(Row::from_record(&Record::decode(&nothing).unwrap(), &none()).is_err());
}

// C-09
#[test]
fn a_time_that_the_record_lacks_is_the_heads_and_else_unknown_never_1970() {
    let of_head = row(&record("MODIFY", "", &format!(r#""NewImage":{HEAD}"#)));
    assert_eq!(
        (of_head.event_time.as_deref(), of_head.dt.as_str()),
        (Some("2026-01-31T23:59:59.500Z"), "2026-01-31")
    );
    let unknown = row(&record(
        "INSERT",
        "",
        r#""NewImage":{"order_id":{"S":"o"},"version":{"N":"1"},"updated_at":{"S":"soon"}}"#,
    ));
    assert_eq!((unknown.event_time, unknown.dt.as_str()), (None, "unknown"));
}

#[test]
fn a_head_without_a_usable_version_or_order_is_poison() {
    for head in [
        r#"{"order_id":{"S":"o"}}"#,
        r#"{"order_id":{"S":"o"},"version":{"S":"3"}}"#,
        r#"{"order_id":{"S":"o"},"version":{"N":"0"}}"#,
        r#"{"order_id":{"S":"o"},"version":{"N":"12.5"}}"#,
        r#"{"version":{"N":"3"}}"#,
    ] {
        assert!(
            Row::from_head(&Image::parse(head).unwrap(), &none()).is_err(),
            "{head}"
        );
    }
}

#[test]
fn a_backfilled_row_has_the_same_image_and_time_as_the_streams() {
    let head = Image::parse(HEAD).unwrap();
    let filled = Row::from_head(&head, &none()).unwrap();
    let streamed = row(&record("MODIFY", "", &format!(r#""NewImage":{HEAD}"#)));
    let same = Row {
        event_id: None,
        event_name: "BACKFILL".to_owned(),
        sequence_number: None,
        ..streamed
    };
    assert_eq!(filled, same);
}

#[test]
fn keys_of_large_rows_hold_no_id_that_is_not_plain() {
    let mut large = row(&record("MODIFY", "", &format!(r#""NewImage":{HEAD}"#)));
    assert_eq!(
        large.oversize_key(),
        "oversize/dt=2026-01-31/o-1-3-e-1.json"
    );
    assert_eq!(
        large.spill_key("2026-02-01"),
        "spill/archive/2026-02-01/o-1-3-e-1.json"
    );
    large.order_id = "../x\n".repeat(300);
    large.event_id = None;
    let key = large.oversize_key();
    assert!(
        key.len() < 200 && !key.contains("..") && key == large.oversize_key(),
        "{key}"
    );
}
