//! The bounded pool between those who make data and those who write it.
//!
//! A buffer is at any moment in one of three places: free, full and waiting, or in a [`Chunk`], which is
//! the one right to touch it. Nothing is ever copied from one buffer to another, and whatever the size of
//! the stream, the pool is all the memory that it takes.

use std::collections::VecDeque;
use std::io;
use std::ops::Deref;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use crate::buffers::Buffers;
use crate::clock::Ticks;

/// Where one buffer's bytes belong.
#[derive(Clone, Copy, Debug)]
struct Full {
    slot: u32,
    position: u64,
    len: u32,
}

#[derive(Debug, Default)]
struct State {
    /// The one freed last is taken first: it is the likeliest to be in a cache.
    free: Vec<u32>,
    full: VecDeque<Full>,
    /// No more buffers will be filled.
    closed: bool,
    /// Nothing is to be waited for any more.
    abandoned: bool,
    waiting_for_free: u32,
    waiting_for_full: u32,
}

struct Shared {
    buffers: Buffers,
    state: Mutex<State>,
    freed: Condvar,
    filled: Condvar,
}

// SAFETY: the buffers' bytes are only reached through chunks, and a slot is in at most one chunk at a
// time: it leaves `free` or `full` under the lock when its chunk is made, and comes back when the chunk
// is queued or dropped.
unsafe impl Sync for Shared {}

/// A pool of equal, page-aligned buffers. Cloning it gives another handle to the same pool.
#[derive(Clone)]
pub struct Pool {
    shared: Arc<Shared>,
}

impl Pool {
    /// Maps `count` buffers of `len` bytes, and touches them: their memory is on the node of the calling
    /// thread.
    ///
    /// # Errors
    /// The kernel's, when memory is not to be had.
    pub fn new(count: u32, len: usize) -> io::Result<Pool> {
        let buffers = Buffers::new(count as usize, len)?;
        let state = State { free: (0..count).rev().collect(), ..State::default() };
        let shared =
            Shared { buffers, state: Mutex::new(state), freed: Condvar::new(), filled: Condvar::new() };
        Ok(Pool { shared: Arc::new(shared) })
    }

    /// Bytes of one buffer.
    pub fn buffer_bytes(&self) -> usize {
        self.shared.buffers.len()
    }

    /// Buffers in all.
    pub fn buffers(&self) -> u32 {
        self.shared.buffers.count() as u32
    }

    /// Buffers that are full and wait to be written.
    pub fn waiting(&self) -> usize {
        self.state().full.len()
    }

    pub(crate) fn memory(&self) -> &Buffers {
        &self.shared.buffers
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.lock()
    }

    fn chunk(&self, full: Full) -> Chunk {
        let Full { slot, position, len } = full;
        Chunk { shared: Arc::clone(&self.shared), slot, position, len, started: 0, queued: false }
    }

    /// A free buffer; None when there is none just now.
    pub fn try_take(&self) -> Option<Chunk> {
        let slot = self.state().free.pop()?;
        Some(self.chunk(Full { slot, position: 0, len: 0 }))
    }

    /// A free buffer, waiting for one; None once the pool was abandoned.
    pub fn take(&self) -> Option<Chunk> {
        let mut state = self.state();
        loop {
            if state.abandoned {
                return None;
            }
            if let Some(slot) = state.free.pop() {
                drop(state);
                return Some(self.chunk(Full { slot, position: 0, len: 0 }));
            }
            state.waiting_for_free += 1;
            state = self.shared.freed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
            state.waiting_for_free -= 1;
        }
    }

    /// Puts a filled buffer behind those that wait to be written.
    pub fn queue(&self, mut chunk: Chunk) {
        chunk.queued = true;
        let mut state = self.state();
        state.full.push_back(Full { slot: chunk.slot, position: chunk.position, len: chunk.len });
        if state.waiting_for_full > 0 {
            self.shared.filled.notify_one();
        }
    }

    /// The full buffer that waits longest; None when none waits just now.
    pub fn try_next(&self) -> Option<Chunk> {
        let full = self.state().full.pop_front()?;
        Some(self.chunk(full))
    }

    /// The full buffer that waits longest, waiting for one; None when none will come any more.
    pub fn next(&self) -> Option<Chunk> {
        let mut state = self.state();
        loop {
            if let Some(full) = state.full.pop_front() {
                drop(state);
                return Some(self.chunk(full));
            }
            if state.closed || state.abandoned {
                return None;
            }
            state.waiting_for_full += 1;
            state = self.shared.filled.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
            state.waiting_for_full -= 1;
        }
    }

    /// Whether no full buffer waits and none will come.
    pub fn is_drained(&self) -> bool {
        let state = self.state();
        state.full.is_empty() && (state.closed || state.abandoned)
    }

    /// Says that no more buffers will be filled.
    pub fn close(&self) {
        self.state().closed = true;
        self.shared.filled.notify_all();
    }

    /// Gives up: frees what waits to be written and lets everyone go who waits. Returns the lowest
    /// position that was given up, if any was.
    pub fn abandon(&self) -> Option<u64> {
        let mut state = self.state();
        state.abandoned = true;
        let given_up: Vec<Full> = state.full.drain(..).collect();
        state.free.extend(given_up.iter().map(|full| full.slot));
        self.shared.freed.notify_all();
        self.shared.filled.notify_all();
        given_up.iter().map(|full| full.position).min()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that holds the lock can panic half-way through a change.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// One buffer of the pool with the part of the stream that it holds. Dropping it frees the buffer.
pub struct Chunk {
    shared: Arc<Shared>,
    slot: u32,
    position: u64,
    len: u32,
    /// Stamped when it was given to a sink.
    pub(crate) started: Ticks,
    queued: bool,
}

impl Chunk {
    /// Where in the stream its first byte belongs.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Number of its buffer in the pool.
    pub fn slot(&self) -> u32 {
        self.slot
    }

    /// Gives it `len` bytes of the stream from `position` on, for `fill` to write.
    ///
    /// # Panics
    /// When `len` is more than a buffer.
    pub fn fill(&mut self, position: u64, len: usize, fill: impl FnOnce(&mut [u8])) {
        assert!(len <= self.shared.buffers.len());
        // SAFETY: the buffer lies in the pool's mapping, which this chunk keeps alive, has at least `len`
        // initialised bytes, and this chunk is the only one with its slot.
        fill(unsafe { std::slice::from_raw_parts_mut(self.pointer(), len) });
        (self.position, self.len) = (position, len as u32);
    }

    pub(crate) fn pointer(&self) -> *mut u8 {
        self.shared.buffers.pointer(self.slot)
    }
}

impl Deref for Chunk {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: as in `fill`.
        unsafe { std::slice::from_raw_parts(self.pointer(), self.len as usize) }
    }
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        if self.queued {
            return;
        }
        let mut state = self.shared.lock();
        state.free.push(self.slot);
        if state.waiting_for_free > 0 {
            self.shared.freed.notify_one();
        }
    }
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
