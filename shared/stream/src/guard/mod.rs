//! Effect and marker in one transaction: what makes an effect happen once, whoever asks for it and however often, for any table.
//!
//! A *marker* is a row whose key is a request id. It is written on condition that it is new, in the same `TransactWriteItems` as the effect
//! itself. So there is no moment at which one is there without the other, no lock that a crash could leave behind, and no time after which
//! it must be broken: whoever does not know the outcome sends the same again. Either it is written now, or the marker is there already.
//!
//! A marker that is there is not yet a repeat. It says what its id was used for, and over which payload ([`PayloadHash`]); only if both
//! agree was it the same request ([`Marker::against`]). An id that comes again with another payload is an error of the caller's, and the
//! answer of somebody else's request is not his to see.
//!
//! A cancelled transaction names one reason an action, **by place**, with nothing else to tell them by. [`read`] is the one reading of them:
//!
//! | first of these that holds | meaning |
//! |---|---|
//! | too few reasons, or none | [`Cancelled::Unknown`]: send the same again, as after throttling |
//! | any validation error, or an item too large | [`Cancelled::Poison`]: it can never be written |
//! | the marker is taken | [`Cancelled::MarkerTaken`]: compare it |
//! | a condition on what the decision was made on | [`Cancelled::Moved`]: read again, decide again |
//! | any throttling | [`Cancelled::Throttled`]: send the same again, later |
//! | any reason that is not known | [`Cancelled::Unknown`] |
//! | any conflict with another request | [`Cancelled::Conflict`]: a little later, decide again |
//! | another condition | [`Cancelled::Failed`]: the world answers, as in "too little stock" |
//!
//! # Example
//!
//! Loyalty points, which have nothing to do with orders. A grant is two actions: the marker, and the account of the customer.
//!
//! ```
//! use sagaline_stream::guard::{Cancelled, Marker, PayloadHash, Reason, ReasonCode, Role, Seen, read};
//! use sagaline_stream::{EpochMillis, EpochSeconds};
//! use serde_json::json;
//! use std::collections::HashMap;
//! use std::time::Duration;
//!
//! /// The id of a grant, and for whom it is.
//! type Grant = Marker<&'static str, &'static str>;
//!
//! /// What each action of the transaction is for, in its order.
//! const ROLES: [Role; 2] = [Role::Marker, Role::Effect];
//!
//! /// Stands for the table: all of a transaction or nothing, and the old item where a condition fails.
//! #[derive(Default)]
//! struct Table {
//!     markers: HashMap<&'static str, (Grant, EpochSeconds)>,
//!     points: HashMap<&'static str, i64>,
//! }
//!
//! impl Table {
//!     fn transact(&mut self, marker: &Grant, expires: EpochSeconds, points: i64) -> Result<(), Vec<Reason<Grant>>> {
//!         if let Some((taken, _)) = self.markers.get(marker.request_id) {
//!             let taken = Reason { code: ReasonCode::ConditionalCheckFailed, item: Some(taken.clone()) };
//!             return Err(vec![taken, Reason::of(ReasonCode::None)]);
//!         }
//!         self.markers.insert(marker.request_id, (marker.clone(), expires));
//!         *self.points.entry(marker.what).or_default() += points;
//!         Ok(())
//!     }
//! }
//!
//! /// Grants points once a request, however often it is asked.
//! fn grant(table: &mut Table, request_id: &'static str, customer: &'static str, points: i64) -> &'static str {
//!     let payload_hash = PayloadHash::of(&json!({"customer": customer, "points": points}));
//!     let marker = Marker { request_id, what: customer, payload_hash };
//!     let now = EpochMillis::new(1_764_500_000_000);
//!     let Some(expires) = now.expiry_after(Duration::from_secs(30 * 86_400)) else { return "no such time" };
//!     let Err(reasons) = table.transact(&marker, expires, points) else { return "granted" };
//!     match read(&reasons, &ROLES) {
//!         Cancelled::MarkerTaken { item: Some(stored) } => match marker.against(stored) {
//!             Seen::Repeat => "granted before",
//!             Seen::Reused => "the id was used for something else",
//!         },
//!         // The table may not send the old item along: read it.
//!         Cancelled::MarkerTaken { item: None } => "read the marker",
//!         Cancelled::Unknown { .. } | Cancelled::Throttled { .. } => "send the same again",
//!         Cancelled::Moved { .. } | Cancelled::Conflict { .. } => "read and decide again",
//!         Cancelled::Poison { .. } | Cancelled::Failed { .. } => "refused",
//!     }
//! }
//!
//! let mut table = Table::default();
//! assert_eq!(grant(&mut table, "r-1", "ann", 100), "granted");
//! assert_eq!(grant(&mut table, "r-1", "ann", 100), "granted before");
//! assert_eq!(grant(&mut table, "r-1", "ann", 500), "the id was used for something else");
//! assert_eq!(grant(&mut table, "r-1", "bob", 100), "the id was used for something else");
//! assert_eq!(table.points["ann"], 100);
//! assert_eq!(table.markers["r-1"].1.as_seconds(), 1_767_092_000, "the time to live is in seconds (F-TTL-1)");
//! ```
//!
//! What this module refuses to know: how a row is laid out, how a transaction is sent, and how long to wait before it is sent again.

mod cancelled;
mod payload;

pub use cancelled::{Cancelled, Reason, ReasonCode, Role, read};
pub use payload::PayloadHash;

/// What makes an effect happen once: the id of a request, what it stands for, and a hash over its payload.
///
/// `R` is the table's own type of request ids, `W` all that must agree besides the payload for two requests to be the same: whose they are,
/// and what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker<R, W> {
    /// The id, under which the marker lies.
    pub request_id: R,
    /// Whose request, and for what.
    pub what: W,
    /// Over what was asked for: the caller's own words, never minted values or times, which differ at every attempt.
    pub payload_hash: PayloadHash,
}

/// What a marker that is there already says of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Seen {
    /// The same request: it is applied, perhaps by our own lost acknowledgement.
    Repeat,
    /// Another request under the same id.
    Reused,
}

impl<R: PartialEq, W: PartialEq> Marker<R, W> {
    /// Compares a request with the marker that stands where its own should be.
    #[must_use]
    pub fn against(&self, stored: &Self) -> Seen {
        if self == stored {
            Seen::Repeat
        } else {
            Seen::Reused
        }
    }
}
