//! The book on a port of this machine.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::book::{Book, PaymentBody, RefundBody, Reply};

/// How long a late answer is held back: longer than any caller waits, and not for ever.
const HOLD: Duration = Duration::from_secs(30);

/// A running simulator. It ends when this is dropped; [`GatewaySimulator::stop`] also waits for the end.
#[derive(Debug)]
pub struct GatewaySimulator {
    address: SocketAddr,
    shared: Shared,
    stop: watch::Sender<bool>,
    server: JoinHandle<io::Result<()>>,
}

#[derive(Debug, Clone)]
struct Shared {
    book: Arc<Mutex<Book>>,
    started: Instant,
    stopped: watch::Receiver<bool>,
}

/// Starts the simulator, mostly on `127.0.0.1:0`.
///
/// Besides the contract it answers `GET /ledger` (what each order was charged, given back, and asked for), `POST /payments/<id>/settle`
/// with `{"status":"approved"|"declined"}`, and `GET /health`.
///
/// # Errors
/// When the address cannot be bound.
pub async fn start(address: SocketAddr) -> io::Result<GatewaySimulator> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let (stop, stopped) = watch::channel(false);
    let shared = Shared {
        book: Arc::default(),
        started: Instant::now(),
        stopped,
    };
    let router = Router::new()
        .route("/health", get(async || "ok"))
        .route("/ledger", get(ledger))
        .route("/payments", post(pay))
        .route("/payments/by-key/{key}", get(find))
        .route("/payments/{id}/refunds", post(refund))
        .route("/payments/{id}/settle", post(settle))
        .with_state(shared.clone());
    let mut told = shared.stopped.clone();
    let server = axum::serve(listener, router).with_graceful_shutdown(async move {
        // An error means that the handle is gone without having told: there is nobody left to serve.
        let _ = told.wait_for(|stopped| *stopped).await;
    });
    Ok(GatewaySimulator {
        address,
        shared,
        stop,
        server: tokio::spawn(server.into_future()),
    })
}

impl GatewaySimulator {
    /// The base address, as in `PAYMENT_URL`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What each order was charged, given back, and asked for.
    #[must_use]
    pub fn ledger(&self) -> std::collections::BTreeMap<String, super::Account> {
        let now = self.shared.now();
        self.shared.book().ledger(now)
    }

    /// Stops it: held answers are given at once, open connections are closed.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        if let Ok(Err(error)) = self.server.await {
            tracing::warn!(%error, "the gateway simulator ended badly");
        }
    }
}

impl Shared {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    async fn answer(mut self, reply: Reply) -> Response {
        if reply.late {
            // Either way the hold is over: the time has passed, or the simulator stops.
            let _ = tokio::time::timeout(HOLD, self.stopped.wait_for(|stopped| *stopped)).await;
        }
        respond(&reply)
    }
}

async fn pay(
    State(shared): State<Shared>,
    headers: HeaderMap,
    Json(body): Json<PaymentBody>,
) -> Response {
    let Some(key) = key(&headers) else {
        return no_key();
    };
    let now = shared.now();
    let reply = shared.book().pay(&key, &body, now);
    shared.answer(reply).await
}

async fn find(State(shared): State<Shared>, Path(key): Path<String>) -> Response {
    let now = shared.now();
    let reply = shared.book().find(&key, now);
    shared.answer(reply).await
}

async fn refund(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Json(body): Json<RefundBody>,
) -> Response {
    let Some(key) = key(&headers) else {
        return no_key();
    };
    let now = shared.now();
    let reply = shared.book().refund(&id, &key, &body, now);
    shared.answer(reply).await
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Settled {
    Approved,
    Declined,
}

#[derive(Debug, Deserialize)]
struct SettleBody {
    status: Settled,
}

async fn settle(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    Json(body): Json<SettleBody>,
) -> Response {
    let now = shared.now();
    let reply = shared
        .book()
        .settle(&id, matches!(body.status, Settled::Approved), now);
    shared.answer(reply).await
}

async fn ledger(State(shared): State<Shared>) -> Json<Value> {
    let now = shared.now();
    Json(json!({"orders": shared.book().ledger(now)}))
}

fn key(headers: &HeaderMap) -> Option<String> {
    headers
        .get("idempotency-key")?
        .to_str()
        .ok()
        .map(str::to_owned)
}

fn no_key() -> Response {
    (
        StatusCode::BAD_REQUEST,
        Json(json!({"error": "the header Idempotency-Key is missing"})),
    )
        .into_response()
}

fn respond(reply: &Reply) -> Response {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, Json(&reply.body)).into_response()
}
