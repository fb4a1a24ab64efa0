//! Scripted parts for tests and the demo: memory store, gateway, invariants.

pub mod invariants;

pub mod gateway;

pub mod scripted;

pub mod memory;

pub mod contract;

pub mod simulator;

pub use memory::MemoryTable;
