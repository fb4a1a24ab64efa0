//! What a cancelled commit says: the order's side of it. What the reasons of a transaction mean by their places, and which of them comes
//! first, is [`read`]'s; here is what each action of a plan is for, and what its failure means for an order. A pure function.

use sagaline_order::Sku;
use sagaline_stream::guard::{Cancelled, Role, read};

use super::plan::{Kind, Plan, Slot};
use crate::error::CommitError;
use crate::table::{Item, Reason, TableError};
use crate::value::as_integer;

/// What is to be done about a cancelled transaction.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The request guard is there already; the row, if it came along.
    GuardTaken(Option<Item>),
    /// Send the same again.
    Unknown(TableError),
    /// Settled: not written.
    Refused(CommitError),
}

/// Reads the reasons of a cancelled `plan`.
pub(crate) fn judge(reasons: &[Reason], plan: &Plan) -> Verdict {
    let unknown = |why: String| Verdict::Unknown(TableError::Unavailable(why.into()));
    let roles: Vec<Role> = plan
        .slots
        .iter()
        .map(|slot| role(slot, plan.kind))
        .collect();
    match (read(reasons, &roles), plan.kind) {
        (Cancelled::Unknown { why }, _) => unknown(why),
        (Cancelled::Poison { why, .. }, _) => Verdict::Refused(CommitError::poison(why)),
        (Cancelled::MarkerTaken { item }, _) => Verdict::GuardTaken(item.cloned()),
        (Cancelled::Moved { .. }, Kind::Placement) => Verdict::Refused(CommitError::OrderIdUsed),
        (Cancelled::Moved { .. } | Cancelled::Conflict { .. }, Kind::Step) => {
            Verdict::Refused(CommitError::Moved)
        }
        (Cancelled::Throttled { .. }, _) => Verdict::Unknown(TableError::Throttled(
            "part of the transaction was throttled".into(),
        )),
        // There is no head yet that could have moved: the placement itself is what must be tried again.
        (Cancelled::Conflict { .. }, Kind::Placement) => {
            unknown("another request holds an item of the transaction".to_owned())
        }
        (Cancelled::Failed { place, item }, _) => settled(plan.slots.get(place), item),
    }
}

/// A placement is decided on there being no order yet, a step on the head as it was read.
fn role(slot: &Slot, kind: Kind) -> Role {
    match (slot, kind) {
        (Slot::Guard, _) => Role::Marker,
        (Slot::Head, _) | (Slot::History, Kind::Placement) => Role::Basis,
        (Slot::History, Kind::Step)
        | (Slot::Stock { .. } | Slot::Payment(_) | Slot::Unconditional, _) => Role::Effect,
    }
}

/// The failure of an action whose condition says something about the world.
fn settled(slot: Option<&Slot>, item: Option<&Item>) -> Verdict {
    Verdict::Refused(match slot {
        Some(Slot::Stock { sku, want }) => stock_short(sku, *want, item),
        Some(Slot::Payment(payment_id)) => CommitError::PaymentIdClash {
            payment_id: payment_id.clone(),
        },
        Some(Slot::History) => CommitError::poison(
            "the history goes on beyond the head: someone put an older head back",
        ),
        Some(Slot::Head | Slot::Guard | Slot::Unconditional) | None => {
            CommitError::poison("an action failed by a condition that it does not have")
        }
    })
}

/// A missing item counts as stock 0; one that holds no number is broken, which is something else.
fn stock_short(sku: &Sku, want: i64, item: Option<&Item>) -> CommitError {
    let have = match item.and_then(|item| item.get("stock")) {
        None => Some(0),
        Some(stock) => as_integer(stock).and_then(|stock| i64::try_from(stock).ok()),
    };
    match have {
        Some(have) => CommitError::StockShort {
            sku: sku.clone(),
            have,
            want,
        },
        None => CommitError::poison(format!("the stock of {sku} is no whole number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::{Claim, Guard};
    use crate::value::{n, s};
    use sagaline_order::{OrderId, PaymentId, RequestId, UserId, Version};
    use sagaline_stream::guard::{Marker, PayloadHash, ReasonCode};

    const FINE: ReasonCode = ReasonCode::None;
    const FAILED: ReasonCode = ReasonCode::ConditionalCheckFailed;
    const CONFLICT: ReasonCode = ReasonCode::TransactionConflict;
    const THROTTLED: ReasonCode = ReasonCode::Throttled;

    fn invalid() -> ReasonCode {
        ReasonCode::parse(
            "ValidationError",
            "Item size to update has exceeded the maximum allowed size",
        )
    }

    fn plan(kind: Kind, extra: &[Slot]) -> Plan {
        let guard = Guard {
            marker: Marker {
                request_id: RequestId::parse("r-1").unwrap(),
                what: Claim {
                    order_id: OrderId::parse("o-1").unwrap(),
                    user_id: UserId::parse("u-1").unwrap(),
                    operation: "cancel".to_owned(),
                },
                payload_hash: PayloadHash::stored("h"),
            },
            result_version: Version::FIRST,
        };
        let slots = [Slot::Head, Slot::Guard, Slot::History]
            .into_iter()
            .chain(extra.iter().cloned())
            .collect();
        Plan {
            kind,
            guard,
            actions: Vec::new(),
            slots,
        }
    }

    fn said(kind: Kind, extra: &[Slot], codes: &[ReasonCode]) -> &'static str {
        let reasons: Vec<_> = codes.iter().cloned().map(Reason::of).collect();
        match judge(&reasons, &plan(kind, extra)) {
            Verdict::GuardTaken(_) => "guard",
            Verdict::Unknown(TableError::Throttled(_)) => "throttled",
            Verdict::Unknown(_) => "unknown",
            Verdict::Refused(CommitError::Moved) => "moved",
            Verdict::Refused(CommitError::OrderIdUsed) => "order id used",
            Verdict::Refused(CommitError::Poison { .. }) => "poison",
            Verdict::Refused(CommitError::StockShort { .. }) => "stock short",
            Verdict::Refused(CommitError::PaymentIdClash { .. }) => "payment clash",
            Verdict::Refused(other) => panic!("{other:?}"),
        }
    }

    // C-17, C-18
    #[test]
    fn reasons_are_read_by_place_in_their_precedence() {
        let check = |codes: &[ReasonCode], expected: &str| {
            assert_eq!(said(Kind::Step, &[], codes), expected, "{codes:?}")
        };
        check(&[FINE, FAILED, FINE], "guard");
        check(&[FAILED, FINE, FINE], "moved");
        check(&[FAILED, FAILED, FAILED], "guard");
        check(&[CONFLICT, invalid(), FINE], "poison");
        check(&[CONFLICT, FINE, FINE], "moved");
        check(&[FAILED, CONFLICT, FINE], "moved");
        check(&[CONFLICT, FINE, THROTTLED], "throttled");
        check(&[FINE, FAILED, invalid()], "poison");
        check(&[THROTTLED, FAILED, FINE], "guard");
        check(&[FAILED, FINE, THROTTLED], "moved");
        check(&[FINE, FINE, FAILED], "poison");
        check(
            &[FINE, FINE, ReasonCode::parse("SomethingNew", "")],
            "unknown",
        );
        check(&[CONFLICT, FINE, ReasonCode::parse("", "")], "unknown");
    }

    #[test]
    fn reasons_that_are_empty_or_too_few_say_nothing() {
        let check =
            |codes: &[ReasonCode]| assert_eq!(said(Kind::Step, &[], codes), "unknown", "{codes:?}");
        check(&[]);
        check(&[FAILED]);
        check(&[FINE, FAILED]);
        check(&[invalid()]);
        check(&[FINE, FINE, FINE]);
    }

    #[test]
    fn a_placement_has_no_head_that_could_have_moved() {
        let check = |codes: &[ReasonCode], expected: &str| {
            assert_eq!(said(Kind::Placement, &[], codes), expected, "{codes:?}")
        };
        check(&[FAILED, FINE, FINE], "order id used");
        check(&[FINE, FINE, FAILED], "order id used");
        check(&[FAILED, FAILED, FAILED], "guard");
        check(&[CONFLICT, FINE, FINE], "unknown");
        check(&[THROTTLED, FINE, FAILED], "order id used");
    }

    #[test]
    fn what_the_world_answers_comes_after_everything_that_is_open() {
        let stock = [Slot::Stock {
            sku: Sku::parse("tea").unwrap(),
            want: 3,
        }];
        let payment = [Slot::Payment(PaymentId::stored("p-1"))];
        assert_eq!(
            said(Kind::Step, &stock, &[FINE, FINE, FINE, FAILED]),
            "stock short"
        );
        assert_eq!(
            said(Kind::Step, &payment, &[FINE, FINE, FINE, FAILED]),
            "payment clash"
        );
        assert_eq!(
            said(Kind::Step, &stock, &[CONFLICT, FINE, FINE, FAILED]),
            "moved"
        );
        assert_eq!(
            said(Kind::Step, &stock, &[FINE, FINE, THROTTLED, FAILED]),
            "throttled"
        );
        assert_eq!(
            said(Kind::Step, &stock, &[FINE, FAILED, FINE, FAILED]),
            "guard"
        );
        assert_eq!(
            said(
                Kind::Step,
                &[Slot::Unconditional],
                &[FINE, FINE, FINE, FAILED]
            ),
            "poison"
        );
    }

    #[test]
    fn the_stock_that_is_there_comes_from_the_old_item() {
        let have = |item: Option<Item>| {
            let reasons = [FINE, FINE, FINE]
                .map(Reason::of)
                .into_iter()
                .chain([Reason { code: FAILED, item }])
                .collect::<Vec<_>>();
            match judge(
                &reasons,
                &plan(
                    Kind::Step,
                    &[Slot::Stock {
                        sku: Sku::parse("tea").unwrap(),
                        want: 3,
                    }],
                ),
            ) {
                Verdict::Refused(CommitError::StockShort { sku, have, want: 3 })
                    if sku.as_str() == "tea" =>
                {
                    Some(have)
                }
                Verdict::Refused(CommitError::Poison { .. }) => None,
                Verdict::GuardTaken(_) | Verdict::Unknown(_) | Verdict::Refused(_) => {
                    panic!("neither short nor broken")
                }
            }
        };
        let stocked = |value| Some(Item::from([("stock".to_owned(), value)]));
        assert_eq!(have(None), Some(0));
        assert_eq!(have(Some(Item::new())), Some(0));
        assert_eq!(have(stocked(n("2.0"))), Some(2));
        assert_eq!(have(stocked(s("2"))), None);
        assert_eq!(have(stocked(n("2.5"))), None);
    }
}
