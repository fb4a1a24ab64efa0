//! The time that a piece of work has. The handlers are those of functions, which always have a deadline.

use crate::mint;
use sagaline_stream::{Budget, Invocation, Limits, Remaining};
use std::time::Duration;

/// One piece: a drive of an order, or a write with all its retries.
pub(crate) const PIECE: Duration = Duration::from_secs(90);

/// What the handlers are told of who calls them.
pub(crate) fn invocation(time: Duration) -> Invocation {
    Invocation {
        function: "sagaline".to_owned(),
        request_id: mint::id(),
        received_at: sagaline_lambda::now_millis(),
        remaining: Remaining::Known(time),
    }
}

/// The budget of one piece that no engine runs.
pub(crate) fn budget() -> Budget {
    Budget::start(&invocation(PIECE), &Limits::default())
}
