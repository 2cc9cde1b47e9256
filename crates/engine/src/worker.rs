//! The hot loop: one thread, one backend, one workload.
//!
//! Each round has three parts. *Plan*: take free slots, decide what each will do, make its data.
//! *Issue*: stamp each operation and queue it, then hand all to the kernel at once and wait for the
//! first to complete. *Account*: read the time once (everything reaped was complete by then), and
//! record every operation against its own stamp. Data is made before the first stamp of the round,
//! so that making it never shows as latency. Nothing here allocates, locks or prints; threads meet
//! only at the end of an interval.

use std::time::Duration;

use iobound_record::Direction;

use crate::backend::{Backend, Completion, Io, Op};
use crate::buffers::Buffers;
use crate::clock::{Clock, Ticks};
use crate::control::{Control, Published};
use crate::pace::Pace;
use crate::payload::Payload;
use crate::series::Series;
use crate::tally::{Errors, Tally};
use crate::verify::Verifier;
use crate::workload::{Planned, Workload};

/// A thread stops after this many failed operations: a device that fails every operation at once
/// would otherwise be asked millions of times a second for the rest of the run.
const ERRORS_MAX: u64 = 100;

/// Longest sleep between looks at the stop flag.
const NAP_MAX: Duration = Duration::from_millis(100);

/// What a slot is doing.
#[derive(Clone, Copy)]
struct Slot {
    start: Ticks,
    /// Scheduled start; equal to `start` without a rate.
    due: Option<Ticks>,
    planned: Planned,
}

/// When a thread measures, and until when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Operations completed before are not recorded.
    pub(crate) measure_from: Ticks,
    /// Nothing is submitted from then on.
    pub(crate) deadline: Ticks,
    /// Length of an interval.
    pub(crate) interval: Ticks,
}

/// What one thread brings back.
pub(crate) struct Counted {
    pub(crate) tally: Tally,
    pub(crate) errors: Errors,
    /// When the last operation was reaped.
    pub(crate) end: Ticks,
}

/// One thread of a job.
pub(crate) struct Worker<'a, B> {
    pub(crate) backend: B,
    pub(crate) buffers: &'a mut Buffers,
    pub(crate) workload: &'a mut Workload,
    pub(crate) payload: Option<&'a mut Payload>,
    pub(crate) verifier: Option<&'a mut Verifier>,
    pub(crate) pace: Option<Pace>,
    pub(crate) depth: u32,
    /// Most operations handed over at once.
    pub(crate) batch: u32,
    pub(crate) clock: Clock,
    pub(crate) window: Window,
    pub(crate) control: &'a Control,
    pub(crate) published: &'a Published,
    pub(crate) series: Option<&'a Series>,
}

/// The loop's own state, apart from what it works with.
struct State {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Slots planned in this round, in order.
    planned: Vec<u32>,
    completions: Vec<Completion>,
    in_flight: u32,
    /// Taken from the workload and not yet started: its time has not come, or its block is busy.
    held: Option<(Planned, Option<Ticks>)>,
    /// Think time that starts when nothing is in flight.
    pause: Option<Ticks>,
    resume_at: Option<Ticks>,
    exhausted: bool,
    interval: Tally,
    interval_number: u64,
    interval_end: Ticks,
    total: Tally,
    errors: Errors,
}

impl<B: Backend> Worker<'_, B> {
    /// Runs until the workload ends, the deadline passes or the run is stopped, and everything in
    /// flight has come back.
    ///
    /// # Errors
    /// The backend's own; operations that fail are counted, not returned.
    pub(crate) fn run(mut self) -> std::io::Result<Counted> {
        let mut state = State {
            slots: vec![
                Slot {
                    start: 0,
                    due: None,
                    planned: Planned { op: Op::Read, file: 0, offset: 0, len: 0 }
                };
                self.depth as usize
            ],
            free: (0..self.depth).rev().collect(),
            planned: Vec::with_capacity(self.depth as usize),
            completions: Vec::with_capacity(2 * self.depth as usize),
            in_flight: 0,
            held: None,
            pause: None,
            resume_at: None,
            exhausted: false,
            interval: Tally::default(),
            interval_number: 0,
            interval_end: self.window.measure_from + self.window.interval,
            total: Tally::default(),
            errors: Errors::default(),
        };
        let mut now = self.clock.now();
        let mut end = self.window.measure_from;
        loop {
            if !state.exhausted && (now >= self.window.deadline || self.control.is_ended()) {
                state.exhausted = true;
            }
            if !state.exhausted {
                self.plan(&mut state, now);
            }
            let issued = state.planned.len();
            self.issue(&mut state);
            if state.in_flight == 0 && state.exhausted {
                break;
            }
            let (min, timeout) = self.patience(&state, issued, now);
            self.backend.submit(min, timeout)?;
            now = self.clock.now();
            while now >= state.interval_end {
                self.close_interval(&mut state);
            }
            if self.account(&mut state, now) {
                end = now;
            }
        }
        state.total.merge(&state.interval);
        if let Some(series) = self.series {
            let delivered = if state.interval.lanes.iter().any(|lane| lane.latency.count() > 0) {
                series.deliver(state.interval_number, &state.interval);
                state.interval_number + 1
            } else {
                state.interval_number
            };
            series.end(delivered);
        }
        Ok(Counted { tally: state.total, errors: state.errors, end })
    }

    /// Takes free slots and decides what each does next.
    #[inline(always)]
    fn plan(&mut self, state: &mut State, now: Ticks) {
        if let Some(pause) = state.pause {
            if state.in_flight > 0 {
                return;
            }
            state.resume_at = Some(now + pause);
            state.pause = None;
        }
        if let Some(resume_at) = state.resume_at {
            if now < resume_at {
                return;
            }
            state.resume_at = None;
        }
        while (state.planned.len() as u32) < self.batch
            && let Some(&slot) = state.free.last()
        {
            let Some((planned, due)) = self.next(state, now) else { break };
            state.free.pop();
            let entry = &mut state.slots[slot as usize];
            entry.planned = planned;
            entry.due = due;
            if planned.op == Op::Write
                && let Some(payload) = &mut self.payload
            {
                let data = self.buffers.slice_mut(slot, planned.len as usize);
                payload.renew(data);
                if let Some(verifier) = &mut self.verifier {
                    verifier.seal_write(planned.file, planned.offset, data);
                }
            }
            state.planned.push(slot);
        }
    }

    /// The next operation that may start now.
    #[inline(always)]
    fn next(&mut self, state: &mut State, now: Ticks) -> Option<(Planned, Option<Ticks>)> {
        if self.pace.is_none() && self.verifier.is_none() {
            let planned = self.workload.next();
            state.exhausted = planned.is_none();
            return planned.map(|planned| (planned, None));
        }
        self.next_held(state, now)
    }

    /// The same with a pace to keep, or blocks that must not be in flight twice.
    fn next_held(&mut self, state: &mut State, now: Ticks) -> Option<(Planned, Option<Ticks>)> {
        if state.held.is_none() {
            state.pause = self.pace.as_mut().and_then(Pace::owes_pause);
            if state.pause.is_some() {
                return None;
            }
            let Some(planned) = self.workload.next() else {
                state.exhausted = true;
                return None;
            };
            let due = self.pace.as_mut().and_then(|pace| pace.book(planned.op, planned.len));
            state.held = Some((planned, due));
        }
        let (planned, due) = state.held?;
        if due.is_some_and(|due| now < due) || self.overlaps(state, &planned) {
            return None;
        }
        state.held.take()
    }

    /// Whether a verified block is in flight already: two writes of it would race, and a read could
    /// see either side.
    fn overlaps(&self, state: &State, planned: &Planned) -> bool {
        if self.verifier.is_none() || planned.len == 0 {
            return false;
        }
        state.slots.iter().any(|slot| {
            let other = &slot.planned;
            // A slot that completed has length 0.
            other.len > 0
                && other.file == planned.file
                && other.offset < planned.offset + u64::from(planned.len)
                && planned.offset < other.offset + u64::from(other.len)
        })
    }

    /// Stamps and queues what was planned.
    #[inline(always)]
    fn issue(&mut self, state: &mut State) {
        for &slot in &state.planned {
            let entry = &mut state.slots[slot as usize];
            let Planned { op, file, offset, len } = entry.planned;
            let io = Io { slot, op, file, offset, len, buffer: self.buffers.pointer(slot) };
            entry.start = self.clock.now();
            self.backend.push(&io);
        }
        state.in_flight += state.planned.len() as u32;
        state.planned.clear();
    }

    /// How many completions to wait for, and for how long at most.
    #[inline(always)]
    fn patience(&self, state: &State, issued: usize, now: Ticks) -> (u32, Option<Duration>) {
        let until = match (state.resume_at, state.held) {
            _ if self.pace.is_none() => None,
            (Some(resume_at), _) => Some(resume_at),
            (None, Some((_, due))) => due,
            (None, None) => None,
        };
        match until {
            // Free slots that may be filled at once: only look what came back meanwhile.
            None if issued as u32 == self.batch && !state.free.is_empty() && !state.exhausted => (0, None),
            None => (1, None),
            Some(_) if state.exhausted => (1, None),
            Some(_) if state.free.is_empty() => (1, None),
            Some(until) => {
                let until = until.min(self.window.deadline);
                let wait = Duration::from_nanos(self.clock.to_ns(until.saturating_sub(now)).max(1));
                (1, Some(wait.min(NAP_MAX)))
            }
        }
    }

    /// Records what completed; whether anything did.
    #[inline(always)]
    fn account(&mut self, state: &mut State, now: Ticks) -> bool {
        let mut completions = std::mem::take(&mut state.completions);
        self.backend.reap(&mut completions);
        let (mut bytes, mut latency_sum) = (0, 0);
        let measured = now >= self.window.measure_from;
        for completion in &completions {
            state.free.push(completion.slot);
            let slot = state.slots[completion.slot as usize];
            let direction = match slot.planned.op {
                Op::Read => Direction::Read,
                Op::Write => Direction::Write,
                Op::Fsync | Op::Fdatasync => Direction::Sync,
            };
            if completion.result < 0 || (completion.result == 0 && slot.planned.len > 0) {
                self.fail(state, slot.planned.op, completion.result);
                continue;
            }
            let moved = completion.result as u64;
            let latency = self.clock.to_ns(now.saturating_sub(slot.start));
            if measured {
                let lane = &mut state.interval.lanes[direction.index()];
                lane.latency.record(latency);
                if let Some(due) = slot.due {
                    lane.scheduled.record(self.clock.to_ns(now.saturating_sub(due)));
                }
                if slot.planned.len > 0 {
                    lane.bytes += moved;
                    lane.short_ios += u64::from(moved < u64::from(slot.planned.len));
                }
            }
            if direction != Direction::Sync {
                bytes += moved;
                latency_sum += latency;
            }
            if let Some(verifier) = &mut self.verifier {
                let Planned { op, file, offset, len } = slot.planned;
                state.slots[completion.slot as usize].planned.len = 0;
                match op {
                    Op::Write => verifier.written(file, offset),
                    Op::Read => {
                        let data = self.buffers.slice_mut(completion.slot, len as usize);
                        verifier.check_read(file, offset, data);
                    }
                    Op::Fsync | Op::Fdatasync => {}
                }
            }
        }
        let count = completions.len();
        state.in_flight -= count as u32;
        completions.clear();
        state.completions = completions;
        self.published.add(count as u64, bytes, latency_sum);
        count > 0
    }

    #[cold]
    fn fail(&self, state: &mut State, op: Op, result: i32) {
        let doing = match op {
            Op::Read => "read",
            Op::Write => "write",
            Op::Fsync => "fsync",
            Op::Fdatasync => "fdatasync",
        };
        state.errors.add(doing, -result);
        // A full disk stays full; anything else may pass, up to a point.
        if -result == libc::ENOSPC || -result == libc::EDQUOT || state.errors.count >= ERRORS_MAX {
            state.exhausted = true;
        }
    }

    #[cold]
    fn close_interval(&self, state: &mut State) {
        if let Some(series) = self.series {
            series.deliver(state.interval_number, &state.interval);
        }
        state.total.merge(&state.interval);
        state.interval.clear();
        state.interval_number += 1;
        state.interval_end += self.window.interval;
    }
}
