use super::*;

const ALL: [(&str, &str); 8] = [
    ("ORDERS_TABLE", "orders"),
    ("PARK_BUCKET", "shop-park"),
    ("OPENSEARCH_ENDPOINT", "http://127.0.0.1:9200"),
    ("ARCHIVE_STREAM", "shop-archive"),
    ("ARCHIVE_BUCKET", "shop-archive"),
    (
        "SEARCH_RETRY_QUEUE_URL",
        "http://127.0.0.1:4566/000000000000/search",
    ),
    (
        "ARCHIVE_RETRY_QUEUE_URL",
        "http://127.0.0.1:4566/000000000000/archive",
    ),
    ("UNRELATED", "x"),
];

fn with(changes: &[(&'static str, Option<&'static str>)]) -> Vars {
    let kept = ALL
        .into_iter()
        .filter(|(name, _)| !changes.iter().any(|(changed, _)| changed == name));
    kept.chain(
        changes
            .iter()
            .filter_map(|(name, value)| value.map(|value| (*name, value))),
    )
    .collect()
}

#[test]
fn a_whole_environment_is_read_with_its_defaults() {
    let read = ProjectorVars::read(&with(&[])).expect("complete");
    assert_eq!(
        read.sinks.common,
        CommonVars {
            orders_table: "orders".to_owned(),
            park_bucket: "shop-park".to_owned()
        }
    );
    assert_eq!(read.sinks.search.alias, "orders");
    assert_eq!(read.sinks.search.auth, SearchAuth::Unsigned);
    assert_eq!(read.sinks.archive.redact, DEFAULT_REDACT);
    assert_eq!(read.sinks.hash_keys_secret, None);
    assert_eq!(read.archive_retry_queue.path(), "/000000000000/archive");
}

#[test]
fn a_missing_or_malformed_variable_is_one_line_that_names_it() {
    #[track_caller]
    fn check(name: &'static str, value: Option<&'static str>, expected: &str) {
        let refused = ProjectorVars::read(&with(&[(name, value)]))
            .expect_err("bad")
            .to_string();
        assert_eq!(refused, expected);
    }
    check("ORDERS_TABLE", None, "ORDERS_TABLE is not set");
    check("ORDERS_TABLE", Some(""), "ORDERS_TABLE is not set");
    check(
        "ORDERS_TABLE",
        Some("x"),
        "ORDERS_TABLE is not a table name: 3 to 255 of A-Z a-z 0-9 _ . -",
    );
    check("PARK_BUCKET", None, "PARK_BUCKET is not set");
    check(
        "PARK_BUCKET",
        Some("Shop"),
        "PARK_BUCKET is not a bucket name: 3 to 63 of a-z 0-9 . -",
    );
    check(
        "PARK_BUCKET",
        Some("s3://shop"),
        "PARK_BUCKET is not a bucket name: 3 to 63 of a-z 0-9 . -",
    );
    check(
        "OPENSEARCH_ENDPOINT",
        None,
        "OPENSEARCH_ENDPOINT is not set, and neither is OPENSEARCH_DOMAIN",
    );
    check(
        "OPENSEARCH_ENDPOINT",
        Some("localhost:9200"),
        "OPENSEARCH_ENDPOINT is no http or https URL",
    );
    check(
        "OPENSEARCH_ENDPOINT",
        Some("search.example.com"),
        "OPENSEARCH_ENDPOINT is no URL: relative URL without a base",
    );
    check(
        "OPENSEARCH_AUTH",
        Some("basic"),
        "OPENSEARCH_AUTH is neither sigv4 nor none",
    );
    check(
        "OPENSEARCH_ALIAS",
        Some("Orders"),
        "OPENSEARCH_ALIAS is not an alias: 1 to 200 of a-z 0-9 _ . -, the first a letter or a digit",
    );
    check("ARCHIVE_STREAM", None, "ARCHIVE_STREAM is not set");
    check("ARCHIVE_BUCKET", None, "ARCHIVE_BUCKET is not set");
    check(
        "ARCHIVE_REDACT",
        Some("a,,b"),
        "ARCHIVE_REDACT has an empty name between its commas",
    );
    check(
        "SEARCH_RETRY_QUEUE_URL",
        None,
        "SEARCH_RETRY_QUEUE_URL is not set",
    );
    check(
        "ARCHIVE_RETRY_QUEUE_URL",
        Some("archive"),
        "ARCHIVE_RETRY_QUEUE_URL is no URL: relative URL without a base",
    );
}

#[test]
fn the_way_of_signing_follows_the_server_unless_it_is_said() {
    #[track_caller]
    fn check(changes: &[(&'static str, Option<&'static str>)], expected: SearchAuth) {
        assert_eq!(
            SearchVars::read(&with(changes)).map(|read| read.auth),
            Ok(expected)
        );
    }
    check(
        &[("OPENSEARCH_ENDPOINT", Some("https://search.example.com"))],
        SearchAuth::SigV4,
    );
    check(
        &[
            ("OPENSEARCH_ENDPOINT", Some("https://search.example.com")),
            ("OPENSEARCH_AUTH", Some("none")),
        ],
        SearchAuth::Unsigned,
    );
    check(&[("OPENSEARCH_AUTH", Some("sigv4"))], SearchAuth::SigV4);
    check(
        &[
            ("OPENSEARCH_ENDPOINT", None),
            ("OPENSEARCH_DOMAIN", Some("shop-orders")),
        ],
        SearchAuth::SigV4,
    );
}

#[test]
fn hiding_nothing_must_be_said() {
    let redact =
        |value| ArchiveVars::read(&with(&[("ARCHIVE_REDACT", value)])).map(|read| read.redact);
    assert_eq!(redact(Some("")), Ok(String::new()));
    assert_eq!(
        redact(Some("shipping, note")),
        Ok("shipping, note".to_owned())
    );
}

#[test]
fn arns_stand_for_names() {
    let vars = with(&[
        (
            "ORDERS_TABLE",
            Some("arn:aws:dynamodb:eu-west-1:123456789012:table/orders"),
        ),
        (
            "EVENT_BUS",
            Some("arn:aws:events:eu-west-1:123456789012:event-bus/shop"),
        ),
        ("PAYMENT_URL", Some("https://pay.example.com/v1")),
    ]);
    let read = SagaVars::read(&vars).expect("complete");
    assert_eq!(read.payment_url.as_str(), "https://pay.example.com/v1");
    let missing = SagaVars::read(&with(&[("PAYMENT_URL", Some("https://pay.example.com"))]))
        .expect_err("no bus");
    assert_eq!(missing.name(), "EVENT_BUS");
}
