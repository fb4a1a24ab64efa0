//! What was put aside: parked records, on-failure documents, dead letters; and how it is taken up again.
//!
//! [`piece`] reads what lies there into pieces of work. [`plan`] says what would be done with a piece, [`hands`] does it, with the handlers of
//! the processors. [`job`] goes through many, a few at a time and at a rate, and keeps the account; [`objects`] does so for the bucket. Nothing here decides what is old news: the saga reads the
//! head, search reads the head, and the versions do the rest.

pub(crate) mod piece;

pub(crate) mod budget;
pub(crate) mod hands;
mod plan;

pub(crate) mod job;
pub(crate) mod pace;

pub(crate) mod objects;
pub(crate) mod store;
