//! The table's settings against the template: as deployed, and made wrong on purpose.

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType, StreamSpecification, StreamViewType,
};
use serde_json::Value;

use crate::support::{Place, unique};

/// The verdict of a check, or of all of an area.
fn verdicts<'a>(told: &'a Value, area: &str, check: &str) -> Vec<&'a str> {
    let all = told["checks"].as_array().unwrap().iter();
    let all = all.filter(|one| one["area"] == area && (check.is_empty() || one["check"] == check));
    all.map(|one| one["verdict"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn what_is_deployed_is_what_the_template_says() {
    let place = Place::fresh("doctor").await;
    let said = place.sagaline(&["table", "doctor", "--json"]).await.ok();
    let told = said.json();
    assert_eq!(told["fail"], 0, "{told:#}");
    for check in [
        "keys",
        "stream view type",
        "time to live",
        "point-in-time recovery",
        "billing",
    ] {
        assert_eq!(verdicts(&told, "table", check), ["ok"], "{check}");
    }
    // The local deployment turns it off by parameter.
    assert_eq!(verdicts(&told, "table", "deletion protection"), ["warn"]);
    for index in ["due", "by_status", "by_updated"] {
        assert_eq!(
            verdicts(&told, &format!("index {index}"), "definition"),
            ["ok"]
        );
    }
    assert_eq!(verdicts(&told, "stream", "readers"), ["ok"]);
    assert_eq!(
        verdicts(&told, "mapping stream -> saga", "MaximumRecordAgeInSeconds"),
        ["ok"]
    );
    // What the local AWS does not keep or measure is unknown, never well.
    assert_eq!(
        verdicts(&told, "mapping stream -> saga", "MetricsConfig"),
        ["unknown"]
    );
    assert_eq!(verdicts(&told, "stream", "saga behind"), ["unknown"]);
    assert!(verdicts(&told, "queue search-retry", "").contains(&"ok"));
    assert!(
        verdicts(&told, "alarms", "")
            .iter()
            .filter(|verdict| **verdict == "ok")
            .count()
            > 15,
        "{told:#}"
    );
    let people = place.sagaline(&["table", "doctor"]).await.ok().out;
    assert!(
        people.contains("exactly") || people.contains("readers 2: "),
        "{people}"
    );
}

#[tokio::test]
async fn a_table_that_was_made_wrong_fails_with_what_to_do() {
    let place = Place::shared().await;
    let client = place.dynamodb();
    let name = unique("wrong");
    let key = |name: &str, kind: KeyType| {
        KeySchemaElement::builder()
            .attribute_name(name)
            .key_type(kind)
            .build()
            .unwrap()
    };
    let attribute = |name: &str| {
        AttributeDefinition::builder()
            .attribute_name(name)
            .attribute_type(ScalarAttributeType::S)
            .build()
            .unwrap()
    };
    let due = GlobalSecondaryIndex::builder()
        .index_name("due")
        .key_schema(key("due_pk", KeyType::Hash))
        .key_schema(key("due_sk", KeyType::Range))
        .projection(
            Projection::builder()
                .projection_type(ProjectionType::All)
                .build(),
        )
        .build()
        .unwrap();
    let stream = StreamSpecification::builder()
        .stream_enabled(true)
        .stream_view_type(StreamViewType::NewImage)
        .build()
        .unwrap();
    let mut made = client
        .create_table()
        .table_name(&name)
        .billing_mode(BillingMode::PayPerRequest)
        .key_schema(key("PK", KeyType::Hash))
        .key_schema(key("SK", KeyType::Range))
        .global_secondary_indexes(due)
        .stream_specification(stream);
    for one in ["PK", "SK", "due_pk", "due_sk"] {
        made = made.attribute_definitions(attribute(one));
    }
    made.send().await.unwrap();

    let arguments = [
        "table",
        "doctor",
        "--table",
        &name,
        "--stack",
        place.deployment.name.as_str(),
    ];
    let said = place
        .sagaline(&[&arguments[..], &["--json"]].concat())
        .await
        .refused(1, "SL4001");
    let told = said.json();
    for (area, check) in [
        ("table", "stream view type"),
        ("table", "time to live"),
        ("table", "point-in-time recovery"),
        ("index due", "definition"),
        ("index by_status", "definition"),
        ("stream", "readers"),
    ] {
        assert_eq!(
            verdicts(&told, area, check),
            ["fail"],
            "{area} {check}: {told:#}"
        );
    }
    let all = told["checks"].as_array().unwrap();
    assert!(
        all.iter()
            .filter(|one| one["verdict"] == "fail")
            .all(|one| one["todo"] != ""),
        "each says what to do"
    );
    let people = place.sagaline(&arguments).await.refused(1, "SL4001");
    assert!(
        people.out.contains("NEW_IMAGE, wanted NEW_AND_OLD_IMAGES") && people.out.contains("-> "),
        "{}",
        people.out
    );
    client
        .delete_table()
        .table_name(&name)
        .send()
        .await
        .unwrap();
}
