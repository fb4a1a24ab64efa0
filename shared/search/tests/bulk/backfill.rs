//! A backfill through the sink to the scripted server, from pages that the test makes up.

use crate::server::{bulk, quick, scripted};
use aws_sdk_dynamodb::types::AttributeValue;
use sagaline_search::Limits;
use sagaline_search::backfill::{BackfillError, Key, ScannedPage, Segment, State, backfill};
use std::collections::{BTreeSet, HashMap};

fn item(id: &str) -> HashMap<String, AttributeValue> {
    let version = if id == "broken" {
        AttributeValue::S("1".to_owned())
    } else {
        AttributeValue::N("1".to_owned())
    };
    HashMap::from([
        ("PK".to_owned(), AttributeValue::S(format!("ORDER#{id}"))),
        ("version".to_owned(), version),
    ])
}

/// Pages of one head at most: one has none and is not the last, and after the second segment's heads a page cannot be read.
async fn page(segment: Segment) -> Result<ScannedPage, sagaline_stream::BoxError> {
    let heads: &[Option<&str>] = match segment.number {
        0 => &[Some("a"), None, Some("b")],
        _ => &[Some("o-1"), Some("broken")],
    };
    let at = segment
        .after
        .map_or(0, |key| key.pk.parse::<usize>().unwrap());
    let head = heads.get(at).ok_or("gone")?;
    let more = segment.number == 1 || at + 1 < heads.len();
    let next = more.then(|| Key {
        pk: (at + 1).to_string(),
        sk: String::new(),
    });
    Ok(ScannedPage {
        heads: head.iter().map(|id| item(id)).collect(),
        scanned: 1,
        next,
        consumed_units: 1.0,
    })
}

#[tokio::test]
async fn every_head_of_every_segment_is_written_and_a_stopped_backfill_is_taken_up_again() {
    // The index has o-1 already. The very first request fails, and is repeated.
    let server = scripted(
        Limits {
            retries: 0,
            ..quick()
        },
        |number, asked| match number {
            0 => (503, String::new()),
            _ => bulk(asked, |id, _| if id == "o-1" { 409 } else { 201 }),
        },
    )
    .await;
    let mut state = State::new(2);
    let mut seen = Vec::new();
    let stopped = backfill(
        &server.sink,
        &mut state,
        Some(10_000.0),
        page,
        |state, tally| seen.push((state.clone(), tally.clone())),
    )
    .await;
    assert!(matches!(stopped, Err(BackfillError::Scan(_))));
    let (kept, tally) = seen.last().unwrap();
    assert_eq!(*kept, state);
    assert_eq!((tally.current, tally.refused.len()), (1, 1), "{tally:?}");
    assert_eq!(
        serde_json::from_str::<State>(&serde_json::to_string(kept).unwrap()).unwrap(),
        state
    );

    // Taken up again, without the segment that fails.
    state.segments[1].finished = true;
    backfill(&server.sink, &mut state, None, page, |_, _| {})
        .await
        .unwrap();
    assert!(state.segments.iter().all(|segment| segment.finished));
    let asked = server.asked();
    let written: BTreeSet<&str> = asked.iter().flat_map(|asked| asked.ids()).collect();
    assert_eq!(written.into_iter().collect::<Vec<_>>(), ["a", "b", "o-1"]);
}
