//! The small interface every engine implements, and the engines.
//!
//! A backend moves bytes and nothing else: the worker owns the accounting. `push` queues, `submit`
//! hands everything queued to the kernel and waits, `reap` returns what completed.

mod aio;
#[cfg(test)]
pub(crate) mod faulty;
mod null;
mod psync;
mod uring;

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

pub(crate) use aio::Aio;
pub(crate) use null::Null;
pub(crate) use psync::Psync;
pub(crate) use uring::Uring;

/// What to do with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Read,
    Write,
    Fsync,
    Fdatasync,
}

/// One operation, ready to be queued. `buffer` points at `len` bytes that stay in place, and are
/// touched by nobody else, until its completion was reaped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Io {
    pub(crate) slot: u32,
    pub(crate) op: Op,
    /// Index into the files the backend was made with.
    pub(crate) file: u32,
    pub(crate) offset: u64,
    pub(crate) len: u32,
    pub(crate) buffer: *mut u8,
}

/// One completed operation: bytes moved, or a negative errno.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion {
    pub(crate) slot: u32,
    pub(crate) result: i32,
}

/// An engine. Capacity for as many operations as buffers is given at construction.
pub(crate) trait Backend {
    /// Queues one operation. At most `depth` may be queued or in flight at a time.
    fn push(&mut self, io: &Io);

    /// Hands the queue to the kernel, then waits until at least `min_complete` operations can be
    /// reaped, or `timeout` passed. May return early.
    fn submit(&mut self, min_complete: u32, timeout: Option<Duration>) -> io::Result<()>;

    /// Appends everything that completed to `completions`.
    fn reap(&mut self, completions: &mut Vec<Completion>);
}

/// What a backend needs: open files, and the memory that all I/O goes through.
pub(crate) struct Resources<'a> {
    pub(crate) depth: u32,
    pub(crate) files: &'a [RawFd],
    pub(crate) buffers: &'a crate::buffers::Buffers,
}

/// What the kernel granted and refused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grants {
    pub(crate) granted: Vec<String>,
    pub(crate) refused: Vec<String>,
}

/// The result of a plain system call as a completion's result.
fn result_of(returned: isize) -> i32 {
    if returned >= 0 {
        return i32::try_from(returned).unwrap_or(i32::MAX);
    }
    -io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}
