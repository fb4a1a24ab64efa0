//! A scripted search server: it answers what the test says, request by request, and remembers what it was asked.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use sagaline_search::{Auth, Limits, SearchClient, SearchInput, SearchSink, parse_endpoint};
use sagaline_stream::{Budget, EpochMillis, Image, Invocation, Remaining};
use serde_json::{Value, json};
use std::io::Read as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// One `_bulk` request as the server saw it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) uri: String,
    pub(crate) gzipped: bool,
    pub(crate) bytes: usize,
    /// Document id, version and document of each item.
    pub(crate) items: Vec<(String, i64, Value)>,
}

impl Asked {
    pub(crate) fn ids(&self) -> Vec<&str> {
        self.items.iter().map(|(id, ..)| id.as_str()).collect()
    }
}

type Answer = (u16, String);
type Script = dyn Fn(usize, &Asked) -> Answer + Send + Sync;

struct Server {
    script: Box<Script>,
    asked: Mutex<Vec<Asked>>,
}

/// A running server and a sink that writes to it.
pub(crate) struct Scripted {
    server: Arc<Server>,
    pub(crate) sink: SearchSink,
}

impl Scripted {
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.server.asked.lock().unwrap().clone()
    }
}

/// Quick pauses: the tests wait for answers, not for time.
pub(crate) fn quick() -> Limits {
    let ms = Duration::from_millis;
    Limits {
        retries: 3,
        first_pause: ms(1),
        longest_pause: ms(2),
        breaker_failures: 4,
        ..Limits::default()
    }
}

/// Starts a server with a script: the request's number from 0, and the request.
pub(crate) async fn scripted(
    limits: Limits,
    script: impl Fn(usize, &Asked) -> Answer + Send + Sync + 'static,
) -> Scripted {
    scripted_with(limits, false, script).await
}

/// As [`scripted`], with a client that tries compressed bodies.
pub(crate) async fn scripted_with(
    limits: Limits,
    gzip: bool,
    script: impl Fn(usize, &Asked) -> Answer + Send + Sync + 'static,
) -> Scripted {
    let server = Arc::new(Server {
        script: Box::new(script),
        asked: Mutex::default(),
    });
    let app = Router::new()
        .fallback(answer)
        .with_state(Arc::clone(&server));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    let config = aws_config::SdkConfig::builder().build();
    let client = SearchClient::new(parse_endpoint(&endpoint).unwrap(), Auth::None, &config)
        .unwrap()
        .with_gzip(gzip);
    let sink = SearchSink::with_limits(client, "orders-write", limits);
    Scripted { server, sink }
}

async fn answer(State(server): State<Arc<Server>>, request: Request) -> Response {
    let uri = request.uri().to_string();
    let gzipped = request
        .headers()
        .get("content-encoding")
        .is_some_and(|encoding| encoding == "gzip");
    let body: Bytes = axum::body::to_bytes(request.into_body(), usize::MAX)
        .await
        .unwrap();
    let mut text = String::new();
    if gzipped {
        flate2::read::GzDecoder::new(&body[..])
            .read_to_string(&mut text)
            .unwrap();
    } else {
        text.push_str(std::str::from_utf8(&body).unwrap());
    }
    assert!(text.ends_with('\n'));
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let item = |pair: &[Value]| {
        let action = &pair[0]["index"];
        assert_eq!(action["version_type"], "external");
        (
            action["_id"].as_str().unwrap().to_owned(),
            action["version"].as_i64().unwrap(),
            pair[1].clone(),
        )
    };
    let asked = Asked {
        uri,
        gzipped,
        bytes: body.len(),
        items: lines.chunks(2).map(item).collect(),
    };
    let mut all = server.asked.lock().unwrap();
    all.push(asked.clone());
    let (status, body) = (server.script)(all.len() - 1, &asked);
    (StatusCode::from_u16(status).unwrap(), body).into_response()
}

/// A bulk answer that gives each item the status that `status` says.
pub(crate) fn bulk(asked: &Asked, status: impl Fn(&str, i64) -> u16) -> Answer {
    let items: Vec<Value> = asked
        .items
        .iter()
        .map(|(id, version, _)| match status(id, *version) {
            ok @ 200..=299 => json!({"index": {"_index": "orders-v1", "_id": id, "status": ok}}),
            409 => json!({"index": {"_id": id, "status": 409, "error": {"type": "version_conflict_engine_exception", "reason": "older"}}}),
            400 => json!({"index": {"_id": id, "status": 400, "error": {"type": "mapper_parsing_exception", "reason": "no"}}}),
            other => json!({"index": {"_id": id, "status": other, "error": {"type": "some_exception", "reason": "later"}}}),
        })
        .collect();
    (
        200,
        json!({"took": 1, "errors": true, "items": items}).to_string(),
    )
}

pub(crate) fn head(id: &str, version: i64) -> SearchInput {
    head_of(id, version, 1)
}

/// A head whose document is about so many bytes.
pub(crate) fn head_of(id: &str, version: i64, bytes: usize) -> SearchInput {
    let name = "x".repeat(bytes);
    let image = format!(
        r#"{{"PK":{{"S":"ORDER#{id}"}},"version":{{"N":"{version}"}},"lines":{{"L":[{{"M":{{"name":{{"S":"{name}"}}}}}}]}}}}"#
    );
    SearchInput::from_head(&Image::parse(&image).unwrap()).unwrap()
}

pub(crate) fn budget(milliseconds: u64) -> Budget {
    let invocation = Invocation {
        function: "projector".to_owned(),
        request_id: "r-1".to_owned(),
        received_at: EpochMillis::new(1_764_500_000_000),
        remaining: Remaining::Known(Duration::from_millis(milliseconds)),
    };
    let limits = sagaline_stream::Limits {
        margin: Duration::ZERO,
        ..sagaline_stream::Limits::default()
    };
    Budget::start(&invocation, &limits)
}
