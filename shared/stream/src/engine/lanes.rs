//! Lanes: in order within one, concurrent between them, never more than a bounded number at a time.

use super::board::{Board, Slot};
use crate::budget::Budget;
use futures::stream::{FuturesUnordered, StreamExt as _};
use std::borrow::Cow;
use std::collections::HashMap;
use std::future::Future;

/// What runs at one place of the batch, to its end: the handler, and parking if it comes to that.
pub(super) trait Work: Sync {
    fn run(&self, place: usize) -> impl Future<Output = Slot> + Send;
}

/// The places of a batch in lanes, lanes in the order of their first record.
#[derive(Debug, Default)]
pub(super) struct Plan<'k> {
    lanes: Vec<Vec<usize>>,
    by_key: HashMap<Cow<'k, str>, usize>,
}

impl<'k> Plan<'k> {
    /// Puts a place into the lane of its key.
    pub(super) fn add(&mut self, place: usize, key: Cow<'k, str>) {
        let next = self.lanes.len();
        let lane = *self.by_key.entry(key).or_insert(next);
        match self.lanes.get_mut(lane) {
            Some(places) => places.push(place),
            None => self.lanes.push(vec![place]),
        }
    }

    /// Puts a place into a lane of its own.
    pub(super) fn add_alone(&mut self, place: usize) {
        self.lanes.push(vec![place]);
    }

    pub(super) fn len(&self) -> usize {
        self.lanes.len()
    }
}

/// Runs all lanes, to their ends or to the end of the budget. What has not ended then stays unfinished on the board.
pub(super) async fn drive<W: Work>(
    work: &W,
    plan: &Plan<'_>,
    board: &Board,
    budget: &Budget,
    concurrency: usize,
) {
    let mut waiting = plan.lanes.iter();
    let mut running = FuturesUnordered::new();
    budget
        .bound(async {
            loop {
                while running.len() < concurrency.max(1)
                    && !budget.is_over()
                    && let Some(places) = waiting.next()
                {
                    running.push(lane(work, places, board, budget));
                }
                if running.next().await.is_none() {
                    return;
                }
            }
        })
        .await;
}

async fn lane<W: Work>(work: &W, places: &[usize], board: &Board, budget: &Budget) {
    let mut places = places.iter().copied();
    while let Some(place) = places.next() {
        if budget.is_over() {
            return;
        }
        board.start(place);
        let slot = work.run(place).await;
        let failed = slot.is_failed();
        if slot.fatal.is_some() {
            budget.token().cancel();
        }
        board.end(place, slot);
        if failed {
            return places.for_each(|place| board.block(place));
        }
    }
}

/// Runs places without lanes and without asking the budget: for what has begun already.
pub(super) async fn finish<W: Work>(
    work: &W,
    places: Vec<usize>,
    board: &Board,
    concurrency: usize,
) {
    let mut waiting = places.into_iter();
    let mut running = FuturesUnordered::new();
    loop {
        while running.len() < concurrency.max(1)
            && let Some(place) = waiting.next()
        {
            running.push(async move { board.end(place, work.run(place).await) });
        }
        if running.next().await.is_none() {
            return;
        }
    }
}
