//! The real dd, driven as a program: [`find`] it, see whether it [`cannot`] do a job, [`Dd::run`] it, [`parse`]
//! what it says.

mod find;
pub mod fuzz_bodies;
mod job;
mod parse;
mod run;

pub use find::{Dd, FindError, find};
pub use job::{cannot, command};
pub use parse::{Copied, ParseError, parse};
pub use run::{DdReport, RunError};
