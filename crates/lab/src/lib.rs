//! Virtual storage with known limits and known faults.
//!
//! | fixture | what it is | what it holds to its limits |
//! |---|---|---|
//! | [`ThrottledVolume`] | loop devices on a file, limited by the block I/O cgroup | direct I/O of the processes started with [`ThrottledVolume::command`] |
//! | the same, [`with_write_back`](ThrottledBuilder::with_write_back) | the limit applies to the kernel's threads too | every read and write: buffered, written back later, journal and metadata |
//! | [`FailingVolume`] | loop devices whose backing goes away on demand | reads or writes fail with EIO |
//! | [`SmallDisk`] | a small mounted file system | may be filled, or turned read-only |
//! | [`VolatileDrive`](write_log::VolatileDrive) | a drive over FUSE whose writes and flushes are logged | its power may be cut: see [`write_log`] |
//!
//! All need root. Where the host lacks something, building returns [`LabError::Skip`] with the
//! reason; [`require`] prints it, and panics instead when `CI=true`, so that CI cannot skip.
//!
//! # Nothing is left behind
//! Every fixture undoes itself by one path, whether it is dropped or its process is killed with
//! SIGKILL: a small shell (the [guardian](guardian::Guardian)) sits at the other end of a pipe,
//! collects the undo commands, and runs them in reverse when the pipe closes. Loop devices are
//! also marked autoclear and their files unlinked as soon as they are attached, so the kernel
//! drops them by itself when the guardian dies too. What could still remain (a cgroup, a mount)
//! is named `iobound-<pid>-<n>`, and [`reap`] removes those of dead processes; each fixture calls
//! it first, and `make test` calls it last.
//!
//! # How true the cgroup throttle is
//! Seen with fio 3.33 on Linux 6.18, cgroup v1, 4 to 5 s runs, volume of 1 GiB:
//!
//! | limit | job | result |
//! |---|---|---|
//! | 3,000 IOPS | random read or write, 4 KiB, depth 32 | 3,002 to 3,007 (+0.05 to +0.23%) |
//! | 3,000 IOPS | random read 4 KiB, depth 1 | 2,999 |
//! | 3,000 IOPS | random read 4 KiB, 4 jobs of depth 64 | 3,029 to 3,059 |
//! | 125 MiB/s | sequential read 128 KiB, depth 8 | 124.98 MiB/s |
//! | 125 MiB/s | sequential read 1 MiB, depth 8 | 126.4 MiB/s |
//! | both | 1 MiB depth 8; 4 KiB depth 32 | 126.2 MiB/s; 3,004 IOPS |
//!
//! - **No burst, but the queue itself.** fio counts the operations that are still in flight at the
//!   end, in less time than they take. The surplus is about depth / (rate x seconds): 1.3% for
//!   8 x 1 MiB in 5 s, with or without a ramp. For 1% keep depth below 1% of the operations.
//! - **Reads and writes have a budget each**, so a 70/30 mix bound by its reads runs at
//!   limit / 0.7 in total. A gp3 volume has one budget for both.
//! - **A split request is charged again.** io_uring submits without waiting; a request that must
//!   be split (a loop device takes 128 segments, 512 KiB of single pages) or that finds no free tag
//!   (128) is refused and submitted a second time, and the throttle charges it twice: 1 MiB reads
//!   at 125 MiB/s come out at 62.5, four jobs of depth 64 at 3,000 IOPS come out at 2,033. libaio
//!   and psync are not hit. So the volume is **two** loop devices: the limit sits on the lower one,
//!   and the upper one splits and queues before it, so that each request passes the throttle
//!   once. The cgroup of a request goes along.
//! - **An IOPS limit counts requests after that split**: 1 MiB is two of up to 512 KiB of single
//!   pages, fewer where the memory is contiguous (huge pages). EBS counts 256 KiB units.
//! - Sequential small requests are not merged before the throttle: 4 KiB at 3,000 IOPS is 3,006.
//! - A flush is not charged; it costs what the file's own disk takes.
//! - **Write-back is not throttled** with cgroup v1 unless asked for, since the kernel's flusher does
//!   it in the root group; nor are a file system's journal and metadata. Direct I/O is.
//!   `with_write_back` puts the limit on the root group: 100 MiB through the page cache and fsync at
//!   20 MiB/s took 5.5 s, and reading them back 4.9 s.
//! - mkfs discards, and a discarded block of a loop device is a hole that reads at memory speed:
//!   file systems are made without discard here, and the file is written in full first.

//!
//! # Volumes that stay, and machines
//! [`volume`] makes block devices with known limits that outlive their maker (`iobound lab up`);
//! [`vm`] boots a virtual machine with many of them.
//!
//! # Why not `qemu-storage-daemon`
//! A throttle group exported over FUSE, with a loop device on it, would hold reads and writes to one
//! budget. QEMU 7.2 (Debian 12) corrupts the data as soon as writes overlap, as they do with a loop
//! device in direct mode: of 64 MiB written with 1 MiB direct writes, 380 to 7,414 blocks of
//! 4 KiB came back wrong in five of six tries. We think that it takes the next request into the
//! buffer of a write that still waits, and have not proved it. With buffered loop
//! I/O only one write is under way, and the data is right, but reads come from the page cache,
//! unthrottled. So [`volume`] serves FUSE itself. Drives that a virtual machine's QEMU throttles have
//! neither fault.

mod cgroup;
mod failing;
pub mod guardian;
mod loopdev;
mod mount;
mod reap;
mod small;
mod throttled;
mod tool;
pub mod vm;
pub mod volume;
pub mod write_log;

pub use failing::FailingVolume;
pub use reap::{Leftover, leftovers, reap};
pub use small::SmallDisk;
pub use throttled::{Builder as ThrottledBuilder, SlowDir, ThrottledVolume};
pub use tool::is_root;

/// Why there is no fixture.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The host lacks something: a test skips.
    #[error("skipped: {0}")]
    Skip(String),
    /// The host has what it takes, and it went wrong: a test fails.
    #[error("{0}")]
    Failed(String),
    /// What was asked for cannot be.
    #[error("{0}")]
    Usage(String),
    /// It took longer than it may.
    #[error("{0}")]
    TimedOut(String),
    /// The virtual machine is off, or went down meanwhile.
    #[error("{0}")]
    Down(String),
}

/// The fixture, or None when the host lacks something: then the reason is printed, and the caller
/// returns.
///
/// # Panics
/// When building failed; and, with `CI=true` in the environment, also when it would be skipped.
pub fn require<T>(fixture: Result<T, LabError>) -> Option<T> {
    match fixture {
        Ok(fixture) => Some(fixture),
        Err(LabError::Skip(reason)) => {
            skip(&reason);
            None
        }
        Err(error) => panic!("the fixture could not be made: {error}"),
    }
}

/// Sees a device of a known rate at it, within `percent`, in one of three tries.
///
/// A stall of the machine's own disk moves a throttled device off its rate in both directions: what was
/// lost is lost, and a throttle whose queue ran empty begins a new slice with the credit of a whole one
/// (0.1 s, 1% of ten seconds). Neither comes three times in a row; a tool that counts wrongly does.
///
/// # Panics
/// When none of the tries is within it.
pub fn assert_known_rate(what: &str, expected: f64, percent: f64, mut measure: impl FnMut() -> f64) {
    const TRIES: u32 = 3;
    let mut seen = Vec::new();
    for attempt in 1..=TRIES {
        let rate = measure();
        let off = (rate / expected - 1.0) * 100.0;
        println!("{what}: {rate:.1}, expected {expected:.1} ({off:+.2}%), try {attempt}");
        if off.abs() <= percent {
            return;
        }
        seen.push(format!("{off:+.2}%"));
    }
    panic!("{what}: not within {percent}% of {expected:.1} in {TRIES} tries: {}", seen.join(", "));
}

/// Says that the running test is skipped and why.
///
/// # Panics
/// With `CI=true` in the environment: CI runs every test or fails.
pub fn skip(reason: &str) {
    let test = std::thread::current().name().unwrap_or("test").to_owned();
    assert!(!in_ci(), "{test} would be skipped, and CI may not skip: {reason}");
    eprintln!("SKIPPED {test}: {reason}");
}

/// Whether the environment says that this is CI.
pub fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// A name of this process's own: `iobound-<pid>-<n>`.
fn unique_name() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("iobound-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}
