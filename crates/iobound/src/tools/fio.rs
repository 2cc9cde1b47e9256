//! The real fio, driven as a program: [`find`] it, [`Fio::run`] it, [`parse`] what it says.
//!
//! fio's numbers come back as the same [`Measurement`](iobound_record::Measurement) that our own
//! engines give, so everything downstream (verdicts, reports, comparisons) is one path.

mod find;
mod parse;
mod run;
mod series;
#[cfg(test)]
mod stand_in;

pub use find::{FindError, Fio, Version, find};
pub use parse::{ParseError, parse};
pub use run::{FioReport, RunError, RunOptions};
