//! The decoder under noise: it never panics, and a bad record never costs its neighbours.

use crate::common::{event, modify};
use proptest::prelude::*;
use sagaline_stream::{Attribute, Batch, Image, Record, SqsBatch};
use std::borrow::Cow;

/// Text that is likely to hurt: quotes, escapes, controls, separators, beyond the basic plane.
fn text() -> impl Strategy<Value = Cow<'static, str>> {
    let piece = prop_oneof![
        Just("\"".to_owned()),
        Just("\\".to_owned()),
        Just("\u{0}".to_owned()),
        Just("\u{1f}".to_owned()),
        Just("\u{2028}".to_owned()),
        Just("😀".to_owned()),
        Just("é".to_owned()),
        "[a-z:_]{0,12}",
    ];
    prop::collection::vec(piece, 0..5).prop_map(|pieces| Cow::Owned(pieces.concat()))
}

fn attribute() -> impl Strategy<Value = Attribute<'static>> {
    let number = || "-?[1-9][0-9]{0,20}(\\.[0-9]{1,15})?".prop_map(Cow::Owned);
    let sorted = |mut members: Vec<Cow<'static, str>>| {
        members.sort_unstable();
        members
    };
    let leaf = prop_oneof![
        text().prop_map(Attribute::S),
        number().prop_map(Attribute::N),
        "[A-Za-z0-9+/]{0,8}".prop_map(|text| Attribute::B(text.into())),
        any::<bool>().prop_map(Attribute::Bool),
        Just(Attribute::Null),
        prop::collection::vec(text(), 0..4).prop_map(move |members| Attribute::Ss(sorted(members))),
        prop::collection::vec(number(), 0..4)
            .prop_map(move |members| Attribute::Ns(sorted(members))),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Attribute::L),
            prop::collection::vec((text(), inner), 0..6)
                .prop_map(|members| Attribute::M(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn any_value_comes_back_from_its_canonical_text(value in attribute()) {
        let canonical = value.to_canonical();
        let one_line = canonical.chars().all(|c| !c.is_control() && c != '\u{2028}' && c != '\u{2029}');
        prop_assert!(one_line, "{}", canonical);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&canonical).is_ok(), "strict JSON: {}", canonical);
        prop_assert_eq!(Attribute::parse(&canonical), Ok(value));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Batch::parse(&bytes).map(|batch| batch.records().count());
        let _ = Batch::parse_file(&bytes).map(|batch| batch.records().count());
        let _ = SqsBatch::parse(&bytes);
    }

    #[test]
    fn a_mutilated_record_is_read_or_refused_and_costs_no_neighbour(
        value in attribute(), at in any::<prop::sample::Index>(), to in prop_oneof![Just('x'), Just('0'), Just('-'), Just(' '), Just('t'), Just('\u{1}'), Just('é')],
    ) {
        let victim = format!(
            r#"{{"eventID":"v","eventName":"MODIFY","dynamodb":{{"SequenceNumber":"2","NewImage":{{"id":{{"S":"a"}},"value":{}}}}}}}"#,
            value.to_canonical()
        );
        prop_assert!(Record::decode(&victim).is_ok());
        // One character becomes another that opens and closes nothing: whatever the record means now, its borders stand.
        let hit = at.index(victim.chars().count());
        let structural = |c: char| matches!(c, '"' | '\\' | '{' | '}' | '[' | ']');
        let mutilated: String = victim.chars().enumerate().map(|(n, c)| if n == hit && !structural(c) { to } else { c }).collect();
        // (A character behind a backslash may have been a quote's escape.)
        prop_assume!(!victim.contains("\\\"") && !victim.contains("\\\\"));
        let payload = event(&[modify("1", "a"), mutilated.clone(), modify("3", "b")]);
        let batch = Batch::parse(&payload).expect("the event stands");
        prop_assert_eq!(batch.raw()[1], mutilated.trim());
        let records: Vec<_> = batch.records().collect();
        prop_assert!(records[0].is_ok() && records[2].is_ok());
    }

    #[test]
    fn splitting_agrees_with_serde_json(values in prop::collection::vec(attribute(), 0..6)) {
        let records: Vec<String> = values.iter().map(Attribute::to_canonical).collect();
        let payload = event(&records);
        let text = std::str::from_utf8(&payload).expect("text");
        let theirs: std::collections::HashMap<&str, Vec<&serde_json::value::RawValue>> = serde_json::from_str(text).expect("JSON");
        let theirs: Vec<&str> = theirs["Records"].iter().map(|raw| raw.get()).collect();
        let ours = Batch::parse(&payload).expect("an event");
        prop_assert_eq!(ours.raw(), theirs);
    }

    #[test]
    fn names_stay_sorted_whatever_is_put_in_or_taken_out(names in prop::collection::vec("[a-c]{0,2}", 0..12), gone in "[a-c]{0,2}") {
        let mut image: Image<'static> = names.iter().map(|name| (name.clone(), Attribute::Null)).collect();
        let had = image.get(&gone).is_some();
        prop_assert_eq!(image.remove(&gone).is_some(), had);
        prop_assert!(image.iter().map(|(name, _)| name).is_sorted_by(|a, b| a < b));
    }
}
