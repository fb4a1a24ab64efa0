//! A server's front that takes bodies up to a size, as the smaller domains of AWS do.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;

/// A running front. It ends with the test's runtime.
#[derive(Debug, Clone)]
pub(crate) struct Limited {
    url: String,
    inside: Arc<Inside>,
}

#[derive(Debug)]
struct Inside {
    http: reqwest::Client,
    server: String,
    most_bytes: usize,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    sent: usize,
    refused: usize,
    bodies: BTreeSet<Vec<u8>>,
    repeated: bool,
}

/// A front before `server` that answers 413 to larger bodies, in no OpenSearch's words.
pub(crate) async fn limited(server: &str, most_bytes: usize) -> Limited {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let inside = Arc::new(Inside {
        http: reqwest::Client::new(),
        server: server.to_owned(),
        most_bytes,
        seen: Mutex::default(),
    });
    let app = Router::new().fallback(pass).with_state(Arc::clone(&inside));
    tokio::spawn(async move { axum::serve(listener, app).await });
    Limited { url, inside }
}

impl Limited {
    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    /// How many requests came since the last time this was asked, and how many of them were too large.
    pub(crate) fn requests(&self) -> (usize, usize) {
        let mut seen = self.inside.seen.lock().unwrap();
        let counts = (seen.sent, seen.refused);
        (seen.sent, seen.refused) = (0, 0);
        counts
    }

    pub(crate) fn never_the_same_twice(&self) -> bool {
        let seen = self.inside.seen.lock().unwrap();
        !seen.repeated
    }
}

async fn pass(State(inside): State<Arc<Inside>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    {
        let mut seen = inside.seen.lock().unwrap();
        seen.sent += 1;
        seen.repeated |= !seen.bodies.insert(body.to_vec());
        if body.len() > inside.most_bytes {
            seen.refused += 1;
            return (
                StatusCode::PAYLOAD_TOO_LARGE,
                "<html>Request Entity Too Large</html>",
            )
                .into_response();
        }
    }
    let url = format!("{}{}", inside.server, parts.uri);
    let mut forward = inside.http.request(parts.method, url).body(body);
    if let Some(kind) = parts.headers.get("content-type") {
        forward = forward.header("content-type", kind);
    }
    let answer = forward.send().await.unwrap();
    let status = answer.status();
    (status, answer.bytes().await.unwrap()).into_response()
}
