use serde_json::{Value, json};

use super::*;
use crate::shard::Rules;

/// A file with one function, whose bootstrap is the test's own program, and this mapping.
fn file(mapping: &Value) -> Value {
    json!({"functions": {"saga": {"bootstrap": std::env::current_exe().unwrap()}}, "mappings": [mapping]})
}

fn parse(document: &Value) -> Result<Config, ConfigError> {
    Config::parse(&document.to_string(), Path::new("/"))
}

fn stream(settings: Value) -> Value {
    let mut mapping =
        json!({"function": "saga", "table": "orders", "StartingPosition": "TRIM_HORIZON"});
    merge(&mut mapping, settings);
    mapping
}

fn queue(settings: Value) -> Value {
    let mut mapping =
        json!({"function": "saga", "queue_url": "http://127.0.0.1:1/000000000000/retry"});
    merge(&mut mapping, settings);
    mapping
}

fn merge(mapping: &mut Value, settings: Value) {
    for (key, value) in settings.as_object().unwrap() {
        mapping[key] = value.clone();
    }
}

#[track_caller]
fn refused(document: &Value, key: &str) {
    let error = parse(document).expect_err(key).to_string();
    assert!(error.contains(key), "{error:?} does not name {key:?}");
}

#[test]
fn every_setting_of_a_stream_mapping_is_read() {
    let destination =
        json!({"OnFailure": {"Destination": "arn:aws:sqs:eu-west-1:123456789012:failed"}});
    let config = parse(&file(&stream(json!({
        "BatchSize": 50, "MaximumBatchingWindowInSeconds": 1, "StartingPosition": "LATEST", "FilterCriteria": {"Filters": [{"Pattern": "{\"eventName\":[\"INSERT\"]}"}]},
        "FunctionResponseTypes": ["ReportBatchItemFailures"], "BisectBatchOnFunctionError": true, "MaximumRetryAttempts": 10, "MaximumRecordAgeInSeconds": 3600, "ParallelizationFactor": 2,
        "DestinationConfig": destination, "Enabled": false, "MetricsConfig": {"Metrics": ["EventCount"]}, "TumblingWindowInSeconds": 0,
    }))))
    .unwrap();
    let mapping = &config.mappings[0];
    let Source::Table { table, settings } = &mapping.source else {
        panic!("a table")
    };
    let rules = Rules {
        batch_size: 50,
        window: Duration::from_secs(1),
        lanes: 2,
        bisect: true,
        max_retries: Some(10),
        max_age: Some(Duration::from_secs(3_600)),
    };
    assert_eq!(
        (table.as_str(), mapping.enabled, settings.rules),
        ("orders", false, rules)
    );
    assert!(settings.from_latest && settings.report_failures && !settings.filter.is_empty());
    let wanted = DestinationArn::Queue {
        arn: "arn:aws:sqs:eu-west-1:123456789012:failed".into(),
        account: "123456789012".into(),
        name: "failed".into(),
    };
    assert_eq!(settings.on_failure, Some(wanted));
    assert_eq!(config.warnings, Vec::<String>::new());
}

#[test]
fn f_esm_1_and_2_the_defaults_are_those_of_aws() {
    let config = parse(&file(&stream(
        json!({"MaximumRetryAttempts": -1, "MaximumRecordAgeInSeconds": -1}),
    )))
    .unwrap();
    let Source::Table { settings, .. } = &config.mappings[0].source else {
        panic!("a table")
    };
    assert_eq!(
        settings.rules,
        Rules {
            batch_size: 100,
            window: Duration::ZERO,
            lanes: 1,
            bisect: false,
            max_retries: None,
            max_age: None
        }
    );
    assert_eq!(
        (
            config.functions["saga"].timeout,
            config.functions["saga"].memory_mb
        ),
        (Duration::from_secs(3), 128)
    );
    let config = parse(&file(&queue(json!({})))).unwrap();
    let Source::Queue { settings, .. } = &config.mappings[0].source else {
        panic!("a queue")
    };
    assert_eq!((settings.batch_size, settings.window), (10, Duration::ZERO));
}

#[test]
fn f_esm_1_2_4_5_values_out_of_range_are_refused_by_name() {
    for (key, values) in [
        (
            "BatchSize",
            vec![json!(0), json!(10_001), json!("10"), json!(1.5), json!(-1)],
        ),
        (
            "MaximumBatchingWindowInSeconds",
            vec![json!(-1), json!(301)],
        ),
        ("MaximumRetryAttempts", vec![json!(-2), json!(10_001)]),
        (
            "MaximumRecordAgeInSeconds",
            vec![json!(0), json!(59), json!(604_801)],
        ),
        ("ParallelizationFactor", vec![json!(0), json!(11)]),
        (
            "StartingPosition",
            vec![json!("AT_TIMESTAMP"), json!("latest"), json!(1)],
        ),
        ("BisectBatchOnFunctionError", vec![json!("true")]),
        ("Enabled", vec![json!("true"), json!(1)]),
        (
            "FunctionResponseTypes",
            vec![
                json!("ReportBatchItemFailures"),
                json!(["Other"]),
                json!(["ReportBatchItemFailures", "Other"]),
            ],
        ),
        (
            "FilterCriteria",
            vec![
                json!([]),
                json!({"Filters": [{"Pattern": "{"}]}),
                json!({"Filters": [{}]}),
                json!({"Filters": [{"Pattern": "{\"a\":[\"b\"]}", "x": 1}]}),
            ],
        ),
        (
            "DestinationConfig",
            vec![
                json!({"OnFailure": {"Destination": "queue"}}),
                json!({"OnSuccess": {}}),
                json!({"OnFailure": {"Destination": "arn:aws:sns:eu-west-1:1:t"}}),
            ],
        ),
    ] {
        for value in values {
            refused(&file(&stream(json!({key: value}))), key);
        }
    }
}

#[test]
fn a_setting_that_is_not_supported_is_refused_by_name() {
    // F-ESM-16 and others: never ignored.
    refused(
        &file(&stream(json!({"TumblingWindowInSeconds": 30}))),
        "mappings[0].TumblingWindowInSeconds",
    );
    refused(
        &file(&stream(json!({"StartingPositionTimestamp": 1}))),
        "StartingPositionTimestamp",
    );
    refused(&file(&stream(json!({"KmsKeyArn": "k"}))), "KmsKeyArn");
    refused(
        &file(&queue(json!({"ProvisionedPollerConfig": {}}))),
        "ProvisionedPollerConfig",
    );
    refused(
        &file(&json!({"function": "saga", "schedule": "cron(0 12 * * ? *)"})),
        "mappings[0].schedule",
    );
    refused(
        &file(&json!({"function": "saga", "queue_url": "http://h/1/q.fifo"})),
        "mappings[0].queue_url",
    );
}

#[test]
fn unknown_keys_are_refused_at_every_level() {
    refused(
        &file(&stream(json!({"BatchSise": 1}))),
        "mappings[0].BatchSise",
    );
    refused(
        &file(&queue(json!({"BisectBatchOnFunctionError": true}))),
        "mappings[0].BisectBatchOnFunctionError",
    );
    refused(
        &file(&json!({"function": "saga", "schedule": "rate(1 minute)", "BatchSize": 1})),
        "mappings[0].BatchSize",
    );
    let mut document = file(&stream(json!({})));
    document["functions"]["saga"]["handler"] = json!("x");
    refused(&document, "functions.saga.handler");
    let mut document = file(&stream(json!({})));
    document["extra"] = json!(1);
    refused(&document, "extra");
}

#[test]
fn a_key_that_stands_twice_is_refused() {
    let text = file(&stream(json!({}))).to_string().replace(
        r#""table":"orders""#,
        r#""table":"orders","table":"others""#,
    );
    let error = Config::parse(&text, Path::new("/"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("table"), "{error}");
}

#[test]
fn functions_are_checked() {
    let with = |function: Value| json!({"functions": {"saga": function}, "mappings": []});
    let program = std::env::current_exe().unwrap();
    refused(&with(json!({})), "functions.saga.bootstrap");
    refused(
        &with(json!({"bootstrap": "/no/such/file"})),
        "/no/such/file",
    );
    refused(&with(json!({"bootstrap": "/"})), "functions.saga.bootstrap");
    refused(
        &with(json!({"bootstrap": concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")})),
        "not executable",
    );
    refused(
        &with(json!({"bootstrap": program, "timeout_s": 0})),
        "functions.saga.timeout_s",
    );
    refused(
        &with(json!({"bootstrap": program, "timeout_s": 901})),
        "functions.saga.timeout_s",
    );
    refused(
        &with(json!({"bootstrap": program, "memory_mb": 64})),
        "functions.saga.memory_mb",
    );
    refused(
        &with(json!({"bootstrap": program, "env": {"A": 1}})),
        "functions.saga.env.A",
    );
    refused(
        &json!({"functions": {"a b": {"bootstrap": program}}, "mappings": []}),
        "a b",
    );
    refused(&json!({"mappings": []}), "functions");
    refused(&json!({"functions": {}}), "mappings");
    refused(&json!([]), "no object");
}

#[test]
fn a_mapping_names_one_source_and_a_function_that_exists() {
    refused(&file(&json!({"function": "saga"})), "mappings[0]");
    refused(
        &file(&json!({"function": "saga", "table": "t", "queue_url": "u"})),
        "mappings[0]",
    );
    refused(
        &file(&json!({"function": "other", "table": "t"})),
        "mappings[0].function",
    );
    refused(&file(&json!({"table": "t"})), "mappings[0].function");
}

#[test]
fn f_esm_18_the_same_function_twice_on_one_stream_is_refused() {
    let mut document = file(&stream(json!({})));
    document["mappings"] = json!([stream(json!({})), stream(json!({"BatchSize": 5}))]);
    refused(&document, "mappings[1].function");
    // Two functions on one stream, and one function on two streams, are fine.
    document["functions"]["projector"] = document["functions"]["saga"].clone();
    document["mappings"] = json!([
        stream(json!({})),
        stream(json!({"function": "projector"})),
        stream(json!({"table": "other"}))
    ]);
    assert_eq!(parse(&document).unwrap().mappings.len(), 3);
}

#[test]
fn f_str_6_a_third_reader_of_a_table_is_a_warning() {
    let mut document = file(&stream(json!({})));
    for name in ["projector", "third"] {
        document["functions"][name] = document["functions"]["saga"].clone();
    }
    let readers = ["saga", "projector", "third"].map(|name| stream(json!({"function": name})));
    document["mappings"] = json!(readers[..2]);
    assert_eq!(parse(&document).unwrap().warnings, Vec::<String>::new());
    document["mappings"] = json!(readers);
    assert!(parse(&document).unwrap().warnings[0].contains("mappings[2].table"));
}

#[test]
fn several_schedules_may_call_one_function() {
    let mut document = file(&json!({"function": "saga", "schedule": "rate(1 minute)"}));
    document["mappings"] = json!([document["mappings"][0], document["mappings"][0]]);
    assert_eq!(parse(&document).unwrap().mappings.len(), 2);
}

#[test]
fn f_ofd_3_a_fifo_destination_is_refused() {
    for arn in [
        "arn:aws:sqs:eu-west-1:1:failed.fifo",
        "arn:aws:sns:eu-west-1:1:failed.fifo",
    ] {
        refused(
            &file(&stream(
                json!({"DestinationConfig": {"OnFailure": {"Destination": arn}}}),
            )),
            "FIFO",
        );
    }
    let bucket = file(&stream(
        json!({"DestinationConfig": {"OnFailure": {"Destination": "arn:aws:s3:::failed"}}}),
    ));
    assert!(
        matches!(&parse(&bucket).unwrap().mappings[0].source, Source::Table { settings, .. } if settings.on_failure == Some(DestinationArn::Bucket { name: "failed".into() }))
    );
}

#[test]
fn f_sqs_1_a_queue_batch_above_ten_needs_a_window() {
    refused(
        &file(&queue(json!({"BatchSize": 11}))),
        "mappings[0].BatchSize",
    );
    assert!(
        parse(&file(&queue(
            json!({"BatchSize": 11, "MaximumBatchingWindowInSeconds": 1})
        )))
        .is_ok()
    );
    refused(
        &file(&queue(json!({"ScalingConfig": {"MaximumConcurrency": 1}}))),
        "mappings[0].ScalingConfig.MaximumConcurrency",
    );
    refused(
        &file(&queue(
            json!({"FilterCriteria": {"Filters": [{"Pattern": "{\"messageId\":[\"x\"]}"}]}}),
        )),
        "Pattern",
    );
}

#[test]
fn a_missing_starting_position_is_a_warning() {
    let config = parse(&file(&json!({"function": "saga", "table": "orders"}))).unwrap();
    assert!(
        config.warnings[0].contains("mappings[0].StartingPosition"),
        "{:?}",
        config.warnings
    );
}

#[test]
fn the_id_of_a_mapping_depends_on_function_and_source_alone() {
    let id = |mapping: Value| parse(&file(&mapping)).unwrap().mappings[0].id();
    assert_eq!(id(stream(json!({}))), id(stream(json!({"BatchSize": 7}))));
    assert_ne!(id(stream(json!({}))), id(stream(json!({"table": "other"}))));
}
