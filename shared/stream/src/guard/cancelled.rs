//! What a cancelled transaction says, read by the place of each action, in a fixed precedence. A pure function.
//!
//! The order of the questions matters. What can never succeed is found before what may succeed later; a repeat is recognised before what
//! has moved, for the repeat moved it itself; and as long as anything is throttled or unclear, nothing is concluded from the rest.

/// Why one action of a cancelled transaction failed, or that it did not. `I` is the table's own type of items.
#[derive(Debug, Clone, PartialEq)]
pub struct Reason<I> {
    /// Which kind.
    pub code: ReasonCode,
    /// The item that was there when a condition failed; `None` if there was none, or if it was not asked for.
    pub item: Option<I>,
}

impl<I> Reason<I> {
    /// A reason without an item.
    #[must_use]
    pub const fn of(code: ReasonCode) -> Self {
        Self { code, item: None }
    }
}

/// The codes of cancellation reasons (F-TX-4: Amazon DynamoDB API Reference, TransactWriteItems).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReasonCode {
    /// This action was fine.
    None,
    /// Its condition does not hold.
    ConditionalCheckFailed,
    /// Another request holds the item.
    TransactionConflict,
    /// `ThrottlingError` or `ProvisionedThroughputExceeded`.
    Throttled,
    /// `ValidationError`, an item above 400 KB among them, or `ItemCollectionSizeLimitExceeded`: what was wrong.
    Invalid(String),
    /// A code that we do not know, or none.
    Unknown(String),
}

impl ReasonCode {
    /// From the code on the wire, and the message for what needs words.
    ///
    /// ```
    /// # use sagaline_stream::guard::ReasonCode;
    /// assert_eq!(ReasonCode::parse("ThrottlingError", ""), ReasonCode::Throttled);
    /// assert_eq!(ReasonCode::parse("ValidationError", "too large"), ReasonCode::Invalid("too large".to_owned()));
    /// ```
    #[must_use]
    pub fn parse(code: &str, message: &str) -> Self {
        match code {
            "None" => Self::None,
            "ConditionalCheckFailed" => Self::ConditionalCheckFailed,
            "TransactionConflict" => Self::TransactionConflict,
            "ThrottlingError" | "ProvisionedThroughputExceeded" => Self::Throttled,
            "ValidationError" | "ItemCollectionSizeLimitExceeded" => {
                let said = if message.is_empty() { code } else { message };
                Self::Invalid(said.to_owned())
            }
            _ => Self::Unknown(code.to_owned()),
        }
    }
}

/// What an action of the transaction is for, and with it what the failure of its condition means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The marker: new, or a repeat.
    Marker,
    /// What the decision was made on, as a version that must still be the one that was read. If it is not, the decision is void.
    Basis,
    /// Anything else. If it has a condition, that asks the world something, and the answer is believed when nothing else is open.
    Effect,
}

/// What a cancelled transaction means. Nothing of it was written.
#[derive(Debug, Clone, PartialEq)]
pub enum Cancelled<'r, I> {
    /// Nothing can be concluded: send the same again, as after throttling.
    Unknown {
        /// What was missing or not understood.
        why: String,
    },
    /// It can never be written as it is.
    Poison {
        /// The place of the action.
        place: usize,
        /// What the table said.
        why: &'r str,
    },
    /// The marker is there already: see [`Marker::against`](super::Marker::against).
    MarkerTaken {
        /// The row that is there, if it came along.
        item: Option<&'r I>,
    },
    /// What the decision was made on is no longer so: read again, decide again.
    Moved {
        /// The place of the action.
        place: usize,
        /// The item that is there, if it came along.
        item: Option<&'r I>,
    },
    /// Send the same again, later.
    Throttled {
        /// The place of the action.
        place: usize,
    },
    /// Another request holds an item.
    Conflict {
        /// The place of the action.
        place: usize,
    },
    /// The condition of an effect does not hold.
    Failed {
        /// The place of the action.
        place: usize,
        /// The item that is there, if it came along.
        item: Option<&'r I>,
    },
}

/// Reads the reasons of a cancelled transaction, whose actions had these roles, in their order.
///
/// A list that is empty or too short says nothing, not even about the actions that it covers (F-TX-4: a client may lose it on the way).
#[must_use]
pub fn read<'r, I>(reasons: &'r [Reason<I>], roles: &[Role]) -> Cancelled<'r, I> {
    if reasons.len() < roles.len() {
        let why = "the transaction was cancelled without a reason for every action".to_owned();
        return Cancelled::Unknown { why };
    }
    let places = || roles.iter().zip(reasons).enumerate();
    let poison = places().find_map(|(place, (_, reason))| Some((place, invalid(&reason.code)?)));
    if let Some((place, why)) = poison {
        return Cancelled::Poison { place, why };
    }
    let failed = |wanted: Role| {
        places().find_map(|(place, (role, reason))| {
            let is_it = *role == wanted && reason.code == ReasonCode::ConditionalCheckFailed;
            is_it.then_some((place, reason.item.as_ref()))
        })
    };
    let of_code = |code: ReasonCode| {
        places().find_map(|(place, (_, reason))| (reason.code == code).then_some(place))
    };
    if let Some((_, item)) = failed(Role::Marker) {
        return Cancelled::MarkerTaken { item };
    }
    if let Some((place, item)) = failed(Role::Basis) {
        return Cancelled::Moved { place, item };
    }
    if let Some(place) = of_code(ReasonCode::Throttled) {
        return Cancelled::Throttled { place };
    }
    if let Some(code) = places().find_map(|(_, (_, reason))| unheard_of(&reason.code)) {
        let why = format!("the transaction was cancelled for an unknown reason '{code}'");
        return Cancelled::Unknown { why };
    }
    if let Some(place) = of_code(ReasonCode::TransactionConflict) {
        return Cancelled::Conflict { place };
    }
    failed(Role::Effect).map_or_else(
        || Cancelled::Unknown {
            why: "the transaction was cancelled, and every action was fine".to_owned(),
        },
        |(place, item)| Cancelled::Failed { place, item },
    )
}

fn invalid(code: &ReasonCode) -> Option<&str> {
    if let ReasonCode::Invalid(why) = code {
        Some(why)
    } else {
        None
    }
}

fn unheard_of(code: &ReasonCode) -> Option<&str> {
    if let ReasonCode::Unknown(code) = code {
        Some(code)
    } else {
        None
    }
}
