//! How a run writes.

use std::fmt;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// How a write is made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Sync {
    /// fdatasync after each write
    Fdatasync,
    /// fsync after each write
    Fsync,
    /// Opened with O_DSYNC: on a device, a write with FUA where the device has that
    Odsync,
    /// Opened with O_SYNC
    Osync,
    /// Not at all: the control, which shows that this power cut destroys what is not synced
    None,
}

/// What is done to a file before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Preallocate {
    /// Written in full and synced: the run changes no metadata
    Write,
    /// Space reserved (fallocate): the first write of each block changes metadata
    Reserve,
    /// Nothing: the file grows, and its size must be durable too
    None,
}

impl fmt::Display for Sync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Sync::Fdatasync => "fdatasync",
            Sync::Fsync => "fsync",
            Sync::Odsync => "O_DSYNC",
            Sync::Osync => "O_SYNC",
            Sync::None => "no sync",
        })
    }
}
