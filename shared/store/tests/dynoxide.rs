//! The store over dynoxide, an emulator in this process: the contract, and what it charges.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "common/server.rs"]
mod server;

use sagaline_testkit::contract;

#[tokio::test]
async fn dynoxide_keeps_the_contract_that_the_memory_table_keeps() {
    contract::run(server::table().await).await;
}

// C-22
#[tokio::test]
async fn dynoxide_refuses_what_aws_refuses() {
    contract::strict(&server::table().await).await;
}

#[tokio::test]
async fn dynoxide_charges_what_our_sizes_say() {
    let found = contract::charges::differences(&server::client().await, server::TABLE).await;
    assert_eq!(found, []);
}
