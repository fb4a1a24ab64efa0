//! Reading: one method per access pattern.

pub(crate) mod cursor;
pub(crate) mod merge;

pub(crate) mod list;
pub(crate) mod rows;

pub(crate) mod lists;

pub(crate) mod batch;
pub(crate) mod config;
pub(crate) mod history;
pub(crate) mod lookups;
pub(crate) mod stock;
