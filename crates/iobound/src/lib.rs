//! The library of the `iobound` program.
//!
//! One number's path: [`cli`] reads what is asked; [`suites`] turns it into jobs; [`session`] guards
//! the targets, runs the jobs through the engine and keeps the record; [`verdict`] judges the record;
//! [`report`] shows it.

pub mod cli;
pub mod contexts;
mod dd_engine;
pub mod durability;
pub mod exit;
mod fio_engine;
mod fresh;
mod load;
mod monitor;
mod object;
mod preflight;
pub mod prepare;
mod progress;
mod promised;
pub mod report;
mod sampling;
mod session;
mod settling;
mod stop;
mod store;
pub mod stream;
pub mod suites;
pub mod tools;
pub mod verdict;
