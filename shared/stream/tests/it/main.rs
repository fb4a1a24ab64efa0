//! The engine from outside: cases from public reports, each kind named, and properties against a naive model.

#[cfg(test)]
mod common;

#[cfg(test)]
mod decode;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod engine;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod guard;
#[cfg(test)]
mod model;
#[cfg(test)]
mod neighbours;
#[cfg(test)]
mod plan;
#[cfg(test)]
mod response;
#[cfg(test)]
mod sqs;
#[cfg(test)]
mod time_budget;
#[cfg(test)]
mod values;
#[cfg(test)]
mod whole;
