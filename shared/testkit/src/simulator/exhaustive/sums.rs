//! What makes two states of a small world the same.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use sagaline_store::value::to_json;
use sagaline_store::{HEAD_SK, Item, SK};

use super::small::{Around, SmallWorld};
use crate::simulator::trace::Fnv;

impl SmallWorld {
    /// The same for two states from which the same can follow. Left out is what nothing decides on: who did something, the words for it, when a
    /// row was written, how often a message came.
    pub(super) fn hash(&self, sums: &mut Sums) -> u64 {
        let mut sum = Fnv::default();
        for item in self.world.table.items() {
            sum.eat(&sums.of(&item).to_le_bytes());
        }
        let outside = self.world.shared.outside();
        sum.eat(outside.book.state().as_bytes());
        let messages: BTreeSet<_> = outside.messages.iter().collect();
        sum.eat(format!("{messages:?} {:?}", outside.wandering).as_bytes());
        drop(outside);
        let Around {
            budget,
            records,
            placed,
            cancelled,
            wakes: _,
        } = &self.around;
        sum.eat(format!("{budget:?} {records:?} {placed:?} {cancelled}").as_bytes());
        sum.eat(self.world.now().basic().as_bytes());
        let waiting = self.world.floor.waiting();
        let mut tasks: Vec<_> = self
            .running
            .iter()
            .map(|(task, (errand, knows))| {
                let at = waiting.iter().filter(|call| call.task == *task);
                let at: Vec<_> = at.map(|call| (call.call.name(), &call.about)).collect();
                format!("{errand:?} {} {at:?}", knows.sum())
            })
            .collect();
        tasks.sort_unstable();
        sum.eat(format!("{tasks:?}").as_bytes());
        sum.sum()
    }
}

/// The sums of items that were met before: most states share most of their items.
#[derive(Debug, Default)]
pub(super) struct Sums(HashMap<usize, (Arc<Item>, u64)>);

impl Sums {
    /// More than these are forgotten at once.
    const MOST: usize = 200_000;

    fn of(&mut self, item: &Arc<Item>) -> u64 {
        if self.0.len() > Self::MOST {
            self.0.clear();
        }
        // The item is kept, so its address is nobody else's.
        let address = Arc::as_ptr(item).addr();
        let known = self.0.entry(address);
        known.or_insert_with(|| (Arc::clone(item), sum_of(item))).1
    }
}

fn sum_of(item: &Item) -> u64 {
    let is_head = item
        .get(SK)
        .and_then(|sk| sk.as_s().ok())
        .is_some_and(|sk| sk == HEAD_SK);
    let mut names: Vec<_> = item.iter().collect();
    names.sort_unstable_by_key(|(name, _)| name.as_str());
    let mut sum = Fnv::default();
    for (name, value) in names {
        match name.as_str() {
            "last_event" | "updated_at" | "updated_pk" | "updated_sk" | "expires_at" | "actor"
            | "reason" | "at" => continue,
            "lines" | "created_at" if is_head => continue,
            _ => {}
        }
        sum.eat(name.as_bytes());
        sum.eat(to_json(value).to_string().as_bytes());
    }
    sum.sum()
}
