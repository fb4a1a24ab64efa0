//! The parts of a `_bulk` call, each pure: which versions are sent ([`plan`]), as what bytes ([`request`]), what the answer means
//! ([`answer`]), and when not even to ask ([`breaker`]). The sink puts them together.

pub(crate) mod plan;
pub(crate) mod request;

pub(crate) mod answer;
pub(crate) mod breaker;
