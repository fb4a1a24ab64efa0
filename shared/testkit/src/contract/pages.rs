//! The table itself: pages of a partition, and of an index.

use sagaline_store::value::{n, s};
use sagaline_store::{Action, Direction, Index, PK, Page, Query, SK, Source, Table, Update};

use super::port::{key, put};
use super::{Names, eventually};

pub(super) async fn run<T: Table>(table: &T, names: &Names) {
    pages_go_on_where_the_last_one_ended(table, names).await;
    an_index_lists_what_has_its_keys_and_shows_what_it_projects(table, names).await;
}

async fn pages_go_on_where_the_last_one_ended<T: Table>(table: &T, names: &Names) {
    let partition = names.name("pages");
    for number in 0..5 {
        table
            .write(put(&key(names, "pages", &format!("P#{number}")), &[], None))
            .await
            .expect("a put");
    }
    table
        .write(put(&key(names, "pages", "Q#1"), &[], None))
        .await
        .expect("a put");
    let query = |direction| Query {
        source: Source::Table { consistent: true },
        partition: partition.clone(),
        from: "P#1".to_owned(),
        to: "P#3".to_owned(),
        direction,
        limit: 1,
        start: None,
    };
    let forward = all(table, query(Direction::OldestFirst), SK).await;
    assert_eq!(
        forward,
        ["P#1", "P#2", "P#3"],
        "both ends are included, nothing is lost between pages"
    );
    let backward = all(table, query(Direction::NewestFirst), SK).await;
    assert_eq!(backward, ["P#3", "P#2", "P#1"], "backwards, too");
}

async fn an_index_lists_what_has_its_keys_and_shows_what_it_projects<T: Table>(
    table: &T,
    names: &Names,
) {
    let index = Index::ByStatus;
    let partition = names.name("STATUS");
    let keys = |sort: &str| {
        [
            ("status_pk", s(partition.as_str())),
            ("status_sk", s(sort)),
            ("total_minor", n(7)),
            ("secret", s("x")),
        ]
    };
    // Sort keys of an index need not be unique (F-GSI-3).
    for (sk, sort) in [("1", "A"), ("2", "B"), ("3", "B"), ("4", "C")] {
        table
            .write(put(&key(names, "indexed", sk), &keys(sort), None))
            .await
            .expect("a put");
    }
    table
        .write(put(
            &key(names, "indexed", "5"),
            &[("status_pk", s(partition.as_str()))],
            None,
        ))
        .await
        .expect("half of the keys is none");
    let query = |direction| Query {
        source: Source::Index(index),
        partition: partition.clone(),
        from: "A".to_owned(),
        to: "C".to_owned(),
        direction,
        limit: 1,
        start: None,
    };
    let sorted = |direction| all(table, query(direction), index.sort());
    eventually("four entries, page by page", async || {
        (sorted(Direction::OldestFirst).await == ["A", "B", "B", "C"]).then_some(())
    })
    .await;
    assert_eq!(
        sorted(Direction::NewestFirst).await,
        ["C", "B", "B", "A"],
        "backwards, too"
    );
    let first = page(table, query(Direction::OldestFirst))
        .await
        .items
        .pop()
        .expect("an entry");
    let mut shown: Vec<_> = first.keys().map(String::as_str).collect();
    shown.sort_unstable();
    assert_eq!(
        shown,
        [PK, SK, "status_pk", "status_sk", "total_minor"],
        "keys and what is projected, nothing else"
    );

    let mut update = Update::of(key(names, "indexed", "1"));
    update.remove = vec!["status_pk".to_owned(), "status_sk".to_owned()];
    table
        .write(Action::Update(update))
        .await
        .expect("an update");
    eventually("no entry without keys", async || {
        (sorted(Direction::OldestFirst).await == ["B", "B", "C"]).then_some(())
    })
    .await;
}

async fn page<T: Table>(table: &T, query: Query) -> Page {
    table.query(query).await.expect("a page")
}

/// One attribute of every item, page after page.
async fn all<T: Table>(table: &T, mut query: Query, attribute: &str) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        let Page { items, next } = page(table, query.clone()).await;
        assert!(
            items.len() <= usize::try_from(query.limit).unwrap_or(0),
            "a page is no larger than its limit"
        );
        found.extend(
            items
                .iter()
                .filter_map(|item| item.get(attribute)?.as_s().ok().cloned()),
        );
        if next.is_none() {
            return found;
        }
        query.start = next;
    }
}
