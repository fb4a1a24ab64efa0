//! Stock by hand, and orders that take it at once.

use sagaline_store::Metrics;
use serde_json::json;

use super::{create, metrics};
use crate::support::{Place, unique};

#[tokio::test]
async fn stock_is_set_and_taken_and_what_is_not_there_is_refused() {
    let place = Place::shared().await;
    let sku = unique("mug");
    assert_eq!(
        place.json(&["stock", "get", &sku]).await,
        json!({"sku": sku, "stock": 0})
    );
    assert_eq!(
        place
            .json(&["stock", "set", &sku, "5", "--expect", "0"])
            .await["stock"],
        5
    );
    place
        .sagaline(&["stock", "set", &sku, "7", "--expect", "4"])
        .await
        .refused(4, "SL3005");
    assert_eq!(place.json(&["stock", "add", &sku, "-3"]).await["stock"], 2);
    place
        .sagaline(&["stock", "add", &sku, "-3"])
        .await
        .refused(4, "SL3001");

    let (id, user, request) = (unique("o"), unique("u"), unique("r"));
    let line = format!("{sku}:3:100");
    let three = [
        &create(&id, &user, &request, &line)[..],
        &["--reserve", "now"],
    ]
    .concat();
    place.sagaline(&three).await.refused(4, "SL3001");
    place.sagaline(&["show", &id]).await.refused(3, "SL2001");
    assert_eq!(
        metrics(&place, &user).await,
        Metrics {
            order_count: 0,
            unpaid_count: 0
        }
    );
    assert_eq!(place.json(&["stock", "get", &sku]).await["stock"], 2);
    place.json(&["stock", "add", &sku, "1"]).await;
    assert_eq!(
        place.json(&three).await["result"],
        "created",
        "the request id is free"
    );
    assert_eq!(place.json(&["stock", "get", &sku]).await["stock"], 0);
}
