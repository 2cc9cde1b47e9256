//! A device in memory that misbehaves on request: what the loop and the verification are tested on.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{Backend, Completion, Io, Op};

/// What goes wrong with the nth write or read of the device (counted from 0, per direction).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The operation fails with this errno.
    Error(Op, u64, i32),
    /// Every operation from this one on fails.
    ErrorsFrom(Op, u64, i32),
    /// The write is acknowledged and never arrives.
    Lost(u64),
    /// Only the first half of the write arrives.
    Torn(u64),
    /// The write lands this many bytes further on.
    Misplaced(u64, u64),
    /// Half of what was asked is moved, and said so.
    Short(Op, u64),
}

/// The medium, shared by all that open the device.
pub(crate) type Medium = Arc<Mutex<Vec<u8>>>;

pub(crate) struct Faulty {
    medium: Medium,
    faults: Vec<Fault>,
    reads: u64,
    writes: u64,
    done: Vec<Completion>,
    /// Completions come back in reverse, as a device with parallel units may.
    pub(crate) reversed: bool,
}

impl Faulty {
    pub(crate) fn new(medium: &Medium, faults: &[Fault]) -> Self {
        Faulty {
            medium: Arc::clone(medium),
            faults: faults.to_vec(),
            reads: 0,
            writes: 0,
            done: Vec::new(),
            reversed: false,
        }
    }

    fn run(&mut self, io: &Io) -> i32 {
        let (number, len) = match io.op {
            Op::Read => (self.reads, io.len as usize),
            Op::Write => (self.writes, io.len as usize),
            Op::Fsync | Op::Fdatasync => return 0,
        };
        match io.op {
            Op::Read => self.reads += 1,
            _ => self.writes += 1,
        }
        let mut medium = self.medium.lock().unwrap();
        let at = io.offset as usize;
        let (mut to, mut moved, mut told) = (at, len, len as i32);
        for fault in &self.faults {
            match *fault {
                Fault::Error(op, n, errno) if op == io.op && n == number => return -errno,
                Fault::ErrorsFrom(op, n, errno) if op == io.op && number >= n => return -errno,
                Fault::Lost(n) if io.op == Op::Write && n == number => moved = 0,
                Fault::Torn(n) if io.op == Op::Write && n == number => moved = len / 2,
                Fault::Misplaced(n, by) if io.op == Op::Write && n == number => to = at + by as usize,
                Fault::Short(op, n) if op == io.op && n == number => {
                    moved = len / 2;
                    told = moved as i32;
                }
                _ => {}
            }
        }
        if io.op == Op::Read {
            // SAFETY: `Io` guarantees `len` bytes at `buffer`, untouched by others until reaped.
            let buffer = unsafe { std::slice::from_raw_parts_mut(io.buffer, moved) };
            buffer.copy_from_slice(&medium[at..at + moved]);
        } else {
            // SAFETY: as above.
            let buffer = unsafe { std::slice::from_raw_parts(io.buffer, moved) };
            medium[to..to + moved].copy_from_slice(buffer);
        }
        told
    }
}

impl Backend for Faulty {
    fn push(&mut self, io: &Io) {
        let result = self.run(io);
        self.done.push(Completion { slot: io.slot, result });
    }

    fn submit(&mut self, _min_complete: u32, timeout: Option<Duration>) -> io::Result<()> {
        if self.done.is_empty()
            && let Some(timeout) = timeout
        {
            std::thread::sleep(timeout);
        }
        Ok(())
    }

    fn reap(&mut self, completions: &mut Vec<Completion>) {
        if self.reversed {
            self.done.reverse();
        }
        completions.append(&mut self.done);
    }
}
