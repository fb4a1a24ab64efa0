use super::*;

#[test]
fn every_kind_of_part_becomes_its_clause() {
    #[track_caller]
    fn check(text: &str, clause: &Value) {
        let query = Query::parse(text).unwrap();
        assert_eq!(
            query.body["query"]["bool"]["filter"],
            json!([{"term": {"deleted": false}}, clause]),
            "{text}"
        );
    }
    check("status:UNPAID", &json!({"term": {"status": "UNPAID"}}));
    check("order_id:o-*", &json!({"prefix": {"order_id": "o-"}}));
    check("order_id:a:b", &json!({"term": {"order_id": "a:b"}}));
    check(
        "attributes.gift.note:\"to you\"",
        &json!({"term": {"attributes.gift.note": "to you"}}),
    );
    check(
        "total_minor:>=100",
        &json!({"range": {"total_minor": {"gte": 100}}}),
    );
    check(
        "total_minor:9007199254740993",
        &json!({"range": {"total_minor": {"gte": 9_007_199_254_740_993_i64, "lte": 9_007_199_254_740_993_i64}}}),
    );
    let days = json!({"range": {"created_at": {"gte": "2026-01-01T00:00:00.000Z||/d", "lte": "2026-01-31T00:00:00.000Z||/d"}}});
    check("created_at:2026-01-01..2026-01-31", &days);
    check(
        "updated_at:<2026-01-31T08:30:00Z",
        &json!({"range": {"updated_at": {"lt": "2026-01-31T08:30:00.000Z"}}}),
    );
    check(
        "sku:S-1",
        &json!({"nested": {"path": "lines", "query": {"term": {"lines.sku": "S-1"}}}}),
    );
    check("order_id:\"o-*\"", &json!({"term": {"order_id": "o-*"}}));
    check(
        "total_minor:100..",
        &json!({"range": {"total_minor": {"gte": 100}}}),
    );
    check(
        "qty:..9",
        &json!({"nested": {"path": "lines", "query": {"range": {"lines.qty": {"lte": 9}}}}}),
    );
    let named = json!({"nested": {"path": "lines", "query": {"match": {"lines.name": {"query": "a cup", "operator": "and"}}}}});
    check("name:\"a cup\"", &named);
}

#[test]
fn parts_are_joined_negated_and_sorted() {
    let query = Query::parse("  cup -status:UNPAID -\"blue cup\" sort:-total_minor ").unwrap();
    assert_eq!(
        query.body["query"]["bool"]["filter"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        query.body["query"]["bool"]["must_not"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        query.body["sort"][0],
        json!({"total_minor": {"order": "desc", "missing": "_last"}})
    );
    assert_eq!(
        Query::parse("").unwrap().body["sort"][1],
        json!({"order_id": "asc"})
    );
}

#[test]
fn a_malformed_query_is_a_sentence_with_a_position() {
    #[track_caller]
    fn check(text: &str, position: usize, expected: &str) {
        let error = Query::parse(text).expect_err(text);
        assert_eq!(error.position, position, "{text}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    check("cup total:5", 5, "there is no field \"total\"");
    check("total_minor:12.5", 1, "\"12.5\" is no whole number");
    check("a  created_at:soon", 4, "is no day");
    check("status:", 1, "a part without a value");
    check("é \"never ends", 3, "a quote without its end");
    check("sort:name", 1, "\"name\" cannot be sorted by");
    check("attributes.:x", 1, "there is no field");
    check("total_minor:..", 1, "a range without an end");
    check("a -sort:status", 3, "sorted by not");
    check("sort:status sort:version", 13, "a second sort");
    check(&"x ".repeat(101), 201, "more than 100 parts");
}
