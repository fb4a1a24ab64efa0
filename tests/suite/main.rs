//! Integration tests over real parts: a local AWS, a real OpenSearch server, the deployed template, the real bootstraps and command line.
//!
//! One program, so that all of it links once. `cargo xtask test` starts the servers for it and builds the programs it runs; on its own it
//! starts the servers itself, runs the programs as they were built last, and says which one is missing.
//!
//! No test knows of another: each has names of its own, or a deployment of its own. None sleeps: it waits for what it wants to see, and for
//! a bounded time. Start reading at `support/place.rs` (a deployment) and `support/pipeline.rs` (everything runs); then one module a subject.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking, and so do their helpers"
)]

mod support;

mod store;

mod archive;
mod search;

mod mapping;

mod command_line;
mod pipeline;
