//! A sink on one of the engine's backends: io_uring, libaio, `pwrite` or nothing.

use std::io;
use std::time::Duration;

use super::pool::{Chunk, Pool};
use super::sink::{Done, Sink};
use crate::backend::{Backend, Completion, Io, Op};

/// A chunk on its way.
struct Flight {
    chunk: Chunk,
    /// Bytes that have arrived already: a write may be cut short, and its rest is written again.
    arrived: u32,
}

/// Writes chunks of one pool to file 0 of a backend.
pub(crate) struct Ring<B: Backend> {
    backend: B,
    /// By slot of the pool.
    flights: Vec<Option<Flight>>,
    in_flight: u32,
    completions: Vec<Completion>,
    /// Holds the memory that the backend may have registered: it goes last.
    _pool: Pool,
}

impl<B: Backend> Ring<B> {
    /// Over a backend that was made with the memory of `pool`.
    pub(crate) fn new(backend: B, pool: &Pool) -> Self {
        let flights = (0..pool.buffers()).map(|_| None).collect();
        Ring { backend, flights, in_flight: 0, completions: Vec::new(), _pool: pool.clone() }
    }

    fn push(&mut self, slot: u32) {
        let Some(flight) = &self.flights[slot as usize] else { return };
        let arrived = flight.arrived;
        let io = Io {
            slot,
            op: Op::Write,
            file: 0,
            offset: flight.chunk.position() + u64::from(arrived),
            len: flight.chunk.len() as u32 - arrived,
            buffer: flight.chunk.pointer().wrapping_add(arrived as usize),
        };
        self.backend.push(&io);
    }

    /// Takes what completed, and hands over again what was cut short.
    fn collect(&mut self, done: &mut Vec<Done>) -> io::Result<()> {
        while self.reap(done) {
            self.backend.submit(0, None)?;
        }
        Ok(())
    }

    /// Takes what completed; whether some of it must be handed to the kernel once more.
    fn reap(&mut self, done: &mut Vec<Done>) -> bool {
        let mut completions = std::mem::take(&mut self.completions);
        self.backend.reap(&mut completions);
        let mut again = false;
        for completion in completions.drain(..) {
            let Some(mut flight) = self.flights[completion.slot as usize].take() else { continue };
            let result = match completion.result {
                result if result < 0 && -result != libc::EINTR && -result != libc::EAGAIN => {
                    Err(io::Error::from_raw_os_error(-result))
                }
                // A write that moves nothing and says nothing would be asked for ever.
                0 => Err(io::Error::from_raw_os_error(libc::EIO)),
                result => {
                    flight.arrived += result.max(0) as u32;
                    if (flight.arrived as usize) < flight.chunk.len() {
                        self.flights[completion.slot as usize] = Some(flight);
                        self.push(completion.slot);
                        again = true;
                        continue;
                    }
                    Ok(())
                }
            };
            self.in_flight -= 1;
            done.push(Done { chunk: flight.chunk, result });
        }
        self.completions = completions;
        again
    }
}

impl<B: Backend> Sink for Ring<B> {
    fn put(&mut self, chunk: Chunk) -> io::Result<()> {
        let slot = chunk.slot();
        self.flights[slot as usize] = Some(Flight { chunk, arrived: 0 });
        self.in_flight += 1;
        self.push(slot);
        self.backend.submit(0, None)
    }

    fn done(&mut self, least: u32, longest: Option<Duration>, done: &mut Vec<Done>) -> io::Result<()> {
        let before = done.len();
        self.collect(done)?;
        let came = (done.len() - before) as u32;
        if came < least && self.in_flight > 0 {
            self.backend.submit((least - came).min(self.in_flight), longest)?;
            self.collect(done)?;
        }
        Ok(())
    }
}

impl<B: Backend> Drop for Ring<B> {
    fn drop(&mut self) {
        // The kernel must be done with a buffer before it is freed. A ring that broke is given up after
        // a while, and its buffers with it: leaked memory is better than memory written under.
        const TRIES: u32 = 1_000;
        let mut done = Vec::new();
        for _ in 0..TRIES {
            if self.in_flight == 0 {
                return;
            }
            let _ = self.done(1, Some(Duration::from_millis(100)), &mut done);
            done.clear();
        }
        self.flights.drain(..).flatten().for_each(std::mem::forget);
    }
}
