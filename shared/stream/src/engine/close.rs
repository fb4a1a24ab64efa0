//! From endings to the answer: counting, the lowest unfinished record, and the cases in which only an invocation error is honest.

use super::board::Slot;
use crate::budget::Budget;
use crate::counts::Counts;
use crate::outcome::{Handled, InvocationError, Outcome, Report};
use crate::response::BatchResponse;
use crate::sequence::SequenceNumber;
use crate::time::EpochMillis;
use std::cmp::Ordering;

/// What the answer needs to know of one place of the batch.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fact<'r> {
    pub(super) sequence: Option<&'r SequenceNumber>,
    pub(super) message_id: Option<&'r str>,
    pub(super) created_at: Option<EpochMillis>,
}

/// Answers for a batch of a stream: the one lowest unfinished record, or none.
pub(super) fn close_stream(
    slots: Vec<Slot>,
    facts: &[Fact<'_>],
    lanes: usize,
    budget: &Budget,
) -> Result<Outcome, InvocationError> {
    let lowest = lowest_unfinished(&slots, facts);
    let unnamed = first_failed(&slots, facts, |fact| fact.sequence.is_none());
    let identifiers = lowest
        .and_then(|place| facts.get(place)?.sequence)
        .map(SequenceNumber::as_str);
    close(slots, facts, lanes, budget, lowest, unnamed, identifiers)
}

/// Answers for a batch of a queue: every failed message.
pub(super) fn close_queue(
    slots: Vec<Slot>,
    facts: &[Fact<'_>],
    lanes: usize,
    budget: &Budget,
) -> Result<Outcome, InvocationError> {
    let first = first_failed(&slots, facts, |_| true);
    let unnamed = first_failed(&slots, facts, |fact| fact.message_id.is_none());
    let failed: Vec<bool> = slots.iter().map(Slot::is_failed).collect();
    let identifiers = failed
        .iter()
        .zip(facts)
        .filter(|(failed, _)| **failed)
        .filter_map(|(_, fact)| fact.message_id);
    close(slots, facts, lanes, budget, first, unnamed, identifiers)
}

/// The failed record that a stream must be rewound to. The numeric order decides, or place if any number of the batch is opaque.
fn lowest_unfinished(slots: &[Slot], facts: &[Fact<'_>]) -> Option<usize> {
    let opaque = facts
        .iter()
        .filter_map(|fact| fact.sequence)
        .any(SequenceNumber::is_opaque);
    let failed = slots
        .iter()
        .zip(facts)
        .enumerate()
        .filter(|(_, (slot, _))| slot.is_failed());
    let by_number = |a: Option<&SequenceNumber>, b: Option<&SequenceNumber>| {
        if opaque {
            Ordering::Equal
        } else {
            a.zip(b)
                .and_then(|(a, b)| a.compare(b))
                .unwrap_or(Ordering::Equal)
        }
    };
    // Of equals, `min_by` keeps the first in place.
    failed
        .min_by(|(_, (_, a)), (_, (_, b))| by_number(a.sequence, b.sequence))
        .map(|(place, _)| place)
}

fn first_failed(
    slots: &[Slot],
    facts: &[Fact<'_>],
    matches: impl Fn(&Fact<'_>) -> bool,
) -> Option<usize> {
    slots
        .iter()
        .zip(facts)
        .position(|(slot, fact)| slot.is_failed() && matches(fact))
}

fn close<'i>(
    slots: Vec<Slot>,
    facts: &[Fact<'_>],
    lanes: usize,
    budget: &Budget,
    lowest: Option<usize>,
    unnamed: Option<usize>,
    identifiers: impl IntoIterator<Item = &'i str>,
) -> Result<Outcome, InvocationError> {
    let now = budget.now();
    let age = |fact: Option<&Fact<'_>>| Some(now.since(fact?.created_at?));
    let mut fatal = None;
    let mut handled = Vec::with_capacity(slots.len());
    for (place, slot) in slots.into_iter().enumerate() {
        if let Some(failure) = slot.fatal {
            fatal.get_or_insert((place, failure));
        }
        handled.push(Handled {
            place,
            ending: slot.ending,
            blocked: slot.blocked,
            why: slot.why,
        });
    }
    let counts = Counts::of(handled.iter().map(|record| record.ending));
    let report = Report {
        counts,
        lanes,
        blocked: handled.iter().filter(|record| record.blocked).count(),
        iterator_age: age(facts.last()),
        lowest_failed_age: lowest.and_then(|place| age(facts.get(place))),
        starved: budget.time_is_up()
            && counts.failed() > 0
            && counts.failed() == counts.records_in(),
        handled,
    };
    if report.starved {
        tracing::error!(
            records = counts.records_in(),
            "the time was up before a single record was settled"
        );
    }
    if let Some((place, failure)) = fatal {
        return Err(InvocationError::Fatal {
            place,
            failure,
            report: Box::new(report),
        });
    }
    if let Some(place) = unnamed {
        let why = report
            .handled
            .get(place)
            .and_then(|record| record.why.clone())
            .unwrap_or_default();
        return Err(InvocationError::Unnamed {
            place,
            why,
            report: Box::new(report),
        });
    }
    Ok(Outcome {
        response: BatchResponse::reporting(identifiers),
        report,
    })
}
