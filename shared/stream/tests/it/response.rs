//! The exact bytes of the answer.

use crate::common::{Scripted, modify, run_both, run_with, throttled};
use sagaline_stream::{BatchResponse, MemoryParking};

// C-02 (this crate's half)
#[tokio::test(start_paused = true)]
async fn the_response_has_exactly_these_bytes() {
    let records = [
        modify("1100", "o-1"),
        modify(
            "49590338271490256608559692538361571095921575989136588898",
            "o-2",
        ),
    ];
    let (outcome, _) = run_both(&records, &Scripted(vec![])).await;
    assert_eq!(
        serde_json::to_string(&outcome.response).expect("JSON"),
        r#"{"batchItemFailures":[]}"#
    );
    assert_eq!(outcome.response, BatchResponse::default());

    let handler = Scripted(vec![(
        "49590338271490256608559692538361571095921575989136588898",
        throttled,
    )]);
    let (outcome, _) = run_both(&records, &handler).await;
    insta::assert_snapshot!(
        serde_json::to_string(&outcome.response).expect("JSON"),
        @r#"{"batchItemFailures":[{"itemIdentifier":"49590338271490256608559692538361571095921575989136588898"}]}"#
    );
}

// C-02
#[tokio::test(start_paused = true)]
async fn an_identifier_comes_back_as_it_was_received() {
    for sequence in ["0007", "shard\\\"7", "é", " 12 "] {
        let records = [modify(sequence, "o-1")];
        let outcome = run_with(
            &records,
            &crate::common::Each(|_| async { throttled() }),
            MemoryParking::default(),
        )
        .await;
        let bytes = serde_json::to_string(&outcome.expect("an outcome").response).expect("JSON");
        assert_eq!(
            bytes,
            format!(r#"{{"batchItemFailures":[{{"itemIdentifier":"{sequence}"}}]}}"#)
        );
    }
}
