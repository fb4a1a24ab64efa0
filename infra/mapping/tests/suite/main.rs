//! Everything that is tested from outside: the pure machine, the tasks that drive it, and the host with real processes.
//!
//! Nothing here needs a network service. Real queues, buckets and streams are used by the workspace's integration tests.

#![cfg(test)]

mod support;

mod conformance;
mod properties;
mod response_body;
mod traces;

mod driver;
mod host;
