//! What one thread has counted.

use std::collections::BTreeMap;
use std::io;

use iobound_record::{Direction, DirectionStats};

use crate::error::describe;
use crate::histogram::Histogram;

/// One direction.
#[derive(Clone, Default)]
pub(crate) struct Lane {
    pub(crate) latency: Histogram,
    /// From the scheduled start; stays empty without a rate.
    pub(crate) scheduled: Histogram,
    pub(crate) bytes: u64,
    pub(crate) short_ios: u64,
}

impl Lane {
    pub(crate) fn merge(&mut self, other: &Lane) {
        self.latency.merge(&other.latency);
        self.scheduled.merge(&other.scheduled);
        self.bytes += other.bytes;
        self.short_ios += other.short_ios;
    }

    fn clear(&mut self) {
        self.latency.clear();
        self.scheduled.clear();
        (self.bytes, self.short_ios) = (0, 0);
    }

    /// Rates over `length_ns`.
    pub(crate) fn stats(&self, length_ns: u64) -> DirectionStats {
        let seconds = length_ns as f64 / 1e9;
        let per_second = |amount: u64| if seconds > 0.0 { amount as f64 / seconds } else { 0.0 };
        DirectionStats {
            ios: self.latency.count(),
            bytes: self.bytes,
            iops: per_second(self.latency.count()),
            bandwidth_bytes_per_s: per_second(self.bytes),
            latency_ns: self.latency.summary(),
            scheduled_latency_ns: (self.scheduled.count() > 0).then(|| self.scheduled.summary()),
            short_ios: self.short_ios,
        }
    }
}

/// All directions.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    pub(crate) lanes: [Lane; 3],
}

impl Tally {
    pub(crate) fn lane(&self, direction: Direction) -> &Lane {
        &self.lanes[direction.index()]
    }

    pub(crate) fn merge(&mut self, other: &Tally) {
        self.lanes.iter_mut().zip(&other.lanes).for_each(|(mine, theirs)| mine.merge(theirs));
    }

    pub(crate) fn clear(&mut self) {
        self.lanes.iter_mut().for_each(Lane::clear);
    }
}

/// Operations that failed, by kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Errors {
    pub(crate) count: u64,
    kinds: BTreeMap<(&'static str, i32), u64>,
}

impl Errors {
    /// `errno` 0 stands for an end of file where data was expected.
    pub(crate) fn add(&mut self, doing: &'static str, errno: i32) {
        self.count += 1;
        *self.kinds.entry((doing, errno)).or_default() += 1;
    }

    pub(crate) fn merge(&mut self, other: &Errors) {
        self.count += other.count;
        for (kind, count) in &other.kinds {
            *self.kinds.entry(*kind).or_default() += count;
        }
    }

    /// Each kind in words, with its count.
    pub(crate) fn in_words(&self) -> Vec<(String, u64)> {
        let words = |&(doing, errno): &(&str, i32)| match errno {
            0 => format!("{doing}: end of file where data was expected (was it truncated?)"),
            _ => {
                let error = io::Error::from_raw_os_error(errno);
                format!("{doing}: {}; {}", describe(&error), crate::error::remedy_of(&error))
            }
        };
        self.kinds.iter().map(|(kind, count)| (words(kind), *count)).collect()
    }
}
