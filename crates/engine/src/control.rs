//! The line between a running job and whoever watches it: stop it, see how far it is.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

/// What a job is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Opening, checking, mapping buffers.
    Preparing,
    /// Writing data into every block before the job.
    LayingOut,
    /// Running, not yet recording.
    Ramping,
    /// Running and recording.
    Measuring,
    /// Reading back what was written.
    Verifying,
    /// Over.
    Done,
}

const PHASES: [Phase; 6] =
    [Phase::Preparing, Phase::LayingOut, Phase::Ramping, Phase::Measuring, Phase::Verifying, Phase::Done];

/// How many threads publish without sharing a counter; more threads share.
const LANES: usize = 64;

/// One thread's published counters, on a cache line of its own.
#[derive(Default)]
#[repr(align(128))]
pub struct Published {
    ios: AtomicU64,
    bytes: AtomicU64,
    latency_ns: AtomicU64,
}

impl Published {
    /// Counts operations, their bytes and the sum of their latencies.
    #[inline(always)]
    pub fn add(&self, ios: u64, bytes: u64, latency_ns: u64) {
        // Not `fetch_add`, which locks the bus each time: a lane has one writer up to 64 threads,
        // and above, what is lost is missing from a progress line only.
        self.ios.store(self.ios.load(Relaxed).wrapping_add(ios), Relaxed);
        self.bytes.store(self.bytes.load(Relaxed).wrapping_add(bytes), Relaxed);
        self.latency_ns.store(self.latency_ns.load(Relaxed).wrapping_add(latency_ns), Relaxed);
    }
}

/// The job goes on.
const GOING: u8 = 0;
/// It was ended because enough is known: a whole result, before its time.
const ENOUGH: u8 = 1;
/// It was broken off.
const BROKEN_OFF: u8 = 2;

/// Shared by a job and its watcher.
pub struct Control {
    /// One number for both reasons to end, so that the hot loop looks at one.
    ended: AtomicU8,
    phase: AtomicU8,
    phase_start_ns: AtomicU64,
    phase_ns: AtomicU64,
    phase_bytes: AtomicU64,
    lanes: Box<[Published]>,
    threads: AtomicU32,
    shared: AtomicBool,
}

/// How far a job is.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot {
    /// What it is doing.
    pub phase: Phase,
    /// For how long already.
    pub elapsed_ns: u64,
    /// How long the phase will take, if its end is a time.
    pub length_ns: Option<u64>,
    /// How many bytes the phase will move, if its end is an amount.
    pub length_bytes: Option<u64>,
    /// Operations completed in the phase.
    pub ios: u64,
    /// Bytes moved in the phase.
    pub bytes: u64,
    /// Sum of the latencies of those operations.
    pub latency_ns: u64,
}

impl Default for Control {
    fn default() -> Self {
        Control {
            ended: AtomicU8::new(GOING),
            phase: AtomicU8::new(0),
            phase_start_ns: AtomicU64::new(crate::clock::kernel_ns()),
            phase_ns: AtomicU64::new(0),
            phase_bytes: AtomicU64::new(0),
            lanes: (0..LANES).map(|_| Published::default()).collect(),
            threads: AtomicU32::new(0),
            shared: AtomicBool::new(false),
        }
    }
}

impl Control {
    /// Asks the job to end: nothing new is submitted, what is in flight is waited for.
    pub fn stop(&self) {
        self.ended.store(BROKEN_OFF, Relaxed);
    }

    /// Asks the job to end because enough is known. What a whole run does afterwards (verification) is
    /// still done.
    pub(crate) fn end_early(&self) {
        // Whoever broke it off has the last word.
        let _ = self.ended.compare_exchange(GOING, ENOUGH, Relaxed, Relaxed);
    }

    /// Whether the job was broken off.
    #[inline(always)]
    pub fn is_stopped(&self) -> bool {
        self.ended.load(Relaxed) == BROKEN_OFF
    }

    /// Whether nothing new is to be submitted, for either reason.
    #[inline(always)]
    pub(crate) fn is_ended(&self) -> bool {
        self.ended.load(Relaxed) != GOING
    }

    /// Says that other jobs run in this process at the same time, so that processor time is counted by
    /// the job's own threads alone.
    pub fn set_shared(&self) {
        self.shared.store(true, Relaxed);
    }

    pub(crate) fn is_alone(&self) -> bool {
        !self.shared.load(Relaxed)
    }

    /// Begins a phase, of known length or amount.
    pub fn enter(&self, phase: Phase, length_ns: Option<u64>, length_bytes: Option<u64>) {
        for lane in &self.lanes {
            lane.ios.store(0, Relaxed);
            lane.bytes.store(0, Relaxed);
            lane.latency_ns.store(0, Relaxed);
        }
        self.phase_start_ns.store(crate::clock::kernel_ns(), Relaxed);
        self.phase_ns.store(length_ns.unwrap_or(u64::MAX), Relaxed);
        self.phase_bytes.store(length_bytes.unwrap_or(u64::MAX), Relaxed);
        self.phase.store(phase as u8, Relaxed);
    }

    /// A lane for one more thread.
    pub fn lane(&self) -> &Published {
        &self.lanes[self.threads.fetch_add(1, Relaxed) as usize % LANES]
    }

    /// How far the job is now.
    pub fn snapshot(&self) -> Snapshot {
        let sum = |field: fn(&Published) -> &AtomicU64| {
            self.lanes.iter().map(|lane| field(lane).load(Relaxed)).sum()
        };
        let known = |value: &AtomicU64| Some(value.load(Relaxed)).filter(|&value| value != u64::MAX);
        Snapshot {
            phase: PHASES[usize::from(self.phase.load(Relaxed)).min(PHASES.len() - 1)],
            elapsed_ns: crate::clock::kernel_ns().saturating_sub(self.phase_start_ns.load(Relaxed)),
            length_ns: known(&self.phase_ns),
            length_bytes: known(&self.phase_bytes),
            ios: sum(|lane| &lane.ios),
            bytes: sum(|lane| &lane.bytes),
            latency_ns: sum(|lane| &lane.latency_ns),
        }
    }
}
