//! What documents hold, whatever orders hold.

use sagaline_search::{Query, SinkVerdict, document_id};
use serde_json::{Value, json};

use super::{bare, index};
use crate::support::head;

// C-30 (the index's half)
#[tokio::test]
async fn binary_attributes_are_left_out_of_a_document_and_kept_inside_the_free_ones() {
    let index = index("binary").await;
    let binary = json!({"B": "3q2+7w=="});
    let attributes = json!({
        "extra": binary, "more": {"BS": ["AQ==", "AA=="]},
        "attributes": {"M": {"extra": binary, "more": {"BS": ["AQ==", "AA=="]}}},
    });
    assert_eq!(
        index.write(vec![head("o-1", 1, &attributes)]).await,
        [SinkVerdict::Done]
    );
    let document = index.document("o-1").await;
    let expected = json!({
        "order_id": "o-1", "version": 1, "deleted": false,
        "attributes": {"extra": "3q2+7w==", "more": ["AA==", "AQ=="]},
    });
    assert_eq!(document["_source"], expected);
    let query = json!({"query": {"term": {"attributes.extra": "3q2+7w=="}}});
    assert_eq!(index.found(&query).await, ["o-1"]);
}

// C-31, C-37: numbers go through no float, and no first document decides a type.
#[tokio::test]
async fn numbers_keep_every_digit_whatever_number_came_first() {
    let index = index("digits").await;
    let before = index.mapping().await;
    let of = |id, ratio: &str, total: &str| {
        head(
            id,
            1,
            &json!({"total_minor": {"N": total}, "attributes": {"M": {"ratio": {"N": ratio}}}}),
        )
    };
    let written = index
        .write(vec![
            of("o-1", "10", "9007199254740993"),
            of("o-2", "10.5", "9007199254740992"),
            of(
                "o-3",
                "12345678901234567890123456789012345678",
                "9223372036854775807",
            ),
            of("o-4", "-0.1", "9007199254740994"),
        ])
        .await;
    assert_eq!(written, vec![SinkVerdict::Done; 4]);
    assert_eq!(index.mapping().await, before);

    let by_total = json!({"sort": [{"total_minor": "asc"}]});
    assert_eq!(index.found(&by_total).await, ["o-2", "o-1", "o-4", "o-3"]);
    let page = Query::parse("total_minor:9007199254740993").unwrap();
    let page = page
        .run(&index.client, &index.names.read, 10, None)
        .await
        .unwrap();
    assert_eq!(page.total, 1);
    assert_eq!(
        page.orders[0]["total_minor"].to_string(),
        "9007199254740993"
    );
    for (id, ratio) in [
        ("o-1", "10"),
        ("o-3", "12345678901234567890123456789012345678"),
        ("o-4", "-0.1"),
    ] {
        let query = json!({"query": {"term": {"attributes.ratio": ratio}}});
        assert_eq!(index.found(&query).await, [id]);
    }
}

// C-31
#[tokio::test]
async fn an_amount_above_64_bits_is_refused_and_the_version_before_it_shown() {
    let index = index("amount").await;
    let of = |version, total: &str| head("o-1", version, &json!({"total_minor": {"N": total}}));
    let written = index
        .write(vec![of(1, "5"), of(2, "18446744073709551617")])
        .await;
    assert!(
        matches!(written.as_slice(), [SinkVerdict::Done, SinkVerdict::Refused(why)] if why.contains("total_minor")),
        "{written:?}"
    );
    let document = index.document("o-1").await;
    assert_eq!(
        (&document["_version"], &document["_source"]["total_minor"]),
        (&json!(1), &json!(5))
    );
}

// C-38
#[tokio::test]
async fn text_that_looks_like_a_date_stays_text() {
    let index = index("date").await;
    let before = index.mapping().await;
    let of = |id, note: &str| head(id, 1, &json!({"attributes": {"M": {"note": {"S": note}}}}));
    let written = index
        .write(vec![of("o-1", "2026/02/03"), of("o-2", "to be agreed")])
        .await;
    assert_eq!(written, [SinkVerdict::Done, SinkVerdict::Done]);
    assert_eq!(index.mapping().await, before);
    let query = json!({"query": {"term": {"attributes.note": "to be agreed"}}});
    assert_eq!(index.found(&query).await, ["o-2"]);
}

// C-39
#[tokio::test]
async fn free_attributes_neither_grow_the_mapping_nor_break_it() {
    let index = index("free").await;
    let before = index.mapping().await;
    let many: serde_json::Map<_, _> = (0..1_500)
        .map(|n| (format!("key-{n}"), json!({"N": n.to_string()})))
        .collect();
    let deep = (0..28).fold(
        json!({"S": "leaf"}),
        |inner, n| json!({"M": {format!("d{n}"): inner}}),
    );
    let long = json!({"S": "é".repeat(40_000)});
    let written = index
        .write(vec![
            head("o-1", 1, &json!({"attributes": {"M": many}})),
            head("o-2", 1, &json!({"attributes": deep})),
            head(
                "o-3",
                1,
                &json!({"attributes": {"M": {"note": long}}, "user_id": long}),
            ),
        ])
        .await;
    assert_eq!(written, vec![SinkVerdict::Done; 3]);
    assert_eq!(index.mapping().await, before);
    let query = json!({"query": {"term": {"attributes.key-1499": "1499"}}});
    assert_eq!(index.found(&query).await, ["o-1"]);
}

#[tokio::test]
async fn orders_with_ids_that_no_document_can_have_are_indexed_too() {
    let index = index("ids").await;
    let ids = [
        "x".repeat(2_000),
        "o/1?q=\"a\" ü".to_owned(),
        format!("sha256:{}", "0".repeat(64)),
    ];
    let written = index
        .write(ids.iter().map(|id| bare(id, 1)).collect())
        .await;
    assert_eq!(written, vec![SinkVerdict::Done; 3]);
    index.refresh().await;
    let found: Vec<Value> = {
        let page = Query::parse("sort:order_id").unwrap();
        page.run(&index.client, &index.names.read, 10, None)
            .await
            .unwrap()
            .orders
    };
    let mut expected: Vec<_> = ids.iter().map(String::as_str).collect();
    expected.sort_unstable();
    assert_eq!(
        found
            .iter()
            .map(|order| order["order_id"].as_str().unwrap())
            .collect::<Vec<_>>(),
        expected
    );
    assert!(ids.iter().all(|id| document_id(id).len() <= 512));
}
