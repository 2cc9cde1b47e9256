//! `pread`, `pwrite`, `fsync`: one operation at a time, on any host.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use super::{Backend, Completion, Io, Op, result_of};

pub(crate) struct Psync {
    files: Vec<RawFd>,
    queue: Vec<Io>,
    done: Vec<Completion>,
}

impl Psync {
    pub(crate) fn new(files: &[RawFd]) -> Self {
        Psync { files: files.to_vec(), queue: Vec::with_capacity(1), done: Vec::with_capacity(1) }
    }
}

/// Runs one operation to its end.
pub(super) fn run(fd: RawFd, io: &Io) -> i32 {
    let (buffer, len, offset) = (io.buffer, io.len as usize, io.offset as libc::off_t);
    // SAFETY: `Io` guarantees `len` bytes at `buffer` for the length of the operation; the file
    // descriptors stay open as long as the worker that owns this backend.
    let returned = unsafe {
        match io.op {
            Op::Read => libc::pread(fd, buffer.cast(), len, offset),
            Op::Write => libc::pwrite(fd, buffer.cast(), len, offset),
            Op::Fsync => libc::fsync(fd) as isize,
            Op::Fdatasync => libc::fdatasync(fd) as isize,
        }
    };
    result_of(returned)
}

impl Backend for Psync {
    fn push(&mut self, io: &Io) {
        self.queue.push(*io);
    }

    fn submit(&mut self, _min_complete: u32, timeout: Option<Duration>) -> io::Result<()> {
        if self.queue.is_empty() {
            if let Some(timeout) = timeout {
                std::thread::sleep(timeout);
            }
            return Ok(());
        }
        for io in self.queue.drain(..) {
            let result = run(self.files[io.file as usize], &io);
            self.done.push(Completion { slot: io.slot, result });
        }
        Ok(())
    }

    fn reap(&mut self, completions: &mut Vec<Completion>) {
        completions.append(&mut self.done);
    }
}
