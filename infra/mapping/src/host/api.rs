//! The Runtime API of one process (Lambda guide, "Using the Lambda runtime API").

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;
use uuid::Uuid;

use crate::clock;
use crate::response::{FunctionError, FunctionErrorKind, Outcome};

/// The largest answer of a function: 6 MB and 100 bytes, as Lambda's own error message has it.
pub(super) const RESPONSE_LIMIT_BYTES: usize = 6_291_556;

/// How much of an oversized answer is read before the connection is given up, so that the function hears why.
const READ_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// Where the start of a process stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    Starting,
    /// It has asked for its first event.
    Ready,
    /// It has reported an error instead.
    Failed(String),
}

/// One call on its way to the process.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) request_id: Uuid,
    pub(super) event: Bytes,
    /// Told when the process takes the event.
    pub(super) taken: oneshot::Sender<Instant>,
    /// Told how the call ended, and when.
    pub(super) reply: oneshot::Sender<(Outcome, Instant)>,
}

#[derive(Debug)]
enum Slot {
    Idle,
    Offered(Work),
    Running {
        request_id: String,
        reply: oneshot::Sender<(Outcome, Instant)>,
    },
}

/// The state behind one listener.
#[derive(Debug)]
pub(super) struct Api {
    function_name: String,
    function_arn: String,
    timeout: Duration,
    slot: Mutex<Slot>,
    offered: Notify,
    pub(super) phase: watch::Sender<Phase>,
}

impl Api {
    pub(super) fn new(function_name: String, function_arn: String, timeout: Duration) -> Arc<Self> {
        Arc::new(Self {
            function_name,
            function_arn,
            timeout,
            slot: Mutex::new(Slot::Idle),
            offered: Notify::new(),
            phase: watch::Sender::new(Phase::Starting),
        })
    }

    /// Puts a call where the process finds it.
    pub(super) fn offer(&self, work: Work) {
        *self.lock() = Slot::Offered(work);
        self.offered.notify_one();
    }

    pub(super) fn router(self: Arc<Self>) -> Router {
        Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route("/2018-06-01/runtime/invocation/{id}/response", post(response))
            .route("/2018-06-01/runtime/invocation/{id}/error", post(error))
            .route("/2018-06-01/runtime/init/error", post(init_error))
            // Extensions are not run. An internal one may register; it never hears of an event.
            .route("/2020-01-01/extension/register", post(extension_register))
            .route("/2020-01-01/extension/event/next", get(extension_next))
            .with_state(self)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves an offered call to the running state.
    fn take(&self) -> Option<(String, Bytes)> {
        let mut slot = self.lock();
        match std::mem::replace(&mut *slot, Slot::Idle) {
            Slot::Offered(Work {
                request_id,
                event,
                taken,
                reply,
            }) => {
                let request_id = request_id.to_string();
                *slot = Slot::Running {
                    request_id: request_id.clone(),
                    reply,
                };
                // Nobody waits when the runner stops meanwhile; the process is killed then.
                let _ = taken.send(Instant::now());
                Some((request_id, event))
            }
            Slot::Running { reply, .. } => {
                let message =
                    "the runtime asked for the next event before it answered the last one"
                        .to_owned();
                let outcome = Outcome::Failed(FunctionError {
                    kind: FunctionErrorKind::Error,
                    message,
                });
                let _ = reply.send((outcome, Instant::now()));
                None
            }
            Slot::Idle => None,
        }
    }

    /// Ends the running call of this id. False if there is none.
    fn end(&self, request_id: &str, outcome: Outcome) -> bool {
        let mut slot = self.lock();
        match std::mem::replace(&mut *slot, Slot::Idle) {
            Slot::Running {
                request_id: running,
                reply,
            } if running == request_id => {
                let _ = reply.send((outcome, Instant::now()));
                true
            }
            other @ (Slot::Running { .. } | Slot::Offered(_) | Slot::Idle) => {
                *slot = other;
                false
            }
        }
    }
}

async fn next(State(api): State<Arc<Api>>) -> Response {
    api.phase.send_if_modified(|phase| {
        let starting = *phase == Phase::Starting;
        if starting {
            *phase = Phase::Ready;
        }
        starting
    });
    loop {
        if let Some((request_id, event)) = api.take() {
            let now = clock::now();
            let deadline = now.after(api.timeout).0.to_string();
            let headers = [
                ("content-type", "application/json".to_owned()),
                ("lambda-runtime-trace-id", trace_id(&request_id, now.0)),
                ("lambda-runtime-deadline-ms", deadline),
                (
                    "lambda-runtime-invoked-function-arn",
                    api.function_arn.clone(),
                ),
                ("lambda-runtime-aws-request-id", request_id),
            ];
            return (
                headers.map(|(name, value)| (header::HeaderName::from_static(name), value)),
                event,
            )
                .into_response();
        }
        api.offered.notified().await;
    }
}

/// An X-Ray header that is not sampled, derived from the request.
fn trace_id(request_id: &str, now_ms: u64) -> String {
    let bytes = Uuid::new_v5(&Uuid::NAMESPACE_OID, request_id.as_bytes())
        .simple()
        .to_string();
    let (root, parent) = bytes.split_at_checked(24).unwrap_or_default();
    format!(
        "Root=1-{:08x}-{root};Parent={parent:0<16};Sampled=0",
        now_ms / 1_000
    )
}

async fn response(State(api): State<Arc<Api>>, Path(id): Path<String>, body: Body) -> Response {
    match to_bytes(body, READ_LIMIT_BYTES).await {
        Ok(body) if body.len() <= RESPONSE_LIMIT_BYTES => {
            accepted(api.end(&id, Outcome::Answered(body)))
        }
        Ok(_) | Err(_) => {
            let message = format!(
                "Response payload size exceeded maximum allowed payload size ({RESPONSE_LIMIT_BYTES} bytes)."
            );
            api.end(
                &id,
                Outcome::Failed(FunctionError {
                    kind: FunctionErrorKind::TooLarge,
                    message: message.clone(),
                }),
            );
            refused(
                StatusCode::PAYLOAD_TOO_LARGE,
                "RequestEntityTooLarge",
                &message,
            )
        }
    }
}

async fn error(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let message = error_text(&headers, &body);
    accepted(api.end(
        &id,
        Outcome::Failed(FunctionError {
            kind: FunctionErrorKind::Error,
            message,
        }),
    ))
}

async fn init_error(State(api): State<Arc<Api>>, headers: HeaderMap, body: Bytes) -> Response {
    api.phase
        .send_replace(Phase::Failed(error_text(&headers, &body)));
    accepted(true)
}

async fn extension_register(State(api): State<Arc<Api>>) -> Response {
    let identifier = Uuid::new_v5(&Uuid::NAMESPACE_OID, api.function_arn.as_bytes()).to_string();
    let body = json!({ "functionName": api.function_name, "functionVersion": "$LATEST", "handler": "bootstrap" });
    (
        [(
            header::HeaderName::from_static("lambda-extension-identifier"),
            identifier,
        )],
        body.to_string(),
    )
        .into_response()
}

async fn extension_next() -> Response {
    std::future::pending().await
}

fn accepted(known: bool) -> Response {
    if known {
        (StatusCode::ACCEPTED, json!({ "status": "OK" }).to_string()).into_response()
    } else {
        refused(
            StatusCode::BAD_REQUEST,
            "InvalidRequestID",
            "Invalid request ID",
        )
    }
}

fn refused(status: StatusCode, kind: &str, message: &str) -> Response {
    (
        status,
        json!({ "errorMessage": message, "errorType": kind }).to_string(),
    )
        .into_response()
}

/// `errorType: errorMessage` of a runtime's report, or what there is of it.
fn error_text(headers: &HeaderMap, body: &[u8]) -> String {
    let report: Value = serde_json::from_slice(body).unwrap_or_default();
    let kind = report.get("errorType").and_then(Value::as_str).or_else(|| {
        headers
            .get("lambda-runtime-function-error-type")
            .and_then(|value| value.to_str().ok())
    });
    let message = report.get("errorMessage").and_then(Value::as_str);
    match (kind, message) {
        (Some(kind), Some(message)) => format!("{kind}: {message}"),
        (Some(text), None) | (None, Some(text)) => text.to_owned(),
        (None, None) => String::from_utf8_lossy(body).into_owned(),
    }
}
