//! The time of day as a value that somebody else supplies.

use sagaline_order::Timestamp;

/// Tells the time. The processors hand in the system's, tests their own.
///
/// Any function without arguments that gives a [`Timestamp`] is one.
pub trait Clock: Send + Sync {
    /// The present.
    fn now(&self) -> Timestamp;
}

impl<F: Fn() -> Timestamp + Send + Sync> Clock for F {
    fn now(&self) -> Timestamp {
        self()
    }
}
