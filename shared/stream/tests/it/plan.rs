//! Random batches for the model.

use proptest::prelude::*;
use sagaline_stream::Verdict;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Settle(Verdict),
    Retry,
    Poison,
    Panic,
    Undecodable,
}

#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) key: u8,
    pub(crate) act: Act,
    pub(crate) millis: u64,
    pub(crate) sequence: Option<String>,
    pub(crate) parks: bool,
    /// Repeats the record before it, if there is one.
    pub(crate) repeat: bool,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => prop_oneof![Just(Verdict::Done), Just(Verdict::Stale), Just(Verdict::Skipped), Just(Verdict::Deferred), Just(Verdict::Parked)]
            .prop_map(Act::Settle),
        2 => Just(Act::Retry),
        1 => Just(Act::Poison),
        1 => Just(Act::Panic),
        1 => Just(Act::Undecodable),
    ]
}

pub(crate) fn plans() -> impl Strategy<Value = Vec<Plan>> {
    // Numbers of different lengths, a few opaque, a few missing; unique by their place.
    let sequence = prop_oneof![
        30 => "0{0,2}[1-9][0-9]{0,25}".prop_map(Some),
        1 => Just(Some("opaque-".to_owned())),
        1 => Just(None),
    ];
    let plan = (
        0_u8..6,
        act(),
        0_u64..40,
        sequence,
        prop::bool::weighted(0.8),
        prop::bool::weighted(0.1),
    );
    let plan = plan.prop_map(|(key, act, millis, sequence, parks, repeat)| Plan {
        key,
        act,
        millis,
        sequence,
        parks,
        repeat,
    });
    prop::collection::vec(plan, 0..24).prop_map(|mut plans| {
        for place in 0..plans.len() {
            if place > 0
                && plans[place].repeat
                && plans[place - 1].sequence.is_some()
                && plans[place - 1].act != Act::Undecodable
            {
                plans[place] = Plan {
                    repeat: true,
                    ..plans[place - 1].clone()
                };
            } else {
                plans[place].repeat = false;
                plans[place].sequence = plans[place]
                    .sequence
                    .take()
                    .map(|text| format!("{text}{place:03}"));
            }
        }
        plans
    })
}

/// The place that a plan stands for: a repeat stands for its first.
pub(crate) fn original(plans: &[Plan], place: usize) -> usize {
    (0..=place)
        .rev()
        .find(|place| !plans[*place].repeat)
        .unwrap_or(place)
}

pub(crate) fn raw(plans: &[Plan], place: usize) -> String {
    let Plan {
        key, act, sequence, ..
    } = &plans[place];
    let id = original(plans, place);
    let sequence = sequence
        .as_ref()
        .map(|text| format!(r#","SequenceNumber":"{text}""#))
        .unwrap_or_default();
    let name = if *act == Act::Undecodable {
        "BROKEN"
    } else {
        "REMOVE"
    };
    format!(
        r#"{{"eventID":"{id}","eventName":"{name}","dynamodb":{{"Keys":{{"id":{{"S":"{key}"}}}}{sequence}}}}}"#
    )
}
