//! `iobound prepare` without a real machine: plans, scripts and refusals, and applying and undoing on a
//! simulated host that may be cut off at any moment.

mod cli;
mod contexts;
mod host;
mod plans;
mod properties;
mod refusals;
mod scripts;
mod tools;
