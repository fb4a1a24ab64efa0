//! What can be called, and how a call can go.

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Call {
    Get,
    Transact,
    Query,
    Charge,
    Refund,
    Find,
    Publish,
}

/// How a call goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Fate {
    /// As asked.
    Fair,
    /// Throttled: nothing is done, and the caller is told so.
    Throttled,
    /// Nothing is done, no answer.
    NotSent,
    /// It is done, no answer.
    Unheard,
    /// No answer, and it is done later.
    Wanders,
    /// A transaction meets another one: nothing is done.
    Conflict,
    /// The same transaction still runs: nothing is done.
    StillRuns,
    /// An index that is behind: part of what it should list is missing.
    Behind,
}

impl Call {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Transact => "transact",
            Self::Query => "query",
            Self::Charge => "charge",
            Self::Refund => "refund",
            Self::Find => "find",
            Self::Publish => "publish",
        }
    }

    /// How such a call can go wrong.
    pub(super) fn faults(self) -> &'static [Fate] {
        match self {
            Self::Get => &[Fate::Throttled, Fate::NotSent],
            Self::Transact => &[
                Fate::Throttled,
                Fate::NotSent,
                Fate::Unheard,
                Fate::Conflict,
                Fate::StillRuns,
            ],
            Self::Query => &[Fate::Throttled, Fate::Behind],
            Self::Charge | Self::Refund => &[Fate::NotSent, Fate::Unheard, Fate::Wanders],
            Self::Find => &[Fate::NotSent],
            Self::Publish => &[Fate::Throttled, Fate::NotSent, Fate::Unheard],
        }
    }

    /// True if it has an effect that its caller may not live to hear of.
    pub(super) fn has_effect(self) -> bool {
        matches!(
            self,
            Self::Transact | Self::Charge | Self::Refund | Self::Publish
        )
    }
}

impl Fate {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Fair => "",
            Self::Throttled => "throttled",
            Self::NotSent => "not sent",
            Self::Unheard => "unheard",
            Self::Wanders => "wanders",
            Self::Conflict => "conflict",
            Self::StillRuns => "still runs",
            Self::Behind => "behind",
        }
    }
}
