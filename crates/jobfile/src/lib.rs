//! Job files in, jobs out; jobs in, fio command lines and job files out.
//!
//! - [`read_file`] reads a file: fio's job-file format, or the TOML form by extension or content.
//! - [`parse_fio`] and [`parse_toml`] read text that is already in memory.
//! - [`print_fio`] and [`to_job_file`] write a [`Job`](iobound_record::Job) in fio's words.
//! - [`option_table`] is the one table behind all of them, and behind the documentation.
//!
//! A fio job file means here what it means to fio 3.33: it starts from
//! [`Job::fio_default`](iobound_record::Job::fio_default) (buffered, psync, nothing laid out), its
//! sizes are read fio's way, and an option that cannot be honoured is an error rather than a
//! different measurement. The TOML form starts from iobound's own defaults.
//!
//! Every error of a file is collected ([`Errors`]) and each names file, line, option and value.
//!
//! The crate touches files only to read the job file and what it includes, through
//! [`Options::read`], and the environment only through [`Options::env`].

mod draft;
mod errors;
mod expand;
mod fio;
mod input;
mod limits;
mod lines;
mod number;
mod options;
mod print;
mod toml_form;

#[doc(hidden)]
pub mod fuzz_bodies;

pub use errors::{Cause, Error, Errors, Place};
pub use fio::parse_fio;
pub use input::{JobFile, Kept, Machine, Options, Strictness, read_file};
pub use limits::{FILE_BYTES_MAX, INCLUDE_DEPTH_MAX, JOBS_MAX, LINE_BYTES_MAX};
pub use options::{OptionInfo, Origin, Support, option_names, option_table};
pub use print::{Note, Printed, print_fio, print_fio_lines, to_job_file};
pub use toml_form::parse_toml;
