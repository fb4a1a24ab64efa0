//! Many pieces of work: a few at a time, at a rate, with a progress bar and an account of what became of each.
//!
//! Pieces are taken in the order in which they lie. Those that run at the same time are of different orders, so that of one order they are
//! taken one after another; a piece that names no order runs alone.

use super::hands::{Ended, Hands};
use super::pace::Pace;
use super::piece::{Piece, Unusable};
use super::plan::{Plan, plan};
use crate::error::{Code, CommandError};
use crate::output;
use futures::future::join_all;
use indicatif::{ProgressBar, ProgressStyle};
use sagaline_stream::Ending;
use serde_json::{Value, json};
use std::collections::{HashSet, VecDeque};

/// Pieces that run at the same time.
const TOGETHER: usize = 8;
/// After so many failures in a row the rest is left alone: the sink or the gateway is away, not the records.
const FAILURES_IN_A_ROW: usize = 5;

/// How a job is to go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    /// Do it, rather than only say what would be done.
    pub(crate) act: bool,
    /// Pieces a second.
    pub(crate) rate: Option<u32>,
    /// Whether standard output has one JSON document and nothing else.
    pub(crate) json: bool,
}

/// What lies at one place: an object of the bucket, a message of a queue, a file.
#[derive(Debug)]
pub(crate) struct Place {
    /// How it is called.
    pub(crate) name: String,
    /// What there is to be done, or why there is nothing.
    pub(crate) pieces: Result<Vec<Piece>, Unusable>,
}

/// What became of a few places.
#[derive(Debug)]
#[must_use]
pub(crate) struct Went {
    /// One a place: whether it is settled, so that it may be removed there.
    pub(crate) settled: Vec<bool>,
    /// What stopped the rest of them.
    pub(crate) result: Result<(), CommandError>,
}

/// A job under way.
pub(crate) struct Job<'h, 'g> {
    hands: &'h Hands<'g>,
    manner: Manner,
    pace: Pace,
    bar: ProgressBar,
    told: Vec<Value>,
    totals: Totals,
    failures_in_a_row: usize,
    /// The only one so far that nothing could be made of, as its own error.
    alone: Option<CommandError>,
    places: usize,
}

/// One piece, and where it lies.
#[derive(Clone, Copy)]
struct Work<'p> {
    place: usize,
    number: usize,
    piece: Result<&'p Piece, &'p Unusable>,
}

#[derive(Debug, Default)]
struct Totals {
    done: usize,
    stale: usize,
    skipped: usize,
    deferred: usize,
    refused: usize,
    failed: usize,
    removed: usize,
}

impl Totals {
    fn count(&mut self, ending: Ending) {
        *match ending {
            Ending::Done => &mut self.done,
            Ending::Stale => &mut self.stale,
            Ending::Skipped => &mut self.skipped,
            Ending::Deferred => &mut self.deferred,
            Ending::Parked => &mut self.refused,
            Ending::Failed => &mut self.failed,
        } += 1;
    }
}

impl<'h, 'g> Job<'h, 'g> {
    /// Of that many objects or messages, where that is known.
    pub(crate) fn new(hands: &'h Hands<'g>, manner: Manner, places: Option<usize>) -> Self {
        let bar = match places {
            Some(places) => ProgressBar::new(u64::try_from(places).unwrap_or(u64::MAX)),
            None => ProgressBar::no_length(),
        };
        let style = ProgressStyle::with_template("redriving {bar:40} {pos}/{len} {per_sec} {eta}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self {
            hands,
            manner,
            pace: Pace::new(manner.rate.filter(|_| manner.act)),
            bar,
            told: Vec::new(),
            totals: Totals::default(),
            failures_in_a_row: 0,
            alone: None,
            places: 0,
        }
    }

    /// Takes up what lies at these places.
    pub(crate) async fn take(&mut self, places: &[Place]) -> Went {
        self.places += places.len();
        let mut went = Went {
            settled: vec![self.manner.act; places.len()],
            result: Ok(()),
        };
        let mut waiting = in_order(places);
        // A place counts once on the bar, and so does every further piece that it turns out to hold.
        let more = waiting.len().saturating_sub(places.len());
        self.bar.inc_length(u64::try_from(more).unwrap_or(u64::MAX));
        while went.result.is_ok() && !waiting.is_empty() && !self.is_hopeless() {
            let together = next_together(&mut waiting);
            let running = together.iter().map(|work| self.one(*work));
            let ended = Box::pin(join_all(running)).await;
            for (work, ended) in together.into_iter().zip(ended) {
                self.bar.inc(1);
                let name = places.get(work.place).map_or("", |place| &place.name);
                let settled = match (work.piece, ended) {
                    (Err(unusable), _) => self.refuse(name, unusable),
                    (Ok(piece), Ok(ended)) => self.account(name, work.number, piece, ended),
                    (Ok(_), Err(error)) => {
                        if went.result.is_ok() {
                            went.result = Err(error);
                        }
                        false
                    }
                };
                mark(&mut went.settled, work.place, settled);
            }
        }
        for work in waiting {
            mark(&mut went.settled, work.place, false);
            self.totals.failed += usize::from(went.result.is_ok());
        }
        went
    }

    /// Counts a removal.
    pub(crate) const fn removed(&mut self) {
        self.totals.removed += 1;
    }

    /// Whether going on would be pointless.
    pub(crate) const fn is_hopeless(&self) -> bool {
        self.failures_in_a_row >= FAILURES_IN_A_ROW
    }

    /// What would be done with one piece and, if it is to be done, how that ended.
    async fn one(&self, work: Work<'_>) -> Result<(Plan, Option<Ended>), CommandError> {
        let Ok(piece) = work.piece else {
            return Ok((Plan::nothing("nothing can be made of it"), None));
        };
        let plan = plan(piece, &self.hands.session().store).await?;
        if !self.manner.act {
            return Ok((plan, None));
        }
        self.pace.turn().await;
        let ended = Box::pin(self.hands.take(piece)).await?;
        Ok((plan, Some(ended)))
    }

    fn refuse(&mut self, place: &str, unusable: &Unusable) -> bool {
        self.totals.refused += 1;
        let advice = unusable.advice();
        self.tell(
            &format!("{place}: refused: {unusable}; {advice}"),
            json!({"place": place, "verdict": "refused", "detail": unusable.to_string(), "advice": advice}),
        );
        self.alone = Some(unusable.clone().into_error(place));
        false
    }

    /// True if the piece is settled.
    fn account(
        &mut self,
        place: &str,
        number: usize,
        piece: &Piece,
        (plan, ended): (Plan, Option<Ended>),
    ) -> bool {
        let who = piece.who.as_str();
        let of = match (&plan.order_id, plan.version) {
            (Some(order_id), Some(version)) => format!("{order_id} v{version}"),
            (Some(order_id), None) => order_id.clone(),
            (None, _) => "an unknown order".to_owned(),
        };
        let mut json = json!({"place": place, "number": number, "who": who, "order_id": plan.order_id, "version": plan.version});
        let Some(ended) = ended else {
            set(&mut json, "would", plan.would.clone().into());
            self.tell(&format!("{place}: {who}: {of}: would {}", plan.would), json);
            return false;
        };
        self.totals.count(ended.ending);
        // Nothing is parked here: what would be stays where it lies.
        let verdict = if ended.ending == Ending::Parked {
            "refused".to_owned()
        } else {
            ended.ending.to_string()
        };
        set(&mut json, "verdict", verdict.clone().into());
        set(&mut json, "detail", ended.why.clone().into());
        let why = ended.why.map(|why| format!(": {why}")).unwrap_or_default();
        self.tell(&format!("{place}: {who}: {of}: {verdict}{why}"), json);
        let failed = ended.ending == Ending::Failed;
        self.failures_in_a_row = if failed {
            self.failures_in_a_row + 1
        } else {
            0
        };
        !failed && ended.ending != Ending::Parked
    }

    /// Lines about single records are data: errors have standard error to themselves.
    fn tell(&mut self, line: &str, json: Value) {
        if self.manner.json {
            self.told.push(json);
        } else {
            self.bar.suspend(|| output::line(line));
        }
    }

    /// The account, and what it means for the exit code; after an error of the way there, of what was done before it.
    pub(crate) fn finish(self, went: Result<(), CommandError>) -> Result<(), CommandError> {
        self.bar.finish_and_clear();
        let Totals {
            done,
            stale,
            skipped,
            deferred,
            refused,
            failed,
            removed,
        } = self.totals;
        if self.manner.json {
            output::json(
                &json!({"dry_run": !self.manner.act, "records": self.told, "totals": {"done": done, "stale": stale, "skipped": skipped,
                "deferred": deferred, "refused": refused, "failed": failed, "removed": removed}}),
            );
        } else if self.manner.act {
            output::line(&format!(
                "{done} done, {stale} stale, {skipped} skipped, {deferred} deferred, {refused} refused, {failed} failed; {removed} removed"
            ));
        } else {
            output::line("dry run: nothing was done; --yes does it");
        }
        went?;
        if failed > 0 {
            return Err(CommandError::new(
                Code::Unavailable,
                format!("{failed} records could not be settled now"),
            )
            .advise(
                "run the same command again: what is settled is gone, the rest is where it was",
            ));
        }
        if let (Some(error), 1) = (self.alone, self.places) {
            return Err(error);
        }
        if refused > 0 {
            return Err(CommandError::new(
                Code::StillAside,
                format!("{refused} records were refused and lie where they were"),
            ));
        }
        Ok(())
    }
}

/// The pieces of all places, in order; a place that nothing can be made of is there as one.
fn in_order(places: &[Place]) -> VecDeque<Work<'_>> {
    let mut all = VecDeque::new();
    for (place, lies) in places.iter().enumerate() {
        match &lies.pieces {
            Ok(pieces) => all.extend((0..).zip(pieces).map(|(number, piece)| Work {
                place,
                number,
                piece: Ok(piece),
            })),
            Err(unusable) => all.push_back(Work {
                place,
                number: 0,
                piece: Err(unusable),
            }),
        }
    }
    all
}

/// The next ones that may run at the same time: each of another order.
fn next_together<'p>(waiting: &mut VecDeque<Work<'p>>) -> Vec<Work<'p>> {
    let mut together = Vec::with_capacity(TOGETHER);
    let mut orders = HashSet::new();
    while together.len() < TOGETHER
        && let Some(next) = waiting.front()
    {
        let Some(order) = next.piece.ok().and_then(Piece::order) else {
            if together.is_empty() {
                together.extend(waiting.pop_front());
            }
            break;
        };
        if !orders.insert(order) {
            break;
        }
        together.extend(waiting.pop_front());
    }
    together
}

fn mark(settled: &mut [bool], place: usize, is_settled: bool) {
    if let Some(all) = settled.get_mut(place) {
        *all &= is_settled;
    }
}

fn set(json: &mut Value, name: &str, value: Value) {
    if let Some(members) = json.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::super::piece::{Content, Who};
    use super::*;

    fn record(order: &str) -> Piece {
        let keys = json!({"PK": {"S": format!("ORDER#{order}")}, "SK": {"S": "ORDER#DETAIL"}});
        Piece {
            who: Who::Search,
            content: Content::Record(json!({"dynamodb": {"Keys": keys}}).to_string()),
        }
    }

    /// The places of the pieces that run together, one list after another.
    fn runs(places: &[Place]) -> Vec<Vec<(usize, usize)>> {
        let mut waiting = in_order(places);
        let mut runs = Vec::new();
        while !waiting.is_empty() {
            let together = next_together(&mut waiting);
            runs.push(
                together
                    .iter()
                    .map(|work| (work.place, work.number))
                    .collect(),
            );
        }
        runs
    }

    #[test]
    fn pieces_of_one_order_are_taken_in_turn_and_others_beside_them() {
        let place = |pieces| Place {
            name: "p".to_owned(),
            pieces,
        };
        let message = Piece {
            who: Who::Archive,
            content: Content::Message(r#"{"kind":"archive","bucket":"b","key":"k"}"#.to_owned()),
        };
        let places = [
            place(Ok(vec![record("a"), record("b"), record("a")])),
            place(Ok(Vec::new())),
            place(Err(Unusable::Broken("garbage".to_owned()))),
            place(Ok(vec![record("a"), record("c")])),
            place(Ok(vec![message])),
        ];
        let expected = vec![
            vec![(0, 0), (0, 1)],
            vec![(0, 2)],
            vec![(2, 0)],
            vec![(3, 0), (3, 1)],
            vec![(4, 0)],
        ];
        assert_eq!(runs(&places), expected);
    }

    #[test]
    fn no_more_than_a_few_run_at_the_same_time() {
        let pieces = (0..20).map(|n| record(&format!("o-{n}"))).collect();
        let places = [Place {
            name: "p".to_owned(),
            pieces: Ok(pieces),
        }];
        let sizes: Vec<_> = runs(&places).iter().map(Vec::len).collect();
        assert_eq!(sizes, [8, 8, 4]);
    }
}
