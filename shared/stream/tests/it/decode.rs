//! Reading records.

use sagaline_stream::{Change, Disposition, EventName, Image, Record};

fn decoded(raw: &str) -> Record<'_> {
    Record::decode(raw).expect("a record")
}

// C-09
#[test]
fn what_aws_may_leave_out_is_absent_and_costs_nothing() {
    let full = decoded(
        r#"{"eventID":"e","eventName":"MODIFY","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"eu-west-1",
            "userIdentity":null,"eventSourceARN":"arn:aws:dynamodb:eu-west-1:123456789012:table/orders/stream/x",
            "dynamodb":{"ApproximateCreationDateTime":1.7645E9,"Keys":{"id":{"S":"a"}},"NewImage":{"id":{"S":"a"}},"OldImage":{"id":{"S":"a"}},
            "SequenceNumber":"1200","SizeBytes":26,"StreamViewType":"NEW_AND_OLD_IMAGES"}}"#,
    );
    assert_eq!(full.size_bytes(), Some(26));
    assert_eq!(
        full.created_at().map(|time| time.to_string()).as_deref(),
        Some("2025-11-30T10:53:20.000Z")
    );
    assert_eq!(
        (full.table_name(), full.user_identity()),
        (Some("orders"), None)
    );

    let bare = decoded(r#"{"eventName":"INSERT","dynamodb":{"NewImage":{"id":{"S":"a"}}}}"#);
    assert_eq!(
        (
            bare.event_id(),
            bare.sequence(),
            bare.created_at(),
            bare.size_bytes()
        ),
        (None, None, None, None)
    );
    assert_eq!(
        (bare.stream_arn(), bare.table_name(), bare.keys()),
        (None, None, None)
    );

    // Also with values of a kind nobody promised: they are unknown, not a reason to lose the record.
    let odd = decoded(
        r#"{"eventID":7,"eventName":"REMOVE","unknown":{"a":[1,{"b":null}]},"userIdentity":"me","dynamodb":{"SequenceNumber":1200,
            "SizeBytes":"many","ApproximateCreationDateTime":{},"Keys":null}}"#,
    );
    assert_eq!(
        (odd.event_id(), odd.sequence().map(|number| number.as_str())),
        (Some("7"), Some("1200"))
    );
    assert_eq!(
        (odd.size_bytes(), odd.created_at(), odd.user_identity()),
        (None, None, None)
    );
    assert_eq!(
        decoded(r#"{"eventName":"REMOVE","dynamodb":{"SequenceNumber":""}}"#).sequence(),
        None
    );
    assert_eq!(decoded(r#"{"eventName":"REMOVE"}"#).new_image(), None);
}

// C-10
#[test]
fn the_time_of_a_record_may_come_in_any_unit_and_form() {
    #[track_caller]
    fn check(time: &str, expected: Option<&str>) {
        let raw = format!(
            r#"{{"eventName":"REMOVE","dynamodb":{{"ApproximateCreationDateTime":{time}}}}}"#
        );
        assert_eq!(
            decoded(&raw)
                .created_at()
                .map(|time| time.to_string())
                .as_deref(),
            expected,
            "{time}"
        );
    }
    check("1764500000", Some("2025-11-30T10:53:20.000Z"));
    check("1764500000.0", Some("2025-11-30T10:53:20.000Z"));
    check("1.7645E9", Some("2025-11-30T10:53:20.000Z"));
    check("1764500000250", Some("2025-11-30T10:53:20.250Z"));
    check("1764500000250125", Some("2025-11-30T10:53:20.250Z"));
    check("\"1764500000.0\"", Some("2025-11-30T10:53:20.000Z"));
    check("null", None);
    check("0", None);
    check(
        "1764500000250,\"ApproximateCreationDateTimePrecision\":\"MILLISECOND\"",
        Some("2025-11-30T10:53:20.250Z"),
    );
}

#[test]
fn an_absent_image_is_not_an_empty_one_and_an_empty_one_is_absent() {
    for old in [
        "",
        r#","OldImage":null"#,
        r#","OldImage":{}"#,
        r#","OldImage":{"aws:rep:deleting":{"BOOL":false}}"#,
    ] {
        let raw = format!(
            r#"{{"eventName":"INSERT","dynamodb":{{"NewImage":{{"id":{{"S":""}}}}{old}}}}}"#
        );
        let record = decoded(&raw);
        assert_eq!(record.old_image(), None, "{old}");
        assert_eq!(
            record.new_image().and_then(|image| image.s("id")),
            Some(""),
            "an empty text is a value"
        );
    }
}

// C-03 (this crate's half)
#[test]
fn a_change_without_its_image_is_poison_and_a_remove_without_one_is_the_consumers_choice() {
    for name in ["INSERT", "MODIFY"] {
        let raw = format!(
            r#"{{"eventName":"{name}","dynamodb":{{"NewImage":{{}},"OldImage":{{"id":{{"S":"a"}}}}}}}}"#
        );
        let failure = decoded(&raw).change().expect_err("no new image");
        assert_eq!(
            (failure.disposition(), failure.reason()),
            (
                Disposition::Poison,
                format!("{name} without NewImage").as_str()
            )
        );
    }
    let gone = decoded(r#"{"eventName":"REMOVE","dynamodb":{"Keys":{"id":{"S":"a"}}}}"#);
    assert!(matches!(gone.change(), Ok(Change::Remove { old: None })));
    assert_eq!(
        gone.require_old_image().expect_err("no image").reason(),
        "REMOVE without OldImage"
    );
    let removed = decoded(r#"{"eventName":"REMOVE","dynamodb":{"OldImage":{"id":{"S":"a"}}}}"#);
    assert_eq!(
        (removed.event_name(), removed.require_old_image().is_ok()),
        (EventName::Remove, true)
    );
}

// C-47 (this crate's half)
#[test]
fn only_a_remove_by_the_service_and_its_principal_is_a_ttl_delete() {
    #[track_caller]
    fn check(name: &str, identity: &str, expected: bool) {
        let raw = format!(
            r#"{{"eventName":"{name}","userIdentity":{identity},"dynamodb":{{"NewImage":{{"id":{{"S":"a"}}}}}}}}"#
        );
        assert_eq!(decoded(&raw).is_ttl_delete(), expected, "{raw}");
    }
    let full = r#"{"type":"Service","principalId":"dynamodb.amazonaws.com"}"#;
    check("REMOVE", full, true);
    check(
        "REMOVE",
        r#"{"Type":"Service","PrincipalId":"dynamodb.amazonaws.com"}"#,
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
        r#"{"type":"AssumedRole","principalId":"AROAEXAMPLE:session"}"#,
        false,
    );
    check("REMOVE", "null", false);
    check("INSERT", full, false);
    check("MODIFY", full, false);
}

#[test]
fn a_replicated_ttl_delete_is_inferred_from_an_expiry_that_had_passed() {
    #[track_caller]
    fn check(rest: &str, expected: bool) {
        let raw = format!(r#"{{"eventName":"REMOVE",{rest}}}"#);
        assert_eq!(
            decoded(&raw).is_probable_ttl_delete("expires_at"),
            expected,
            "{raw}"
        );
    }
    let of = |expiry: &str, time: &str| {
        format!(
            r#""dynamodb":{{"OldImage":{{"expires_at":{{"N":"{expiry}"}}}},"ApproximateCreationDateTime":{time}}}"#
        )
    };
    check(&of("1764400000", "1764500000"), true);
    check(&of("1764600000", "1764500000"), false);
    check(&of("1764400000", "null"), false);
    check(&of("soon", "1764500000"), false);
    check(
        &of("99999999999999999999999999999999999999", "1764500000"),
        false,
    );
    check(
        &format!(
            r#""userIdentity":{{"type":"AssumedRole"}},{}"#,
            of("1764400000", "1764500000")
        ),
        false,
    );
}

#[test]
fn a_record_of_another_kind_is_refused_with_its_reason() {
    #[track_caller]
    fn check(raw: &str, expected: &str) {
        assert_eq!(
            Record::decode(raw).expect_err(raw).error().to_string(),
            expected
        );
    }
    check(
        r#"{"eventName":"UPSERT"}"#,
        "eventName: the unknown event name \"UPSERT\"",
    );
    check(
        r#"{"eventName":"insert"}"#,
        "eventName: the unknown event name \"insert\"",
    );
    check(
        r#"{"eventID":"e"}"#,
        "eventName: the record has no event name",
    );
    check(
        r#"{"eventName":"INSERT","eventSource":"aws:kinesis"}"#,
        "eventSource: a record of \"aws:kinesis\", not of a DynamoDB stream",
    );
    check(
        r#"{"eventName":"INSERT","dynamodb":7}"#,
        "dynamodb: an object was expected",
    );
    check("null", "not JSON at byte 0: an object was expected");
    check(
        r#"{"eventName":"INSERT""#,
        "not JSON at byte 21: a comma or the end of the object was expected",
    );
}

#[test]
fn attributes_of_old_global_tables_are_stripped_from_the_top_of_an_image_only() {
    let record = decoded(
        r#"{"eventName":"MODIFY","dynamodb":{"NewImage":{"aws:rep:updateregion":{"S":"eu-west-1"},"id":{"S":"a"},"aws:rep:updatetime":{"N":"1"},
            "inner":{"M":{"aws:rep:mine":{"S":"kept"}}}}}}"#,
    );
    let canonical = record.new_image().map(Image::to_canonical);
    assert_eq!(
        canonical.as_deref(),
        Some(r#"{"id":{"S":"a"},"inner":{"M":{"aws:rep:mine":{"S":"kept"}}}}"#)
    );
}

// C-04 (this crate's other half)
#[test]
fn a_sequence_number_sent_as_a_json_number_keeps_all_its_digits() {
    for digits in ["7", "9100000000000000000000000000000000000042", "0"] {
        let raw = format!(
            r#"{{"eventName":"REMOVE","dynamodb":{{"SequenceNumber":{digits},"Keys":{{"n":{{"N":{digits}}}}}}}}}"#
        );
        let record = decoded(&raw);
        assert_eq!(
            record.sequence().map(|number| number.as_str()),
            Some(digits)
        );
        assert_eq!(record.keys().and_then(|keys| keys.n("n")), Some(digits));
    }
}

#[test]
fn an_identity_that_says_nothing_is_none() {
    for identity in [
        "null",
        "{}",
        "\"Service\"",
        r#"{"type":null}"#,
        r#"{"other":"x"}"#,
    ] {
        let raw = format!(
            r#"{{"eventName":"REMOVE","userIdentity":{identity},"dynamodb":{{"OldImage":{{"expires_at":{{"N":"1764400000"}}}},"ApproximateCreationDateTime":1764500000}}}}"#
        );
        let record = decoded(&raw);
        assert_eq!(record.user_identity(), None, "{identity}");
        assert!(!record.is_ttl_delete() && record.is_probable_ttl_delete("expires_at"));
    }
}

#[test]
fn the_table_is_named_by_the_arn_in_every_form_seen() {
    #[track_caller]
    fn check(arn: &str, expected: Option<&str>) {
        assert_eq!(sagaline_stream::table_name(arn), expected, "{arn}");
    }
    let stream = "stream/2026-01-31T08:30:00.000";
    check(
        &format!("arn:aws:dynamodb:eu-west-1:123456789012:table/a.b-c_D/{stream}"),
        Some("a.b-c_D"),
    );
    check(
        &format!("arn:aws-us-gov:dynamodb:us-gov-west-1:123456789012:table/t/{stream}"),
        Some("t"),
    );
    check(
        &format!("arn:aws:dynamodb:ddblocal:000000000000:table/t/{stream}"),
        Some("t"),
    );
    check("arn:aws:dynamodb::000000000000:table/t", Some("t"));
    check(
        "arn:aws:dynamodb:eu-west-1:123456789012:table/t/index/by_status",
        Some("t"),
    );
    check("arn:aws:dynamodb:eu-west-1:123456789012:table/", None);
    check(
        "arn:aws:dynamodb:eu-west-1:123456789012:global-table/t",
        None,
    );
    check(
        "arn:aws:kinesis:eu-west-1:123456789012:stream/table/t",
        None,
    );
    check("arn:aws:dynamodb", None);
    check("", None);
}
