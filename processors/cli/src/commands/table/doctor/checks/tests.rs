//! A deployment as the template makes it is well; each thing that is changed is found, alone, with what to do.

use super::super::facts::Queue;
use super::super::template::Template;
use super::*;
use aws_sdk_dynamodb::types::{
    BillingMode, BillingModeSummary, GlobalSecondaryIndexDescription, KeySchemaElement, KeyType,
    Projection, ProjectionType, StreamSpecification, StreamViewType, TableDescription,
};
use sagaline_store::Index;
use serde_json::json;
use std::collections::BTreeMap;

fn expected() -> Expected {
    Template::embedded().unwrap().expected().unwrap()
}

fn keys(partition: &str, sort: &str) -> Vec<KeySchemaElement> {
    [(partition, KeyType::Hash), (sort, KeyType::Range)]
        .map(|(name, kind)| {
            KeySchemaElement::builder()
                .attribute_name(name)
                .key_type(kind)
                .build()
                .unwrap()
        })
        .to_vec()
}

fn index(index: Index) -> GlobalSecondaryIndexDescription {
    let kind = if index.included().is_empty() {
        ProjectionType::KeysOnly
    } else {
        ProjectionType::Include
    };
    let included = Some(
        index
            .included()
            .iter()
            .rev()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>(),
    )
    .filter(|all| !all.is_empty());
    let projection = Projection::builder()
        .projection_type(kind)
        .set_non_key_attributes(included)
        .build();
    GlobalSecondaryIndexDescription::builder()
        .index_name(index.name())
        .set_key_schema(Some(keys(index.partition(), index.sort())))
        .projection(projection)
        .build()
}

fn table(view: StreamViewType, indexes: &[Index]) -> TableDescription {
    let stream = StreamSpecification::builder()
        .stream_enabled(true)
        .stream_view_type(view)
        .build()
        .unwrap();
    TableDescription::builder()
        .set_key_schema(Some(keys("PK", "SK")))
        .stream_specification(stream)
        .deletion_protection_enabled(true)
        .billing_mode_summary(
            BillingModeSummary::builder()
                .billing_mode(BillingMode::PayPerRequest)
                .build(),
        )
        .set_global_secondary_indexes(Some(indexes.iter().map(|one| index(*one)).collect()))
        .build()
}

/// Everything as the template makes it in the stack `shop`.
fn well() -> Facts {
    let expected = expected();
    let mapping = |wanted: &super::super::template::Mapping| {
        let mut there = serde_json::Map::from_iter(wanted.settings.clone());
        there.insert(
            "FunctionArn".to_owned(),
            json!(format!(
                "arn:aws:lambda:eu-west-1:123456789012:function:shop-{}",
                wanted.function
            )),
        );
        there.insert("State".to_owned(), json!("Enabled"));
        if there.contains_key("DestinationConfig") {
            there.insert("DestinationConfig".to_owned(), json!({"OnFailure": {"Destination": "arn:aws:s3:::shop-park-123456789012-eu-west-1"}}));
        }
        Value::Object(there)
    };
    let of = |queue: Option<&str>| -> Vec<Value> {
        expected
            .mappings
            .iter()
            .filter(|one| one.queue.as_deref() == queue)
            .map(mapping)
            .collect()
    };
    let queue = |wanted: &super::super::template::Queue| {
        let mut attributes: BTreeMap<String, String> =
            ["MessageRetentionPeriod", "VisibilityTimeout"]
                .into_iter()
                .filter_map(|name| {
                    Some((name.to_owned(), wanted.properties.get(name)?.to_string()))
                })
                .collect();
        attributes.insert("ApproximateNumberOfMessages".to_owned(), "0".to_owned());
        if let Some(dead) = &wanted.dead {
            let policy = json!({"deadLetterTargetArn": format!("arn:aws:sqs:eu-west-1:123456789012:shop-{dead}"), "maxReceiveCount": "1000"});
            attributes.insert("RedrivePolicy".to_owned(), policy.to_string());
        }
        (
            wanted.name.clone(),
            Ok(Queue {
                attributes,
                readers: Ok(of(Some(&wanted.name))),
            }),
        )
    };
    let alarm = |wanted: &super::super::template::Alarm| {
        let mut there = wanted.settings.clone();
        there.insert(
            "AlarmName".to_owned(),
            json!(format!("shop-{}", wanted.name)),
        );
        there.insert("StateValue".to_owned(), json!("OK"));
        there.insert(
            "AlarmActions".to_owned(),
            json!(["arn:aws:sns:eu-west-1:123456789012:ops"]),
        );
        // AWS sends it as a float.
        let threshold = wanted.settings["Threshold"].as_f64().unwrap();
        there.insert("Threshold".to_owned(), json!(threshold));
        Value::Object(there)
    };
    Facts {
        stack: Some("shop".to_owned()),
        redirected: false,
        table: Ok(table(StreamViewType::NewAndOldImages, &Index::ALL)),
        time_to_live: Ok(Some("expires_at".to_owned())),
        recovery: Ok(true),
        readers: Ok(of(None)),
        queues: expected.queues.iter().map(queue).collect(),
        alarms: Ok(expected.alarms.iter().map(alarm).collect()),
        ages: ["saga", "projector"]
            .map(|name| (name.to_owned(), Ok(Some(1500.0))))
            .into(),
    }
}

/// The only check that is not well, after a change.
#[track_caller]
fn only(change: impl FnOnce(&mut Facts)) -> Check {
    let mut facts = well();
    change(&mut facts);
    let checks: Vec<_> = all(&expected(), &facts)
        .into_iter()
        .filter(|check| check.verdict != Verdict::Ok)
        .collect();
    assert_eq!(checks.len(), 1, "{checks:#?}");
    checks.into_iter().next().unwrap()
}

#[track_caller]
fn check(change: impl FnOnce(&mut Facts), verdict: Verdict, words: &[&str]) {
    let check = only(change);
    assert_eq!(check.verdict, verdict, "{check:#?}");
    let text = format!("{check:?}");
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
    assert!(
        verdict == Verdict::Unknown || !check.todo.is_empty(),
        "{check:#?}"
    );
}

fn reader<'a>(facts: &'a mut Facts, name: &str) -> &'a mut Value {
    facts
        .readers
        .as_mut()
        .unwrap()
        .iter_mut()
        .find(|one| one["FunctionArn"].as_str().unwrap().ends_with(name))
        .unwrap()
}

#[test]
fn a_deployment_of_the_template_is_well() {
    let checks = all(&expected(), &well());
    let other: Vec<_> = checks
        .iter()
        .filter(|check| check.verdict != Verdict::Ok)
        .collect();
    assert!(other.is_empty(), "{other:#?}");
    assert!(checks.len() > 60);
}

#[test]
fn a_wrong_table_is_found() {
    use Verdict::{Fail, Unknown, Warn};
    check(
        |facts| facts.table = Ok(table(StreamViewType::NewImage, &Index::ALL)),
        Fail,
        &["stream view type", "NEW_IMAGE", "make the mappings anew"],
    );
    check(
        |facts| {
            facts.table = Ok(table(
                StreamViewType::NewAndOldImages,
                &[Index::Due, Index::ByUpdated],
            ))
        },
        Fail,
        &["index by_status", "not there"],
    );
    check(
        |facts| facts.time_to_live = Ok(None),
        Fail,
        &["time to live", "off", "expires_at"],
    );
    check(
        |facts| facts.time_to_live = Ok(Some("ttl".to_owned())),
        Fail,
        &["\"ttl\""],
    );
    check(|facts| facts.recovery = Ok(false), Fail, &["point-in-time"]);
    check(
        |facts| facts.recovery = Err("not permitted".to_owned()),
        Unknown,
        &["not permitted"],
    );
    let unprotected =
        |facts: &mut Facts| facts.table.as_mut().unwrap().deletion_protection_enabled = Some(false);
    check(unprotected, Warn, &["DeletionProtection"]);
    let projected = |facts: &mut Facts| {
        let all = facts
            .table
            .as_mut()
            .unwrap()
            .global_secondary_indexes
            .as_mut()
            .unwrap();
        all[0].projection = Some(
            Projection::builder()
                .projection_type(ProjectionType::All)
                .build(),
        );
    };
    check(projected, Fail, &["index due", "ALL", "KEYS_ONLY"]);
    let more = |facts: &mut Facts| {
        let all = facts
            .table
            .as_mut()
            .unwrap()
            .global_secondary_indexes
            .as_mut()
            .unwrap();
        all.push(
            GlobalSecondaryIndexDescription::builder()
                .index_name("by_hand")
                .build(),
        );
    };
    check(more, Warn, &["by_hand", "every write pays"]);
    check(
        |facts| facts.table.as_mut().unwrap().billing_mode_summary = None,
        Warn,
        &["PROVISIONED"],
    );
}

#[test]
fn wrong_readers_are_found() {
    use Verdict::{Fail, Unknown};
    check(
        |facts| reader(facts, "saga")["BatchSize"] = json!(10_000),
        Fail,
        &["stream -> saga", "BatchSize", "10000", "Some(\"50\")"],
    );
    check(
        |facts| reader(facts, "saga")["MaximumRecordAgeInSeconds"] = json!(-1),
        Fail,
        &["MaximumRecordAgeInSeconds", "-1"],
    );
    check(
        |facts| reader(facts, "projector")["FunctionResponseTypes"] = json!([]),
        Fail,
        &["FunctionResponseTypes", "whole batch"],
    );
    check(
        |facts| reader(facts, "projector")["BisectBatchOnFunctionError"] = json!(false),
        Fail,
        &["Bisect"],
    );
    check(
        |facts| reader(facts, "saga")["FilterCriteria"] = json!({"Filters": []}),
        Fail,
        &["FilterCriteria"],
    );
    let queue = json!({"OnFailure": {"Destination": "arn:aws:sqs:eu-west-1:123456789012:x"}});
    check(
        |facts| reader(facts, "saga")["DestinationConfig"] = queue,
        Fail,
        &["DestinationConfig", "or they are lost"],
    );
    let other_bucket = json!({"OnFailure": {"Destination": "arn:aws:s3:::other-park-1"}});
    check(
        |facts| reader(facts, "saga")["DestinationConfig"] = other_bucket,
        Fail,
        &["other-park-1"],
    );
    let unset = |facts: &mut Facts| {
        drop(
            reader(facts, "saga")
                .as_object_mut()
                .unwrap()
                .remove("MetricsConfig"),
        )
    };
    check(unset, Fail, &["MetricsConfig", "not set"]);
    // Where the endpoint is not AWS, what it does not tell may be what it lacks.
    let local = |facts: &mut Facts| {
        facts.redirected = true;
        unset(facts);
    };
    check(local, Unknown, &["does not tell"]);
    check(
        |facts| {
            reader(facts, "saga")["LastProcessingResult"] = json!("PROBLEM: Function call failed")
        },
        Fail,
        &["PROBLEM", "log"],
    );
    let third = |facts: &mut Facts| {
        let third = json!({"FunctionArn": "arn:aws:lambda:eu-west-1:123456789012:function:other", "State": "Enabled"});
        facts.readers.as_mut().unwrap().push(third);
    };
    check(third, Fail, &["3: ", "other", "throttled"]);
    // Blanks in a pattern mean nothing.
    let mut facts = well();
    let pattern = r#"{ "dynamodb": {"Keys": {"SK": {"S": ["ORDER#DETAIL"]}}} }"#;
    reader(&mut facts, "projector")["FilterCriteria"] = json!({"Filters": [{"Pattern": pattern}]});
    assert!(
        all(&expected(), &facts)
            .iter()
            .all(|check| check.verdict == Verdict::Ok)
    );
}

#[test]
fn readers_that_are_missing_or_off_are_found() {
    let verdicts = |change: &dyn Fn(&mut Facts)| {
        let mut facts = well();
        change(&mut facts);
        let checks = all(&expected(), &facts)
            .into_iter()
            .filter(|check| check.verdict != Verdict::Ok);
        checks
            .map(|check| (check.verdict, format!("{}: {}", check.area, check.found)))
            .collect::<Vec<_>>()
    };
    let off = verdicts(&|facts| {
        for name in ["saga", "projector"] {
            reader(facts, name)["State"] = json!("Disabled");
        }
    });
    assert!(
        off.iter().all(|(verdict, _)| *verdict == Verdict::Warn),
        "a parameter may turn both off: {off:?}"
    );
    assert_eq!(off.len(), 3);
    let one = verdicts(&|facts| reader(facts, "saga")["State"] = json!("Disabled"));
    assert!(
        one.contains(&(Verdict::Fail, "stream: 1: shop-projector".to_owned())),
        "{one:?}"
    );
    let gone = verdicts(&|facts| facts.readers.as_mut().unwrap().clear());
    let fails = gone
        .iter()
        .filter(|(verdict, _)| *verdict == Verdict::Fail)
        .count();
    assert_eq!((fails, gone.len()), (3, 3), "{gone:?}");
}

#[test]
fn age_queues_and_alarms_are_judged() {
    use Verdict::{Fail, Unknown, Warn};
    let age = |millis: f64| {
        move |facts: &mut Facts| drop(facts.ages.insert("saga".to_owned(), Ok(Some(millis))))
    };
    check(age(900_001.0), Warn, &["saga behind", "900 s"]);
    check(age(3_600_000.0), Fail, &["gives records up"]);
    check(
        |facts| drop(facts.ages.insert("saga".to_owned(), Ok(None))),
        Unknown,
        &["nothing was measured"],
    );
    let queue = |name: &'static str, attribute: &'static str, value: &'static str| {
        move |facts: &mut Facts| {
            let queue = facts.queues.get_mut(name).unwrap().as_mut().unwrap();
            queue
                .attributes
                .insert(attribute.to_owned(), value.to_owned());
        }
    };
    check(
        queue("search-retry", "VisibilityTimeout", "30"),
        Fail,
        &["queue search-retry", "VisibilityTimeout", "360"],
    );
    check(
        queue("search-retry", "ApproximateNumberOfMessages", "7"),
        Warn,
        &["7 messages", "tried again"],
    );
    check(
        queue("search-dead", "ApproximateNumberOfMessagesNotVisible", "1"),
        Fail,
        &["1 messages", "dlq ls"],
    );
    check(
        queue("archive-retry", "RedrivePolicy", "{}"),
        Fail,
        &["after none receives to nowhere"],
    );
    let gone = |facts: &mut Facts| {
        drop(facts.queues.insert(
            "archive-dead".to_owned(),
            Err("there is no queue shop-archive-dead".to_owned()),
        ))
    };
    check(gone, Fail, &["queue archive-dead", "not there"]);
    let alarm = |name: &'static str, setting: &'static str, value: Value| {
        move |facts: &mut Facts| {
            let alarms = facts.alarms.as_mut().unwrap();
            alarms
                .iter_mut()
                .find(|one| one["AlarmName"] == name)
                .unwrap()[setting] = value;
        }
    };
    check(
        alarm("shop-saga-behind", "Threshold", json!(1.0)),
        Fail,
        &["saga-behind", "Threshold is 1.0", "900000"],
    );
    check(
        alarm("shop-search-dead", "StateValue", json!("ALARM")),
        Warn,
        &["it rings", "dead-letter queue"],
    );
    let without = |name: &'static str| {
        move |facts: &mut Facts| {
            facts
                .alarms
                .as_mut()
                .unwrap()
                .retain(|one| one["AlarmName"] != name)
        }
    };
    check(without("shop-saga-lost"), Fail, &["saga-lost", "not there"]);
    check(
        without("shop-search-red"),
        Unknown,
        &["search-red", "HasDomain"],
    );
    check(
        |facts| facts.alarms = Err("monitoring said 403: no".to_owned()),
        Unknown,
        &["403"],
    );
    let silent = |facts: &mut Facts| {
        facts
            .alarms
            .as_mut()
            .unwrap()
            .iter_mut()
            .for_each(|one| one["AlarmActions"] = json!([]))
    };
    check(silent, Warn, &["AlarmTopic"]);
}

#[test]
fn what_is_not_known_is_never_well() {
    let no = || "not permitted".to_owned();
    let facts = Facts {
        stack: None,
        redirected: false,
        table: Err(no()),
        time_to_live: Err(no()),
        recovery: Err(no()),
        readers: Err(no()),
        queues: BTreeMap::new(),
        alarms: Err(no()),
        ages: BTreeMap::new(),
    };
    assert!(
        all(&expected(), &facts)
            .iter()
            .all(|check| check.verdict == Verdict::Unknown)
    );
}

#[test]
fn people_read_what_is_well_in_a_line_and_all_else_with_what_to_do() {
    let mut facts = well();
    facts.table = Ok(table(
        StreamViewType::NewImage,
        &[Index::Due, Index::ByUpdated],
    ));
    facts.time_to_live = Ok(None);
    reader(&mut facts, "saga")["BatchSize"] = json!(500);
    facts.ages.insert(
        "projector".to_owned(),
        Err("monitoring said 403: not permitted".to_owned()),
    );
    facts.alarms = Err("monitoring said 403: not permitted".to_owned());
    insta::assert_snapshot!(super::super::people(&all(&expected(), &facts)));
}
