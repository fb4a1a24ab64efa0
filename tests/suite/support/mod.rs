//! What the tests share. Nothing here knows what a test wants to see.

mod wait;

mod index;
mod place;

mod bus;
mod gate;
mod limited;
mod pipeline;
mod rest;
mod world;

pub(crate) use gate::Gate;
pub(crate) use index::{Index, budget, head};
pub(crate) use limited::limited;
pub(crate) use pipeline::{Pipeline, SetUp};
pub(crate) use place::{Place, built, stack, unique};
pub(crate) use wait::{SOON, until};
