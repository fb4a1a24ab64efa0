//! How the command line ends when it is used wrongly, or when nobody answers.

use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;

use crate::support::{Place, unique};

#[tokio::test]
async fn usage_and_configuration_are_refused_before_anything_is_asked() {
    let place = Place::shared().await;
    place.sagaline(&[]).await.ended(2);
    place.sagaline(&["nonsense"]).await.refused(2, "SL0001");
    place.sagaline(&["ls"]).await.refused(2, "SL0001");
    place
        .sagaline(&["import", "/nowhere.ndjson"])
        .await
        .refused(2, "SL0003");
    place
        .sagaline_in(&[("ORDERS_TABLE", "")], &["show", "o-1"])
        .await
        .refused(2, "SL1001");
    place
        .sagaline(&["show", "o-1", "--table", "no-such-table"])
        .await
        .refused(2, "SL1004");
    place
        .sagaline(&["show", "o-1", "--endpoint-url", "nonsense"])
        .await
        .refused(2, "SL1001");
    place
        .sagaline(&["show", &unique("none")])
        .await
        .refused(3, "SL2001");
    let said = place.sagaline(&["--help"]).await.ok();
    assert!(said.out.contains("Exit codes") && said.err.is_empty());
}

#[tokio::test]
async fn without_an_answer_or_credentials_there_is_one_clear_line_within_five_seconds() {
    let place = Place::shared().await;
    // One port that nobody listens at; one that takes connections and never answers.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_url = format!("http://{}", silent.local_addr().unwrap());
    let none: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", ""), ("AWS_SECRET_ACCESS_KEY", "")];
    for (vars, args, code) in [
        (
            &[][..],
            ["show", "o-1", "--endpoint-url", "http://127.0.0.1:9"],
            "SL1003",
        ),
        (
            &[][..],
            ["show", "o-1", "--endpoint-url", &silent_url],
            "SL1003",
        ),
        (&none[..], ["show", "o-1", "--table", "orders"], "SL1002"),
        (
            &[("OPENSEARCH_ENDPOINT", "http://127.0.0.1:9")][..],
            ["search", "mug", "--limit", "1"],
            "SL1006",
        ),
    ] {
        let said = place.sagaline_in(vars, &args).await.refused(2, code);
        assert!(
            said.took < Duration::from_secs(5),
            "{args:?} took {:?}",
            said.took
        );
        assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    }
}

#[tokio::test]
async fn a_table_that_answers_with_failures_only_is_unavailable_after_retries() {
    let place = Place::shared().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let app = Router::new().fallback(async || StatusCode::SERVICE_UNAVAILABLE);
    tokio::spawn(async move { axum::serve(listener, app).await });
    place
        .sagaline(&["show", "o-1", "--endpoint-url", &url])
        .await
        .refused(5, "SL5001");
}
