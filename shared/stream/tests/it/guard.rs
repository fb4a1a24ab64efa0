//! The reading of cancelled transactions, and markers.

use proptest::prelude::*;
use sagaline_stream::guard::{
    Cancelled, Marker, PayloadHash, Reason, ReasonCode, Role, Seen, read,
};
use sagaline_stream::{EpochMillis, EpochSeconds};
use serde_json::json;
use std::time::Duration;

const FINE: ReasonCode = ReasonCode::None;
const FAILED: ReasonCode = ReasonCode::ConditionalCheckFailed;
const CONFLICT: ReasonCode = ReasonCode::TransactionConflict;
const THROTTLED: ReasonCode = ReasonCode::Throttled;

/// What was decided on, the marker, an effect with a condition.
const ROLES: [Role; 3] = [Role::Basis, Role::Marker, Role::Effect];

fn invalid() -> ReasonCode {
    ReasonCode::parse("ValidationError", "Item size has exceeded the maximum")
}

fn unknown() -> ReasonCode {
    ReasonCode::parse("SomethingNew", "")
}

/// The verdict in a word, and the place where it has one.
fn said(codes: &[ReasonCode]) -> (&'static str, Option<usize>) {
    let reasons: Vec<Reason<()>> = codes.iter().cloned().map(Reason::of).collect();
    match read(&reasons, &ROLES) {
        Cancelled::Unknown { .. } => ("unknown", None),
        Cancelled::Poison { place, .. } => ("poison", Some(place)),
        Cancelled::MarkerTaken { .. } => ("taken", None),
        Cancelled::Moved { place, .. } => ("moved", Some(place)),
        Cancelled::Throttled { place } => ("throttled", Some(place)),
        Cancelled::Conflict { place } => ("conflict", Some(place)),
        Cancelled::Failed { place, .. } => ("failed", Some(place)),
    }
}

// C-17, C-18
#[test]
fn reasons_are_read_by_place_in_their_precedence() {
    #[track_caller]
    fn check(codes: &[ReasonCode], expected: &str) {
        assert_eq!(said(codes).0, expected, "{codes:?}");
    }
    check(&[FINE, FAILED, FINE], "taken");
    check(&[FAILED, FINE, FINE], "moved");
    check(&[FINE, FINE, FAILED], "failed");
    check(&[FAILED, FAILED, FAILED], "taken");
    check(&[CONFLICT, invalid(), FINE], "poison");
    check(&[FINE, FAILED, invalid()], "poison");
    check(&[CONFLICT, FINE, FINE], "conflict");
    check(&[FAILED, CONFLICT, FINE], "moved");
    check(&[CONFLICT, FINE, THROTTLED], "throttled");
    check(&[THROTTLED, FAILED, FINE], "taken");
    check(&[FAILED, FINE, THROTTLED], "moved");
    check(&[FINE, THROTTLED, FAILED], "throttled");
    check(&[CONFLICT, FINE, FAILED], "conflict");
    check(&[FINE, FINE, unknown()], "unknown");
    check(&[CONFLICT, FINE, unknown()], "unknown");
    check(&[THROTTLED, FINE, unknown()], "throttled");
    check(&[FINE, FAILED, unknown()], "taken");
}

#[test]
fn reasons_that_are_empty_too_few_or_all_fine_say_nothing() {
    for codes in [
        &[][..],
        &[FAILED],
        &[FINE, FAILED],
        &[invalid()],
        &[FINE, FINE, FINE],
    ] {
        assert_eq!(said(codes).0, "unknown", "{codes:?}");
    }
}

#[test]
fn the_item_and_the_place_are_those_of_the_action_that_decided() {
    let reason = |code, item| Reason { code, item };
    let reasons = [
        reason(FAILED, Some("head")),
        reason(FAILED, Some("marker")),
        reason(FAILED, Some("stock")),
    ];
    let taken = Cancelled::MarkerTaken {
        item: Some(&"marker"),
    };
    assert_eq!(read(&reasons, &ROLES), taken);
    let moved = Cancelled::Moved {
        place: 0,
        item: Some(&"head"),
    };
    let unmarked = [Role::Basis, Role::Effect, Role::Effect];
    assert_eq!(read(&reasons, &unmarked), moved);
    let failed = Cancelled::Failed {
        place: 1,
        item: Some(&"marker"),
    };
    let reasons = [reason(FINE, None), reason(FAILED, Some("marker"))];
    assert_eq!(read(&reasons, &[Role::Basis, Role::Effect]), failed);
}

fn any_code() -> impl Strategy<Value = ReasonCode> {
    prop_oneof![
        4 => Just(FINE),
        2 => Just(FAILED),
        1 => Just(CONFLICT),
        1 => Just(THROTTLED),
        1 => Just(invalid()),
        1 => Just(unknown()),
    ]
}

proptest! {
    #[test]
    fn what_is_open_or_hopeless_is_never_read_as_an_answer(codes in prop::collection::vec(any_code(), 0..5)) {
        let (verdict, place) = said(&codes);
        let codes = &codes[..codes.len().min(ROLES.len())];
        let has = |code: &ReasonCode| codes.contains(code);
        if codes.len() < ROLES.len() {
            prop_assert_eq!(verdict, "unknown");
        } else if has(&invalid()) {
            prop_assert_eq!(verdict, "poison");
        } else {
            // A repeat is recognised whatever the rest says.
            prop_assert_eq!(verdict == "taken", codes[1] == FAILED);
            if verdict == "failed" {
                prop_assert!(!has(&THROTTLED) && !has(&CONFLICT) && !has(&unknown()));
            }
        }
        // The verdict stands on the action that it names.
        if let Some(place) = place {
            let expected = match verdict {
                "poison" => invalid(),
                "throttled" => THROTTLED,
                "conflict" => CONFLICT,
                _ => FAILED,
            };
            prop_assert_eq!(&codes[place], &expected);
        }
    }
}

// C-27, C-28 (this crate's half)
#[test]
fn a_repeat_agrees_in_everything_that_was_asked_for() {
    let marker = |id: &'static str, who: &'static str, qty: u32| Marker {
        request_id: id,
        what: who,
        payload_hash: PayloadHash::of(&json!({ "qty": qty })),
    };
    let first = marker("r-9", "u-1", 1);
    assert_eq!(marker("r-9", "u-1", 1).against(&first), Seen::Repeat);
    assert_eq!(marker("r-9", "u-1", 2).against(&first), Seen::Reused);
    assert_eq!(marker("r-9", "u-2", 1).against(&first), Seen::Reused);
}

// C-26
#[test]
fn milliseconds_are_refused_where_seconds_belong() {
    assert_eq!(EpochSeconds::new(1_764_500_000_000), None);
    assert_eq!(EpochSeconds::new(-1), None);
    let written = EpochMillis::new(1_764_500_000_999);
    let expires = written.expiry_after(Duration::from_secs(30 * 86_400));
    assert_eq!(expires.map(EpochSeconds::as_seconds), Some(1_767_092_000));
    assert_eq!(EpochMillis::new(i64::MAX).expiry_after(Duration::MAX), None);
}
