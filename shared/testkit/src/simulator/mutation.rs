//! Broken parts: each takes one safeguard away. The tests run them to show that the checks see it; nothing else does.

use std::time::Duration;

use sagaline_store::value::s;
use sagaline_store::{Action, Condition, HEAD_SK};

use super::parts::{Outside, Post};
use crate::gateway::Reply;

/// What is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutation {
    /// The store writes no request guard.
    GuardIgnored,
    /// The store takes a commit whatever the version of the head, its history and its guard.
    VersionIgnored,
    /// The store does not give the stock back.
    StockKept,
    /// The store loses the wake time of an order that it moves.
    WakeForgotten,
    /// The gateway is posted to a second time, under a key that no intent has.
    PostedWithoutIntent,
    /// A refund is answered as done, and the money stays.
    UndoLost,
    /// The bus says that it has a message, and nobody ever gets it.
    MessageSwallowed,
}

impl Mutation {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::GuardIgnored,
        Self::VersionIgnored,
        Self::StockKept,
        Self::WakeForgotten,
        Self::PostedWithoutIntent,
        Self::UndoLost,
        Self::MessageSwallowed,
    ];
}

/// Breaks a transaction.
pub(super) fn of_transaction(mutation: Mutation, actions: &mut Vec<Action>) {
    match mutation {
        Mutation::GuardIgnored => {
            actions.retain(|action| !matches!(action, Action::Put { item, .. } if item.get("SK") == Some(&s("REQUEST"))));
        }
        Mutation::VersionIgnored => {
            for action in actions {
                let (Action::Put { condition, .. }
                | Action::Update(sagaline_store::Update { condition, .. })) = action;
                if matches!(
                    condition,
                    Some(Condition::NotExists | Condition::VersionIs(_))
                ) {
                    *condition = None;
                }
            }
        }
        Mutation::StockKept => {
            for action in actions {
                if let Action::Update(update) = action
                    && update.condition.is_none()
                {
                    update.add.remove("stock");
                }
            }
        }
        Mutation::WakeForgotten => {
            for action in actions {
                if let Action::Update(update) = action
                    && update.key.sk == HEAD_SK
                {
                    for name in ["due_pk", "due_sk"] {
                        if update.set.remove(name).is_some() {
                            update.remove.push(name.to_owned());
                        }
                    }
                }
            }
        }
        Mutation::PostedWithoutIntent | Mutation::UndoLost | Mutation::MessageSwallowed => {}
    }
}

/// Breaks a post to the gateway; `Some` = this is the reply, and nothing else is done.
pub(super) fn of_post(
    mutation: Mutation,
    outside: &mut Outside,
    post: &Post,
    now: Duration,
) -> Option<Reply> {
    match (mutation, post) {
        (Mutation::PostedWithoutIntent, Post::Pay { key, body }) => {
            outside.book.pay(&format!("{key}-again"), body, now);
            None
        }
        (Mutation::UndoLost, Post::Refund { payment_id, .. }) => Some(Reply {
            status: 201,
            body: serde_json::json!({"refund_id": format!("lost-{payment_id}"), "payment_id": payment_id, "status": "approved", "refunded_minor": 0}),
            late: false,
        }),
        (
            Mutation::GuardIgnored
            | Mutation::VersionIgnored
            | Mutation::StockKept
            | Mutation::WakeForgotten
            | Mutation::PostedWithoutIntent
            | Mutation::UndoLost
            | Mutation::MessageSwallowed,
            _,
        ) => None,
    }
}
