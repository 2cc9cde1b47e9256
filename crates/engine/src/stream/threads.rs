//! The three kinds of threads of a stream: one that fills, one that writes, and one that does both.

use std::io;
use std::time::Duration;

use super::account::{Account, Gauges, Times};
use super::pool::{Chunk, Pool};
use super::sink::{Done, Sink};
use super::source::{Cursor, Source};
use super::trouble::Trouble;
use crate::clock::{Clock, Ticks};
use crate::control::Control;

/// A writer that has something in flight and room for more looks this soon whether there is more to
/// write. Short beside the time of a buffer on any device, long beside what a look costs.
const LOOK_AGAIN: Duration = Duration::from_micros(200);
/// Longest wait for a target between two looks at whether to stop.
const PATIENCE: Duration = Duration::from_millis(200);

/// What the threads of one output share.
pub(super) struct Lane<'a> {
    pub(super) pool: Pool,
    pub(super) source: &'a Source,
    pub(super) cursor: &'a Cursor,
    pub(super) trouble: &'a Trouble,
    pub(super) control: &'a Control,
    pub(super) gauges: &'a Gauges,
    pub(super) clock: Clock,
    /// Nothing more is filled from then on.
    pub(super) deadline: Ticks,
}

impl Lane<'_> {
    fn is_over(&self, now: Ticks) -> bool {
        self.control.is_ended() || self.trouble.is_there() || now >= self.deadline
    }

    /// Fills a buffer with the next piece of the stream; None when there is none to be filled.
    fn fill(&self, mut chunk: Chunk, times: &mut Times) -> Option<Chunk> {
        let begun = self.clock.now();
        if self.is_over(begun) {
            return None;
        }
        let piece = self.cursor.take()?;
        self.source.fill_chunk(&self.pool, &mut chunk, piece);
        times.filling_ns += self.clock.to_ns(self.clock.now() - begun);
        self.gauges.generated(piece.1);
        Some(chunk)
    }
}

/// Fills buffers of a pool until the stream ends.
pub(super) fn produce(lane: &Lane, start: Ticks) -> Times {
    let mut times = Times::default();
    loop {
        let chunk = match lane.pool.try_take() {
            Some(chunk) => Some(chunk),
            None => {
                let begun = lane.clock.now();
                let chunk = lane.pool.take();
                times.pool_ns += lane.clock.to_ns(lane.clock.now() - begun);
                chunk
            }
        };
        let Some(chunk) = chunk.and_then(|chunk| lane.fill(chunk, &mut times)) else { break };
        lane.gauges.filled();
        lane.pool.queue(chunk);
    }
    times.all_ns = lane.clock.to_ns(lane.clock.now() - start);
    times
}

/// One thread that writes.
pub(super) struct Writer<'a, 'b> {
    pub(super) lane: &'b Lane<'a>,
    pub(super) sink: Box<dyn Sink + 'b>,
    pub(super) depth: u32,
    pub(super) account: Account<'b>,
    pub(super) times: Times,
    in_flight: u32,
    done: Vec<Done>,
}

impl<'a, 'b> Writer<'a, 'b> {
    pub(super) fn new(
        lane: &'b Lane<'a>,
        sink: Box<dyn Sink + 'b>,
        depth: u32,
        account: Account<'b>,
    ) -> Self {
        Writer { lane, sink, depth, account, times: Times::default(), in_flight: 0, done: Vec::new() }
    }

    /// Writes what others fill, until they are done.
    ///
    /// # Errors
    /// The sink broke.
    pub(super) fn drain(&mut self) -> io::Result<()> {
        let pool = &self.lane.pool;
        loop {
            while self.in_flight < self.depth {
                let next = match pool.try_next() {
                    // With nothing in flight there is nothing else to wait for.
                    None if self.in_flight == 0 => {
                        let begun = self.lane.clock.now();
                        let next = pool.next();
                        self.times.pool_ns += self.since(begun);
                        next
                    }
                    next => next,
                };
                let Some(chunk) = next else { break };
                self.lane.gauges.fetched();
                self.put(chunk)?;
            }
            if self.in_flight == 0 {
                break;
            }
            if self.in_flight == self.depth || pool.is_drained() {
                self.wait(PATIENCE, true)?;
            } else {
                self.wait(LOOK_AGAIN, false)?;
            }
            if self.lane.control.is_ended() || self.lane.trouble.is_there() {
                self.lane.trouble.give_up(pool.abandon());
            }
        }
        self.close();
        Ok(())
    }

    /// Fills and writes, with one buffer filled ahead of those in flight.
    ///
    /// # Errors
    /// The sink broke.
    pub(super) fn fill_and_write(&mut self) -> io::Result<()> {
        let lane = self.lane;
        let mut ahead: Option<Chunk> = None;
        let mut more = true;
        loop {
            if ahead.is_none() && more {
                // No free buffer: all are in flight, and one comes back below.
                if let Some(free) = lane.pool.try_take() {
                    ahead = lane.fill(free, &mut self.times);
                    more = ahead.is_some();
                }
            }
            if self.in_flight < self.depth
                && let Some(chunk) = ahead.take()
            {
                self.put(chunk)?;
                self.reap()?;
                continue;
            }
            if self.in_flight == 0 {
                break;
            }
            self.wait(PATIENCE, true)?;
        }
        self.close();
        Ok(())
    }

    fn put(&mut self, mut chunk: Chunk) -> io::Result<()> {
        chunk.started = self.lane.clock.now();
        self.in_flight += 1;
        self.sink.put(chunk)
    }

    fn wait(&mut self, longest: Duration, for_target: bool) -> io::Result<()> {
        let begun = self.lane.clock.now();
        self.sink.done(1, Some(longest), &mut self.done)?;
        let waited = self.since(begun);
        if for_target {
            self.times.target_ns += waited;
        } else {
            self.times.pool_ns += waited;
        }
        self.settle();
        Ok(())
    }

    fn reap(&mut self) -> io::Result<()> {
        self.sink.done(0, None, &mut self.done)?;
        self.settle();
        Ok(())
    }

    /// Counts what is done, and frees its buffers.
    fn settle(&mut self) {
        let now = self.lane.clock.now();
        for Done { chunk, result } in self.done.drain(..) {
            self.in_flight -= 1;
            match result {
                Ok(()) => self.account.written(chunk.len(), chunk.started, now),
                Err(error) => {
                    // A wait that was broken off on request is no fault of the target's.
                    if !(self.lane.control.is_stopped() && error.kind() == io::ErrorKind::Interrupted) {
                        self.account.errors.add("write", error.raw_os_error().unwrap_or(libc::EIO));
                    }
                    self.lane.trouble.failed(chunk.position(), error);
                    self.lane.trouble.give_up(self.lane.pool.abandon());
                }
            }
        }
    }

    fn since(&self, begun: Ticks) -> u64 {
        self.lane.clock.to_ns(self.lane.clock.now() - begun)
    }

    fn close(&mut self) {
        self.times.all_ns = self.since(self.account.start());
        self.account.close();
    }
}
