//! The real binary in the hands of a user: bad input, closed doors, faults, interrupts.
//!
//! Tests whose numbers must be right are in `measured`: cargo runs one test binary after another, so
//! these do not disturb them.

#[path = "../support/mod.rs"]
mod support;

mod bad_input;
mod database_suite;
mod host_checks;
mod interrupts;
mod mid_run_faults;
mod object_stream;
mod object_workload;
mod protection;
mod reports;
mod restricted_hosts;
mod s3_server;
mod sampling;
mod stream;
mod suites;
mod targets;
