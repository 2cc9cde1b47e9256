//! What the threads of a stream count: bytes, latencies, and where their time went.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use iobound_record::Direction;

use crate::clock::{Clock, Ticks};
use crate::control::Published;
use crate::series::Series;
use crate::tally::{Errors, Tally};

/// How a running stream stands, beside what its [`Control`](crate::Control) shows of the writes.
#[derive(Debug, Default)]
pub struct Gauges {
    generated_bytes: AtomicU64,
    waiting_buffers: AtomicU64,
    buffers: AtomicU64,
}

impl Gauges {
    /// Bytes filled so far.
    pub fn generated_bytes(&self) -> u64 {
        self.generated_bytes.load(Relaxed)
    }

    /// Full buffers that wait to be written, and all buffers.
    pub fn pool(&self) -> (u64, u64) {
        (self.waiting_buffers.load(Relaxed), self.buffers.load(Relaxed))
    }

    pub(super) fn start(&self, buffers: u64) {
        self.generated_bytes.store(0, Relaxed);
        self.waiting_buffers.store(0, Relaxed);
        self.buffers.store(buffers, Relaxed);
    }

    pub(super) fn generated(&self, bytes: usize) {
        self.generated_bytes.fetch_add(bytes as u64, Relaxed);
    }

    pub(super) fn filled(&self) {
        self.waiting_buffers.fetch_add(1, Relaxed);
    }

    pub(super) fn fetched(&self) {
        self.waiting_buffers.fetch_sub(1, Relaxed);
    }
}

/// Where one thread's time went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Making data.
    pub filling_ns: u64,
    /// Waiting for a free buffer or for a full one: the other side of the pool is slower.
    pub pool_ns: u64,
    /// Waiting for the target, with as much in flight as it may have.
    pub target_ns: u64,
    /// From the start of the stream to this thread's end.
    pub all_ns: u64,
}

/// One writer's figures.
pub(super) struct Account<'a> {
    pub(super) clock: Clock,
    start: Ticks,
    interval: Ticks,
    interval_end: Ticks,
    interval_number: u64,
    current: Tally,
    pub(super) total: Tally,
    pub(super) errors: Errors,
    /// When the last write was seen to be done.
    pub(super) end: Ticks,
    series: &'a Series,
    published: &'a Published,
}

impl<'a> Account<'a> {
    pub(super) fn new(
        clock: Clock,
        start: Ticks,
        interval: Ticks,
        series: &'a Series,
        published: &'a Published,
    ) -> Self {
        Account {
            clock,
            start,
            interval,
            interval_end: start + interval,
            interval_number: 0,
            current: Tally::default(),
            total: Tally::default(),
            errors: Errors::default(),
            end: start,
            series,
            published,
        }
    }

    /// A write of `bytes` that was given to its sink at `started` is seen to be done `now`.
    pub(super) fn written(&mut self, bytes: usize, started: Ticks, now: Ticks) {
        self.advance(now);
        let latency = self.clock.to_ns(now.saturating_sub(started));
        let lane = &mut self.current.lanes[Direction::Write.index()];
        lane.latency.record(latency);
        lane.bytes += bytes as u64;
        self.end = now;
        self.published.add(1, bytes as u64, latency);
    }

    fn advance(&mut self, now: Ticks) {
        while now >= self.interval_end {
            self.series.deliver(self.interval_number, &self.current);
            self.total.merge(&self.current);
            self.current.clear();
            self.interval_number += 1;
            self.interval_end += self.interval;
        }
    }

    pub(super) fn start(&self) -> Ticks {
        self.start
    }

    /// Delivers what is left.
    pub(super) fn close(&mut self) {
        self.total.merge(&self.current);
        if self.current.lanes.iter().any(|lane| lane.latency.count() > 0) {
            self.series.deliver(self.interval_number, &self.current);
            self.interval_number += 1;
        }
        self.series.end(self.interval_number);
    }
}
