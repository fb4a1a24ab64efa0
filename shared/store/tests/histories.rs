//! Orders of every released shape, read and replayed: `evolve` over the history must equal the head. See `fixtures/histories/README.md`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sagaline_order::{
    Change, Context, Event, Order, OrderId, PaymentId, Pending, RefundId, SCHEMA, SagaConfig, Sku,
    Timestamp, Version, evolve, pending, upcast,
};
use sagaline_store::value::{from_json, map_to_json};
use sagaline_store::{
    AttributeValue, Committed, Disposition, HEAD_SK, Item, Key, Placed, Placement, Store, read_head,
};
use sagaline_testkit::MemoryTable;
use sagaline_testkit::contract::orders::{commit, context, new_order};
use serde_json::{Value, json};

/// A course of an order: what happens, how many seconds after the placement, and who says so.
struct Course {
    name: &'static str,
    unit_minor: i64,
    reserve_now: bool,
    events: Vec<(u32, &'static str, Event)>,
}

fn folder(schema: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../fixtures/histories/v{schema}"))
}

fn approved() -> Event {
    Event::PaymentApproved {
        payment_id: PaymentId::stored("pay-7Q2"),
    }
}

fn words(text: &str) -> String {
    text.to_owned()
}

fn courses() -> Vec<Course> {
    let course = |name, events| Course {
        name,
        unit_minor: 1_990,
        reserve_now: false,
        events,
    };
    let saga = |seconds, event| (seconds, "saga", event);
    let sweeper = |seconds, event| (seconds, "sweeper", event);
    let paid = || vec![saga(1, Event::StockReserved), (2, "saga", approved())];
    let with = |mut events: Vec<_>, more: Vec<(u32, &'static str, Event)>| {
        events.extend(more);
        events
    };
    let published = || with(paid(), vec![(3, "saga", Event::ConfirmationPublished)]);
    let unknown = || Event::PaymentUnknown {
        reason: words("no answer within 3000 ms"),
    };
    let cancel = || Event::CancelRequested {
        reason: words("ordered by mistake"),
    };
    let refused = || Event::RefundRefused {
        reason: words("422 account closed"),
    };
    let refunded = || Event::RefundSucceeded {
        refund_id: RefundId::stored("ref-31"),
    };
    let returning = || {
        with(
            published(),
            vec![
                (60, "customer", cancel()),
                (61, "saga", Event::NoticePublished),
                (62, "saga", Event::RefundDue),
            ],
        )
    };
    let stuck = || {
        with(
            returning(),
            vec![
                (63, "saga", refused()),
                (93, "sweeper", Event::RefundDue),
                (94, "sweeper", refused()),
                (154, "sweeper", Event::RefundDue),
                (155, "sweeper", refused()),
                (156, "sweeper", Event::NoticePublished),
            ],
        )
    };
    vec![
        course("straight-through", published()),
        Course {
            reserve_now: true,
            ..course(
                "stock-taken-at-placement",
                vec![
                    saga(1, Event::PaymentDue),
                    saga(2, approved()),
                    saga(3, Event::ConfirmationPublished),
                ],
            )
        },
        Course {
            unit_minor: 0,
            ..course(
                "nothing-to-pay",
                vec![
                    saga(1, Event::StockReserved),
                    saga(2, Event::ConfirmationPublished),
                ],
            )
        },
        course(
            "sold-out",
            vec![saga(
                1,
                Event::StockShort {
                    sku: Sku::stored("kettle-2l"),
                    have: 1,
                    want: 2,
                },
            )],
        ),
        course(
            "declined",
            vec![
                saga(1, Event::StockReserved),
                saga(
                    2,
                    Event::PaymentDeclined {
                        reason: words("402 insufficient funds"),
                    },
                ),
            ],
        ),
        course(
            "timed-out-and-found",
            vec![
                saga(1, Event::StockReserved),
                saga(4, unknown()),
                sweeper(40, Event::PaymentDue),
                sweeper(41, approved()),
                sweeper(42, Event::ConfirmationPublished),
            ],
        ),
        course(
            "timed-out-for-good",
            vec![
                saga(1, Event::StockReserved),
                saga(4, unknown()),
                sweeper(1_802, Event::DeadlinePassed),
                sweeper(1_803, Event::PaymentNotFound),
                sweeper(1_804, Event::NoticePublished),
                sweeper(90_000, Event::PaymentNotFound),
            ],
        ),
        course(
            "pending-and-approved",
            vec![
                saga(1, Event::StockReserved),
                saga(
                    2,
                    Event::PaymentPending {
                        payment_id: PaymentId::stored("pay-7Q2"),
                    },
                ),
                (300, "gateway", approved()),
                saga(301, Event::ConfirmationPublished),
            ],
        ),
        course(
            "cancelled-at-once",
            vec![(5, "customer", cancel()), saga(6, Event::NoticePublished)],
        ),
        course(
            "cancelled-while-paying",
            vec![
                saga(1, Event::StockReserved),
                (2, "customer", cancel()),
                saga(3, approved()),
                saga(4, Event::RefundDue),
                saga(
                    5,
                    Event::RefundUnknown {
                        reason: words("no answer within 3000 ms"),
                    },
                ),
                sweeper(70, Event::RefundDue),
                sweeper(71, refunded()),
                sweeper(72, Event::NoticePublished),
            ],
        ),
        course(
            "paid-after-the-end",
            vec![
                saga(1, Event::StockReserved),
                (2, "customer", cancel()),
                sweeper(95, Event::PaymentNotFound),
                sweeper(96, Event::NoticePublished),
                (500, "gateway", approved()),
                saga(501, Event::RefundDue),
                saga(502, Event::PaymentRefunded),
            ],
        ),
        course("returned", with(returning(), vec![saga(63, refunded())])),
        course(
            "cancelled-while-publishing",
            with(
                paid(),
                vec![
                    saga(
                        3,
                        Event::ConfirmationDelayed {
                            reason: words("the event bus cannot be reached"),
                        },
                    ),
                    (10, "customer", cancel()),
                    sweeper(40, Event::ConfirmationPublished),
                    sweeper(
                        41,
                        Event::NoticeDelayed {
                            reason: words("the event bus cannot be reached"),
                        },
                    ),
                    sweeper(80, Event::NoticePublished),
                    sweeper(81, Event::RefundDue),
                    sweeper(82, refunded()),
                ],
            ),
        ),
        course(
            "shipped",
            with(
                published(),
                vec![(
                    900,
                    "fulfilment",
                    Event::ShipmentSent {
                        tracking: words("TRK-0042"),
                    },
                )],
            ),
        ),
        course(
            "refused-by-fulfilment",
            with(
                published(),
                vec![
                    (
                        900,
                        "fulfilment",
                        Event::FulfilmentRefused {
                            reason: words("damaged in store"),
                        },
                    ),
                    saga(901, Event::NoticePublished),
                    saga(902, Event::RefundDue),
                    saga(903, refunded()),
                ],
            ),
        ),
        course(
            "needs-operator",
            with(stuck(), vec![(4_000, "sweeper", Event::AttentionDue)]),
        ),
        course(
            "retried-by-an-operator",
            with(
                stuck(),
                vec![
                    (600, "operator:noor", Event::UndoRetried),
                    saga(601, Event::RefundDue),
                    saga(602, refunded()),
                ],
            ),
        ),
        course(
            "marked-undone",
            with(
                stuck(),
                vec![(
                    600,
                    "operator:noor",
                    Event::UndoMarked {
                        evidence: words("bank statement 114, line 9"),
                    },
                )],
            ),
        ),
        course(
            "abandoned",
            with(
                stuck(),
                vec![(
                    600,
                    "operator:noor",
                    Event::Abandoned {
                        comment: words("settled by phone"),
                    },
                )],
            ),
        ),
        course(
            "parked-and-nudged",
            vec![
                saga(1, Event::StockReserved),
                saga(4, unknown()),
                (
                    5,
                    "operator:noor",
                    Event::Parked {
                        reason: words("address under review"),
                    },
                ),
                saga(6, Event::NoticePublished),
                (20, "operator:noor", Event::Unparked),
                (21, "operator:noor", Event::Nudged),
            ],
        ),
        course(
            "payment-of-another-order",
            vec![
                saga(1, Event::StockReserved),
                saga(
                    2,
                    Event::PaymentIdClash {
                        payment_id: PaymentId::stored("pay-1A0"),
                    },
                ),
            ],
        ),
    ]
}

fn input(course: &Course) -> Value {
    json!({
        "order_id": format!("o-{}", course.name), "user_id": "u-mira", "request_id": format!("r-{}", course.name), "currency": "EUR",
        "lines": [
            {"sku": "kettle-2l", "name": "Kettle, 2 l", "qty": 2, "unit_minor": course.unit_minor},
            {"sku": "tea-sencha", "qty": 1, "unit_minor": 0},
        ],
        "payment_token": "tok_fixture",
        "shipping": {"name": "Mira Solberg", "street": "Havnegata 4", "city": "Hamn", "postal_code": "0042", "country": "NO"},
        "phone": "+4712345678",
        "attributes": {"gift": true, "note": "ring twice"},
    })
}

/// Lets a course happen in a table, and takes down what it left there.
async fn happen(course: &Course) -> Value {
    let table = MemoryTable::new();
    let store = Store::new(table.clone());
    for sku in ["kettle-2l", "tea-sencha"] {
        store.set_stock(&Sku::stored(sku), 50, None).await.unwrap();
    }
    let placement = Placement {
        reserve_now: course.reserve_now,
        ..Placement::default()
    };
    let placed = store.place(new_order(&input(course)), placement).await;
    let Ok(Placed::Created { mut order }) = placed else {
        panic!("{}: {placed:?}", course.name)
    };
    for (seconds, actor, event) in &course.events {
        let mut commit = commit(&order, event, &context(*seconds));
        commit.after.last_event.actor = (*actor).to_owned();
        let committed = store.commit(commit).await;
        let Ok(Committed::Applied { order: after, .. }) = committed else {
            panic!("{} {event:?}: {committed:?}", course.name)
        };
        order = after;
    }
    let of_order = table.items();
    let of_order = of_order
        .iter()
        .filter(|item| item["PK"] == AttributeValue::S(format!("ORDER#{}", order.order_id)));
    let (heads, history): (Vec<_>, Vec<_>) =
        of_order.partition(|item| item["SK"] == AttributeValue::S(HEAD_SK.to_owned()));
    let history: Vec<_> = history.iter().map(|item| map_to_json(item)).collect();
    json!({"head": map_to_json(heads[0]), "history": history})
}

#[tokio::test]
async fn every_course_has_its_fixture_and_a_fixture_that_is_there_is_never_rewritten() {
    let folder = folder(SCHEMA);
    let mut names = BTreeSet::new();
    for course in courses() {
        let path = folder.join(format!("{}.json", course.name));
        let text = serde_json::to_string_pretty(&happen(&course).await).unwrap() + "\n";
        if std::env::var_os("UPDATE_FIXTURES").is_some() && !path.exists() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, text).unwrap();
        }
        assert!(
            path.exists(),
            "{} is missing: UPDATE_FIXTURES=1 writes it",
            path.display()
        );
        assert!(names.insert(path));
    }
}

fn item(value: &Value) -> Item {
    let AttributeValue::M(item) = from_json(value) else {
        panic!("no item: {value}")
    };
    item
}

fn at(row: &Value) -> Timestamp {
    Timestamp::parse(row["at"].as_str().unwrap()).unwrap()
}

/// The order as its history tells it; what only the commit knows is not in it.
fn replay(history: &[Value], what: &str) -> Order {
    let mut order: Option<Order> = None;
    for (nth, row) in (1_u64..).zip(history) {
        assert_eq!(row["version"], nth, "{what}: history has no gap");
        for event in row["events"].as_array().unwrap() {
            let mut event = event.clone();
            if let Some(placed) = event.get_mut("order").and_then(Value::as_object_mut) {
                upcast(placed).unwrap();
            }
            let change: Change = serde_json::from_value(event).unwrap();
            order = Some(match (order, &change) {
                (None, Change::OrderPlaced { order }) => order.as_ref().clone(),
                (Some(order), change) => evolve(order, change),
                (None, other) => panic!("{what}: begins with {other:?}"),
            });
        }
        let order = order.as_mut().unwrap();
        order.version = Version::new(nth).unwrap();
        order.updated_at = at(row);
    }
    order.unwrap()
}

#[test]
fn evolve_over_the_history_of_every_released_shape_equals_the_head() {
    for schema in 1..=SCHEMA {
        let mut kinds = BTreeSet::new();
        for entry in fs::read_dir(folder(schema)).unwrap() {
            let path = entry.unwrap().path();
            let what = path.display().to_string();
            let fixture: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            assert_eq!(fixture["head"]["schema"], schema, "{what}");
            let head = read_head(&item(&fixture["head"])).unwrap();
            let history = fixture["history"].as_array().unwrap();
            let last = history.last().unwrap();
            let mut replayed = replay(history, &what);
            assert_eq!(head.last_event.at, at(last), "{what}");
            assert_eq!(last["actor"], head.last_event.actor.as_str(), "{what}");
            assert_eq!(last["reason"], head.last_event.reason.as_str(), "{what}");
            // The history holds no token, and what the commit adds stands on the head only.
            replayed.payment_token.clone_from(&head.payment_token);
            replayed.last_event.clone_from(&head.last_event);
            replayed.transitions = head.transitions;
            replayed.wake_at = head.wake_at;
            replayed.schema = head.schema;
            assert_eq!(replayed, head, "{what}");
            let context = Context {
                now: head.updated_at,
                config: SagaConfig::default(),
            };
            let unfinished = pending(&head, &context) != Pending::Nothing;
            assert_eq!(head.wake_at.is_some(), unfinished, "{what}");
            let events = history
                .iter()
                .flat_map(|row| row["events"].as_array().unwrap());
            kinds.extend(events.map(|event| event["kind"].as_str().unwrap().to_owned()));
        }
        assert!(
            kinds.len() >= 28,
            "v{schema} has few kinds of changes: {kinds:?}"
        );
    }
}

#[tokio::test]
async fn a_head_of_a_newer_shape_is_refused_by_name_and_left_alone() {
    let table = MemoryTable::new();
    let store = Store::new(table.clone());
    let new = new_order(&input(&courses()[0]));
    let id = new.order.order_id.clone();
    store.place(new, Placement::default()).await.unwrap();
    let mut head = table.item(&Key::head(&id)).unwrap();
    head.insert("schema".to_owned(), AttributeValue::N("7".to_owned()));
    table.put(head.clone()).unwrap();
    let error = store.load(&id).await.unwrap_err();
    assert!(error.is_newer_schema());
    assert_eq!(
        error.disposition(),
        Disposition::Fatal,
        "no poison: another release reads it"
    );
    assert_eq!(
        error.to_string(),
        "item ORDER#o-straight-through / ORDER#DETAIL cannot be read"
    );
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(
        cause,
        "schema 7 is newer than 1, the newest that this program knows"
    );
    assert_eq!(store.load(&OrderId::stored("o-none")).await.unwrap(), None);
    assert_eq!(table.item(&Key::head(&id)).unwrap(), head);
}
