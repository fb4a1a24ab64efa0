//! Which shards of a table's streams may be read now, and from where. Pure.
//!
//! A shard is begun when its parent is finished (F-STR-17). A stream that was re-created under a new ARN counts as the child of
//! the one before it: the old one stays readable for 24 hours (F-STR-7) and is read to its end first, so that the order of an
//! item is kept over the change.

use std::collections::HashSet;

use super::streams::{Position, ShardInfo};
use crate::checkpoint::ShardState;
use crate::clock::Millis;

/// A stream and its shards, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listing {
    pub(crate) stream_arn: String,
    pub(crate) shards: Vec<ShardInfo>,
}

/// What to do now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Plan {
    /// Shards to begin, with what is to be stored about them first.
    pub(crate) begin: Vec<Begin>,
    /// Shards that need no reading: older than a mapping that began with `LATEST`.
    pub(crate) passed_over: Vec<(String, String)>,
    /// Some shard waits for another one to end.
    pub(crate) waiting: bool,
}

/// A shard to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Begin {
    pub(crate) stream_arn: String,
    pub(crate) shard_id: String,
    pub(crate) position: Position,
    pub(crate) state: ShardState,
}

/// Plans over all streams, oldest first. `latest` is the time of a first start with `LATEST`.
pub(crate) fn plan(
    listings: &[Listing],
    state: impl Fn(&str, &str) -> Option<ShardState>,
    running: &HashSet<(String, String)>,
    latest: Option<Millis>,
) -> Plan {
    let mut plan = Plan::default();
    let mut older_finished = true;
    for listing in listings {
        let arn = &listing.stream_arn;
        let is_finished = |shard: &ShardInfo| match state(arn, &shard.id) {
            Some(ShardState::Finished) => true,
            Some(ShardState::Horizon | ShardState::Since(_) | ShardState::After(_)) => false,
            None => latest.is_some() && shard.closed,
        };
        let mut all_finished = true;
        for shard in &listing.shards {
            if is_finished(shard) {
                if state(arn, &shard.id).is_none() {
                    plan.passed_over.push((arn.clone(), shard.id.clone()));
                }
                continue;
            }
            all_finished = false;
            if running.contains(&(arn.clone(), shard.id.clone())) {
                continue;
            }
            let parent = shard
                .parent
                .as_ref()
                .and_then(|parent| listing.shards.iter().find(|other| other.id == *parent));
            if !older_finished || parent.is_some_and(|parent| !is_finished(parent)) {
                plan.waiting = true;
                continue;
            }
            let (position, state) = begin_at(state(arn, &shard.id), latest);
            plan.begin.push(Begin {
                stream_arn: arn.clone(),
                shard_id: shard.id.clone(),
                position,
                state,
            });
        }
        older_finished &= all_finished;
    }
    plan
}

fn begin_at(state: Option<ShardState>, latest: Option<Millis>) -> (Position, ShardState) {
    match (state, latest) {
        (Some(ShardState::After(sequence)), _) => (
            Position::After(sequence.clone()),
            ShardState::After(sequence),
        ),
        (Some(ShardState::Since(start)), _) => {
            (Position::Since(Millis(start)), ShardState::Since(start))
        }
        (None, Some(now)) => (Position::Latest(now), ShardState::Since(now.0)),
        // A shard that was found later holds records that were written after the start, whatever StartingPosition says.
        (Some(ShardState::Horizon | ShardState::Finished) | None, _) => {
            (Position::TrimHorizon, ShardState::Horizon)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(id: &str, parent: Option<&str>, closed: bool) -> ShardInfo {
        ShardInfo {
            id: id.into(),
            parent: parent.map(str::to_owned),
            closed,
        }
    }

    fn listing(arn: &str, shards: Vec<ShardInfo>) -> Listing {
        Listing {
            stream_arn: arn.into(),
            shards,
        }
    }

    fn begun(plan: &Plan) -> Vec<(&str, &str, &Position)> {
        plan.begin
            .iter()
            .map(|begin| {
                (
                    begin.stream_arn.as_str(),
                    begin.shard_id.as_str(),
                    &begin.position,
                )
            })
            .collect()
    }

    #[test]
    fn a_parent_is_read_to_its_end_before_its_children() {
        // F-STR-17
        let shards = vec![shard("c", Some("p"), false), shard("p", None, true)];
        let first = plan(
            &[listing("s1", shards.clone())],
            |_, _| None,
            &HashSet::new(),
            None,
        );
        assert_eq!(
            (begun(&first), first.waiting),
            (vec![("s1", "p", &Position::TrimHorizon)], true)
        );
        let state = |_: &str, id: &str| (id == "p").then_some(ShardState::Finished);
        let second = plan(&[listing("s1", shards)], state, &HashSet::new(), None);
        assert_eq!(
            (begun(&second), second.waiting),
            (vec![("s1", "c", &Position::TrimHorizon)], false)
        );
    }

    #[test]
    fn a_parent_that_was_trimmed_away_holds_nobody_up() {
        let plan = plan(
            &[listing("s1", vec![shard("c", Some("gone"), false)])],
            |_, _| None,
            &HashSet::new(),
            None,
        );
        assert_eq!(begun(&plan), [("s1", "c", &Position::TrimHorizon)]);
    }

    #[test]
    fn a_stream_created_anew_waits_for_the_old_one_and_starts_at_its_beginning() {
        // F-STR-7
        let listings = [
            listing("s1", vec![shard("a", None, true)]),
            listing("s2", vec![shard("a", None, false)]),
        ];
        let state = |arn: &str, _: &str| (arn == "s1").then(|| ShardState::After("7".into()));
        let first = plan(&listings, state, &HashSet::new(), None);
        assert_eq!(
            (begun(&first), first.waiting),
            (vec![("s1", "a", &Position::After("7".into()))], true)
        );
        let state = |arn: &str, _: &str| (arn == "s1").then_some(ShardState::Finished);
        assert_eq!(
            begun(&plan(&listings, state, &HashSet::new(), None)),
            [("s2", "a", &Position::TrimHorizon)]
        );
    }

    #[test]
    fn latest_passes_over_closed_shards_and_reads_later_ones_from_their_start() {
        // F-ESM-5
        let shards = vec![shard("old", None, true), shard("open", Some("old"), false)];
        let first = plan(
            &[listing("s1", shards)],
            |_, _| None,
            &HashSet::new(),
            Some(Millis(5)),
        );
        assert_eq!(
            begun(&first),
            [("s1", "open", &Position::Latest(Millis(5)))]
        );
        assert_eq!(first.passed_over, [("s1".to_owned(), "old".to_owned())]);
        assert_eq!(first.begin[0].state, ShardState::Since(5));
        let later = plan(
            &[listing("s1", vec![shard("child", Some("open"), false)])],
            |_, _| None,
            &HashSet::new(),
            None,
        );
        assert_eq!(begun(&later), [("s1", "child", &Position::TrimHorizon)]);
    }

    #[test]
    fn a_running_shard_is_not_begun_twice() {
        let running = HashSet::from([("s1".to_owned(), "a".to_owned())]);
        let plan = plan(
            &[listing("s1", vec![shard("a", None, false)])],
            |_, _| Some(ShardState::Horizon),
            &running,
            None,
        );
        assert_eq!(plan, Plan::default());
    }
}
