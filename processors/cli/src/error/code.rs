//! The codes: each has a name, an exit code, advice, and a page in `docs/errors/`.

/// Every error has one of these. The pages are `docs/errors/<name>.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// The command line cannot be understood.
    Usage,
    /// An input breaks a rule.
    BadInput,
    /// A file cannot be read.
    UnreadableFile,
    /// A file of orders has invalid lines.
    InvalidLines,
    /// A variable or option is missing or malformed.
    BadConfiguration,
    /// No AWS credentials, or none that are accepted.
    Credentials,
    /// Nobody answers at the AWS endpoint.
    Unreachable,
    /// The table is not there.
    NoTable,
    /// A permission is missing.
    Refused,
    /// Search is not configured, not reachable or not initialised.
    Search,
    /// The functions of `local run` cannot be run as configured.
    Mappings,
    /// The archive is not where it is looked for, or Athena refuses a query.
    Archive,
    /// There is no such order.
    NoOrder,
    /// Nothing of that name was put aside.
    NothingAside,
    /// The table has no such item.
    NoItem,
    /// Too little stock.
    StockShort,
    /// The order id is or was in use.
    OrderIdUsed,
    /// The request id was used for something else.
    RequestIdReused,
    /// Not allowed where the order stands.
    NotAllowed,
    /// `--expect` is not met.
    NotExpected,
    /// Orders of a file were refused.
    OrdersRefused,
    /// What was put aside is still there.
    StillAside,
    /// A check found something.
    CheckFailed,
    /// What is stored is not as it must be.
    BadData,
    /// No answer after all retries.
    Unavailable,
}

impl Code {
    /// All of them.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 25] = [
        Self::Usage,
        Self::BadInput,
        Self::UnreadableFile,
        Self::InvalidLines,
        Self::BadConfiguration,
        Self::Credentials,
        Self::Unreachable,
        Self::NoTable,
        Self::Refused,
        Self::Search,
        Self::Mappings,
        Self::Archive,
        Self::NoOrder,
        Self::NothingAside,
        Self::NoItem,
        Self::StockShort,
        Self::OrderIdUsed,
        Self::RequestIdReused,
        Self::NotAllowed,
        Self::NotExpected,
        Self::OrdersRefused,
        Self::StillAside,
        Self::CheckFailed,
        Self::BadData,
        Self::Unavailable,
    ];

    /// `SLnnnn`. A name is never given a second meaning.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Usage => "SL0001",
            Self::BadInput => "SL0002",
            Self::UnreadableFile => "SL0003",
            Self::InvalidLines => "SL0004",
            Self::BadConfiguration => "SL1001",
            Self::Credentials => "SL1002",
            Self::Unreachable => "SL1003",
            Self::NoTable => "SL1004",
            Self::Refused => "SL1005",
            Self::Search => "SL1006",
            Self::Mappings => "SL1007",
            Self::Archive => "SL1008",
            Self::NoOrder => "SL2001",
            Self::NothingAside => "SL2002",
            Self::NoItem => "SL2003",
            Self::StockShort => "SL3001",
            Self::OrderIdUsed => "SL3002",
            Self::RequestIdReused => "SL3003",
            Self::NotAllowed => "SL3004",
            Self::NotExpected => "SL3005",
            Self::OrdersRefused => "SL3006",
            Self::StillAside => "SL3007",
            Self::CheckFailed => "SL4001",
            Self::BadData => "SL4002",
            Self::Unavailable => "SL5001",
        }
    }

    /// The exit code.
    pub(crate) const fn exit(self) -> u8 {
        match self {
            Self::CheckFailed | Self::BadData => 1,
            Self::Usage
            | Self::BadInput
            | Self::UnreadableFile
            | Self::InvalidLines
            | Self::BadConfiguration
            | Self::Credentials
            | Self::Unreachable
            | Self::NoTable
            | Self::Refused
            | Self::Search
            | Self::Mappings
            | Self::Archive => 2,
            Self::NoOrder | Self::NothingAside | Self::NoItem => 3,
            Self::StockShort
            | Self::OrderIdUsed
            | Self::RequestIdReused
            | Self::NotAllowed
            | Self::NotExpected
            | Self::OrdersRefused
            | Self::StillAside => 4,
            Self::Unavailable => 5,
        }
    }

    /// What to do, unless the place of the error knows better.
    pub(crate) const fn advice(self) -> &'static str {
        match self {
            Self::Usage => "see `sagaline --help`",
            Self::BadInput => "correct it, nothing was stored",
            Self::UnreadableFile => "check the path",
            Self::InvalidLines => {
                "correct them, or pass --skip-invalid to place the others; nothing was placed"
            }
            Self::BadConfiguration => "set it and run the command again",
            Self::Credentials => {
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, and AWS_REGION"
            }
            Self::Unreachable => "check --endpoint-url, AWS_ENDPOINT_URL and AWS_REGION",
            Self::NoTable => "check --table, ORDERS_TABLE and AWS_REGION",
            Self::Refused => "ask for the permission that the message names",
            Self::Search => {
                "check OPENSEARCH_ENDPOINT or OPENSEARCH_DOMAIN, or run `sagaline search init`"
            }
            Self::Mappings => "correct the key or file that the message names",
            Self::Archive => {
                "read what Athena says, and check the query, ARCHIVE_DATABASE and ARCHIVE_WORKGROUP"
            }
            Self::NoOrder => {
                "check the id, or find it with `sagaline ls --user` or `sagaline search`"
            }
            Self::NothingAside => {
                "list what there is with `sagaline parked ls` or `sagaline dlq ls`"
            }
            Self::NoItem => "read the lines below",
            Self::StockShort => "add stock with `sagaline stock add`, or order less",
            Self::OrderIdUsed => "choose another --order-id",
            Self::RequestIdReused => {
                "choose another --request-id, or repeat the first request unchanged"
            }
            Self::NotAllowed => "see where it stands with `sagaline show`",
            Self::NotExpected => "look at what is there and decide again",
            Self::OrdersRefused => {
                "read the lines above; the others are placed, and importing again places nothing twice"
            }
            Self::StillAside => {
                "read the lines above, then correct what refuses them, or drop them with `sagaline parked drop`"
            }
            Self::CheckFailed => "read the lines above",
            Self::BadData => "look at the item in the table; nothing was changed",
            Self::Unavailable => "wait and run the same command again",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_code_has_its_own_name_and_a_page_that_begins_with_it() {
        let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
        let mut names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
        for name in &names {
            let page =
                std::fs::read_to_string(pages.join(format!("{name}.md"))).unwrap_or_default();
            assert!(
                page.starts_with(&format!("# {name}: ")),
                "{name} has no page"
            );
            for section in ["## Meaning", "## Likely cause", "## What to run"] {
                assert!(page.contains(section), "{name} lacks {section}");
            }
        }
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
    }
}
