//! The sink against a scripted server: what is sent again, what never, and what each input hears in the end.

#[cfg(test)]
mod backfill;
#[cfg(test)]
mod server;
#[cfg(test)]
mod signing;
#[cfg(test)]
mod storm;
#[cfg(test)]
mod verify;

use sagaline_search::{Limits, SearchInput, SinkVerdict};
use server::{budget, bulk, head, head_of, quick, scripted, scripted_with};
use std::time::Duration;

fn kinds(verdicts: &[SinkVerdict]) -> Vec<&'static str> {
    let kind = |verdict: &SinkVerdict| match verdict {
        SinkVerdict::Done => "done",
        SinkVerdict::Stale => "stale",
        SinkVerdict::Refused(_) => "refused",
        SinkVerdict::Retry(_) => "retry",
        SinkVerdict::Behind(_) => "behind",
    };
    verdicts.iter().map(kind).collect()
}

// C-32
#[tokio::test]
async fn stale_items_are_a_success_and_never_sent_again() {
    let server = scripted(quick(), |_, asked| {
        bulk(
            asked,
            |id, _| if id == "o-1" || id == "o-2" { 409 } else { 201 },
        )
    })
    .await;
    let verdicts = server
        .sink
        .write(
            vec![head("o-1", 3), head("o-2", 2), head("o-3", 4)],
            &budget(10_000),
        )
        .await;
    assert_eq!(kinds(&verdicts), ["stale", "stale", "done"]);
    let asked = server.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].uri, "/orders-write/_bulk?require_alias=true");
}

// C-05, C-07: one request a batch, one item an order.
#[tokio::test]
async fn a_batch_is_one_request_with_the_newest_version_of_each_order() {
    let server = scripted(quick(), |_, asked| bulk(asked, |_, _| 201)).await;
    let mut batch = vec![
        head("o-3", 5),
        SearchInput::tombstone("o-3", 6),
        head("o-3", 9),
        head("o-7", 1),
        head("o-7", 2),
        head("o-7", 1),
    ];
    batch.extend((0..500).map(|n| head(&format!("n-{n}"), 1)));
    let verdicts = server.sink.write(batch, &budget(10_000)).await;
    assert_eq!(
        kinds(&verdicts)[..7],
        ["stale", "stale", "done", "stale", "done", "stale", "done"]
    );
    let asked = server.asked();
    assert_eq!((asked.len(), asked[0].items.len()), (1, 502));
    assert_eq!(asked[0].items[0].1, 9);
}

// C-34
#[tokio::test]
async fn a_deletion_does_not_depend_on_a_neighbour_that_must_wait() {
    let server = scripted(quick(), |number, asked| {
        bulk(
            asked,
            |id, _| if id == "n" && number == 0 { 503 } else { 201 },
        )
    })
    .await;
    let batch = vec![
        head("o-6", 1),
        SearchInput::tombstone("o-6", 2),
        SearchInput::tombstone("never", 8),
        head("n", 1),
    ];
    let verdicts = server.sink.write(batch, &budget(10_000)).await;
    assert_eq!(kinds(&verdicts), ["stale", "done", "done", "done"]);
    let asked = server.asked();
    assert_eq!(
        (asked[0].ids(), asked[1].ids()),
        (vec!["o-6", "never", "n"], vec!["n"])
    );
    assert_eq!(asked[0].items[0].2["deleted"], true);
    assert_eq!(asked.len(), 2);
}

// C-35
#[tokio::test]
async fn of_a_mixed_answer_only_what_may_work_later_is_sent_again() {
    let status = |id: &str| match id {
        "a" => 201,
        "b" => 429,
        "c" => 400,
        _ => 503,
    };
    let server = scripted(quick(), move |_, asked| bulk(asked, |id, _| status(id))).await;
    let verdicts = server
        .sink
        .write(
            ["a", "b", "c", "d"].map(|id| head(id, 1)).to_vec(),
            &budget(10_000),
        )
        .await;
    assert_eq!(kinds(&verdicts), ["done", "retry", "refused", "retry"]);
    assert_eq!(
        verdicts[2],
        SinkVerdict::Refused("400 mapper_parsing_exception: no".to_owned())
    );
    let asked = server.asked();
    assert_eq!(asked.len(), 4, "once, and the retries that the limits say");
    assert!(asked[1..].iter().all(|asked| asked.ids() == ["b", "d"]));
}

#[tokio::test]
async fn a_refused_version_makes_way_for_the_next_older_one() {
    let server = scripted(quick(), |_, asked| {
        bulk(asked, |_, version| if version == 3 { 400 } else { 201 })
    })
    .await;
    let verdicts = server
        .sink
        .write(
            vec![head("o", 1), head("o", 2), head("o", 3), head("p", 9)],
            &budget(10_000),
        )
        .await;
    assert_eq!(kinds(&verdicts), ["stale", "done", "refused", "done"]);
    assert_eq!(
        server
            .asked()
            .iter()
            .map(|asked| asked.items[0].1)
            .collect::<Vec<_>>(),
        [3, 2]
    );
}

// C-36
#[tokio::test]
async fn a_whole_answer_of_any_form_is_tried_again_with_everything() {
    let server = scripted(quick(), |number, asked| match number {
        0 => (429, "slow down".to_owned()),
        1 => (503, "<html>Service Unavailable</html>".to_owned()),
        2 => (200, "<html>hello</html>".to_owned()),
        _ => bulk(asked, |_, _| 201),
    })
    .await;
    let verdicts = server
        .sink
        .write(vec![head("a", 1), head("b", 1)], &budget(10_000))
        .await;
    assert_eq!(kinds(&verdicts), ["done", "done"]);
    assert!(server.asked().iter().all(|asked| asked.ids() == ["a", "b"]));
}

// C-40
#[tokio::test]
async fn requests_are_cut_by_bytes_and_one_that_is_too_large_anyway_is_halved() {
    const LIMIT: usize = 1024 * 1024;
    let script = |_: usize, asked: &server::Asked| {
        if asked.bytes > LIMIT {
            (413, "<html>Request Entity Too Large</html>".to_owned())
        } else {
            bulk(asked, |_, _| 201)
        }
    };
    let batch = || {
        (0..31)
            .map(|n| {
                head_of(
                    &format!("o-{n}"),
                    1,
                    if n == 7 { 1_258_291 } else { 60 * 1024 },
                )
            })
            .collect::<Vec<_>>()
    };
    for request_bytes in [LIMIT, Limits::default().request_bytes] {
        let server = scripted(
            Limits {
                request_bytes,
                ..quick()
            },
            script,
        )
        .await;
        let verdicts = server.sink.write(batch(), &budget(10_000)).await;
        for (n, kind) in kinds(&verdicts).into_iter().enumerate() {
            assert_eq!(kind, if n == 7 { "refused" } else { "done" }, "o-{n}");
        }
        let too_large = server
            .asked()
            .iter()
            .filter(|asked| asked.bytes > LIMIT)
            .map(|asked| asked.items.len())
            .collect::<Vec<_>>();
        let halved = too_large.windows(2).all(|pair| pair[1] < pair[0]);
        assert!(halved, "never the same request twice: {too_large:?}");
    }
}

#[tokio::test]
async fn one_item_that_spoils_a_whole_request_is_found_by_halves() {
    let server = scripted(quick(), |_, asked| {
        if asked.ids().contains(&"bad") {
            (400, r#"{"error":{"type":"illegal_argument_exception","reason":"no such id"},"status":400}"#.to_owned())
        } else {
            bulk(asked, |_, _| 201)
        }
    })
    .await;
    let batch = ["a", "b", "c", "bad", "d", "e", "f"]
        .map(|id| head(id, 1))
        .to_vec();
    let verdicts = server.sink.write(batch, &budget(10_000)).await;
    assert_eq!(
        kinds(&verdicts),
        ["done", "done", "done", "refused", "done", "done", "done"]
    );
}

#[tokio::test]
async fn something_in_between_that_refuses_everything_parks_nothing() {
    let server = scripted(quick(), |_, _| (400, "<html>Bad Request</html>".to_owned())).await;
    let verdicts = server
        .sink
        .write(vec![head("a", 1), head("b", 1)], &budget(10_000))
        .await;
    assert_eq!(kinds(&verdicts), ["retry", "retry"]);
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_left_alone_for_a_while() {
    let limits = Limits {
        breaker_pause: Duration::from_secs(600),
        ..quick()
    };
    let server = scripted(limits, |_, _| (503, String::new())).await;
    assert_eq!(
        kinds(&server.sink.write(vec![head("a", 1)], &budget(10_000)).await),
        ["retry"]
    );
    assert_eq!(
        server.asked().len(),
        4,
        "the breaker opens at the fourth failure"
    );
    let verdicts = server
        .sink
        .write(
            vec![head("a", 2), head("a", 1), head("b", 1)],
            &budget(10_000),
        )
        .await;
    assert_eq!(kinds(&verdicts), ["retry", "behind", "retry"]);
    assert_eq!(server.asked().len(), 4, "not asked again");
}

#[tokio::test]
async fn without_time_nothing_is_written_and_nothing_lost() {
    let server = scripted(quick(), |_, asked| bulk(asked, |_, _| 201)).await;
    assert_eq!(
        kinds(&server.sink.write(vec![head("a", 1)], &budget(0)).await),
        ["retry"]
    );
    assert!(
        server
            .sink
            .write(Vec::new(), &budget(10_000))
            .await
            .is_empty()
    );
    assert!(server.asked().is_empty());
}

#[tokio::test]
async fn during_a_remap_both_aliases_are_written_and_what_only_the_new_one_refuses_parks_nothing() {
    let server = scripted(quick(), |_, asked| {
        let next = asked.uri.starts_with("/orders-write-next/");
        bulk(asked, |id, _| match (next, id) {
            (true, "refused-by-new") => 400,
            (true, "later-in-new") => 503,
            (false, "refused-by-old") => 400,
            _ => 201,
        })
    })
    .await;
    server.sink.set_targets(vec![
        "orders-write".to_owned(),
        "orders-write-next".to_owned(),
    ]);
    let batch = ["ok", "refused-by-new", "later-in-new", "refused-by-old"]
        .map(|id| head(id, 1))
        .to_vec();
    let verdicts = server.sink.write(batch, &budget(10_000)).await;
    assert_eq!(kinds(&verdicts), ["done", "done", "retry", "refused"]);
}

#[tokio::test]
async fn bodies_are_compressed_where_the_server_takes_them_and_never_again_where_it_does_not() {
    let takes = scripted_with(quick(), true, |_, asked| bulk(asked, |_, _| 201)).await;
    let batch = || {
        (0..40)
            .map(|n| head(&format!("o-{n}"), 1))
            .collect::<Vec<_>>()
    };
    assert!(
        takes
            .sink
            .write(batch(), &budget(10_000))
            .await
            .iter()
            .all(|verdict| *verdict == SinkVerdict::Done)
    );
    let asked = takes.asked();
    assert!(
        asked.len() == 1 && asked[0].gzipped && asked[0].bytes < 2_000,
        "{asked:?}"
    );

    let refuses = scripted_with(quick(), true, |_, asked| {
        if asked.gzipped {
            (400, r#"{"error":{"type":"x"}}"#.to_owned())
        } else {
            bulk(asked, |_, _| 201)
        }
    })
    .await;
    for _ in 0..2 {
        assert!(
            refuses
                .sink
                .write(batch(), &budget(10_000))
                .await
                .iter()
                .all(|verdict| *verdict == SinkVerdict::Done)
        );
    }
    assert_eq!(
        refuses
            .asked()
            .iter()
            .map(|asked| asked.gzipped)
            .collect::<Vec<_>>(),
        [true, false, false]
    );
}
