//! Many pieces, one after another: at a rate, with a progress bar and an account of what became of each.

use super::hands::Hands;
use super::piece::{Piece, Unusable};
use super::plan::plan;
use crate::error::{Code, CommandError};
use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use sagaline_stream::Ending;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// After so many failures in a row the rest is left alone: the sink or the gateway is away, not the records.
const FAILURES_IN_A_ROW: usize = 5;

/// Pieces a second, as in `10/s` or `10`.
pub(crate) fn rate(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix("/s").unwrap_or(text);
    match number.parse() {
        Ok(rate @ 1..=10_000) => Ok(rate),
        Ok(_) | Err(_) => Err("must be 1/s to 10000/s".to_owned()),
    }
}

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

/// A job under way.
pub(crate) struct Job<'h, 'g> {
    hands: &'h Hands<'g>,
    manner: Manner,
    pace: Option<Interval>,
    bar: ProgressBar,
    told: Vec<Value>,
    totals: Totals,
    failures_in_a_row: usize,
    /// The only one so far that nothing could be made of, as its own error.
    alone: Option<CommandError>,
    places: usize,
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
        let pace = manner.rate.filter(|_| manner.act).map(|rate| {
            let mut pace = interval(Duration::from_secs(1) / rate);
            pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
            pace
        });
        let bar = match places {
            Some(places) => ProgressBar::new(u64::try_from(places).unwrap_or(u64::MAX)),
            None => ProgressBar::no_length(),
        };
        let style = ProgressStyle::with_template("redriving {bar:40} {pos}/{len} {per_sec} {eta}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self {
            hands,
            manner,
            pace,
            bar,
            told: Vec::new(),
            totals: Totals::default(),
            failures_in_a_row: 0,
            alone: None,
            places: 0,
        }
    }

    /// Takes up what lies at one place. True when it may be removed there.
    pub(crate) async fn take(
        &mut self,
        place: &str,
        pieces: Result<Vec<Piece>, Unusable>,
    ) -> Result<bool, CommandError> {
        self.places += 1;
        self.bar.inc(1);
        let pieces = match pieces {
            Ok(pieces) => pieces,
            Err(unusable) => {
                self.totals.refused += 1;
                let advice = unusable.advice();
                self.tell(
                    &format!("{place}: refused: {unusable}; {advice}"),
                    json!({"place": place, "verdict": "refused", "detail": unusable.to_string(), "advice": advice}),
                );
                self.alone = Some(unusable.into_error(place));
                return Ok(false);
            }
        };
        let mut settled = true;
        for (number, piece) in pieces.iter().enumerate() {
            settled &= Box::pin(self.piece(place, number, piece)).await?;
        }
        Ok(settled && self.manner.act)
    }

    /// Counts a removal.
    pub(crate) const fn removed(&mut self) {
        self.totals.removed += 1;
    }

    /// Whether going on would be pointless.
    pub(crate) const fn is_hopeless(&self) -> bool {
        self.failures_in_a_row >= FAILURES_IN_A_ROW
    }

    async fn piece(
        &mut self,
        place: &str,
        number: usize,
        piece: &Piece,
    ) -> Result<bool, CommandError> {
        let who = piece.who.as_str();
        let plan = plan(piece, &self.hands.session().store).await?;
        let of = match (&plan.order_id, plan.version) {
            (Some(order_id), Some(version)) => format!("{order_id} v{version}"),
            (Some(order_id), None) => order_id.clone(),
            (None, _) => "an unknown order".to_owned(),
        };
        let mut json = json!({"place": place, "number": number, "who": who, "order_id": plan.order_id, "version": plan.version});
        if !self.manner.act {
            set(&mut json, "would", plan.would.clone().into());
            self.tell(&format!("{place}: {who}: {of}: would {}", plan.would), json);
            return Ok(false);
        }
        if self.is_hopeless() {
            self.totals.failed += 1;
            return Ok(false);
        }
        if let Some(pace) = &mut self.pace {
            pace.tick().await;
        }
        let ended = Box::pin(self.hands.take(piece)).await?;
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
        Ok(!failed && ended.ending != Ending::Parked)
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

fn set(json: &mut Value, name: &str, value: Value) {
    if let Some(members) = json.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_a_second() {
        assert_eq!((rate("10/s"), rate("1")), (Ok(10), Ok(1)));
        for bad in ["", "0", "-1", "10/m", "x", "10001/s"] {
            assert!(rate(bad).is_err(), "{bad}");
        }
    }
}
