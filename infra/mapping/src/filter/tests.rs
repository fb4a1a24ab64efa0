use serde_json::{Value, json};

use super::*;

fn compile(pattern: &Value) -> Filter {
    let mut filter = Filter::default();
    filter
        .add(&pattern.to_string(), Subject::StreamRecord)
        .unwrap();
    filter
}

/// A MODIFY of an order of 10.5, without a discount and with tags.
fn modify() -> Value {
    json!({
        "eventName": "MODIFY",
        "dynamodb": {
            "Keys": {"PK": {"S": "ORDER#o-1"}, "SK": {"S": "ORDER#DETAIL"}},
            "NewImage": {"status": {"S": "Confirmed"}, "total": {"N": "10.5"}, "open": {"BOOL": true}, "note": {"NULL": true}, "tags": {"SS": ["vip", "eu"]}},
            "OldImage": {"status": {"S": "Placed"}},
        },
    })
}

fn remove() -> Value {
    json!({"eventName": "REMOVE", "dynamodb": {"Keys": {"PK": {"S": "ORDER#o-1"}}, "OldImage": {"status": {"S": "Placed"}}}})
}

#[track_caller]
fn check(pattern: &Value, admits_modify: bool, admits_remove: bool) {
    let filter = compile(pattern);
    assert_eq!(
        (filter.admits(&modify()), filter.admits(&remove())),
        (admits_modify, admits_remove),
        "{pattern}"
    );
}

fn new_status(matchers: &Value) -> Value {
    json!({"dynamodb": {"NewImage": {"status": {"S": matchers}}}})
}

#[test]
fn f_esm_14_text_is_compared_exactly_and_a_filter_on_the_new_image_drops_every_remove() {
    check(&new_status(&json!(["Confirmed"])), true, false);
    check(&new_status(&json!(["confirmed"])), false, false);
    check(&new_status(&json!(["Placed", "Confirmed"])), true, false);
    check(
        &json!({"dynamodb": {"Keys": {"SK": {"S": ["ORDER#DETAIL"]}}}}),
        true,
        false,
    );
    check(
        &json!({"dynamodb": {"OldImage": {"status": {"S": ["Placed"]}}}}),
        true,
        true,
    );
}

#[test]
fn f_esm_14_fields_are_joined_by_and_and_filters_by_or() {
    check(
        &json!({"eventName": ["MODIFY"], "dynamodb": {"NewImage": {"status": {"S": ["Placed"]}}}}),
        false,
        false,
    );
    let mut either = compile(&json!({"eventName": ["REMOVE"]}));
    either
        .add(
            &new_status(&json!(["Confirmed"])).to_string(),
            Subject::StreamRecord,
        )
        .unwrap();
    assert!(either.admits(&modify()) && either.admits(&remove()));
    assert!(Filter::default().is_empty() && Filter::default().admits(&modify()));
}

#[test]
fn f_esm_15_numbers_are_text_so_numeric_never_matches() {
    check(
        &json!({"dynamodb": {"NewImage": {"total": {"N": [{"numeric": [">", 0]}]}}}}),
        false,
        false,
    );
    check(
        &json!({"dynamodb": {"NewImage": {"total": {"N": [10.5]}}}}),
        false,
        false,
    );
    check(
        &json!({"dynamodb": {"NewImage": {"total": {"N": ["10.5"]}}}}),
        true,
        false,
    );
}

#[test]
fn f_esm_15_exists_works_at_a_leaf() {
    let at = |field: &str, test: Value| json!({"dynamodb": {"NewImage": {field: test}}});
    check(&at("status", json!({"S": [{"exists": true}]})), true, false);
    check(
        &at("discount", json!({"S": [{"exists": true}]})),
        false,
        false,
    );
    check(
        &at("discount", json!({"S": [{"exists": false}]})),
        true,
        true,
    );
    check(
        &at("status", json!({"S": [{"exists": false}]})),
        false,
        true,
    );
    // C-56: without the type tag it matches every record, whether the attribute is there or not; and never the other way.
    check(&at("status", json!([{"exists": false}])), true, true);
    check(&at("discount", json!([{"exists": false}])), true, true);
    check(&at("status", json!([{"exists": true}])), false, false);
}

#[test]
fn f_esm_15_the_name_of_the_event_can_be_filtered() {
    check(&json!({"eventName": ["INSERT", "MODIFY"]}), true, false);
    check(
        &json!({"eventName": [{"anything-but": ["MODIFY"]}]}),
        false,
        true,
    );
}

#[test]
fn text_operators_look_at_text_only() {
    check(&new_status(&json!([{"prefix": "Conf"}])), true, false);
    check(&new_status(&json!([{"suffix": "med"}])), true, false);
    check(&new_status(&json!([{"prefix": "conf"}])), false, false);
    check(
        &new_status(&json!([{"equals-ignore-case": "CONFIRMED"}])),
        true,
        false,
    );
    check(
        &new_status(&json!([{"anything-but": ["Confirmed"]}])),
        false,
        false,
    );
    check(
        &new_status(&json!([{"anything-but": "Placed"}])),
        true,
        false,
    );
    check(
        &new_status(&json!([{"anything-but": {"prefix": "Pl"}}])),
        true,
        false,
    );
    check(
        &json!({"dynamodb": {"NewImage": {"open": {"BOOL": [true]}, "note": {"NULL": [true]}}}}),
        true,
        false,
    );
    // A set matches if one of its members does.
    check(
        &json!({"dynamodb": {"NewImage": {"tags": {"SS": ["vip"]}}}}),
        true,
        false,
    );
    check(
        &json!({"dynamodb": {"NewImage": {"tags": {"SS": ["other"]}}}}),
        false,
        false,
    );
}

#[test]
fn or_joins_fields() {
    check(
        &json!({"$or": [{"eventName": ["REMOVE"]}, {"dynamodb": {"NewImage": {"status": {"S": ["Confirmed"]}}}}]}),
        true,
        true,
    );
    check(
        &json!({"dynamodb": {"$or": [{"NewImage": {"status": {"S": ["x"]}}}, {"OldImage": {"status": {"S": ["Placed"]}}}]}}),
        true,
        true,
    );
}

#[test]
fn f_esm_14_a_bad_pattern_is_refused() {
    let refused = |pattern: &str| {
        Filter::default()
            .add(pattern, Subject::StreamRecord)
            .is_err()
    };
    for pattern in [
        "",
        "not json",
        "[]",
        "\"text\"",
        "{}",
        r#"{"dynamodb":{}}"#,
        r#"{"eventName":"MODIFY"}"#,
        r#"{"eventName":[]}"#,
        r#"{"eventName":[["MODIFY"]]}"#,
        r#"{"eventName":[{"like":"M"}]}"#,
        r#"{"eventName":[{"wildcard":"M*"}]}"#,
        r#"{"eventName":[{"prefix":""}]}"#,
        r#"{"eventName":[{"prefix":1}]}"#,
        r#"{"eventName":[{"exists":"yes"}]}"#,
        r#"{"eventName":[{}]}"#,
        r#"{"eventName":[{"prefix":"a","suffix":"b"}]}"#,
        r#"{"x":[{"numeric":[">"]}]}"#,
        r#"{"x":[{"numeric":["~",1]}]}"#,
        r#"{"x":[{"numeric":["=",1,"<",2]}]}"#,
        r#"{"x":[{"anything-but":[]}]}"#,
        r#"{"x":[{"anything-but":[null]}]}"#,
        r#"{"x":[{"anything-but":{"exists":true}}]}"#,
        r#"{"$or":[]}"#,
        r#"{"$or":[{"a":["b"]}]}"#,
        r#"{"$or":["a","b"]}"#,
    ] {
        assert!(refused(pattern), "{pattern}");
    }
    assert!(refused(&format!(
        r#"{{"eventName":["{}"]}}"#,
        "x".repeat(4_096)
    )));
}

#[test]
fn f_sqs_6_a_message_is_matched_by_its_body_as_json_or_as_plain_text() {
    let filter = |pattern: &str| {
        let mut filter = Filter::default();
        filter.add(pattern, Subject::QueueMessage).unwrap();
        filter
    };
    let json_pattern = filter(r#"{"body":{"qty":[{"numeric":[">",1,"<=",3]}],"kind":["search"]}}"#);
    for (body, wanted) in [
        (r#"{"qty":3,"kind":"search"}"#, true),
        (r#"{"qty":3.5,"kind":"search"}"#, false),
        (r#"{"kind":"search"}"#, false),
        ("plain", false),
        ("3", false),
        ("", false),
    ] {
        assert_eq!(json_pattern.admits_body(body), wanted, "{body}");
    }
    let plain_pattern = filter(r#"{"body":["plain",{"prefix":"pre"}]}"#);
    for (body, wanted) in [
        ("plain", true),
        ("prefix", true),
        (r#"{"plain":1}"#, false),
        ("other", false),
    ] {
        assert_eq!(plain_pattern.admits_body(body), wanted, "{body}");
    }
    // F-SQS-1: filters on `body` only.
    assert!(
        Filter::default()
            .add(r#"{"messageId":["x"]}"#, Subject::QueueMessage)
            .is_err()
    );
}
