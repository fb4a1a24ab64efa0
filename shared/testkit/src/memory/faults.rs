//! Scripted faults: which call fails, and at which moment.

use std::collections::BTreeMap;

use sagaline_store::{Reason, ReasonCode, TableError, TransactError};

/// A kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// A single read.
    Get,
    /// A transaction.
    Transact,
    /// A page of a list.
    Query,
    /// A single write.
    Write,
    /// A batch read.
    GetMany,
    /// A batch write.
    PutMany,
}

/// How a call fails.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// Throttled: nothing is done.
    Throttle,
    /// No answer, and nothing is done.
    Lost,
    /// No answer, but it is done.
    LostAcknowledgement,
    /// Another request holds an item: nothing is done. For a read the same as `Lost`.
    Conflict,
    /// The same transaction still runs: nothing is done. Other calls: the same as `Lost`.
    InProgress,
    /// A transaction is cancelled with these reasons: nothing is done. Other calls: the same as `Lost`.
    Cancelled(Vec<Reason>),
    /// The calling process ends before the request is sent. See [`MemoryTable::until_crash`](super::MemoryTable::until_crash).
    CrashBefore,
    /// The calling process ends when it is done, before it hears of it.
    CrashAfter,
}

/// When a fault strikes.
pub(super) enum Moment {
    Before(TableError),
    After(TableError),
    CrashBefore,
    CrashAfter,
}

impl Fault {
    pub(super) fn moment(&self) -> Moment {
        let lost = || TableError::Unavailable("scripted: no answer".into());
        match self {
            Self::Throttle => Moment::Before(TableError::Throttled("scripted: throttled".into())),
            Self::Lost | Self::Conflict | Self::InProgress | Self::Cancelled(_) => {
                Moment::Before(lost())
            }
            Self::LostAcknowledgement => Moment::After(lost()),
            Self::CrashBefore => Moment::CrashBefore,
            Self::CrashAfter => Moment::CrashAfter,
        }
    }

    /// The answer to a transaction of so many actions that only a transaction can get.
    pub(crate) fn refusal(&self, actions: usize) -> Option<TransactError> {
        match self {
            Self::Conflict => {
                let code = |place| {
                    if place == 0 {
                        ReasonCode::TransactionConflict
                    } else {
                        ReasonCode::None
                    }
                };
                Some(TransactError::Cancelled(
                    (0..actions).map(|place| Reason::of(code(place))).collect(),
                ))
            }
            Self::InProgress => Some(TransactError::InProgress),
            Self::Cancelled(reasons) => Some(TransactError::Cancelled(reasons.clone())),
            Self::Throttle
            | Self::Lost
            | Self::LostAcknowledgement
            | Self::CrashBefore
            | Self::CrashAfter => None,
        }
    }
}

/// The script.
#[derive(Debug, Default)]
pub(super) struct Faults {
    once: BTreeMap<(Call, usize), Fault>,
    standing: BTreeMap<Call, Fault>,
}

impl Faults {
    pub(super) fn script(&mut self, call: Call, number: usize, fault: Fault) {
        self.once.insert((call, number), fault);
    }

    pub(super) fn standing(&mut self, call: Call, fault: Option<Fault>) {
        match fault {
            Some(fault) => self.standing.insert(call, fault),
            None => self.standing.remove(&call),
        };
    }

    pub(super) fn take(&mut self, call: Call, number: usize) -> Option<Fault> {
        self.once
            .remove(&(call, number))
            .or_else(|| self.standing.get(&call).cloned())
    }
}
