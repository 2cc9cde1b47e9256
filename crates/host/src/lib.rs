//! What a machine is, below a path.
//!
//! - [`System::stack_of`]: the mount that holds a path, the block devices that hold the mount, and
//!   every device below those, down to the disks;
//! - [`TrafficMeter`]: what the kernel's own counters say those devices moved;
//! - [`Sampler`]: what those devices and the machine do, interval by interval;
//! - [`guard`]: whether a job may touch a target, and if not, why and what to do about it;
//! - [`backing`]: which bytes of a file are real data, and which are holes or unwritten;
//! - [`host_facts`], [`limits`]: the machine and what it lets this process do;
//! - [`probe`]: everything about the machine that bears on its storage;
//! - [`difference`]: what two probes of a machine have otherwise;
//! - [`watch`]: what else is going on, over a few seconds.
//!
//! The root of `/proc` and `/sys` can be replaced ([`System::captured`]), so that machines nobody
//! has at hand are tested from captured trees. Only [`prepare`] writes to a device or
//! changes a setting.

mod block;
mod cgroup;
mod cloud;
mod difference;
mod diskstats;
mod error;
mod extents;
mod facts;
#[doc(hidden)]
pub mod fuzz_bodies;
pub mod guard;
mod limits;
mod memory;
mod mounts;
pub mod numa;
pub mod prepare;
mod probe;
mod processor;
mod sample;
mod stack;
mod system;
mod target_facts;
mod traffic;
mod watch;

pub use block::{BlockDevice, DeviceKind, DeviceNumber};
pub use cloud::{MetadataEndpoint, provider};
pub use difference::difference;
pub use diskstats::{Counters, Kept, parse_diskstats};
pub use error::HostError;
pub use extents::{Backing, BackingMethod, backing};
pub use facts::host_facts;
pub use limits::{IoUring, Limits, limits};
pub use mounts::{Mount, parse_mountinfo};
pub use probe::{ProbeOptions, probe};
pub use sample::{ProcessIo, Sampler, TotalOver};
pub use stack::Stack;
pub use system::System;
pub use traffic::{OtherIo, TrafficError, TrafficMeter, other_io};
pub use watch::watch;

#[cfg(test)]
#[path = "../tests/trees/mod.rs"]
mod trees;
