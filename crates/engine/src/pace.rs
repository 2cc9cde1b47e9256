//! When the next operation may start: rates and think time.
//!
//! A rate makes a schedule that does not wait for the device: when the device stalls, operations
//! fall behind their scheduled starts, and latency is also told from there. Measured only from
//! submission, a stall of one second at 1,000 operations a second would show as one slow operation
//! instead of a thousand (coordinated omission).

use iobound_record::Job;

use crate::backend::Op;
use crate::clock::{Clock, Ticks};

/// The schedule of one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Schedule {
    ticks_per_io: f64,
    ticks_per_byte: f64,
    next: f64,
}

/// Paces one thread.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    /// For reads and for writes; None where no rate is set.
    schedules: [Option<Schedule>; 2],
    think_ticks: Ticks,
    think_every: u32,
    since_think: u32,
}

impl Pace {
    /// None when the job runs as fast as it can.
    pub(crate) fn of(job: &Job, clock: &Clock, start: Ticks) -> Option<Pace> {
        let second = clock.to_ticks(1_000_000_000) as f64;
        let schedule = |bytes: Option<u64>, ios: Option<u64>| {
            (bytes.is_some() || ios.is_some()).then(|| Schedule {
                ticks_per_io: ios.map_or(0.0, |rate| second / rate as f64),
                ticks_per_byte: bytes.map_or(0.0, |rate| second / rate as f64),
                next: start as f64,
            })
        };
        let schedules =
            [schedule(job.rate.read, job.rate_iops.read), schedule(job.rate.write, job.rate_iops.write)];
        if schedules.iter().all(Option::is_none) && job.thinktime_ns == 0 {
            return None;
        }
        Some(Pace {
            schedules,
            think_ticks: clock.to_ticks(job.thinktime_ns),
            think_every: job.thinktime_blocks.max(1),
            since_think: 0,
        })
    }

    /// When an operation of `bytes` shall start; None: at once. Books it.
    pub(crate) fn book(&mut self, op: Op, bytes: u32) -> Option<Ticks> {
        let direction = match op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Fsync | Op::Fdatasync => return None,
        };
        self.since_think += 1;
        let schedule = self.schedules[direction].as_mut()?;
        let due = schedule.next;
        // With both a rate of bytes and one of operations, the slower holds.
        schedule.next += schedule.ticks_per_io.max(schedule.ticks_per_byte * f64::from(bytes));
        Some(due as Ticks)
    }

    /// Whether the thread now owes a pause, which starts when nothing is in flight; resets the count.
    pub(crate) fn owes_pause(&mut self) -> Option<Ticks> {
        if self.think_ticks == 0 || self.since_think < self.think_every {
            return None;
        }
        self.since_think = 0;
        Some(self.think_ticks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::PerDirection;

    fn dues(job: &Job, count: usize) -> Vec<Ticks> {
        let mut pace = Pace::of(job, &Clock::kernel(), 1_000).unwrap();
        (0..count).map(|_| pace.book(Op::Read, 4096).unwrap()).collect()
    }

    #[test]
    fn a_rate_of_operations_spaces_them_evenly() {
        let job = Job { rate_iops: PerDirection { read: Some(1000), write: None }, ..Job::default() };
        assert_eq!(dues(&job, 3), [1_000, 1_001_000, 2_001_000]);
    }

    #[test]
    fn the_slower_of_two_rates_holds() {
        let job = Job {
            rate: PerDirection { read: Some(4_096_000), write: None },
            rate_iops: PerDirection { read: Some(500), write: None },
            ..Job::default()
        };
        assert_eq!(dues(&job, 2), [1_000, 2_001_000]);
    }

    #[test]
    fn a_direction_without_a_rate_starts_at_once() {
        let job = Job { rate_iops: PerDirection { read: Some(1), write: None }, ..Job::default() };
        let mut pace = Pace::of(&job, &Clock::kernel(), 0).unwrap();
        assert_eq!(pace.book(Op::Write, 4096), None);
    }

    #[test]
    fn a_pause_is_owed_after_each_so_many() {
        let job = Job { thinktime_ns: 5, thinktime_blocks: 2, ..Job::default() };
        let mut pace = Pace::of(&job, &Clock::kernel(), 0).unwrap();
        pace.book(Op::Read, 1);
        assert_eq!(pace.owes_pause(), None);
        pace.book(Op::Read, 1);
        assert_eq!(pace.owes_pause(), Some(5));
        assert_eq!(pace.owes_pause(), None);
    }
}
