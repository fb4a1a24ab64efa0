//! What a sink says of an input.

use sagaline_stream::{Failure, Verdict};

/// What a sink made of one input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// It holds it.
    Done,
    /// It held it, or something newer, already.
    Stale,
    /// It will never take it, for this reason.
    Refused(String),
    /// It did not take it, for this reason; later it may.
    NotNow(String),
    /// Not sent, because of the input at that place. Settled when that one is.
    Behind(usize),
}

/// The verdict over an input that was written alone.
impl From<Written> for Result<Verdict, Failure> {
    fn from(written: Written) -> Self {
        match written {
            Written::Done => Ok(Verdict::Done),
            Written::Stale => Ok(Verdict::Stale),
            Written::Refused(reason) => {
                Err(Failure::poison(format!("the sink refused it: {reason}")))
            }
            Written::NotNow(reason) => Err(Failure::retry(reason)),
            Written::Behind(_) => Err(Failure::retry("the sink gave no verdict")),
        }
    }
}
