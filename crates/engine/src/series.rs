//! The series: intervals of all threads put together.
//!
//! A thread delivers its tally of an interval when it notices the end of it; an interval is reduced
//! to rates and percentiles, and its histograms dropped, once every thread has delivered. Threads
//! meet here once an interval, never in between.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use iobound_record::{Direction, Interval};

use crate::tally::Tally;

#[derive(Default)]
struct Pending {
    tally: Tally,
    delivered: u32,
}

struct State {
    /// Intervals that some thread has not delivered; the first has number `intervals.len()`.
    pending: VecDeque<Pending>,
    intervals: Vec<Interval>,
    /// The number of the first interval that a thread, having ended, will not deliver.
    ended: Vec<u64>,
}

/// Collects the intervals of `threads` threads.
pub(crate) struct Series {
    threads: u32,
    length_ns: u64,
    state: Mutex<State>,
}

impl Series {
    pub(crate) fn new(threads: u32, length_ns: u64) -> Self {
        let state = State { pending: VecDeque::new(), intervals: Vec::new(), ended: Vec::new() };
        Series { threads, length_ns, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A thread that panicked while delivering leaves counts that are short, not broken.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Adds one thread's tally of interval `number`; threads deliver theirs in order.
    pub(crate) fn deliver(&self, number: u64, tally: &Tally) {
        let mut state = self.state();
        let first = state.intervals.len() as u64;
        let index = (number - first) as usize;
        while state.pending.len() <= index {
            state.pending.push_back(Pending::default());
        }
        state.pending[index].tally.merge(tally);
        state.pending[index].delivered += 1;
        self.reduce(&mut state);
    }

    /// A thread ends: it delivered all intervals below `number`.
    pub(crate) fn end(&self, number: u64) {
        let mut state = self.state();
        state.ended.push(number);
        self.reduce(&mut state);
    }

    fn reduce(&self, state: &mut State) {
        while let Some(front) = state.pending.front() {
            let number = state.intervals.len() as u64;
            let gone = state.ended.iter().filter(|&&end| end <= number).count() as u32;
            if front.delivered + gone < self.threads {
                return;
            }
            let tally = state.pending.pop_front().map(|pending| pending.tally).unwrap_or_default();
            state.intervals.push(interval(&tally, number * self.length_ns, self.length_ns));
        }
    }

    /// The intervals from number `from` on that every thread has delivered.
    pub(crate) fn closed(&self, from: usize) -> Vec<Interval> {
        self.state().intervals.get(from..).unwrap_or_default().to_vec()
    }

    /// All intervals of a run of `runtime_ns`; the last may be shorter than the others.
    pub(crate) fn finish(self, runtime_ns: u64) -> Vec<Interval> {
        let mut state = self.state.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        while let Some(pending) = state.pending.pop_front() {
            let start = state.intervals.len() as u64 * self.length_ns;
            let length = runtime_ns.saturating_sub(start).clamp(1, self.length_ns);
            state.intervals.push(interval(&pending.tally, start, length));
        }
        if let Some(last) = state.intervals.last_mut() {
            let length = runtime_ns.saturating_sub(last.start_ns).clamp(1, self.length_ns);
            shorten(last, length);
        }
        state.intervals
    }
}

fn interval(tally: &Tally, start_ns: u64, length_ns: u64) -> Interval {
    let stats = |direction| {
        let lane = tally.lane(direction);
        (lane.latency.count() > 0).then(|| lane.stats(length_ns))
    };
    Interval {
        start_ns,
        length_ns,
        read: stats(Direction::Read),
        write: stats(Direction::Write),
        sync: stats(Direction::Sync),
    }
}

/// Sets the true length of an interval that the end of the run cut short.
fn shorten(interval: &mut Interval, length_ns: u64) {
    let seconds = length_ns as f64 / 1e9;
    interval.length_ns = length_ns;
    for stats in [&mut interval.read, &mut interval.write, &mut interval.sync].into_iter().flatten() {
        stats.iops = stats.ios as f64 / seconds;
        stats.bandwidth_bytes_per_s = stats.bytes as f64 / seconds;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn reads(count: u64) -> Tally {
        let mut tally = Tally::default();
        for _ in 0..count {
            tally.lanes[0].latency.record(1000);
            tally.lanes[0].bytes += 4096;
        }
        tally
    }

    #[test]
    fn threads_sum_within_an_interval_and_not_across() {
        let series = Series::new(2, SECOND);
        series.deliver(0, &reads(10));
        series.deliver(1, &reads(1));
        series.deliver(0, &reads(5));
        series.deliver(1, &reads(2));
        let intervals = series.finish(2 * SECOND);
        let ios: Vec<u64> = intervals.iter().map(|i| i.read.unwrap().ios).collect();
        assert_eq!(ios, [15, 3]);
        assert_eq!(intervals[1].start_ns, SECOND);
    }

    #[test]
    fn a_thread_that_ended_is_not_waited_for() {
        let series = Series::new(2, SECOND);
        series.deliver(0, &reads(10));
        series.deliver(0, &reads(10));
        series.end(1);
        series.deliver(1, &reads(4));
        assert_eq!(series.state().intervals.len(), 2);
    }

    #[test]
    fn an_interval_is_closed_when_all_delivered_it() {
        let series = Series::new(2, SECOND);
        series.deliver(0, &reads(10));
        assert!(series.closed(0).is_empty());
        series.deliver(0, &reads(5));
        assert_eq!(series.closed(0)[0].read.unwrap().ios, 15);
        assert!(series.closed(1).is_empty() && series.closed(7).is_empty());
    }

    #[test]
    fn a_stall_shows_as_an_empty_interval() {
        let series = Series::new(1, SECOND);
        series.deliver(0, &reads(3));
        series.deliver(1, &reads(0));
        series.deliver(2, &reads(3));
        let intervals = series.finish(3 * SECOND);
        assert_eq!(intervals[1].read, None);
        assert_eq!(intervals[2].read.unwrap().ios, 3);
    }

    #[test]
    fn the_last_interval_has_its_true_length() {
        let series = Series::new(1, SECOND);
        series.deliver(0, &reads(1000));
        series.deliver(1, &reads(500));
        let intervals = series.finish(SECOND + SECOND / 2);
        assert_eq!(intervals[1].length_ns, SECOND / 2);
        assert_eq!(intervals[1].read.unwrap().iops, 1000.0);
    }
}
