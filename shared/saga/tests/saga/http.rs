//! The gateway over real HTTP on this machine: the simulator, and servers that misbehave.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::world::World;
use sagaline_order::{OpId, OrderId, State};
use sagaline_saga::gateway::{Charge, Enquiry};
use sagaline_saga::{Clock as _, Driver, HttpGateway, Path, PaymentGateway, Recorder, Rest};
use sagaline_store::{CommittedIntent, Store};
use sagaline_testkit::gateway::start;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::Instant;

const SOON: Duration = Duration::from_millis(300);

fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn gateway(url: &str) -> HttpGateway {
    HttpGateway::new(url.parse().unwrap()).unwrap()
}

fn op(order: &str) -> OpId {
    OpId::derive(&OrderId::stored(order), "pay", "do")
}

/// An intent as a process finds it that comes after another.
async fn intent(world: &World) -> CommittedIntent {
    world.gateway.set_available(false);
    let id = world.place("o-1", 1, "approve").await;
    assert_eq!(world.drive(&id).await.rest, Rest::Deferred);
    let (_, intent) = world.store().reread_intent(&id).await.unwrap().unwrap();
    intent.expect("it was committed and not acted on")
}

#[tokio::test]
async fn orders_go_through_the_simulator_as_their_tokens_say() {
    let simulator = start(loopback()).await.unwrap();
    let world = World::new().await;
    let recorder = Recorder::new(Store::new(world.table.clone()), world.clock);
    let driver = Driver::new(recorder, gateway(&simulator.url()), world.bus.clone());
    for (order, token, end) in [
        ("o-1", "approve", State::Confirmed),
        ("o-2", "decline:insufficient_funds", State::Rejected),
        ("o-3", "pending", State::Paying),
        ("o-4", "fail:1", State::Paying),
    ] {
        let id = world.place(order, 1, token).await;
        driver
            .drive(&id, Path::Stream, Instant::now() + Duration::from_secs(20))
            .await
            .unwrap();
        assert_eq!(world.head(&id).await.state, end, "{token}");
    }
    // A return, over the wire.
    let id = OrderId::stored("o-1");
    world.cancel(&id).await;
    driver
        .drive(&id, Path::Stream, Instant::now() + Duration::from_secs(20))
        .await
        .unwrap();
    assert_eq!(world.head(&id).await.state, State::Cancelled);
    let ledger = simulator.ledger();
    assert_eq!(
        (ledger["o-1"].charged_minor, ledger["o-1"].refunded_minor),
        (1_250, 1_250)
    );
    assert_eq!(ledger["o-2"].charged_minor, 0);

    let client = gateway(&simulator.url());
    assert_eq!(client.find(op("o-none"), SOON).await, Enquiry::NotFound);
    assert!(matches!(
        client.find(op("o-3"), SOON).await,
        Enquiry::Found(_)
    ));
    let settle = format!(
        "{}/payments/{}/settle",
        simulator.url(),
        ledger["o-3"].payments[0].payment_id
    );
    let settled = reqwest::Client::new()
        .post(settle)
        .json(&serde_json::json!({"status": "approved"}))
        .send()
        .await
        .unwrap();
    assert!(settled.status().is_success());
    let seen: serde_json::Value = reqwest::get(format!("{}/ledger", simulator.url()))
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(seen["orders"]["o-3"]["charged_minor"], 1_250);
    simulator.stop().await;
}

#[tokio::test]
async fn an_answer_that_is_late_or_cut_is_unknown_and_the_breaker_counts_it() {
    let listener = TcpListener::bind(loopback()).await.unwrap();
    let silent = gateway(&format!("http://{}/base/", listener.local_addr().unwrap()));
    let Enquiry::Unknown(seen) = silent.find(op("o-1"), Duration::from_millis(50)).await else {
        panic!("nobody answered");
    };
    assert_eq!(seen, "no answer within 50 ms");
    for _ in 0..4 {
        assert!(silent.is_available());
        silent.find(op("o-1"), Duration::from_millis(20)).await;
    }
    assert!(!silent.is_available(), "five failures in a row");

    drop(listener);
    let nobody = gateway(&silent_url().await);
    assert!(matches!(
        nobody.find(op("o-1"), SOON).await,
        Enquiry::Unknown(_)
    ));
}

async fn silent_url() -> String {
    // Bound and dropped: nobody listens there.
    let address = TcpListener::bind(loopback())
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    format!("http://{address}")
}

/// A server that closes the first `cut` connections after it has read a request, then answers every one with this.
async fn cutting(cut: usize, answer: &'static str) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind(loopback()).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let mut buffer = [0; 4096];
            let read = connection.read(&mut buffer).await.unwrap_or(0);
            if read > 0 && counted.fetch_add(1, Ordering::SeqCst) >= cut {
                connection.write_all(answer.as_bytes()).await.unwrap();
            }
        }
    });
    (url, requests)
}

// F-RS-10
#[tokio::test]
async fn a_connection_that_was_cut_is_tried_once_more_with_the_same_key() {
    let approved = "HTTP/1.1 201 Created\r\ncontent-length: 40\r\nconnection: close\r\n\r\n{\"payment_id\":\"p-1\",\"status\":\"approved\"}";
    let world = World::new().await;
    let (url, requests) = cutting(1, approved).await;
    let charged = gateway(&url)
        .charge(intent(&world).await, Duration::from_secs(3))
        .await;
    assert!(matches!(charged, Charge::Approved(_)), "{charged:?}");
    assert_eq!(requests.load(Ordering::SeqCst), 2);

    let world = World::new().await;
    let (url, requests) = cutting(9, approved).await;
    let charged = gateway(&url)
        .charge(intent(&world).await, Duration::from_secs(3))
        .await;
    assert!(matches!(charged, Charge::Unknown(_)), "{charged:?}");
    assert_eq!(requests.load(Ordering::SeqCst), 2, "and not for ever");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (url, requests) = cutting(0, "HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
    assert!(matches!(
        gateway(&url).find(op("o-1"), SOON).await,
        Enquiry::Unknown(_)
    ));
    assert_eq!(requests.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_intent_says_whom_to_charge() {
    let world = World::new().await;
    let intent = intent(&world).await;
    assert!(intent.asks_first());
    assert_eq!(
        intent.not_after().as_millis() / 1_000,
        world.clock.now().as_millis() / 1_000 + 60
    );
}
