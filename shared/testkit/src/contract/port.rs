//! The table itself: conditions, transactions and their reasons, single writes.

use sagaline_store::value::{n, s};
use sagaline_store::{
    Action, AttributeValue, Condition, Disposition, Item, Key, PK, Reason, ReasonCode, SK, Table,
    TransactError, Update, WriteError,
};

use super::Names;

pub(super) async fn run<T: Table>(table: &T, names: &Names) {
    values_come_back_as_they_went(table, names).await;
    a_condition_sees_one_full_key_only(table, names).await;
    a_comparison_with_what_is_missing_is_false(table, names).await;
    a_cancelled_transaction_writes_nothing_and_gives_a_reason_for_each_action(table, names).await;
    a_transaction_names_an_item_once(table, names).await;
    a_single_write_answers_with_the_item(table, names).await;
}

/// What emulators are known to accept and AWS refuses.
pub(super) async fn strict<T: Table>(table: &T, names: &Names) {
    // C-22
    for (kind, value) in [
        ("empty text", s("")),
        ("NULL", AttributeValue::Null(true)),
        ("a number", n(1)),
    ] {
        let key = key(names, "index-key", "1");
        let put = Action::Put {
            item: item(&key, &[("due_pk", value.clone()), ("due_sk", s("1"))]),
            condition: None,
        };
        assert!(
            table.write(put.clone()).await.is_err(),
            "{kind} as an index key is refused in a put"
        );
        assert!(
            table.transact(vec![put]).await.is_err(),
            "{kind} as an index key is refused in a transaction"
        );
        let update = Action::Update(Update::of(key.clone()).set("due_pk", value));
        assert!(
            table.transact(vec![update]).await.is_err(),
            "{kind} as an index key is refused in an update"
        );
        assert_eq!(get(table, &key).await, None, "nothing was written");
    }
    let many = (0..101)
        .map(|number| put(&key(names, "many", &format!("{number:03}")), &[], None))
        .collect();
    match table.transact(many).await {
        Err(TransactError::Table(error)) => assert_eq!(
            error.disposition(),
            Disposition::Poison,
            "101 actions are too many"
        ),
        other => panic!("101 actions are too many: {other:?}"),
    }
}

async fn values_come_back_as_they_went<T: Table>(table: &T, names: &Names) {
    let key = key(names, "values", "1");
    let nested = AttributeValue::M(
        [(
            "list".to_owned(),
            AttributeValue::L(vec![n(1), s(""), AttributeValue::Null(true)]),
        )]
        .into(),
    );
    let written = item(
        &key,
        &[
            ("digits", n("12345678901234567890123456789012345678")),
            ("nested", nested),
            ("flag", AttributeValue::Bool(true)),
        ],
    );
    table
        .write(Action::Put {
            item: written.clone(),
            condition: None,
        })
        .await
        .expect("a put");
    assert_eq!(
        get(table, &key).await,
        Some(written),
        "no digit, no empty text, no null is lost"
    );
    let missing = Key {
        sk: "2".to_owned(),
        ..key
    };
    assert_eq!(
        get(table, &missing).await,
        None,
        "an item that is not there is none"
    );
}

// C-20
async fn a_condition_sees_one_full_key_only<T: Table>(table: &T, names: &Names) {
    let (head, history) = (
        key(names, "one-key", "HEAD"),
        key(names, "one-key", "HISTORY#2"),
    );
    table
        .transact(vec![put(&head, &[], Some(Condition::NotExists))])
        .await
        .expect("the first item of a partition");
    table
        .transact(vec![put(&history, &[], Some(Condition::NotExists))])
        .await
        .expect("another sort key is another item");
    let again = table
        .transact(vec![put(&history, &[], Some(Condition::NotExists))])
        .await;
    assert_eq!(
        codes(again),
        [ReasonCode::ConditionalCheckFailed],
        "the same key is not"
    );

    let lookup = |order: &str| {
        let condition = Condition::NotExistsOr("order_id", s(order));
        vec![put(
            &key(names, "payment", "p-1"),
            &[("order_id", s(order))],
            Some(condition),
        )]
    };
    table.transact(lookup("o-1")).await.expect("a new look-up");
    table
        .transact(lookup("o-1"))
        .await
        .expect("the same look-up again");
    let clash = table.transact(lookup("o-2")).await;
    assert_eq!(
        codes(clash),
        [ReasonCode::ConditionalCheckFailed],
        "the look-up of another order"
    );
}

async fn a_comparison_with_what_is_missing_is_false<T: Table>(table: &T, names: &Names) {
    let key = key(names, "missing", "1");
    let conditions = [
        Condition::VersionIs(sagaline_order::Version::FIRST),
        Condition::AtLeast("stock", 0),
        Condition::Is("stock", n(0)),
    ];
    for condition in &conditions {
        let refused = table
            .transact(vec![Action::Update(
                Update::of(key.clone())
                    .add("stock", 1)
                    .when(condition.clone()),
            )])
            .await;
        assert_eq!(
            codes(refused),
            [ReasonCode::ConditionalCheckFailed],
            "no item: {condition:?}"
        );
    }
    table
        .transact(vec![Action::Update(
            Update::of(key.clone()).add("other", 1),
        )])
        .await
        .expect("an update without a condition");
    assert!(get(table, &key).await.is_some(), "creates the item");
    for condition in conditions {
        let refused = table
            .transact(vec![Action::Update(
                Update::of(key.clone())
                    .add("stock", 1)
                    .when(condition.clone()),
            )])
            .await;
        assert_eq!(
            codes(refused),
            [ReasonCode::ConditionalCheckFailed],
            "no attribute: {condition:?}"
        );
    }
}

async fn a_cancelled_transaction_writes_nothing_and_gives_a_reason_for_each_action<T: Table>(
    table: &T,
    names: &Names,
) {
    let [fine, short, missing] =
        ["fine", "short", "missing"].map(|name| key(names, "reasons", name));
    table
        .write(put(&short, &[("stock", n(2))], None))
        .await
        .expect("a put");
    let take = |key: &Key, count: i64| {
        Action::Update(
            Update::of(key.clone())
                .add("stock", -count)
                .when(Condition::AtLeast("stock", count)),
        )
    };
    let cancelled = table
        .transact(vec![
            put(&fine, &[], None),
            take(&short, 3),
            take(&missing, 1),
        ])
        .await;
    let reasons = reasons(cancelled);
    let found: Vec<_> = reasons
        .iter()
        .map(|reason| {
            (
                reason.code.clone(),
                reason
                    .item
                    .as_ref()
                    .and_then(|item| item.get("stock"))
                    .cloned(),
            )
        })
        .collect();
    let failed = ReasonCode::ConditionalCheckFailed;
    assert_eq!(
        found,
        [
            (ReasonCode::None, None),
            (failed.clone(), Some(n(2))),
            (failed, None)
        ],
        "by place, with the item that is there"
    );
    assert_eq!(
        get(table, &fine).await,
        None,
        "the action that was fine is not written either"
    );
    table
        .transact(vec![put(&fine, &[], None), take(&short, 2)])
        .await
        .expect("enough is there");
    assert_eq!(
        get(table, &short)
            .await
            .and_then(|item| item.get("stock").cloned()),
        Some(n(0)),
        "and is taken"
    );
}

async fn a_transaction_names_an_item_once<T: Table>(table: &T, names: &Names) {
    let key = key(names, "twice", "1");
    match table
        .transact(vec![
            put(&key, &[], None),
            Action::Update(Update::of(key.clone()).add("stock", 1)),
        ])
        .await
    {
        Err(TransactError::Table(error)) => assert_eq!(
            error.disposition(),
            Disposition::Poison,
            "invalid, however often it is sent"
        ),
        other => panic!("the same item twice is invalid: {other:?}"),
    }
}

async fn a_single_write_answers_with_the_item<T: Table>(table: &T, names: &Names) {
    let key = key(names, "single", "1");
    let add = |count| Action::Update(Update::of(key.clone()).add("stock", count));
    table
        .write(add(5))
        .await
        .expect("an addition to what is missing");
    let after = table.write(add(-2)).await.expect("an addition");
    assert_eq!(
        after.get("stock"),
        Some(&n(3)),
        "the answer is the item as it is now"
    );
    let mut update = Update::of(key.clone())
        .set("stock", n(9))
        .set("note", s("x"))
        .when(Condition::Is("stock", n(4)));
    update.remove = vec!["gone".to_owned()];
    match table.write(Action::Update(update)).await {
        Err(WriteError::ConditionFailed(Some(there))) => assert_eq!(
            there.get("stock"),
            Some(&n(3)),
            "the item that is there comes back"
        ),
        other => panic!("the condition does not hold: {other:?}"),
    }
}

fn reasons(cancelled: Result<(), TransactError>) -> Vec<Reason> {
    match cancelled {
        Err(TransactError::Cancelled(reasons)) => reasons,
        other => panic!("expected a cancelled transaction, not {other:?}"),
    }
}

fn codes(cancelled: Result<(), TransactError>) -> Vec<ReasonCode> {
    reasons(cancelled)
        .into_iter()
        .map(|reason| reason.code)
        .collect()
}

pub(super) fn key(names: &Names, pk: &str, sk: &str) -> Key {
    Key {
        pk: names.name(pk),
        sk: sk.to_owned(),
    }
}

pub(super) fn item(key: &Key, attributes: &[(&str, AttributeValue)]) -> Item {
    let keys = [(PK, s(key.pk.as_str())), (SK, s(key.sk.as_str()))];
    keys.into_iter()
        .chain(attributes.iter().cloned())
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

pub(super) fn put(
    key: &Key,
    attributes: &[(&str, AttributeValue)],
    condition: Option<Condition>,
) -> Action {
    Action::Put {
        item: item(key, attributes),
        condition,
    }
}

pub(super) async fn get<T: Table>(table: &T, key: &Key) -> Option<Item> {
    table.get(key.clone(), true).await.expect("a read")
}
