//! Is a sync honest on this storage? `iobound durability`.
//!
//! A writer puts [records](record) into slots, syncs each, and sends an [acknowledgement](ack) to where
//! a power cut does not reach: to another machine, or to another volume. After the cut the medium is
//! [read back](read_back) and held [against the promises](verdict).

pub mod ack;
pub mod geometry;
pub mod options;
pub mod promises;
pub mod record;
pub mod verdict;
#[cfg(test)]
mod verdict_tests;
