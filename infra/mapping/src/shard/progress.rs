//! Which records of a shard are finished, and so how far its checkpoint has come.

use std::collections::VecDeque;
use std::sync::Arc;

/// The records between the checkpoint and the newest one offered, in stream order.
#[derive(Debug, Default)]
pub(super) struct Progress {
    open: VecDeque<Open>,
    /// The ordinal of the first of `open`.
    base: u64,
    unfinished: usize,
    bytes: usize,
    checkpoint: Option<Arc<str>>,
}

#[derive(Debug)]
struct Open {
    sequence: Arc<str>,
    bytes: usize,
    finished: bool,
}

impl Progress {
    /// Notes a record and gives it its place.
    pub(super) fn begin(&mut self, sequence: Arc<str>, bytes: usize) -> u64 {
        let ordinal = self.base + self.open.len() as u64;
        self.open.push_back(Open {
            sequence,
            bytes,
            finished: false,
        });
        self.unfinished += 1;
        self.bytes += bytes;
        ordinal
    }

    /// Notes that a record needs nothing any more, and moves the checkpoint over all that are finished in a row.
    pub(super) fn finish(&mut self, ordinal: u64) {
        let at = usize::try_from(ordinal.saturating_sub(self.base)).unwrap_or(usize::MAX);
        if let Some(open) = self.open.get_mut(at).filter(|open| !open.finished) {
            open.finished = true;
            self.unfinished -= 1;
            self.bytes -= open.bytes;
        }
        while let Some(open) = self.open.pop_front_if(|open| open.finished) {
            self.base += 1;
            self.checkpoint = Some(open.sequence);
        }
    }

    pub(super) fn checkpoint(&self) -> Option<&Arc<str>> {
        self.checkpoint.as_ref()
    }

    pub(super) fn unfinished(&self) -> usize {
        self.unfinished
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}
