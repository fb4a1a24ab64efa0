//! `sagaline search`.

use sagaline_search::SearchInput;
use serde_json::json;

use crate::support::{Index, Place, head, stack};

#[tokio::test]
async fn the_index_is_made_checked_and_searched() {
    let place = Place::fresh("searched").await;
    let index = Index::at(
        stack().await.opensearch_url(),
        place.var("OPENSEARCH_ALIAS"),
    );
    place
        .sagaline(&["search", "mug"])
        .await
        .refused(2, "SL1006");
    place
        .sagaline(&["search", "doctor"])
        .await
        .refused(1, "SL4001");
    let made = place.json(&["search", "init"]).await;
    assert!(!made["done"].as_array().unwrap().is_empty());
    assert_eq!(place.json(&["search", "init"]).await, json!({"done": []}));
    assert_eq!(
        place.json(&["search", "doctor"]).await,
        json!({"found": []})
    );

    let of = |id: &str, status: &str, total: u32| {
        let line = json!({"M": {"sku": {"S": "mug"}, "name": {"S": "Blue mug"}, "qty": {"N": "1"}, "unit_minor": {"N": total.to_string()}}});
        head(
            id,
            1,
            &json!({"status": {"S": status}, "total_minor": {"N": total.to_string()}, "currency": {"S": "EUR"}, "lines": {"L": [line]}}),
        )
    };
    index
        .write(vec![
            of("o-1", "CONFIRMED", 1250),
            of("o-2", "UNPAID", 5),
            of("o-3", "CONFIRMED", 5),
            SearchInput::tombstone("o-4", 2),
        ])
        .await;
    let everything = index.found(&json!({})).await;
    assert_eq!(everything.len(), 3, "refreshed");
    let found = place
        .json(&["search", "blue mug status:CONFIRMED total_minor:>=1000"])
        .await;
    assert_eq!(
        (
            &found["total"],
            &found["orders"][0]["order_id"],
            &found["orders"][0]["total_minor"]
        ),
        (&json!(1), &json!("o-1"), &json!(1250))
    );
    let page = place
        .json(&["search", "sort:order_id", "--limit", "2"])
        .await;
    assert_eq!(
        (&page["total"], page["orders"].as_array().unwrap().len()),
        (&json!(3), 2)
    );
    let rest = place
        .json(&[
            "search",
            "sort:order_id",
            "--limit",
            "2",
            "--after",
            &page["next"].to_string(),
        ])
        .await;
    assert_eq!(rest["orders"][0]["order_id"], "o-3");
    place
        .sagaline(&["search", "total:5"])
        .await
        .refused(2, "SL0002");
}
