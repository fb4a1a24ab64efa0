//! Who drives an order, and how much time that leaves for one attempt.

use std::time::Duration;

use tokio::time::Instant;

use crate::gateway::attempt::Window;

/// Who drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Path {
    /// A stream record: fast, and others wait behind it.
    Stream,
    /// The sweeper: takes up what was left.
    Sweeper,
    /// A person who asked for it.
    Operator,
}

impl Path {
    /// The actor in history and on the head.
    #[must_use]
    pub fn actor(self) -> &'static str {
        match self {
            Self::Stream => "saga",
            Self::Sweeper => "sweeper",
            Self::Operator => "operator",
        }
    }

    /// On the stream path one slow gateway must not hold a shard: what is not answered at once is asked about by the sweeper.
    pub(crate) fn window(self, until: Instant) -> Window {
        let (call, attempt) = match self {
            Self::Stream => (Duration::from_secs(3), Duration::from_secs(3)),
            Self::Sweeper | Self::Operator => (Duration::from_secs(10), Duration::from_secs(15)),
        };
        Window {
            call,
            attempt,
            until,
        }
    }
}
