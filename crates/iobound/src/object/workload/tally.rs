//! What all threads counted, in all and of the running interval.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use iobound_engine::Histogram;
use iobound_record::{DirectionStats, Interval};

use super::mix::Kind;

/// One kind of operation.
#[derive(Clone, Default)]
pub(super) struct Lane {
    pub(super) latency: Histogram,
    pub(super) bytes: u64,
    pub(super) errors: BTreeMap<String, u64>,
}

impl Lane {
    fn merge(&mut self, other: &Lane) {
        self.latency.merge(&other.latency);
        self.bytes += other.bytes;
        for (kind, count) in &other.errors {
            *self.errors.entry(kind.clone()).or_default() += count;
        }
    }

    /// Rates over `ns`.
    pub(super) fn stats(&self, ns: u64) -> DirectionStats {
        let seconds = ns.max(1) as f64 / 1e9;
        DirectionStats {
            ios: self.latency.count(),
            bytes: self.bytes,
            iops: self.latency.count() as f64 / seconds,
            bandwidth_bytes_per_s: self.bytes as f64 / seconds,
            latency_ns: self.latency.summary(),
            ..DirectionStats::default()
        }
    }
}

/// Shared by all threads: beside a request over a network, a lock costs nothing.
#[derive(Default)]
pub(super) struct Tally {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    total: [Lane; 4],
    current: [Lane; 4],
    series: Vec<Interval>,
    put_instead: u64,
}

impl Tally {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn done(&self, kind: Kind, bytes: u64, latency_ns: u64) {
        let lane = &mut self.state().current[kind.index()];
        lane.latency.record(latency_ns);
        lane.bytes += bytes;
    }

    pub(super) fn failed(&self, kind: Kind, why: String) {
        *self.state().current[kind.index()].errors.entry(why).or_default() += 1;
    }

    pub(super) fn put_instead(&self) {
        self.state().put_instead += 1;
    }

    /// Ends an interval that began at `start_ns`.
    pub(super) fn end_interval(&self, start_ns: u64, length_ns: u64) {
        let mut state = self.state();
        let current = std::mem::take(&mut state.current);
        let stats = |kind: Kind| {
            let lane = &current[kind.index()];
            (lane.latency.count() > 0).then(|| lane.stats(length_ns))
        };
        let interval =
            Interval { start_ns, length_ns, read: stats(Kind::Get), write: stats(Kind::Put), sync: None };
        state.series.push(interval);
        state.total.iter_mut().zip(&current).for_each(|(total, one)| total.merge(one));
    }

    /// All of it: each kind, the intervals, and PUTs in place of others.
    pub(super) fn take(self) -> ([Lane; 4], Vec<Interval>, u64) {
        let state = self.state.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        (state.total, state.series, state.put_instead)
    }
}
