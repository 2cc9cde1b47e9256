//! Runs one [`Job`](iobound_record::Job) against its target and returns a
//! [`Measurement`](iobound_record::Measurement).
//!
//! [`Prepared::new`] makes, sizes, lays out and opens the job's files; [`Prepared::run`] measures.
//! A [`Control`] stops a job and tells how far it is. Whether a target may be touched at all is
//! decided before, by who calls.

mod backend;
mod buffers;
mod calibrate;
mod choose;
mod clock;
mod control;
mod cpu;
mod error;
mod files;
mod histogram;
mod layout;
mod offsets;
mod pace;
mod payload;
mod plan;
mod read_back;
mod run;
mod seal;
mod series;
pub mod stream;
mod tally;
mod verify;
mod worker;
#[cfg(test)]
mod worker_tests;
mod workload;

pub use calibrate::{calibrate, calibrate_quickly};
pub use choose::{Choice, choose};
pub use control::{Control, Phase, Published, Snapshot};
pub use error::EngineError;
pub use files::Ledger;
pub use histogram::Histogram;
pub use layout::lay_out_within;
pub use plan::paths_of;
pub use run::{Observer, Prepared, available_memory};
