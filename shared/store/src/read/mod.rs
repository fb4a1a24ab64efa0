//! Reading: one method per access pattern.

pub(crate) mod config;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod lists;
pub(crate) mod lookups;
pub(crate) mod rows;
pub(crate) mod stock;
