//! `iobound durability` with the real binary: power cuts on a drive with a volatile cache, honest and
//! not; the two sides of a network; faults.

mod network;
mod power_cuts;
mod program;
mod refusals_and_faults;
