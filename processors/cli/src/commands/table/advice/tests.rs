//! Each wrong key of the list, with the right hint and what was meant.

use super::*;

fn get(pk: &str, sk: &str) -> Asked {
    Asked {
        index: None,
        pk: pk.to_owned(),
        sk: Sort::Is(sk.to_owned()),
    }
}

fn query(index: Option<Index>, pk: &str, sk: Sort) -> Asked {
    Asked {
        index,
        pk: pk.to_owned(),
        sk,
    }
}

fn prefix(text: &str) -> Sort {
    Sort::Prefix(text.to_owned())
}

/// The kinds of the hints in their order, words of the first one, and what is tried first.
#[track_caller]
fn check(asked: &Asked, kinds: &[&str], words: &str, first: Option<&Asked>) {
    let advice = advise(asked);
    let found: Vec<_> = advice.hints.iter().map(|hint| hint.kind).collect();
    assert_eq!(found, kinds, "{advice:#?}");
    if let Some(hint) = advice.hints.first() {
        assert!(hint.what.contains(words), "{}", hint.what);
    }
    assert_eq!(advice.tries.first(), first);
}

#[test]
fn a_right_key_gets_no_advice() {
    for asked in [
        get("ORDER#o-1", "ORDER#DETAIL"),
        get("ORDER#o-1", "HISTORY#0000000012"),
        get("USER#u-1", "USER#ORDERS#20260131T083000.000Z#o-1"),
        get("USER#u-1", "USER#METRICS"),
        get("PRODUCT#mug", "PRODUCT#INVENTORY"),
        get("PRODUCT#mug#3", "PRODUCT#ORDERS#20260131T083000.000Z#o-1"),
        get("REQUEST#r-1", "REQUEST"),
        get("INDEX#PAYMENT#p-1", "INDEX#PAYMENT#p-1"),
        get("INDEX#PHONE#k1.ab", "USER#u-1"),
        get("REFUND#2026-01-31#0", "20260131T083000.000Z#rf-1"),
        get("GLOBAL#CONFIG", "CONFIG#saga"),
        query(Some(Index::Due), "DUE#15", Sort::Any),
        query(Some(Index::ByStatus), "STATUS#UNPAID#0", prefix("202601")),
        query(Some(Index::ByUpdated), "DAY#2026-01-31#7", Sort::Any),
        query(None, "USER#u-1", prefix("USER#ORDERS#20260131T08")),
        query(None, "PRODUCT#mug", Sort::Any),
    ] {
        check(&asked, &[], "", None);
    }
}

#[test]
fn wrong_case_is_corrected_and_ids_are_left_as_they_are() {
    let right = get("ORDER#o-Aa", "ORDER#DETAIL");
    check(
        &get("order#o-Aa", "ORDER#DETAIL"),
        &["case"],
        "case counts",
        Some(&right),
    );
    check(
        &get("Order#o-Aa", "order#detail"),
        &["case"],
        "upper case",
        Some(&right),
    );
    let right = query(None, "USER#u-1", prefix("USER#ORDERS#2026"));
    check(
        &query(None, "user#u-1", prefix("user#orders#2026")),
        &["case"],
        "case",
        Some(&right),
    );
    let right = query(Some(Index::ByStatus), "STATUS#UNPAID#0", Sort::Any);
    check(
        &query(Some(Index::ByStatus), "status#unpaid#0", Sort::Any),
        &["case"],
        "case",
        Some(&right),
    );
    let right = get("INDEX#PAYMENT#p-1", "INDEX#PAYMENT#p-1");
    check(
        &get("index#payment#p-1", "index#payment#p-1"),
        &["case"],
        "case",
        Some(&right),
    );
}

#[test]
fn a_time_with_dashes_and_blanks_does_not_sort() {
    let right = query(None, "USER#u-1", prefix("USER#ORDERS#20260131T0830"));
    let asked = query(None, "USER#u-1", prefix("USER#ORDERS#2026-01-31 08:30"));
    check(
        &asked,
        &["time_form"],
        "'2026-01-31 08:30' does not sort among times in keys",
        Some(&right),
    );
    // A whole time is a whole key.
    let right = get("USER#u-1", "USER#ORDERS#20260131T083000.000Z#o-1");
    let asked = get("USER#u-1", "USER#ORDERS#2026-01-31T08:30:00.000Z#o-1");
    check(&asked, &["time_form"], "20260131T083000.000Z", Some(&right));
    // In an index, and as the two ends of a range.
    let right = query(
        Some(Index::ByStatus),
        "STATUS#UNPAID#0",
        Sort::Between("20260131".to_owned(), "20260201~".to_owned()),
    );
    let range = Sort::Between("2026-01-31".to_owned(), "2026-02-01".to_owned());
    check(
        &query(Some(Index::ByStatus), "STATUS#UNPAID#0", range),
        &["time_form"],
        "'2026-01-31'",
        Some(&right),
    );
}

#[test]
fn a_local_time_is_brought_to_utc() {
    let right = get("USER#u-1", "USER#ORDERS#20260131T083000.000Z#o-1");
    let asked = get("USER#u-1", "USER#ORDERS#2026-01-31T09:30:00.000+01:00#o-1");
    check(
        &asked,
        &["local_time"],
        "times in keys are UTC: '2026-01-31T09:30:00.000+01:00' is a local time",
        Some(&right),
    );
    let right = query(None, "USER#u-1", prefix("USER#ORDERS#20260131T2330"));
    let asked = query(
        None,
        "USER#u-1",
        prefix("USER#ORDERS#2026-02-01 00:30+0100"),
    );
    check(
        &asked,
        &["local_time"],
        "in UTC 20260131T2330",
        Some(&right),
    );
}

#[test]
fn a_sort_key_or_an_attribute_is_no_partition_key() {
    check(
        &query(None, "HISTORY#0000000001", Sort::Any),
        &["not_the_partition_key"],
        "its partition key, ORDER#<order id>",
        None,
    );
    check(
        &query(None, "USER#ORDERS#2026", Sort::Any),
        &["not_the_partition_key"],
        "USER#<user id>",
        None,
    );
    check(
        &query(None, "20260131T083000.000Z#o-1", Sort::Any),
        &["not_the_partition_key"],
        "begins with a time",
        None,
    );
    let right = query(Some(Index::ByStatus), "STATUS#UNPAID#0", Sort::Any);
    for text in ["UNPAID", "unpaid", "status = UNPAID", "status='unpaid'"] {
        check(
            &query(None, text, Sort::Any),
            &["not_the_partition_key"],
            "STATUS#UNPAID#0 to STATUS#UNPAID#3",
            Some(&right),
        );
    }
    check(
        &query(None, "status=CONFIRMED", Sort::Any),
        &["not_listed"],
        "sagaline search status:CONFIRMED",
        None,
    );
    check(
        &query(None, "user_id=u-1", Sort::Any),
        &["not_the_partition_key"],
        "user_id is no key",
        None,
    );
    check(
        &query(None, "due_sk=2026", Sort::Any),
        &["not_the_partition_key"],
        "sort key of the index due",
        None,
    );
    let right = query(Some(Index::Due), "DUE#3", Sort::Any);
    check(
        &query(None, "due_pk = DUE#3", Sort::Any),
        &["attribute"],
        "without 'due_pk ='",
        Some(&right),
    );
    let right = get("ORDER#o-1", "ORDER#DETAIL");
    check(
        &get("ORDER#DETAIL", "ORDER#o-1"),
        &["not_the_partition_key"],
        "the wrong way round",
        Some(&right),
    );
    let right = query(None, "ORDER#o-1", Sort::Any);
    check(
        &query(None, "o-1", Sort::Any),
        &["not_the_partition_key"],
        "says no kind",
        Some(&right),
    );
}

#[test]
fn a_missing_or_wrong_shard_is_named_with_its_range() {
    let right = query(None, "REFUND#2026-01-31#0", Sort::Any);
    check(
        &query(None, "REFUND#2026-01-31", Sort::Any),
        &["missing_shard"],
        "REFUND#2026-01-31#0 to REFUND#2026-01-31#3",
        Some(&right),
    );
    let right = query(None, "PRODUCT#mug#0", prefix("PRODUCT#ORDERS#"));
    check(
        &query(None, "PRODUCT#mug", prefix("PRODUCT#ORDERS#")),
        &["missing_shard"],
        "PRODUCT#mug#0 to PRODUCT#mug#3",
        Some(&right),
    );
    let right = query(Some(Index::ByStatus), "STATUS#UNPAID#0", Sort::Any);
    check(
        &query(Some(Index::ByStatus), "STATUS#UNPAID", Sort::Any),
        &["missing_shard"],
        "#3",
        Some(&right),
    );
    let right = query(Some(Index::Due), "DUE#3", Sort::Any);
    check(
        &query(Some(Index::Due), "DUE#03", Sort::Any),
        &["wrong_shard"],
        "no leading zeros",
        Some(&right),
    );
    let right = query(Some(Index::Due), "DUE#0", Sort::Any);
    check(
        &query(Some(Index::Due), "DUE#16", Sort::Any),
        &["wrong_shard"],
        "0 to 15",
        Some(&right),
    );
    assert_eq!(
        advise(&query(None, "REFUND#2026-01-31", Sort::Any))
            .tries
            .len(),
        4
    );
}

#[test]
fn a_day_in_a_partition_key_has_dashes() {
    let right = query(None, "REFUND#2026-01-31#0", Sort::Any);
    check(
        &query(None, "REFUND#20260131#0", Sort::Any),
        &["time_form"],
        "REFUND#2026-01-31, not REFUND#20260131",
        Some(&right),
    );
    let right = query(Some(Index::ByUpdated), "DAY#2026-01-05#7", Sort::Any);
    check(
        &query(Some(Index::ByUpdated), "DAY#2026-1-5#7", Sort::Any),
        &["time_form"],
        "DAY#2026-01-05",
        Some(&right),
    );
}

#[test]
fn the_wrong_place_is_named() {
    let right = query(Some(Index::Due), "DUE#3", Sort::Any);
    check(
        &query(None, "DUE#3", Sort::Any),
        &["wrong_index"],
        "a partition of due, not of the table itself",
        Some(&right),
    );
    let right = query(None, "ORDER#o-1", Sort::Any);
    check(
        &query(Some(Index::Due), "ORDER#o-1", Sort::Any),
        &["not_the_partition_key"],
        "of the table itself",
        Some(&right),
    );
    check(
        &query(Some(Index::ByStatus), "STATUS#CONFIRMED#0", Sort::Any),
        &["not_listed"],
        "lists UNPAID",
        None,
    );
}

#[test]
fn several_mistakes_are_corrected_together() {
    let right = query(None, "REFUND#2026-01-31#0", prefix("20260131T0830"));
    check(
        &query(None, " refund#20260131", prefix("2026-01-31 09:30+01:00")),
        &["blanks", "case", "time_form", "missing_shard", "local_time"],
        "byte by byte",
        Some(&right),
    );
    let right = get("ORDER#o-1", "HISTORY#0000000012");
    check(
        &get("order#o-1", "history#12"),
        &["case", "version_digits"],
        "case",
        Some(&right),
    );
}

#[test]
fn what_was_meant_is_shown_as_a_command() {
    let check = |asked: &Asked, command: &str| assert_eq!(asked.command(), command);
    check(
        &get("ORDER#o-1", "ORDER#DETAIL"),
        "sagaline table get 'ORDER#o-1/ORDER#DETAIL'",
    );
    check(
        &query(Some(Index::Due), "DUE#3", prefix("2026")),
        "sagaline table query --pk 'DUE#3' --index due --sk-prefix '2026'",
    );
    let range = Sort::Between("a".to_owned(), "b".to_owned());
    check(
        &query(None, "USER#u-1", range),
        "sagaline table query --pk 'USER#u-1' --between 'a' 'b'",
    );
}
