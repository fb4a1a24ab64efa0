//! The whole pipeline: the real bootstraps, fed by the runner with the template's own mappings, told what to do by the command line.

mod costs;
mod ends;
mod interruptions;
mod outages;
mod script;
