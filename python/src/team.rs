//! Threads that are kept to fill buffers together.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use iobound_fill::{Filler, STREAMING_BYTES};
use rustix::thread::CpuSet;

use crate::buffer::{Memory, Pieces};

/// What one thread fills at a time, unless told otherwise: within a core's L2, and long enough beside the
/// taking of it.
pub const PIECE: usize = 256 << 10;
/// Waking a thread takes tens of microseconds, in which one thread alone fills half of this.
const WORTH_WAKING: usize = 1 << 20;
/// Every generator makes this one of its filler's streams, as `iobound stream` does.
const STREAM: u64 = 0;

/// The fill's cells: a piece that begins within one makes it twice.
const CELL: u64 = 4096;

/// One filling of one buffer.
pub struct Work {
    filler: Filler,
    /// Of the buffer's first byte.
    position: u64,
    pieces: Pieces,
}

impl Work {
    /// Bytes `position..position + len` into the beginning of `memory`, `piece` bytes at a time.
    pub fn new(filler: Filler, position: u64, memory: Memory, len: usize, piece: usize) -> Work {
        Work { filler, position, pieces: memory.cut(len, piece, (position % CELL) as usize) }
    }

    /// Fills pieces until none is left.
    fn fill(&self) {
        // The whole buffer decides, as it does when the fill has it in one piece.
        let past_the_cache = self.pieces.len() >= STREAMING_BYTES;
        self.pieces.take_all(|at, bytes| {
            let position = self.position.wrapping_add(at as u64);
            if past_the_cache {
                self.filler.fill_streaming(STREAM, position, bytes);
            } else {
                self.filler.fill(STREAM, position, bytes);
            }
        });
    }
}

/// Who fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crew {
    /// Threads, the caller's included.
    pub threads: usize,
    /// The processors they stay on. The caller's thread is not ours to move, so it only waits then.
    pub cpus: Option<Vec<u32>>,
}

/// A crew that stands ready.
pub struct Team {
    crew: Crew,
    shared: Arc<Shared>,
    /// The process whose threads these are: a forked child has none of them.
    process: u32,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    idle: Condvar,
}

#[derive(Default)]
struct State {
    work: Option<Arc<Work>>,
    /// Tells one work from the next.
    number: u64,
    /// Threads that hold the work.
    at_it: usize,
    over: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Team {
    /// Starts the threads.
    ///
    /// # Errors
    /// The system refuses more threads.
    pub fn new(crew: Crew) -> io::Result<Team> {
        let shared = Arc::new(Shared::default());
        let started = crew.threads - usize::from(crew.cpus.is_none());
        // Made first: should a thread be refused, dropping it sends the others home.
        let team = Team { crew, shared, process: std::process::id() };
        for _ in 0..started {
            let shared = Arc::clone(&team.shared);
            let cpus = team.crew.cpus.clone();
            std::thread::Builder::new().name("iobound-fill".into()).spawn(move || serve(&shared, cpus))?;
        }
        Ok(team)
    }

    /// Whether these are the threads asked for, and still there.
    pub fn is_for(&self, crew: &Crew) -> bool {
        self.crew == *crew && self.process == std::process::id()
    }

    /// Bytes that a thread should take at a time: all, when it fills alone.
    pub fn piece(&self, len: usize, wanted: usize) -> usize {
        if self.crew.threads == 1 || len < WORTH_WAKING { len } else { wanted }
    }

    /// Fills a buffer; returns when all of it is filled and no other thread holds it.
    pub fn fill(&self, work: Work) {
        let small = work.pieces.len() < WORTH_WAKING || self.crew.threads == 1;
        if small && self.crew.cpus.is_none() {
            return work.fill();
        }
        let mut state = self.shared.state();
        if state.work.is_some() {
            // Another thread of the program's has the team; it would not be done sooner by waiting.
            drop(state);
            return work.fill();
        }
        let work = Arc::new(work);
        state.work = Some(Arc::clone(&work));
        state.number += 1;
        drop(state);
        self.shared.wake.notify_all();
        if self.crew.cpus.is_none() {
            work.fill();
        }
        let mut state = self.shared.state();
        // Who has not come by now comes too late.
        if self.crew.cpus.is_none() {
            state.work = None;
        }
        while state.at_it > 0 || !work.pieces.is_taken() {
            state = self.shared.idle.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        // Otherwise it may be another caller's by now.
        if self.crew.cpus.is_some() {
            state.work = None;
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            self.shared.state().over = true;
            self.shared.wake.notify_all();
        }
    }
}

/// One thread of a team.
fn serve(shared: &Shared, cpus: Option<Vec<u32>>) {
    if let Some(cpus) = cpus {
        let mut set = CpuSet::new();
        let known = cpus.iter().filter(|cpu| (**cpu as usize) < CpuSet::MAX_CPU);
        known.for_each(|cpu| set.set(*cpu as usize));
        // A container may forbid it: the bytes are the same wherever they are made.
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
    let mut done = 0;
    let mut state = shared.state();
    while !state.over {
        match &state.work {
            Some(work) if state.number != done => {
                let work = Arc::clone(work);
                done = state.number;
                state.at_it += 1;
                drop(state);
                work.fill();
                // The caller gives the buffer back when nobody is at it.
                drop(work);
                state = shared.state();
                state.at_it -= 1;
                if state.at_it == 0 {
                    shared.idle.notify_all();
                }
            }
            _ => state = shared.wake.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner()),
        }
    }
}
