//! The moves that a state of a small world allows, and their names.

use std::collections::BTreeSet;

use super::small::{Errand, SmallWorld};
use crate::simulator::call::{Call, Fate};

/// What can happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    Place(usize),
    Cancel,
    Deliver(usize),
    Repeat(usize),
    Lose(usize),
    /// The nth waiting call goes on.
    Grant(usize, Fate),
    /// The task of the nth waiting call ends there.
    Crash(usize),
    /// Time passes until a timer fires.
    Wait,
    /// Time passes until the sweeper is due, whatever runs.
    Sweep,
}

impl SmallWorld {
    /// Every move that the state and its budget allow.
    pub(super) fn moves(&self) -> Vec<Move> {
        let mut moves = Vec::new();
        let budget = &self.around.budget;
        let waiting = self.world.floor.waiting();
        let runs = |wanted: Errand| self.running.values().any(|(errand, _)| *errand == wanted);
        let room = self.running.len() < usize::from(self.around.budget.tasks);
        for order in [0, 1] {
            let placed = self.around.placed.get(order) == Some(&true);
            if room && !placed && !runs(Errand::Place(order)) {
                moves.push(Move::Place(order));
            }
            if self
                .around
                .records
                .get(order)
                .is_some_and(|records| *records > 0)
            {
                if room && !runs(Errand::Record(order)) {
                    moves.push(Move::Deliver(order));
                }
                if room && budget.repeats > 0 {
                    moves.push(Move::Repeat(order));
                }
                if budget.losses > 0 {
                    moves.push(Move::Lose(order));
                }
            }
        }
        if room
            && self.cancels
            && !self.around.cancelled
            && self.around.placed.first() == Some(&true)
        {
            moves.push(Move::Cancel);
        }
        let mut at_calls = BTreeSet::new();
        for (nth, call) in waiting.iter().enumerate() {
            moves.push(Move::Grant(nth, Fate::Fair));
            if budget.faults > 0 {
                moves.extend(faults(call.call).iter().map(|fate| Move::Grant(nth, *fate)));
            }
            if at_calls.insert(call.task) && budget.crashes > 0 {
                moves.push(Move::Crash(nth));
            }
        }
        // No time passes before both orders are there, unless there is no room to place one: when they are placed makes no difference to either.
        if self.around.placed != [true; 2] && room {
            return moves;
        }
        if self.running.len() > at_calls.len() {
            moves.push(Move::Wait);
        }
        let others =
            !waiting.is_empty() || self.around.records != [0; 2] || !self.running.is_empty();
        let due = !self.around.wakes.is_empty() && !runs(Errand::Sweep);
        if due && (!others || (budget.freezes > 0 && room)) {
            moves.push(Move::Sweep);
        }
        moves
    }

    /// A move in words.
    pub(super) fn label(&self, next: Move) -> String {
        let call = |nth| {
            self.world
                .floor
                .nth_waiting(nth)
                .map_or_else(String::new, |call| {
                    let errand = self.running.get(&call.task).map(|(errand, _)| *errand);
                    format!("{errand:?}: {} {}", call.call.name(), call.about)
                })
        };
        let at = self.world.elapsed_ms();
        match next {
            Move::Grant(nth, fate) => format!("{at} ms: {} {}", call(nth), fate.name()),
            Move::Crash(nth) => format!("{at} ms: {} crash", call(nth)),
            Move::Place(_)
            | Move::Cancel
            | Move::Deliver(_)
            | Move::Repeat(_)
            | Move::Lose(_)
            | Move::Wait
            | Move::Sweep => format!("{at} ms: {next:?}"),
        }
    }
}

/// How a call can go wrong, one of each kind that its caller can tell apart.
fn faults(call: Call) -> &'static [Fate] {
    match call {
        Call::Get => &[Fate::NotSent],
        Call::Transact => &[Fate::NotSent, Fate::Unheard, Fate::Conflict],
        Call::Query | Call::Find => &[Fate::NotSent],
        Call::Charge | Call::Refund | Call::Publish => &[Fate::NotSent, Fate::Unheard],
    }
}
