//! A decoded batch, sorted into what is to be run, what is broken, and what is a repeat.

use super::board::{Board, Slot};
use super::close::Fact;
use crate::batch::Batch;
use crate::record::{Record, Undecodable};
use crate::verdict::Ending;
use std::collections::HashMap;

/// What stands at one place of the batch.
#[derive(Debug, Clone, Copy)]
pub(super) enum Entry<'s, 'a> {
    Record(&'s Record<'a>),
    Broken(&'s Undecodable<'a>),
    Twin,
}

/// Where it is kept: an index into the list of its kind.
#[derive(Debug, Clone, Copy)]
enum Kept {
    Record(usize),
    Broken(usize),
    Twin,
}

#[derive(Debug)]
pub(super) struct Sorted<'a> {
    /// The records to run, in order.
    pub(super) records: Vec<Record<'a>>,
    pub(super) broken: Vec<Undecodable<'a>>,
    twins: Vec<Twin<'a>>,
    entries: Vec<Kept>,
}

/// A repeat of the record at the place `first`.
#[derive(Debug)]
struct Twin<'a> {
    record: Record<'a>,
    first: usize,
}

impl<'a> Sorted<'a> {
    pub(super) fn new(batch: &Batch<'a>) -> Self {
        let mut records: Vec<Record<'a>> = Vec::with_capacity(batch.len());
        let mut broken = Vec::new();
        let mut twins = Vec::new();
        let mut entries = Vec::with_capacity(batch.len());
        for decoded in batch.records() {
            match decoded {
                Ok(record) => {
                    entries.push(Kept::Record(records.len()));
                    records.push(record);
                }
                Err(undecodable) => {
                    entries.push(Kept::Broken(broken.len()));
                    broken.push(*undecodable);
                }
            }
        }
        let repeats = repeats(&records);
        if !repeats.is_empty() {
            let mut kept = Vec::with_capacity(records.len());
            for record in records {
                let place = record.place();
                let entry = if let Some(&first) = repeats.get(&place) {
                    twins.push(Twin { record, first });
                    Kept::Twin
                } else {
                    kept.push(record);
                    Kept::Record(kept.len() - 1)
                };
                if let Some(present) = entries.get_mut(place) {
                    *present = entry;
                }
            }
            records = kept;
        }
        Self {
            records,
            broken,
            twins,
            entries,
        }
    }

    pub(super) fn at(&self, place: usize) -> Option<Entry<'_, 'a>> {
        match *self.entries.get(place)? {
            Kept::Record(index) => self.records.get(index).map(Entry::Record),
            Kept::Broken(index) => self.broken.get(index).map(Entry::Broken),
            Kept::Twin => Some(Entry::Twin),
        }
    }

    /// Lets repeats end as their twins did, and closes the board.
    pub(super) fn close(&self, board: Board) -> Vec<Slot> {
        let mut slots = board.into_slots();
        for twin in &self.twins {
            let settled = slots
                .get(twin.first)
                .is_some_and(|first| !first.is_failed());
            if let Some(slot) = slots.get_mut(twin.record.place()) {
                *slot = if settled {
                    Slot {
                        why: Some("a repeat inside the batch".to_owned()),
                        ..Slot::settled(Ending::Stale)
                    }
                } else {
                    Slot::failed("a repeat of a record that failed")
                };
            }
        }
        slots
    }

    /// What the closing needs to know of each place.
    pub(super) fn facts(&self) -> Vec<Fact<'_>> {
        let of_record = |record: &'_ Record<'a>| (record.place(), record.created_at());
        let mut facts = vec![Fact::default(); self.entries.len()];
        let records = self
            .records
            .iter()
            .chain(self.twins.iter().map(|twin| &twin.record));
        let whole = records.map(|record| (of_record(record), record.sequence()));
        let halves = self
            .broken
            .iter()
            .map(|broken| ((broken.place(), broken.created_at()), broken.sequence()));
        for ((place, created_at), sequence) in whole.chain(halves) {
            if let Some(fact) = facts.get_mut(place) {
                *fact = Fact {
                    sequence,
                    message_id: None,
                    created_at,
                };
            }
        }
        facts
    }
}

/// From the place of each repeat to the place of its first. Both ids must be equal: public samples repeat one of them (F-STR-12).
fn repeats(records: &[Record<'_>]) -> HashMap<usize, usize> {
    let mut seen = HashMap::with_capacity(records.len());
    let mut repeats = HashMap::new();
    for record in records {
        if let (Some(event_id), Some(sequence)) = (record.event_id(), record.sequence()) {
            let first = *seen
                .entry((event_id, sequence.as_str()))
                .or_insert(record.place());
            if first != record.place() {
                repeats.insert(record.place(), first);
            }
        }
    }
    repeats
}
