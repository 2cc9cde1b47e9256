//! Processor time of a job.
//!
//! The kernel knows exactly how long a thread ran, but splits that into user and system time by
//! sampling, over the whole life of a process. So the total is taken from the exact clocks, and only
//! the share of user time from the samples of the job's own threads, which live as long as the job:
//! what the process did before (laying out, say) does not leak in. Kernel workers that io_uring
//! starts run no user code; their time is in the total.

use std::ops::{Add, Sub};

use iobound_record::CpuTime;
use rustix::time::{ClockId, clock_gettime};

/// Processor time used up to a moment, or between two.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Used {
    total_ns: u64,
    user_ns: u64,
    switches: u64,
    wait_ns: u64,
}

/// Time that the calling thread was ready and had no processor: the second figure of schedstat
/// (Documentation/scheduler/sched-stats.rst).
fn waited_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_ascii_whitespace().nth(1).and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

fn clock_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn used(clock: ClockId, who: libc::c_int) -> Used {
    // SAFETY: rusage is plain data, all zeroes is a valid value, and the kernel fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(who, &mut usage);
        usage
    };
    Used {
        total_ns: clock_ns(clock),
        user_ns: usage.ru_utime.tv_sec as u64 * 1_000_000_000 + usage.ru_utime.tv_usec as u64 * 1_000,
        switches: (usage.ru_nvcsw + usage.ru_nivcsw) as u64,
        wait_ns: 0,
    }
}

impl Used {
    /// Of the calling thread.
    pub(crate) fn by_thread() -> Used {
        Used { wait_ns: waited_ns(), ..used(ClockId::ThreadCPUTime, libc::RUSAGE_THREAD) }
    }

    /// Of the whole process.
    pub(crate) fn by_process() -> Used {
        used(ClockId::ProcessCPUTime, libc::RUSAGE_SELF)
    }

    /// The record's figure of a job: `self` is what the process used while it was measured, `threads`
    /// what its own threads used in their life.
    pub(crate) fn of_job(self, threads: Used) -> CpuTime {
        let share = if threads.total_ns > 0 {
            (threads.user_ns as f64 / threads.total_ns as f64).min(1.0)
        } else {
            0.0
        };
        // Kernel workers stretch the total, not the user time: never more than the threads used.
        let by_threads = self.total_ns.min(threads.total_ns);
        let user_ns = (by_threads as f64 * share) as u64;
        CpuTime {
            user_ns,
            system_ns: self.total_ns - user_ns,
            context_switches: self.switches,
            wait_ns: threads.wait_ns,
        }
    }
}

impl Sub for Used {
    type Output = Used;

    fn sub(self, before: Used) -> Used {
        Used {
            total_ns: self.total_ns.saturating_sub(before.total_ns),
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            switches: self.switches.saturating_sub(before.switches),
            wait_ns: self.wait_ns.saturating_sub(before.wait_ns),
        }
    }
}

impl Add for Used {
    type Output = Used;

    fn add(self, other: Used) -> Used {
        Used {
            total_ns: self.total_ns + other.total_ns,
            user_ns: self.user_ns + other.user_ns,
            switches: self.switches + other.switches,
            wait_ns: self.wait_ns + other.wait_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_busy_thread_is_user_time() {
        let thread = std::thread::spawn(|| {
            let (before, start, mut x) = (Used::by_thread(), Instant::now(), 1u64);
            while start.elapsed() < Duration::from_millis(200) {
                (0..10_000u64).for_each(|i| x = std::hint::black_box(x.wrapping_mul(i | 1)));
            }
            Used::by_thread() - before
        });
        let threads = thread.join().unwrap();
        // The process total would hold what other tests do meanwhile.
        let cpu = threads.of_job(threads);
        assert!(cpu.user_ns > cpu.system_ns, "{cpu:?}");
    }

    #[test]
    fn kernel_workers_count_as_system_time() {
        let threads = Used { total_ns: 100, user_ns: 50, switches: 0, wait_ns: 7 };
        let process = Used { total_ns: 300, user_ns: 70, switches: 4, wait_ns: 0 };
        let cpu = process.of_job(threads);
        assert_eq!((cpu.user_ns, cpu.system_ns, cpu.context_switches, cpu.wait_ns), (50, 250, 4, 7));
    }
}
