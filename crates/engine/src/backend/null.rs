//! No device: every operation completes at once. What the loop itself costs.

use std::io;
use std::time::Duration;

use super::{Backend, Completion, Io, Op};

#[derive(Default)]
pub(crate) struct Null {
    done: Vec<Completion>,
}

impl Null {
    pub(crate) fn new(depth: u32) -> Self {
        Null { done: Vec::with_capacity(depth as usize) }
    }
}

impl Backend for Null {
    #[inline(always)]
    fn push(&mut self, io: &Io) {
        let result = if matches!(io.op, Op::Read | Op::Write) { io.len as i32 } else { 0 };
        self.done.push(Completion { slot: io.slot, result });
    }

    #[inline(always)]
    fn submit(&mut self, _min_complete: u32, timeout: Option<Duration>) -> io::Result<()> {
        if self.done.is_empty()
            && let Some(timeout) = timeout
        {
            std::thread::sleep(timeout);
        }
        Ok(())
    }

    #[inline(always)]
    fn reap(&mut self, completions: &mut Vec<Completion>) {
        completions.append(&mut self.done);
    }
}
