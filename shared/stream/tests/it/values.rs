//! Typed values: what is kept of them, and what is refused by its path.

use sagaline_stream::{Attribute, Batch, Image, Record};

#[test]
fn values_are_lossless() {
    let text = r#"{"s":{"S":"tab\t \u00e4 \ud83d\ude00 \u2028"},"empty":{"S":""},"n":{"N":"12345678901234567890.12345678901234567800"},
        "bare":{"N":-0.10E+05},"b":{"B":"AAEC/w=="},"bs":{"BS":["AQ==","AA=="]},"ss":{"SS":["b","a",""]},"ns":{"NS":["2.50","10",3]},
        "t":{"BOOL":true},"f":{"BOOL":false},"null":{"NULL":true},"l":{"L":[]},"m":{"M":{}},
        "deep":{"M":{"x":{"L":[{"M":{"y":{"L":[{"NULL":true},{"N":"1"}]}}}]}}}}"#;
    let image = Image::parse(text).expect("an image");
    assert_eq!(
        image.n("n"),
        Some("12345678901234567890.12345678901234567800")
    );
    assert_eq!(image.n("bare"), Some("-0.10E+05"));
    assert_eq!(image.n_integer("bare"), Some(Ok(-10_000)));
    assert_eq!(
        image.get("b").and_then(Attribute::bytes),
        Some(vec![0, 1, 2, 255])
    );
    assert_eq!(image.s("s"), Some("tab\t ä 😀 \u{2028}"));
    insta::assert_snapshot!(image.to_canonical());
    let canonical = image.to_canonical();
    assert_eq!(
        Image::parse(&canonical).as_ref(),
        Ok(&image),
        "and its canonical text means the same"
    );
    assert_eq!(image.clone().into_owned(), image);
}

#[test]
fn nesting_is_read_far_beyond_what_dynamodb_stores_and_never_overflows() {
    let nested = |levels: usize| {
        format!(
            "{}{{\"NULL\":true}}{}",
            "{\"L\":[".repeat(levels),
            "]}".repeat(levels)
        )
    };
    assert!(Attribute::parse(&nested(32)).is_ok());
    assert!(Attribute::parse(&nested(64)).is_ok());
    let error = Attribute::parse(&nested(65)).expect_err("too deep");
    assert_eq!(error.what(), "nested too deeply");
    assert!(Attribute::parse(&nested(100_000)).is_err());
    // A record with such a value is split off all the same.
    let payload = format!(
        r#"{{"Records":[{},{{"eventName":"REMOVE"}}]}}"#,
        nested(100_000)
    );
    let batch = Batch::parse(payload.as_bytes()).expect("an event");
    assert_eq!(
        batch
            .records()
            .map(|record| record.is_ok())
            .collect::<Vec<_>>(),
        [false, true]
    );
}

#[test]
fn what_is_no_typed_value_is_named_by_its_path() {
    #[track_caller]
    fn check(image: &str, expected: &str) {
        let raw = format!(
            r#"{{"eventName":"MODIFY","dynamodb":{{"NewImage":{image},"SequenceNumber":"7"}}}}"#
        );
        let broken = Record::decode(&raw).expect_err(image);
        assert_eq!(broken.error().to_string(), expected);
        assert_eq!(
            broken.sequence().map(|number| number.as_str()),
            Some("7"),
            "what stands behind the fault is still read"
        );
    }
    check(
        r#"{"a":{}}"#,
        "dynamodb.NewImage.a: a value without a type tag",
    );
    check(
        r#"{"a":{"L":"x"}}"#,
        "dynamodb.NewImage.a: L must hold a list",
    );
    check(
        r#"{"a":{"L":[{"S":"x"},{"M":{"b":{"N":true}}}]}}"#,
        "dynamodb.NewImage.a[1].b: N must hold a number as a string",
    );
    check(
        r#"{"a":{"S":"x","N":"1"}}"#,
        "dynamodb.NewImage.a: a value with more than one type tag",
    );
    check(
        r#"{"a":{"X":"x"}}"#,
        "dynamodb.NewImage.a: the unknown type tag \"X\"",
    );
    check(
        r#"{"a":"x"}"#,
        "dynamodb.NewImage.a: a value that is no object with a type tag",
    );
    check(
        r#"{"a":null}"#,
        "dynamodb.NewImage.a: a value that is no object with a type tag",
    );
    check(
        r#"{"a":{"NULL":false}}"#,
        "dynamodb.NewImage.a: NULL must hold true",
    );
    check(
        r#"{"a":{"BOOL":"true"}}"#,
        "dynamodb.NewImage.a: BOOL must hold true or false",
    );
    check(
        r#"{"a":{"M":[]}}"#,
        "dynamodb.NewImage.a: M must hold an object",
    );
    check(
        r#"{"a":{"SS":["x",1]}}"#,
        "dynamodb.NewImage.a: SS must hold a list of strings",
    );
    check(
        r#"{"a":{"NS":"1"}}"#,
        "dynamodb.NewImage.a: NS must hold a list of numbers as strings",
    );
    check(
        r#"{"a":{"N":--1}}"#,
        "dynamodb.NewImage.a: N must hold a number as a string",
    );
    check(
        r#"{"a":{"S":"1"},"a":{"S":"2"}}"#,
        "dynamodb.NewImage.a: an attribute that is named twice",
    );
    check("[]", "dynamodb.NewImage: an image that is no object");
    check(r#""{}""#, "dynamodb.NewImage: an image that is no object");
}

#[test]
fn text_without_escapes_is_borrowed_from_the_event() {
    let text = r#"{"plain":{"S":"text"},"esc\u0061ped":{"S":"a\nb"}}"#;
    let image = Image::parse(text).expect("an image");
    let borrowed = |value: Option<&Attribute<'_>>| {
        matches!(value, Some(Attribute::S(std::borrow::Cow::Borrowed(_))))
    };
    assert!(borrowed(image.get("plain")));
    assert!(!borrowed(image.get("escaped")));
}
