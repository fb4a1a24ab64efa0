//! Who has ended and how, while a batch runs. It outlives the work, which may be dropped at any moment.

use crate::verdict::{Ending, Failure};
use std::sync::{Mutex, PoisonError};

/// How one record ended.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) ending: Ending,
    pub(super) blocked: bool,
    pub(super) why: Option<String>,
    pub(super) fatal: Option<Failure>,
}

impl Slot {
    pub(super) const fn settled(ending: Ending) -> Self {
        Self {
            ending,
            blocked: false,
            why: None,
            fatal: None,
        }
    }

    pub(super) fn parked(why: impl Into<String>) -> Self {
        Self {
            why: Some(why.into()),
            ..Self::settled(Ending::Parked)
        }
    }

    pub(super) fn failed(why: impl Into<String>) -> Self {
        Self {
            why: Some(why.into()),
            ..Self::settled(Ending::Failed)
        }
    }

    pub(super) fn is_failed(&self) -> bool {
        self.ending == Ending::Failed
    }
}

#[derive(Debug)]
enum State {
    Waiting,
    Running,
    Blocked,
    Ended(Slot),
}

/// One state a place of the batch; every place starts unfinished.
#[derive(Debug)]
pub(super) struct Board {
    states: Mutex<Vec<State>>,
}

impl Board {
    pub(super) fn new(places: usize) -> Self {
        Self {
            states: Mutex::new((0..places).map(|_| State::Waiting).collect()),
        }
    }

    pub(super) fn start(&self, place: usize) {
        self.set(place, State::Running);
    }

    pub(super) fn block(&self, place: usize) {
        self.set(place, State::Blocked);
    }

    pub(super) fn end(&self, place: usize, slot: Slot) {
        self.set(place, State::Ended(slot));
    }

    fn set(&self, place: usize, state: State) {
        if let Some(present) = self
            .states
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_mut(place)
        {
            *present = state;
        }
    }

    /// The end of all work: what has not ended has failed.
    pub(super) fn into_slots(self) -> Vec<Slot> {
        let states = self
            .states
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let close = |state| match state {
            State::Ended(slot) => slot,
            State::Waiting => Slot::failed("not begun: the invocation's time was up"),
            State::Running => Slot::failed("cut off: the invocation's time was up"),
            State::Blocked => Slot {
                blocked: true,
                ..Slot::failed("not begun: an earlier record of its lane failed")
            },
        };
        states.into_iter().map(close).collect()
    }
}
