//! How a list must read, whichever it is.

use futures::{Stream, TryStreamExt as _};
use sagaline_store::{Cursor, Direction, Listing, Source, StoreError, Table};

use crate::contract::eventually;

/// A list, expected oldest first, reads as it must: in both directions, whatever the page size, page by page and as a stream.
pub(super) async fn reads_as<'s, T, R, S, F>(
    what: &str,
    listing: F,
    id: impl Fn(&R) -> String,
    expected: &[String],
) where
    T: Table + 's,
    R: Send + 's,
    S: Copy + Into<Source> + Send + 's,
    F: Fn() -> Listing<'s, T, R, S>,
{
    let oldest = || listing().direction(Direction::OldestFirst);
    let now = async || {
        rows(oldest().stream())
            .await
            .iter()
            .map(&id)
            .collect::<Vec<_>>()
    };
    eventually(what, async || (now().await == expected).then_some(())).await;
    for direction in [Direction::OldestFirst, Direction::NewestFirst] {
        let mut expected = expected.to_vec();
        if direction == Direction::NewestFirst {
            expected.reverse();
        }
        for size in [1, 3, 100] {
            let (mut found, mut cursor) = (Vec::new(), None::<Cursor>);
            loop {
                let page = listing()
                    .direction(direction)
                    .page_size(size)
                    .after(cursor.as_ref());
                let page = page.page().await.expect("a page");
                assert!(
                    page.rows.len() <= usize::try_from(size).expect("small"),
                    "{what}"
                );
                found.extend(page.rows.iter().map(&id));
                match page.next {
                    Some(next) => cursor = Some(Cursor::from_text(next.as_str())),
                    None => break,
                }
            }
            assert_eq!(found, expected, "{what}, {direction:?}, {size} rows a page");
            let streamed = listing().direction(direction).page_size(size);
            let streamed: Vec<_> = rows(streamed.stream_with_cursors()).await;
            let ids: Vec<_> = streamed.iter().map(|(row, _)| id(row)).collect();
            assert_eq!(ids, expected, "{what}, {direction:?}, streamed by {size}");
            // Whoever stops in the middle of a stream goes on there.
            if let Some((_, cursor)) = streamed.get(expected.len() / 2) {
                let rest = listing()
                    .direction(direction)
                    .page_size(size)
                    .after(Some(cursor));
                let rest: Vec<_> = rows(rest.stream()).await.iter().map(&id).collect();
                let (_, left) = expected.split_at(expected.len() / 2 + 1);
                assert_eq!(rest, left, "{what}, {direction:?}, the rest of the stream");
            }
        }
    }
}

pub(super) async fn rows<R>(stream: impl Stream<Item = Result<R, StoreError>>) -> Vec<R> {
    stream.try_collect().await.expect("a list to its end")
}
