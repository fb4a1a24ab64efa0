//! What is signed is what is sent: the compressed bytes, under the service's own name (F-OS-11).

use crate::server::{budget, head, quick};
use aws_sdk_dynamodb::config::{Credentials, Region, SharedCredentialsProvider};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use sagaline_search::{Auth, SearchClient, SearchSink, parse_endpoint};
use sha2::{Digest as _, Sha256};
use std::sync::{Arc, Mutex};

type Seen = Arc<Mutex<Vec<(HeaderMap, Bytes)>>>;

async fn keep(State(seen): State<Seen>, headers: HeaderMap, body: Bytes) -> &'static str {
    seen.lock().unwrap().push((headers, body));
    "{}"
}

#[tokio::test]
async fn the_compressed_bytes_are_signed_and_their_hash_is_sent() {
    let seen = Seen::default();
    let app = Router::new().fallback(keep).with_state(Arc::clone(&seen));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    let credentials = Credentials::new("AKID", "secret", Some("token".to_owned()), None, "test");
    let config = aws_config::SdkConfig::builder()
        .region(Region::new("eu-west-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .build();
    let endpoint = parse_endpoint(&endpoint).unwrap();
    let client = SearchClient::new(endpoint, Auth::SigV4, &config)
        .unwrap()
        .with_gzip(true);
    let sink = SearchSink::with_limits(client, "orders-write", quick());
    let batch = (0..50).map(|n| head(&format!("o-{n}"), 1)).collect();
    sink.write(batch, &budget(10_000)).await;

    let seen = seen.lock().unwrap();
    let (headers, body) = &seen[0];
    let text = |name: &str| headers[name].to_str().unwrap();
    assert_eq!(text("content-encoding"), "gzip");
    assert_eq!(body[..2], [0x1f, 0x8b], "compressed");
    assert_eq!(
        text("x-amz-content-sha256"),
        hex::encode(Sha256::digest(body))
    );
    let signed = text("authorization");
    assert!(signed.contains("/eu-west-1/es/aws4_request"), "{signed}");
    assert!(signed.contains("x-amz-content-sha256"), "{signed}");
    assert_eq!(text("x-amz-security-token"), "token");
}
