//! Is a sync honest on this storage? `iobound durability`.
//!
//! A writer puts [records](record) into slots, syncs each, and sends an [acknowledgement](ack) to where
//! a power cut does not reach: to another machine, or to another volume. After the cut the medium is
//! [read back](read_back) and held [against the promises](verdict).

pub mod ack;
pub mod ack_sink;
pub mod fuzz_bodies;
pub mod geometry;
pub mod options;
pub mod promises;
mod read_back;
pub mod record;
mod same_storage;
mod says;
pub mod serve;
mod tally;
mod target;
pub mod verdict;
#[cfg(test)]
mod verdict_tests;
pub mod verify;
pub mod write;

/// Prints results; a reader that went away is no error.
fn say(text: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}
